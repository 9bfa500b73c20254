import { Link, useNavigate } from "@tanstack/react-router";
import type { AtWork, Board, Landed, Waiting } from "../../api/schema";
import { useCursor } from "../../keyboard/cursor";
import { useBoard, useRepos } from "../../live/queries";
import { useMay } from "../../live/session";
import { Bar } from "../../parts/bar";
import { Empty } from "../../parts/empty";
import { money, span } from "../../parts/format";
import { Needs, useNeedKeys } from "../../parts/needs";
import { AddButton } from "../../parts/new-task";
import { rows, Section } from "../../parts/section";
import { Chip, TaskChip } from "../../parts/task-chip";
import { Ago, Elapsed, useNow } from "../../parts/time";
import styles from "./now.module.css";

/** Who needs me, who works on what, what comes next, what came out. */
export default function NowPage() {
  const { data: board } = useBoard();
  return board ? <Now board={board} /> : null;
}

function Now({ board }: { board: Board }) {
  const navigate = useNavigate();
  const ids = [
    ...board.needs.flatMap((need) => need.task?.id ?? []),
    ...board.working.map((each) => each.task.id),
    ...board.next_up.map((each) => each.task.id),
  ];
  const { at } = useCursor([...new Set(ids)], (ref) => {
    void navigate({ to: "/task/$ref", params: { ref } });
  });
  useNeedKeys(board.needs, at);
  return (
    <div className={styles.page}>
      {board.paused && (
        <p className={styles.notice}>
          The fleet is paused: nothing new starts until <code>fleet resume</code>.
        </p>
      )}
      <Needs needs={board.needs} at={at} />
      <Section title={`Working (${board.working.length} of ${board.seats})`} aside={rate(board)}>
        {board.working.map((each) => (
          <Working key={each.run.id} work={each} isAt={at === each.task.id} />
        ))}
        {board.working.length === 0 && <NobodyWorks board={board} />}
      </Section>
      <div className={styles.halves}>
        <Section title="Next up" aside={board.waiting || ""}>
          {board.next_up.slice(0, 12).map((each) => (
            <Next key={each.task.id} waiting={each} isAt={at === each.task.id} />
          ))}
          {board.next_up.length === 0 && <NothingWaits />}
        </Section>
        <Section title="Just landed">
          {board.landed.slice(0, 12).map((each) => (
            <Done key={each.task} landed={each} />
          ))}
          {board.landed.length === 0 && <Empty>What lands on a trunk shows up here.</Empty>}
        </Section>
      </div>
      {board.notices.map((notice) => (
        <p key={notice} className={styles.notice}>
          {notice}
        </p>
      ))}
    </div>
  );
}

function rate(board: Board): string {
  const today = `${money(board.spent.cost_usd)} today`;
  return board.usd_per_hour ? `${money(board.usd_per_hour)}/h · ${today}` : today;
}

function NothingWaits() {
  const repos = useRepos().data;
  const mayRegister = useMay("add a repository");
  if (repos?.length === 0) {
    return (
      <Empty
        command="fleet init"
        action={
          mayRegister && (
            <Link to="/repos" search={{ ask: "repo" }}>
              Register a repo
            </Link>
          )
        }
      >
        No repo yet. Register one of the server's machine; in its folder, a command does the same.
      </Empty>
    );
  }
  return (
    <Empty command={'fleet add "Title"'} action={<AddButton />}>
      Nothing waits in the queue.
    </Empty>
  );
}

function NobodyWorks({ board }: { board: Board }) {
  if (board.seats > 0) return <Empty>All agents are free.</Empty>;
  return (
    <Empty command="fleet serve --agents 3">
      No agents are running. Start the server with some:
    </Empty>
  );
}

function Working({ work, isAt }: { work: AtWork; isAt: boolean }) {
  const { agent, task, run } = work;
  const elapsed = (useNow() - Date.parse(run.started_at)) / 1000;
  const line = work.stopping || work.silent || work.doing;
  return (
    <div className={`${rows.group} ${isAt ? rows.at : ""}`} data-row={task.id}>
      <div className={styles.line}>
        <div className={rows.grow}>
          <TaskChip task={task} />
        </div>
        <span className={`quiet ${styles.agent}`}>
          {agent.name} · {run.coder}
        </span>
        <Elapsed since={run.started_at} />
        <span className={styles.usual}>
          {work.usual_s != null && (
            <Bar share={elapsed / work.usual_s} label={`usually ${span(work.usual_s)}`} />
          )}
        </span>
      </div>
      <div className={`${styles.line} ${styles.doing} quiet`}>
        <span className={`clip ${rows.grow}`} dir="auto" title={line}>
          {line || "starts"}
        </span>
        {run.context > 0 && (
          <span className="num" title="How much of the context window is in use">
            context {Math.round(run.context * 100)} %
          </span>
        )}
        {run.memory_mb > 0 && <span className="num">{run.memory_mb} MB</span>}
        <span className="num">
          {money(work.spent.cost_usd)}
          {task.budget?.usd ? ` of ${money(task.budget.usd)}` : ""}
        </span>
      </div>
    </div>
  );
}

function Next({ waiting, isAt }: { waiting: Waiting; isAt: boolean }) {
  const isBlocked = waiting.why === "needs" || waiting.why === "held_up";
  return (
    <div className={`${rows.row} ${isAt ? rows.at : ""}`} data-row={waiting.task.id}>
      <div className={rows.grow}>
        <TaskChip task={waiting.task} {...(isBlocked ? { state: "blocked" as const } : {})} />
      </div>
      <span className={`quiet clip ${styles.why}`} title={waiting.text}>
        {waiting.text}
      </span>
    </div>
  );
}

function Done({ landed }: { landed: Landed }) {
  return (
    <div className={rows.row}>
      <div className={rows.grow}>
        <Chip id={landed.task} title={landed.title || landed.task} state="completed" />
      </div>
      <code className="quiet">{landed.commit.slice(0, 8)}</code>
      <Ago at={landed.at} />
    </div>
  );
}
