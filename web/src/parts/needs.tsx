import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../api/client";
import type { Need, Task } from "../api/schema";
import { useKeys } from "../keyboard/keys";
import { acts } from "../live/acts";
import { cache } from "../live/cache";
import { perform } from "./asking";
import { Empty } from "./empty";
import { openMenuAt } from "./menu";
import styles from "./needs.module.css";
import { rows, Section } from "./section";
import { TaskChip } from "./task-chip";
import { Ago } from "./time";
import { attempt } from "./toasts";

/** What waits for a human, with what settles it right there. */
export function Needs({ needs, at }: { needs: readonly Need[]; at: string | undefined }) {
  return (
    <Section title={`Needs you (${needs.length})`}>
      {needs.map((need) => (
        <Item
          key={`${need.kind} ${need.ref}`}
          need={need}
          isAt={at !== undefined && at === need.task?.id}
        />
      ))}
      {needs.length === 0 && <Empty>Nothing needs you. The fleet goes on by itself.</Empty>}
    </Section>
  );
}

/** The keys for what the cursor is on: answer, land, send back, everything else. */
export function useNeedKeys(needs: readonly Need[], at: string | undefined): void {
  const navigate = useNavigate();
  const need = needs.find((each) => each.task?.id === at);
  const task = need?.task;
  const look = (ref: string) =>
    void navigate({ to: "/task/$ref", params: { ref }, search: { tab: "diff" } });
  useKeys([
    ...(task
      ? KEYS.filter(({ verb }) => need.moves.includes(verb)).map(({ key, does, verb }) => ({
          key,
          does,
          run: () => perform(verb, task),
        }))
      : []),
    ...(task && isWork(need)
      ? [{ key: "d", does: "Look at the diff", run: () => look(task.id) }]
      : []),
    ...(task ? [{ key: ".", does: "What may be done", run: () => openMenuAt(task) }] : []),
  ]);
}

const KEYS = [
  { key: "a", does: "Answer", verb: "answer" },
  { key: "l", does: "Land", verb: "land" },
  { key: "r", does: "Send back, with a reason", verb: "reject" },
];

/** Is it about work that can be looked at? */
function isWork(need: Need): boolean {
  return need.kind === "review" || need.kind === "landing";
}

const KINDS: Record<string, string> = {
  question: "asks",
  permission: "asks for permission",
  review: "to review",
  landing: "held in the lane",
  account: "login",
  settings: "settings",
  alert: "alert",
  failed: "failed",
};

function Item({ need, isAt }: { need: Need; isAt: boolean }) {
  return (
    <div
      className={`${rows.group} ${styles.item} ${isAt ? rows.at : ""}`}
      data-row={need.task?.id ?? need.ref}
      data-kind={need.kind}
    >
      <div className={styles.what}>
        <div className={styles.head}>
          {need.task ? <TaskChip task={need.task} /> : <strong>{need.ref}</strong>}
          <span className="quiet">{KINDS[need.kind] ?? need.kind}</span>
          <Ago at={need.since} />
        </div>
        {need.text && (
          <p className={styles.text} dir="auto">
            {need.text}
          </p>
        )}
      </div>
      <Settle need={need} />
    </div>
  );
}

/** What the core lets one do about it. */
function Settle({ need }: { need: Need }) {
  const { task, moves } = need;
  if (moves.includes("answer")) return <Answer need={need} />;
  if (task && isWork(need)) return <Decide task={task} mayLand={moves.includes("land")} />;
  return moves.map((verb) =>
    task && verb === "retry" ? (
      <button key={verb} type="button" onClick={() => perform(verb, task)}>
        Retry
      </button>
    ) : (
      <Button key={verb} need={need} verb={verb} />
    ),
  );
}

function Answer({ need }: { need: Need }) {
  const [text, setText] = useState("");
  const answer = (words: string) => attempt(() => acts.answer(need.ref, words), "Answered");
  return (
    <form
      className={styles.settle}
      onSubmit={(event) => {
        event.preventDefault();
        void answer(text);
      }}
    >
      {need.options.map((option) => (
        <button key={option} type="button" dir="auto" onClick={() => void answer(option)}>
          {option}
        </button>
      ))}
      <input
        aria-label="Your answer"
        placeholder="Answer…"
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      {text && (
        <button type="submit" className="primary">
          Answer
        </button>
      )}
    </form>
  );
}

function Decide({ task, mayLand }: { task: Task; mayLand: boolean }) {
  return (
    <div className={styles.settle}>
      <Link
        to="/task/$ref"
        params={{ ref: task.id }}
        search={{ tab: "diff" }}
        className={styles.button ?? ""}
      >
        Review
      </Link>
      {mayLand && (
        <button type="button" className="primary" onClick={() => perform("land", task)}>
          Land
        </button>
      )}
    </div>
  );
}

const SETTLING: Record<string, { text: string; act: (ref: string) => Promise<unknown> }> = {
  settle: {
    text: "Settle",
    act: (ref) => api.POST("/api/v1/alerts/{ref}/settle", { params: { path: { ref } } }),
  },
  wake: {
    text: "Wake",
    act: (name) => api.POST("/api/v1/rests/{name}/wake", { params: { path: { name } } }),
  },
};

function Button({ need, verb }: { need: Need; verb: string }) {
  const settling = SETTLING[verb];
  if (!settling) return null;
  const done = () => cache.invalidateQueries({ queryKey: ["board"] });
  return (
    <button type="button" onClick={() => void attempt(() => settling.act(need.ref).then(done))}>
      {settling.text}
    </button>
  );
}
