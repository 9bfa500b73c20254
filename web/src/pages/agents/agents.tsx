import { useNavigate } from "@tanstack/react-router";
import { api, Refusal } from "../../api/client";
import { useCursor } from "../../keyboard/cursor";
import { useKeys } from "../../keyboard/keys";
import { cache } from "../../live/cache";
import { useBoard, useCrew } from "../../live/queries";
import { useMay } from "../../live/session";
import { Empty } from "../../parts/empty";
import { count, money, span } from "../../parts/format";
import { openMenuAt } from "../../parts/menu";
import { Section } from "../../parts/section";
import { openTelling } from "../../parts/telling";
import { useNow } from "../../parts/time";
import { attempt } from "../../parts/toasts";
import styles from "./agents.module.css";
import { type Machine, machines, memory, tasksOf } from "./machines";
import { Rests } from "./rests";
import { Seat } from "./seat";

/** Who there is to work: seats by machine, what each does, and which accounts rest. */
export default function AgentsPage() {
  const { data: crew, error } = useCrew();
  const board = useBoard().data;
  const navigate = useNavigate();
  const all = crew && board ? machines(crew, board.working) : [];
  const tasks = tasksOf(all);
  const { at } = useCursor(
    tasks.map((task) => task.id),
    (ref) => void navigate({ to: "/task/$ref", params: { ref } }),
  );
  const current = tasks.find((task) => task.id === at);
  useKeys(current ? [{ key: ".", does: "What may be done", run: () => openMenuAt(current) }] : []);
  if (error instanceof Refusal && !crew) {
    return (
      <Empty>
        {error.message}. {error.hint}
      </Empty>
    );
  }
  if (!crew || !board) return null;
  return (
    <div className={styles.page}>
      <div className={styles.fleet}>
        <span>
          <strong>{board.paused ? "Paused" : "At work"}</strong>{" "}
          <span className="quiet">
            {board.working.length} of {count(crew.seats.length, "agent")} ·{" "}
            {board.usd_per_hour ? `${money(board.usd_per_hour)}/h · ` : ""}
            {money(board.spent.cost_usd)} today
          </span>
        </span>
        <FleetButtons isPaused={board.paused} />
      </div>
      {board.paused && (
        <p className={styles.notice}>
          The fleet is paused: what runs goes on, but nothing new starts.
        </p>
      )}
      <Rests />
      {all.map((machine) => (
        <MachineSection key={machine.host} machine={machine} at={at} />
      ))}
      {all.length === 0 && (
        <Section title="Machines">
          <Empty command="fleet serve --agents 3">
            No runner is up. Start the server with agents, or a runner on any machine that reaches
            this fleet with <code>fleet run --agents 3</code>.
          </Empty>
        </Section>
      )}
    </div>
  );
}

function FleetButtons({ isPaused }: { isPaused: boolean }) {
  const mayPause = useMay("pause or resume the whole fleet");
  const mayTell = useMay("send messages to all");
  const done = () => cache.invalidateQueries({ queryKey: ["board"] });
  return (
    <span className={styles.buttons}>
      {mayTell && (
        <button type="button" onClick={() => openTelling("broadcast")}>
          Message to all…
        </button>
      )}
      {mayPause && (
        <button
          type="button"
          onClick={() =>
            void attempt(() =>
              (isPaused ? api.POST("/api/v1/resume") : api.POST("/api/v1/pause")).then(done),
            )
          }
        >
          {isPaused ? "Resume the fleet" : "Pause the fleet"}
        </button>
      )}
    </span>
  );
}

function MachineSection({ machine, at }: { machine: Machine; at: string | undefined }) {
  const now = useNow();
  const silent = machine.seenAt ? (now - Date.parse(machine.seenAt)) / 1000 : 0;
  const facts = [
    machine.runners > 1 ? count(machine.runners, "runner") : "",
    machine.seats.length ? `load ${machine.load.toFixed(1)}` : "",
    machine.memoryFreeMb ? `${memory(machine.memoryFreeMb)} free` : "",
    machine.seenAt ? `heard ${silent < 30 ? "now" : `${span(silent)} ago`}` : "stands by",
  ];
  return (
    <Section
      title={`${machine.host} (${machine.working} of ${machine.seats.length})`}
      aside={facts.filter(Boolean).join(" · ")}
    >
      {machine.seats.map((seat) => (
        <Seat
          key={`${seat.agent.runner} ${seat.agent.name}`}
          seat={seat}
          isAt={at !== undefined && at === seat.agent.task}
        />
      ))}
      {machine.seats.length === 0 && (
        <Empty>Its runner waits for work; it takes seats as soon as a task is ready.</Empty>
      )}
    </Section>
  );
}
