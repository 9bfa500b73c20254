import { Link } from "@tanstack/react-router";
import type { Event } from "../../api/schema";
import { useAgents, useBoard, useConflicts, useLog, useTasks } from "../../live/queries";
import { Empty } from "../../parts/empty";
import { rows, Section } from "../../parts/section";
import { TaskChip } from "../../parts/task-chip";
import { Ago } from "../../parts/time";
import styles from "./costs.module.css";

const RECENT = 50;

/** Agents and tasks by state, as they are now. */
export function FleetNow() {
  const agents = useAgents().data ?? [];
  const counts = useBoard().data?.counts ?? {};
  const states = new Map<string, number>();
  for (const each of agents) states.set(each.state, (states.get(each.state) ?? 0) + 1);
  return (
    <div className={styles.halves}>
      <Section title="Agents now" aside={agents.length}>
        <States many={[...states].sort()} />
        {agents.length === 0 && (
          <Empty command="fleet serve --agents 3">
            No agents are running. Start the server with some:
          </Empty>
        )}
      </Section>
      <Section title="Tasks now">
        <States many={Object.entries(counts).filter(([, many]) => many > 0)} />
        {Object.keys(counts).length === 0 && (
          <Empty command={'fleet add "Title"'}>No tasks yet. Add one:</Empty>
        )}
      </Section>
    </div>
  );
}

function States({ many }: { many: readonly [state: string, many: number][] }) {
  if (many.length === 0) return null;
  return (
    <dl className={styles.states}>
      {many.map(([state, each]) => (
        <div key={state}>
          <dt className="quiet">{state}</dt>
          <dd className="num">{each.toLocaleString("en")}</dd>
        </div>
      ))}
    </dl>
  );
}

/** When an account or a budget was at its limit. */
export function Limits({ events }: { events: readonly Event[] }) {
  return (
    <Section title="Limits hit" aside={events.length || ""}>
      {events.map((event) => (
        <div key={event.seq} className={rows.row}>
          <span className={`clip ${rows.grow}`} dir="auto" title={event.text}>
            {event.text}
          </span>
          <Ago at={event.at} />
        </div>
      ))}
      {events.length === 0 && (
        <Empty command="fleet coders">
          No account rested and no budget ran out. Who rests now:
        </Empty>
      )}
    </Section>
  );
}

/** Which unfinished work collides. */
export function Conflicts() {
  const conflicts = useConflicts().data ?? [];
  return (
    <Section title="Conflicts now" aside={conflicts.length || ""}>
      {conflicts.map((each) => (
        <Collision key={each.id} tasks={each.tasks} paths={each.paths} />
      ))}
      {conflicts.length === 0 && (
        <Empty command="fleet status">No two agents change the same lines.</Empty>
      )}
    </Section>
  );
}

function Collision(props: { tasks: readonly string[]; paths: readonly string[] }) {
  const known = useTasks().data;
  return (
    <div className={rows.group}>
      {props.tasks.map((id) => {
        const task = known?.get(id);
        return <div key={id}>{task ? <TaskChip task={task} /> : <code>{id}</code>}</div>;
      })}
      <code className="quiet">{props.paths.join(", ")}</code>
    </div>
  );
}

/** The last events, the newest first. */
export function Activity() {
  const events = (useLog().data ?? []).slice(-RECENT).toReversed();
  return (
    <Section title="Recent activity" aside={events.length}>
      {events.map((event) => (
        <div key={event.seq} className={rows.row}>
          <code className={`clip ${styles.kind}`} title={event.kind}>
            {event.kind}
          </code>
          <span className={`clip ${rows.grow}`} dir="auto" title={event.text}>
            {event.text}
          </span>
          {event.task && (
            <Link to="/task/$ref" params={{ ref: event.task }} className={styles.id ?? ""}>
              <code>{event.task}</code>
            </Link>
          )}
          <Ago at={event.at} />
        </div>
      ))}
      {events.length === 0 && <Empty command="fleet log">Nothing has happened yet.</Empty>}
    </Section>
  );
}
