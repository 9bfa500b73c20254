import { useState } from "react";
import type { Task } from "../../api/schema";
import { acts } from "../../live/acts";
import { attempt } from "../../parts/toasts";
import styles from "./task.module.css";

/** The title, which a click makes editable. */
export function Title({ task, mayEdit }: { task: Task; mayEdit: boolean }) {
  const [text, setText] = useState<string | null>(null);
  if (text === null) {
    return (
      <h2 className={styles.title} dir="auto">
        {mayEdit ? (
          <button
            type="button"
            className="bare"
            title="Edit the title"
            onClick={() => setText(task.title)}
          >
            {task.title}
          </button>
        ) : (
          task.title
        )}
      </h2>
    );
  }
  const save = async () => {
    const isSame = text.trim() === task.title || !text.trim();
    if (isSame || (await attempt(() => acts.edit(task.id, { title: text })))) setText(null);
  };
  return (
    <input
      // biome-ignore lint/a11y/noAutofocus: the title was clicked to be edited
      autoFocus
      className={styles.title}
      aria-label="Title"
      maxLength={200}
      value={text}
      onChange={(event) => setText(event.target.value)}
      onBlur={() => void save()}
      onKeyDown={(event) => {
        if (event.key === "Enter") void save();
        if (event.key === "Escape") setText(null);
      }}
    />
  );
}
