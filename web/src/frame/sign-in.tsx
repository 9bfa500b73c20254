import { type ReactNode, useState } from "react";
import { join, signIn } from "../live/session";
import { attempt, Toasts } from "../parts/toasts";
import styles from "./sign-in.module.css";

/** For those who came without a code: a token signs them in, or an invite admits them. */
export function SignIn() {
  const [isInvited, setIsInvited] = useState(false);
  return (
    <main className={styles.page}>
      <div className={styles.card}>
        <h1>Sign in to codefleet</h1>
        <p>
          At the fleet’s own machine, this prints an address that signs you in:
          <code className={styles.command}>fleet dashboard</code>
        </p>
        {isInvited ? <WithInvite /> : <WithToken />}
        <button type="button" onClick={() => setIsInvited(!isInvited)}>
          {isInvited ? "I have a token" : "I have an invite"}
        </button>
      </div>
      <Toasts />
    </main>
  );
}

function WithToken() {
  const [token, setToken] = useState("");
  return (
    <Form button="Sign in" submit={() => signIn(token.trim())}>
      <Secret label="Elsewhere, paste your token" value={token} set={setToken} />
    </Form>
  );
}

function WithInvite() {
  const [team, setTeam] = useState("");
  const [handle, setHandle] = useState("");
  const [secret, setSecret] = useState("");
  return (
    <Form button="Join" submit={() => join(team.trim(), handle.trim(), secret.trim())}>
      <label>
        Team
        <input required value={team} onChange={(event) => setTeam(event.target.value)} />
      </label>
      <label>
        Your handle
        <input
          required
          autoComplete="username"
          placeholder="ann"
          value={handle}
          onChange={(event) => setHandle(event.target.value)}
        />
      </label>
      <Secret label="Secret of the invite" value={secret} set={setSecret} />
    </Form>
  );
}

interface FormProps {
  button: string;
  submit: () => Promise<void>;
  children: ReactNode;
}

function Form({ button, submit, children }: FormProps) {
  return (
    <form
      className={styles.form}
      onSubmit={(event) => {
        event.preventDefault();
        void attempt(submit);
      }}
    >
      {children}
      <button type="submit" className="primary">
        {button}
      </button>
    </form>
  );
}

interface SecretProps {
  label: string;
  value: string;
  set: (value: string) => void;
}

function Secret({ label, value, set }: SecretProps) {
  return (
    <label>
      {label}
      <input
        type="password"
        autoComplete="off"
        required
        value={value}
        onChange={(event) => set(event.target.value)}
      />
    </label>
  );
}
