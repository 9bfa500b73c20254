import { createContext, useContext, useState } from "react";
import { api } from "../../api/client";
import type { Comment } from "../../api/schema";
import { cache } from "../../live/cache";
import { attempt } from "../../parts/toasts";
import { type Line, place } from "./diff";
import styles from "./diff.module.css";

/** The review that the lines on the screen belong to. */
export interface Review {
  task: string;
  mayComment: boolean;
  comments: readonly Comment[];
  /** What is written and not yet said, by line: it stays when the view changes. */
  drafts: Map<string, string>;
}

export const ReviewContext = createContext<Review>({
  task: "",
  mayComment: false,
  comments: [],
  drafts: new Map(),
});

/** The comments on a line, the form for another, and how to open that. */
export function useThread(path: string, line: Line | null) {
  const review = useContext(ReviewContext);
  const at = line && place(line);
  const key = at ? `${path}:${at.line}${at.removed ? "-" : ""}` : "";
  const [isOpen, setOpen] = useState(review.drafts.has(key));
  const about = review.comments.filter(
    (it) => at && it.path === path && it.line === at.line && it.removed === at.removed,
  );
  const close = () => {
    review.drafts.delete(key);
    setOpen(false);
  };
  const thread = line && (about.length > 0 || isOpen) && (
    <>
      {about.map((said) => (
        <Said key={said.id} said={said} />
      ))}
      {isOpen && <Write path={path} line={line} draft={key} close={close} />}
    </>
  );
  return { thread, mayComment: review.mayComment, open: () => setOpen(true) };
}

function Said({ said }: { said: Comment }) {
  const { task, mayComment } = useContext(ReviewContext);
  return (
    <div className={styles.comment}>
      <div className="quiet">
        {said.by}
        {mayComment && (
          <button
            type="button"
            className="bare"
            onClick={() => void attempt(() => withdraw(task, said.id))}
          >
            withdraw
          </button>
        )}
      </div>
      <div className={styles.words} dir="auto">
        {said.text}
      </div>
    </div>
  );
}

function Write(props: { path: string; line: Line; draft: string; close: () => void }) {
  const { path, line, draft, close } = props;
  const { task, drafts } = useContext(ReviewContext);
  const [text, setText] = useState(drafts.get(draft) ?? "");
  const [isSaving, setSaving] = useState(false);
  const write = (words: string) => {
    drafts.set(draft, words);
    setText(words);
  };
  const save = async () => {
    if (isSaving || !text.trim()) return;
    setSaving(true);
    const said = { path, ...place(line), quote: line.text, text };
    if (await attempt(() => comment(task, said))) close();
    else setSaving(false);
  };
  return (
    <form
      className={styles.comment}
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <textarea
        // biome-ignore lint/a11y/noAutofocus: the line was clicked to comment on it
        autoFocus
        rows={3}
        aria-label="Your comment"
        placeholder="What should be different here?"
        value={text}
        onChange={(event) => write(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") close();
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void save();
        }}
      />
      <div className={styles.buttons}>
        <button type="button" onClick={close}>
          Close
        </button>
        <button type="submit" className="primary" disabled={isSaving || !text.trim()}>
          Comment
        </button>
      </div>
    </form>
  );
}

async function comment(
  task: string,
  said: { path: string; line: number; removed: boolean; quote: string; text: string },
): Promise<void> {
  await api.POST("/api/v1/tasks/{ref}/comments", { params: { path: { ref: task } }, body: said });
  await cache.invalidateQueries({ queryKey: ["reviews", task] });
}

async function withdraw(task: string, id: string): Promise<void> {
  const path = { ref: task, comment: id };
  await api.DELETE("/api/v1/tasks/{ref}/comments/{comment}", { params: { path } });
  await cache.invalidateQueries({ queryKey: ["reviews", task] });
}
