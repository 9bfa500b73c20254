import { useEffect, useMemo, useRef, useState } from "react";
import { acts } from "../../live/acts";
import { useEvents, useOutput } from "../../live/queries";
import { Empty } from "../../parts/empty";
import { attempt } from "../../parts/toasts";
import { conversation } from "./conversation";
import styles from "./live.module.css";
import type { TabProps } from "./task";
import { Line } from "./told";

const NEAR_PX = 40;

/** What the agent says and does, as a conversation; what is said to it goes to its agent. */
export function LiveTab({ details, moves }: TabProps) {
  const { task, runs } = details;
  const events = useEvents(task.id).data;
  const told = useMemo(() => conversation(events ?? []), [events]);
  const newest = events?.at(-1)?.seq ?? 0;
  const [isRaw, setRaw] = useState(false);
  const [follows, setFollows] = useState(true);
  const list = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: whatever is new is at the end
  useEffect(() => {
    if (follows && list.current) list.current.scrollTop = list.current.scrollHeight;
  }, [follows, isRaw, newest]);
  return (
    <div className={styles.live}>
      <div className={styles.bar}>
        <label>
          <input type="checkbox" checked={follows} onChange={() => setFollows(!follows)} /> Follow
        </label>
        <label>
          <input type="checkbox" checked={isRaw} onChange={() => setRaw(!isRaw)} /> Raw output
        </label>
      </div>
      {isRaw ? (
        <Raw task={task.id} newest={newest} />
      ) : (
        <div
          ref={list}
          className={styles.talk}
          role="log"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it
          tabIndex={0}
          onScroll={({ currentTarget: it }) =>
            setFollows(it.scrollHeight - it.scrollTop - it.clientHeight < NEAR_PX)
          }
        >
          {events && told.length === 0 && <Empty>No agent has worked on this yet.</Empty>}
          {told.map((each) => (
            <Line key={each.event.seq} told={each} many={each.more.length} runs={runs} />
          ))}
        </div>
      )}
      {moves.some(({ verb }) => verb === "send") && <Say task={task.id} />}
    </div>
  );
}

/** What the program printed, read again as there is more of it. */
function Raw({ task, newest }: { task: string; newest: number }) {
  const { data, error, refetch } = useOutput(task);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new event means new output
  useEffect(() => {
    void refetch({ cancelRefetch: false });
  }, [newest, refetch]);
  if (error) return <Empty>{error.message}</Empty>;
  return <pre className={styles.raw}>{data}</pre>;
}

function Say({ task }: { task: string }) {
  const [text, setText] = useState("");
  return (
    <form
      className={styles.say}
      onSubmit={(event) => {
        event.preventDefault();
        void attempt(() => acts.send(task, text), "Sent").then((sent) => sent && setText(""));
      }}
    >
      <input
        aria-label="Say something to the agent"
        placeholder="Say something to the agent…"
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <button type="submit" disabled={!text.trim()}>
        Send
      </button>
    </form>
  );
}
