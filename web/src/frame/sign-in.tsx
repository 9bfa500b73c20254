import { useState } from "react";
import { signIn } from "../live/session";
import { attempt, Toasts } from "../parts/toasts";
import styles from "./sign-in.module.css";

/** For those who came without a code: a token signs them in. */
export function SignIn() {
  const [token, setToken] = useState("");
  return (
    <main className={styles.page}>
      <form
        className={styles.card}
        onSubmit={(event) => {
          event.preventDefault();
          void attempt(() => signIn(token.trim()));
        }}
      >
        <h1>Sign in to codefleet</h1>
        <p>
          At the fleet’s own machine, this prints an address that signs you in:
          <code className={styles.command}>fleet dashboard</code>
        </p>
        <label>
          Elsewhere, paste your token
          <input
            type="password"
            autoComplete="off"
            required
            value={token}
            onChange={(event) => setToken(event.target.value)}
          />
        </label>
        <button type="submit" className="primary">
          Sign in
        </button>
      </form>
      <Toasts />
    </main>
  );
}
