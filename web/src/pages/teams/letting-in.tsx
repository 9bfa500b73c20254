import { useState } from "react";
import type { Role } from "../../api/schema";
import { Command } from "../../parts/command";
import { Dialog } from "../../parts/dialog";
import { FormDialog } from "../../parts/form-dialog";
import forms from "../../parts/forms.module.css";
import { createToken, invite } from "./acts";

/** What is told only once, and what it is for. */
export interface Secret {
  title: string;
  text: string;
  about: string;
}

interface LettingIn {
  team: string;
  tell: (secret: Secret) => void;
  close: () => void;
}

const ROLES: readonly Role[] = [
  ...(["team-lead", "coordinator", "worker"] as const),
  ...(["merger", "monitor", "notifier"] as const),
];

export function NewToken({ team, tell, close }: LettingIn) {
  const [handle, setHandle] = useState("");
  const [role, setRole] = useState<Role>("worker");
  const [ttl, setTtl] = useState("");
  const create = async () => {
    const text = await createToken(team, { handle, role, ttl: ttl || null });
    const about = `With it, ${handle} signs in to this page, and programs send it to the server.`;
    tell({ title: `The token of ${handle}`, text, about });
  };
  return (
    <FormDialog
      title={`New token for ${team}`}
      button="Create"
      done={`${handle} is a ${role} of ${team}`}
      close={close}
      submit={create}
    >
      <label>
        Handle
        <input
          required
          placeholder="ann"
          value={handle}
          onChange={(event) => setHandle(event.target.value)}
        />
      </label>
      <div className={forms.row}>
        <RoleField role={role} set={setRole} />
        <label>
          Valid for
          <input
            placeholder="as the settings say"
            title="90m, 12h, 30d"
            value={ttl}
            onChange={(event) => setTtl(event.target.value)}
          />
        </label>
      </div>
    </FormDialog>
  );
}

export function NewInvite({ team, tell, close }: LettingIn) {
  const [role, setRole] = useState<Role>("worker");
  const [uses, setUses] = useState(1);
  const [ttl, setTtl] = useState("1d");
  const create = async () => {
    const text = await invite(team, { role, uses, ttl });
    const about = `Whoever enters it on the sign-in page, with the name of the team, joins as ${role}.`;
    tell({ title: `The secret of the invite to ${team}`, text, about });
  };
  return (
    <FormDialog
      title={`Invite to ${team}`}
      button="Invite"
      done="The invite is open"
      close={close}
      submit={create}
    >
      <RoleField role={role} set={setRole} />
      <div className={forms.row}>
        <label>
          How many may join
          <input
            type="number"
            min={1}
            value={uses}
            onChange={(event) => setUses(Number(event.target.value))}
          />
        </label>
        <label>
          Valid for
          <input
            required
            title="90m, 12h, 30d"
            value={ttl}
            onChange={(event) => setTtl(event.target.value)}
          />
        </label>
      </div>
    </FormDialog>
  );
}

function RoleField({ role, set }: { role: Role; set: (role: Role) => void }) {
  return (
    <label>
      Role
      <select value={role} onChange={(event) => set(event.target.value as Role)}>
        {ROLES.map((each) => (
          <option key={each}>{each}</option>
        ))}
      </select>
    </label>
  );
}

/** A secret that is not stored: it can be copied now, or never. */
export function Once({ secret, close }: { secret: Secret; close: () => void }) {
  return (
    <Dialog title={secret.title} close={close}>
      <div className={forms.form}>
        <h2>{secret.title}</h2>
        <p className="quiet">It is shown only now, and stored nowhere. {secret.about}</p>
        <Command text={secret.text} />
        <div className={forms.buttons}>
          <button type="button" className="primary" onClick={close}>
            I have copied it
          </button>
        </div>
      </div>
    </Dialog>
  );
}
