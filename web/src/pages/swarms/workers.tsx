import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../api/client";
import type { Worker } from "../../api/schema";
import { useCursor } from "../../keyboard/cursor";
import { useKeys } from "../../keyboard/keys";
import { cache, refresh } from "../../live/cache";
import { useOutput, useRepos, useSwarms, useTasks, useWorkers } from "../../live/queries";
import { useMay } from "../../live/session";
import { useAsked } from "../../parts/asked";
import { Empty } from "../../parts/empty";
import { FormDialog } from "../../parts/form-dialog";
import { openMenuAt } from "../../parts/menu";
import { Moves } from "../../parts/moves";
import { rows, Section } from "../../parts/section";
import { TaskChip } from "../../parts/task-chip";
import { Ago } from "../../parts/time";
import { attempt } from "../../parts/toasts";
import type { SwarmSearch } from "./swarms";
import styles from "./swarms.module.css";
import { Worktree } from "./worktree";

export function WorkersTab() {
  const workers = useWorkers().data;
  return workers ? <WorkerList workers={workers} /> : null;
}

/** Workers with what can be done with each; with a `swarm`, new ones join that. */
export function WorkerList(props: { workers: readonly Worker[]; swarm?: string }) {
  const { workers } = props;
  const { worker: open } = useSearch({ strict: false }) as SwarmSearch;
  const mayRead = useMay("read the output of others");
  const maySpawn = useMay("spawn workers");
  const tasks = useTasks().data;
  const navigate = useNavigate();
  const [isNew, setNew] = useAsked("worker");
  const show = (task: string) => {
    const search = (old: SwarmSearch) => ({ ...old, worker: task === open ? undefined : task });
    void navigate({ to: ".", search, replace: true });
  };
  const { at } = useCursor(
    workers.map((worker) => worker.task),
    mayRead ? show : (ref) => void navigate({ to: "/task/$ref", params: { ref } }),
  );
  const current = at ? tasks?.get(at) : undefined;
  useKeys([
    ...(current ? [{ key: ".", does: "What may be done", run: () => openMenuAt(current) }] : []),
    ...(maySpawn ? [{ key: "w", does: "Spawn a worker", run: () => setNew(true) }] : []),
  ]);
  const button = maySpawn && (
    <button type="button" className={workers.length ? "bare" : ""} onClick={() => setNew(true)}>
      Spawn a worker
    </button>
  );
  return (
    <>
      <Section title={`Workers (${workers.length})`} aside={workers.length > 0 && button}>
        {workers.map((worker) => (
          <Row
            key={worker.task}
            worker={worker}
            isAt={at === worker.task}
            isOpen={mayRead && open === worker.task}
            {...(mayRead ? { show: () => show(worker.task) } : {})}
          />
        ))}
        {workers.length === 0 && (
          <Empty command={'fleet spawn scout "What to do"'} action={button}>
            Nobody is at work under a handle. A worker is an agent that others can call by name.
          </Empty>
        )}
      </Section>
      {isNew && maySpawn && <Spawn close={() => setNew(false)} swarm={props.swarm} />}
    </>
  );
}

function Row(props: { worker: Worker; isAt: boolean; isOpen: boolean; show?: () => void }) {
  const { worker } = props;
  const task = useTasks().data?.get(worker.task);
  const mayDismiss = useMay("cancel");
  const dismiss = async () => {
    const path = { handle: worker.task };
    const { data } = await api.DELETE("/api/v1/workers/{handle}", { params: { path } });
    if (data) refresh(data);
    await cache.invalidateQueries({ queryKey: ["workers"] });
  };
  return (
    <div className={`${rows.group} ${props.isAt ? rows.at : ""}`} data-row={worker.task}>
      <div className={styles.worker}>
        <strong>{worker.handle}</strong>
        <div className={styles.task}>{task && <TaskChip task={task} />}</div>
        <span className="quiet">
          {worker.state}
          {worker.health !== "healthy" && ` · ${worker.health}`}
          {worker.restarts > 0 && ` · started ${worker.restarts + 1} times`} ·{" "}
          <Ago at={worker.spawned_at} />
        </span>
        <span className={styles.buttons}>
          {task && <Moves task={task} verbs={["send"]} />}
          {props.show && worker.run && (
            <button type="button" aria-expanded={props.isOpen} onClick={props.show}>
              Output
            </button>
          )}
          {mayDismiss && (
            <button
              type="button"
              onClick={() => void attempt(dismiss, `${worker.handle} is dismissed`)}
            >
              Dismiss
            </button>
          )}
        </span>
      </div>
      {props.isOpen && worker.run && (
        <>
          <Worktree worker={worker} />
          <Output task={worker.task} />
        </>
      )}
    </div>
  );
}

function Output({ task }: { task: string }) {
  const { data, refetch } = useOutput(task);
  return (
    <div className={styles.output}>
      <pre dir="auto">{data || "It has printed nothing yet."}</pre>
      <button type="button" onClick={() => void refetch()}>
        Read again
      </button>
    </div>
  );
}

function Spawn({ swarm: given, close }: { swarm: string | undefined; close: () => void }) {
  const repos = useRepos().data ?? [];
  const swarms = useSwarms(false).data ?? [];
  const [handle, setHandle] = useState("");
  const [prompt, setPrompt] = useState("");
  const [swarm, setSwarm] = useState(given ?? "");
  const [repo, setRepo] = useState("");
  const spawn = async () => {
    const where = { ...(swarm ? { swarm } : {}), ...(repo ? { repo } : {}) };
    const { data } = await api.POST("/api/v1/workers", { body: { handle, prompt, ...where } });
    if (data) refresh(data);
    await cache.invalidateQueries({ queryKey: ["workers"] });
  };
  return (
    <FormDialog
      title="Spawn a worker"
      button="Spawn"
      done={`${handle} starts as soon as a seat is free`}
      close={close}
      submit={spawn}
    >
      <label>
        Handle
        <input
          required
          placeholder="scout"
          value={handle}
          onChange={(event) => setHandle(event.target.value)}
        />
      </label>
      <label>
        Prompt
        <textarea
          required
          rows={5}
          value={prompt}
          onChange={(event) => setPrompt(event.target.value)}
        />
      </label>
      <label>
        Swarm
        <select value={swarm} onChange={(event) => setSwarm(event.target.value)}>
          <option value="">none</option>
          {swarms.map((each) => (
            <option key={each.id} value={each.id}>
              {each.name}
            </option>
          ))}
        </select>
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
    </FormDialog>
  );
}
