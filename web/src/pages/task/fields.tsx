import { type ReactNode, useState } from "react";
import type { Task, TaskDetails } from "../../api/schema";
import { acts } from "../../live/acts";
import { money } from "../../parts/format";
import { TaskChip } from "../../parts/task-chip";
import { Ago } from "../../parts/time";
import { attempt } from "../../parts/toasts";
import styles from "./task.module.css";

/** What was specified for the task, each field editable where it stands. */
export function Fields({ details, mayEdit }: { details: TaskDetails; mayEdit: boolean }) {
  const { task } = details;
  const edit = (changes: Partial<Task>) => attempt(() => acts.edit(task.id, changes));
  const words = (text: string) => text.split(/[\s,]+/).filter(Boolean);
  const text = (name: "coder" | "model" | "assignee") => (
    <Editable
      value={task[name] ?? ""}
      mayEdit={mayEdit}
      save={(it) => edit({ [name]: it || null })}
    />
  );
  const list = (name: "labels" | "scope" | "needs") => (
    <Editable
      value={task[name].join(", ")}
      mayEdit={mayEdit}
      save={(it) => edit({ [name]: words(it) })}
    />
  );
  return (
    <aside className={styles.fields} aria-label="Fields">
      <Field name="Priority">
        <select
          aria-label="Priority"
          value={task.priority}
          disabled={!mayEdit}
          onChange={(event) => void edit({ priority: Number(event.target.value) })}
        >
          {[5, 4, 3, 2, 1].map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </Field>
      <Field name="Repo">{task.repo}</Field>
      <Field name="Coder">{text("coder")}</Field>
      <Field name="Model">{text("model")}</Field>
      <Field name="Assignee">{text("assignee")}</Field>
      <Field name="Labels">{list("labels")}</Field>
      <Field name="Scope">{list("scope")}</Field>
      <Field name="Budget">
        <Editable
          value={task.budget?.usd ? String(task.budget.usd) : ""}
          shown={task.budget?.usd ? money(task.budget.usd) : ""}
          mayEdit={mayEdit}
          save={(it) =>
            edit({ budget: it ? { ...task.budget, usd: Number(it.replace("$", "")) } : null })
          }
        />
      </Field>
      {task.team && <Field name="Team">{task.team}</Field>}
      {task.branch && (
        <Field name="Branch">
          <code>{task.branch}</code>
        </Field>
      )}
      {task.landed && (
        <Field name="Landed">
          <code>{task.landed.slice(0, 12)}</code>
        </Field>
      )}
      <Field name="Added">
        <Ago at={task.created_at} />
      </Field>
      <Field name="Changed">
        <Ago at={task.updated_at} />
      </Field>
      <Chips title="Needs" tasks={details.needs} />
      <Chips title="Holds up" tasks={details.holds_up} />
      <h3>Prompt</h3>
      <Editable isLong value={task.prompt} mayEdit={mayEdit} save={(it) => edit({ prompt: it })} />
    </aside>
  );
}

function Field({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className={styles.field}>
      <span className="quiet">{name}</span>
      <span className={styles.value}>{children}</span>
    </div>
  );
}

function Chips({ title, tasks }: { title: string; tasks: readonly Task[] }) {
  if (tasks.length === 0) return null;
  return (
    <>
      <h3>{title}</h3>
      {tasks.map((task) => (
        <TaskChip key={task.id} task={task} />
      ))}
    </>
  );
}

function Editable(props: {
  value: string;
  shown?: string;
  mayEdit: boolean;
  isLong?: boolean;
  save: (text: string) => Promise<boolean>;
}) {
  const [text, setText] = useState<string | null>(null);
  const shown = props.shown ?? props.value;
  if (text === null) {
    const body = props.isLong ? <pre dir="auto">{shown || "none"}</pre> : shown || "none";
    const long = props.isLong ? styles.long : "";
    if (!props.mayEdit) {
      return (
        <span className={`${long} ${shown ? "" : "quiet"}`} tabIndex={props.isLong ? 0 : undefined}>
          {body}
        </span>
      );
    }
    return (
      <button
        type="button"
        className={`bare ${styles.editable} ${long} ${shown ? "" : "quiet"}`}
        title="Edit"
        onClick={() => setText(props.value)}
      >
        {body}
      </button>
    );
  }
  const save = async () => {
    if (text === props.value || (await props.save(text))) setText(null);
  };
  const shared = {
    autoFocus: true,
    value: text,
    onChange: (event: { target: { value: string } }) => setText(event.target.value),
    onBlur: () => void save(),
  };
  return props.isLong ? (
    <textarea
      {...shared}
      aria-label="Prompt"
      rows={12}
      onKeyDown={(event) => event.key === "Escape" && setText(null)}
    />
  ) : (
    <input
      {...shared}
      aria-label="New value"
      onKeyDown={(event) => {
        if (event.key === "Enter") void save();
        if (event.key === "Escape") setText(null);
      }}
    />
  );
}
