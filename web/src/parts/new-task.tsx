import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api, told } from "../api/client";
import { cache, keep } from "../live/cache";
import { External, useExternal } from "../live/external";
import { useRepos } from "../live/queries";
import { useMay } from "../live/session";
import { Dialog } from "./dialog";
import styles from "./forms.module.css";
import { Similar } from "./similar";
import { attempt } from "./toasts";

const isOpen = new External(false);
/** What was typed and not sent: it is there again when the form is opened again. */
const unsent = { title: "", prompt: "" };

export function openNewTask(): void {
  isOpen.set(true);
}

/** For empty pages; only for those who may add tasks. */
export function AddButton({ isPrimary = false }: { isPrimary?: boolean }) {
  return (
    useMay("add tasks") && (
      <button type="button" className={isPrimary ? "primary" : ""} onClick={openNewTask}>
        New task
      </button>
    )
  );
}

export function NewTask() {
  return useExternal(isOpen) && <Form />;
}

function Form() {
  const repos = useRepos().data ?? [];
  const navigate = useNavigate();
  const [title, setTitle] = useState(unsent.title);
  const [prompt, setPrompt] = useState(unsent.prompt);
  Object.assign(unsent, { title, prompt });
  const [repo, setRepo] = useState("");
  const [priority, setPriority] = useState(3);
  const [lands, setLands] = useState("");
  const close = () => isOpen.set(false);
  const add = async () => {
    const draft = {
      title,
      prompt,
      priority,
      ...(repo ? { repo } : {}),
      ...(lands ? { lands: lands as "review" | "queue" } : {}),
    };
    await attempt(async () => {
      const [task] = await told(api.POST("/api/v1/tasks", { body: [draft] }));
      if (!task) return;
      keep([task]);
      void cache.invalidateQueries({ queryKey: ["board"] });
      Object.assign(unsent, { title: "", prompt: "" });
      close();
      await navigate({ to: "/task/$ref", params: { ref: task.id } });
    });
  };
  return (
    <Dialog title="New task" close={close}>
      <form
        className={styles.form}
        onSubmit={(event) => {
          event.preventDefault();
          void add();
        }}
      >
        <h2>New task</h2>
        <label>
          Title
          <input
            autoFocus
            required
            maxLength={200}
            value={title}
            onChange={(event) => setTitle(event.target.value)}
          />
        </label>
        <Similar title={title} repo={repo} />
        <label>
          Prompt
          <textarea rows={6} value={prompt} onChange={(event) => setPrompt(event.target.value)} />
        </label>
        <div className={styles.row}>
          <label>
            Repo
            <select value={repo} onChange={(event) => setRepo(event.target.value)}>
              {repos.length !== 1 && <option value="">choose…</option>}
              {repos.map((each) => (
                <option key={each.name}>{each.name}</option>
              ))}
            </select>
          </label>
          <label>
            Priority
            <select value={priority} onChange={(event) => setPriority(Number(event.target.value))}>
              {[5, 4, 3, 2, 1].map((each) => (
                <option key={each}>{each}</option>
              ))}
            </select>
          </label>
          <label>
            Landing
            <select value={lands} onChange={(event) => setLands(event.target.value)}>
              <option value="">as the repo says</option>
              <option value="review">after a review</option>
              <option value="queue">by itself</option>
              <option value="branch">stays on its branch</option>
            </select>
          </label>
        </div>
        <div className={styles.buttons}>
          <button type="button" onClick={close}>
            Close
          </button>
          <button type="submit" className="primary">
            Add task
          </button>
        </div>
      </form>
    </Dialog>
  );
}
