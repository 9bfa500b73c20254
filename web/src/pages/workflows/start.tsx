import { useNavigate } from "@tanstack/react-router";
import { useRef, useState } from "react";
import { api, Refusal, told } from "../../api/client";
import { cache } from "../../live/cache";
import { useRepos } from "../../live/queries";
import { Dialog } from "../../parts/dialog";
import forms from "../../parts/forms.module.css";
import { EXAMPLE, readPlan } from "./plan";
import styles from "./workflows.module.css";

/** Start a workflow from a file or from text; what is wrong with it, the core says here. */
export function Start({ close }: { close: () => void }) {
  const navigate = useNavigate();
  const repos = useRepos().data ?? [];
  const file = useRef<HTMLInputElement>(null);
  const [text, setText] = useState("");
  const [prompt, setPrompt] = useState("");
  const [repo, setRepo] = useState("");
  const [wrong, setWrong] = useState<Error>();
  const change = (said: string) => {
    setText(said);
    setWrong(undefined);
  };
  const start = async () => {
    try {
      const plan = await readPlan(text, prompt);
      const body = { plan, ...(repo ? { repo } : {}) };
      const made = await told(api.POST("/api/v1/workflows", { body }));
      void cache.invalidateQueries({ queryKey: ["workflows"] });
      await navigate({ to: "/workflows/$flow", params: { flow: made.id } });
    } catch (error) {
      setWrong(error instanceof Error ? error : new Error(String(error)));
    }
  };
  return (
    <Dialog title="Start a workflow" close={close}>
      <form
        className={forms.form}
        onSubmit={(event) => {
          event.preventDefault();
          void start();
        }}
      >
        <h2>Start a workflow</h2>
        <label>
          Plan, as YAML or JSON
          <textarea
            autoFocus
            required
            rows={12}
            spellCheck={false}
            className={styles.plan}
            value={text}
            onChange={(event) => change(event.target.value)}
          />
        </label>
        <div className={styles.sources}>
          <button type="button" onClick={() => file.current?.click()}>
            Choose a file…
          </button>
          <button type="button" onClick={() => change(EXAMPLE)}>
            Begin with an example
          </button>
          <input
            ref={file}
            type="file"
            hidden
            accept=".yaml,.yml,.json"
            aria-label="A workflow file"
            onChange={(event) => {
              void event.target.files?.[0]?.text().then(change);
              event.target.value = "";
            }}
          />
        </div>
        <label>
          Prompt, instead of the one in the plan
          <input value={prompt} onChange={(event) => setPrompt(event.target.value)} />
        </label>
        {repos.length > 1 && (
          <label>
            Repo
            <select value={repo} onChange={(event) => setRepo(event.target.value)}>
              <option value="">choose…</option>
              {repos.map((each) => (
                <option key={each.name}>{each.name}</option>
              ))}
            </select>
          </label>
        )}
        {wrong && (
          <div role="alert" className={styles.wrong}>
            {wrong.message}
            {wrong instanceof Refusal && <div className="quiet">{wrong.hint}</div>}
          </div>
        )}
        <div className={forms.buttons}>
          <button type="button" onClick={close}>
            Close
          </button>
          <button type="submit" className="primary">
            Start
          </button>
        </div>
      </form>
    </Dialog>
  );
}
