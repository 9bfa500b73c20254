import { useState } from "react";
import { api } from "../../api/client";
import type { Checkpoint } from "../../api/schema";
import { cache } from "../../live/cache";
import { useCheckpoints, useTasks } from "../../live/queries";
import { useMay } from "../../live/session";
import { useAsked } from "../../parts/asked";
import { Empty } from "../../parts/empty";
import { FormDialog } from "../../parts/form-dialog";
import { rows, Section } from "../../parts/section";
import { TaskChip } from "../../parts/task-chip";
import { Ago } from "../../parts/time";
import { HandlePicker, useHandle } from "./handles";
import { NewCheckpoint } from "./new-checkpoint";
import styles from "./swarms.module.css";

/** What a handle wrote down for whoever goes on, and what was left for it. */
export function CheckpointsTab() {
  const mayRead = useMay("read what agents tell each other");
  const mayWrite = useMay("talk to other agents");
  const handle = useHandle();
  const [isWriting, setWriting] = useAsked("checkpoint");
  const found = useCheckpoints(handle, mayRead && handle !== "").data ?? [];
  if (!mayRead) return <Empty>Your token may not read what agents tell each other.</Empty>;
  return (
    <>
      <div className={styles.top}>
        <HandlePicker />
        {mayWrite && (
          <button type="button" onClick={() => setWriting(true)}>
            Write a checkpoint
          </button>
        )}
      </div>
      <Section title={`Checkpoints (${found.length})`}>
        {found.map((checkpoint) => (
          <Left key={checkpoint.id} checkpoint={checkpoint} />
        ))}
        {found.length === 0 && (
          <Empty command={`fleet checkpoints ${handle || "HANDLE"}`}>
            Nothing by {handle}, and nothing for it. An agent writes a checkpoint when it stops, and
            another one goes on from there.
          </Empty>
        )}
      </Section>
      {isWriting && mayWrite && <NewCheckpoint author={handle} close={() => setWriting(false)} />}
    </>
  );
}

const LISTS = ["next", "blockers", "questions", "worked", "failed"] as const;

function Left({ checkpoint }: { checkpoint: Checkpoint }) {
  const task = useTasks().data?.get(checkpoint.task ?? "");
  const mayDecide = useMay("talk to other agents");
  const [asked, setAsked] = useState<"accept" | "reject">();
  return (
    <article className={`${rows.group} ${styles.post}`}>
      <div className={styles.line}>
        <strong>{checkpoint.author}</strong>
        <span className="quiet">
          {checkpoint.to ? `to ${checkpoint.to} · ` : ""}
          {checkpoint.status}
          {checkpoint.outcome && ` ${checkpoint.outcome}`}
        </span>
        <Ago at={checkpoint.created_at} />
        {mayDecide && checkpoint.status === "pending" && (
          <span className={`${styles.buttons} ${styles.last}`}>
            <button type="button" onClick={() => setAsked("accept")}>
              Accept…
            </button>
            <button type="button" onClick={() => setAsked("reject")}>
              Reject…
            </button>
          </span>
        )}
      </div>
      <div className={styles.payload}>
        {task && <TaskChip task={task} />}
        <p dir="auto">
          <span className="quiet">goal: </span>
          {checkpoint.goal}
        </p>
        <p dir="auto">
          <span className="quiet">now: </span>
          {checkpoint.now}
        </p>
        {LISTS.map((name) =>
          checkpoint[name].map((text) => (
            <p key={`${name} ${text}`} dir="auto">
              <span className="quiet">{name}: </span>
              {text}
            </p>
          )),
        )}
      </div>
      {asked && <Decide checkpoint={checkpoint} verb={asked} close={() => setAsked(undefined)} />}
    </article>
  );
}

function Decide(props: { checkpoint: Checkpoint; verb: "accept" | "reject"; close: () => void }) {
  const { checkpoint, close } = props;
  const isAccepted = props.verb === "accept";
  const [text, setText] = useState(isAccepted ? (checkpoint.to ?? "") : "");
  const decide = async () => {
    const params = { path: { ref: checkpoint.id } };
    if (isAccepted) {
      const body = text ? { by: text } : {};
      await api.POST("/api/v1/checkpoints/{ref}/accept", { params, body });
    } else {
      await api.POST("/api/v1/checkpoints/{ref}/reject", { params, body: { why: text } });
    }
    await cache.invalidateQueries({ queryKey: ["checkpoints"] });
  };
  return (
    <FormDialog
      title={isAccepted ? "Go on from this checkpoint" : "Nobody goes on from this checkpoint"}
      button={isAccepted ? "Accept" : "Reject"}
      done={isAccepted ? "Accepted" : "Rejected"}
      close={close}
      submit={decide}
    >
      <p className="quiet" dir="auto">
        {checkpoint.goal}
      </p>
      <label>
        {isAccepted ? "Who goes on: a handle" : "Why"}
        <input
          required={isAccepted}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </label>
    </FormDialog>
  );
}
