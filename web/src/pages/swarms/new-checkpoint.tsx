import { useState } from "react";
import { api } from "../../api/client";
import { cache } from "../../live/cache";
import { FormDialog } from "../../parts/form-dialog";

const TEXTS = [
  { name: "goal", title: "Goal", isRequired: true },
  { name: "now", title: "How far it is", isRequired: true },
  { name: "next", title: "Next steps, one per line", isRequired: false },
  { name: "blockers", title: "What is in the way, one per line", isRequired: false },
] as const;

/** Write down for a handle what it knows, so that another can go on. */
export function NewCheckpoint({ author, close }: { author: string; close: () => void }) {
  const [said, setSaid] = useState({ goal: "", now: "", next: "", blockers: "", to: "" });
  const write = async () => {
    const { goal, now, to } = said;
    const lists = { next: lines(said.next), blockers: lines(said.blockers) };
    const body = { author, goal, now, ...lists, ...(to ? { to } : {}) };
    await api.POST("/api/v1/checkpoints", { body });
    await cache.invalidateQueries({ queryKey: ["checkpoints"] });
  };
  return (
    <FormDialog
      title={`Write a checkpoint of ${author}`}
      button="Write"
      done="Another agent can go on from it"
      close={close}
      submit={write}
    >
      {TEXTS.map(({ name, title, isRequired }) => (
        <label key={name}>
          {title}
          <textarea
            rows={2}
            required={isRequired}
            value={said[name]}
            onChange={(event) => setSaid({ ...said, [name]: event.target.value })}
          />
        </label>
      ))}
      <label>
        For whom: a handle, or nobody in particular
        <input value={said.to} onChange={(event) => setSaid({ ...said, to: event.target.value })} />
      </label>
    </FormDialog>
  );
}

function lines(text: string): string[] {
  return text.split("\n").flatMap((line) => line.trim() || []);
}
