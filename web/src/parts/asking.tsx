import { useState } from "react";
import type { Task } from "../api/schema";
import { type Act, acts, WORDLESS } from "../live/acts";
import { External, useExternal } from "../live/external";
import { Dialog } from "./dialog";
import styles from "./forms.module.css";
import { attempt } from "./toasts";

interface Asked {
  task: Task;
  verb: "answer" | "reject" | "send";
}

const asked = new External<Asked | null>(null);

/** Do what was chosen, or ask for the words that it needs first. */
export function perform(verb: string, task: Task): void {
  if (verb === "answer" || verb === "reject" || verb === "send") asked.set({ task, verb });
  else void attempt(() => acts[verb as Act](task.id), DONE[verb]);
}

/** Can this verb be done with a task from anywhere? The others have a place of their own. */
export function isAct(verb: string): boolean {
  return WORDLESS.includes(verb) || verb in ASKS;
}

const DONE: Record<string, string> = {
  land: "Approved: the lane takes it next",
  cancel: "Cancelled; its work is archived",
  retry: "Back in the queue",
};
const ASKS = {
  answer: { title: "Answer", button: "Answer", done: "Answered" },
  reject: { title: "Send back: why?", button: "Send back", done: "Sent back to an agent" },
  send: { title: "Message to the agent", button: "Send", done: "Sent" },
};

export function Asking() {
  const now = useExternal(asked);
  return now && <Words key={`${now.verb} ${now.task.id}`} {...now} />;
}

function Words({ task, verb }: Asked) {
  const [text, setText] = useState("");
  const close = () => asked.set(null);
  const words = ASKS[verb];
  const send = async () => {
    if (await attempt(() => acts[verb](task.id, text), words.done)) close();
  };
  return (
    <Dialog title={words.title} close={close}>
      <form
        className={styles.form}
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        <h2>{words.title}</h2>
        <p className="quiet" dir="auto">
          {task.title}
        </p>
        <textarea
          autoFocus
          rows={4}
          aria-label={words.title}
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void send();
          }}
        />
        <div className={styles.buttons}>
          <button type="button" onClick={close}>
            Close
          </button>
          <button type="submit" className="primary">
            {words.button}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
