import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, told } from "../../api/client";
import type { Worker, WorktreeStatus } from "../../api/schema";
import { cache } from "../../live/cache";
import { useMay } from "../../live/session";
import { FormDialog } from "../../parts/form-dialog";
import { count } from "../../parts/format";
import { attempt, say } from "../../parts/toasts";
import styles from "./swarms.module.css";

/** What a worker has committed and changed so far, and how to keep it. */
export function Worktree({ worker }: { worker: Worker }) {
  const mayCommit = useMay("commit a worktree");
  const mayPush = useMay("push a branch");
  const [isCommitting, setCommitting] = useState(false);
  const handle = worker.task;
  const status = useQuery({
    queryKey: ["workers", handle, "worktree"],
    queryFn: () => told(api.GET("/api/v1/worktrees", { params: { query: { handle } } })),
  }).data;
  if (!status?.branch) return null;
  return (
    <div className={`${styles.line} ${styles.worktree}`}>
      <code>{status.branch}</code>
      <span className="quiet">{standing(status)}</span>
      <span className={`${styles.buttons} ${styles.last}`}>
        {mayCommit && status.path && (
          <button type="button" onClick={() => setCommitting(true)}>
            Commit…
          </button>
        )}
        {mayPush && (
          <button type="button" onClick={() => void attempt(() => push(handle))}>
            Push
          </button>
        )}
      </span>
      {isCommitting && <Commit handle={handle} close={() => setCommitting(false)} />}
    </div>
  );
}

function standing(status: WorktreeStatus): string {
  const parts = [
    status.has_changes ? "changes that are not committed" : "",
    `${count(status.ahead, "commit")} ahead of the trunk`,
    status.behind ? `${status.behind} behind` : "",
  ];
  return parts.filter(Boolean).join(" · ");
}

async function push(handle: string): Promise<void> {
  const pushed = await told(api.POST("/api/v1/worktrees/push", { body: { handle } }));
  say(`${pushed.branch} is pushed at ${pushed.commit.slice(0, 8)}`);
}

function Commit({ handle, close }: { handle: string; close: () => void }) {
  const [message, setMessage] = useState("");
  const commit = async () => {
    await api.POST("/api/v1/worktrees/commit", { body: { handle, message } });
    await cache.invalidateQueries({ queryKey: ["workers", handle] });
  };
  return (
    <FormDialog
      title="Commit its work so far"
      button="Commit"
      done="Committed"
      close={close}
      submit={commit}
    >
      <label>
        Message
        <input required value={message} onChange={(event) => setMessage(event.target.value)} />
      </label>
    </FormDialog>
  );
}
