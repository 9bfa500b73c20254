import { useState } from "react";
import type { Comment } from "../../api/schema";
import { acts } from "../../live/acts";
import { cache } from "../../live/cache";
import { count } from "../../parts/format";
import { attempt } from "../../parts/toasts";
import styles from "./diff.module.css";
import type { TabProps } from "./task";

/** The bar below the diff: whose work it is, what was said about it, and what becomes of it. */
export function Decision({
  details,
  moves,
  comments,
}: TabProps & { comments: readonly Comment[] }) {
  const { task, runs } = details;
  const [why, setWhy] = useState("");
  const may = (verb: string) => moves.some((move) => move.verb === verb);
  if (!may("reject") && !may("land")) return null;
  const many = comments.length;
  const agent = runs.at(-1)?.agent;
  const done = () => cache.invalidateQueries({ queryKey: ["reviews", task.id] });
  const sendBack = () => acts.reject(task.id, why).then(done);
  const land = () => acts.land(task.id).then(done);
  return (
    <div className={styles.bar}>
      <span className="num">
        {many ? count(many, "comment") : "No comments yet"}
        {agent && <span className="quiet"> on the work of {agent}</span>}
      </span>
      {may("reject") && (
        <>
          <input
            aria-label="What should change, in all"
            placeholder={many ? "Anything else to say" : "What should change"}
            value={why}
            onChange={(event) => setWhy(event.target.value)}
          />
          <button
            type="button"
            disabled={many === 0 && !why.trim()}
            onClick={() => void attempt(sendBack, "Sent back to an agent")}
          >
            Send back{task.assignee && ` to ${task.assignee}`}
          </button>
        </>
      )}
      {may("land") && (
        <button
          type="button"
          className="primary"
          onClick={() => void attempt(land, "Approved: the lane takes it next")}
        >
          Approve and land
        </button>
      )}
    </div>
  );
}
