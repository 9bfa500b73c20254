import type { Agent, AtWork, Crew, Task } from "../../api/schema";

export interface Seat {
  agent: Agent;
  work: AtWork | undefined;
}

/** A machine with the seats of its runners. */
export interface Machine {
  host: string;
  seats: Seat[];
  runners: number;
  working: number;
  /** Of its runners the highest: they measure the same machine. */
  load: number;
  memoryFreeMb: number;
  /** When its last runner was heard of; null if it stands by without a seat. */
  seenAt: string | null;
}

/** Seats by machine, with what each works on, and the machines that stand by. */
export function machines(crew: Crew, working: readonly AtWork[]): Machine[] {
  const runs = new Map(working.map((each) => [each.run.id, each]));
  const found = new Map<string, Machine>();
  for (const agent of crew.seats) {
    const seats = [...(found.get(agent.host)?.seats ?? [])];
    seats.push({ agent, work: agent.run ? runs.get(agent.run) : undefined });
    found.set(agent.host, machine(agent.host, seats));
  }
  for (const host of crew.standing_by) {
    if (!found.has(host)) found.set(host, machine(host, []));
  }
  return [...found.values()].sort((a, b) => a.host.localeCompare(b.host));
}

function machine(host: string, seats: Seat[]): Machine {
  const agents = seats.map((seat) => seat.agent);
  return {
    host,
    seats,
    runners: new Set(agents.map((agent) => agent.runner)).size,
    working: agents.filter((agent) => agent.state === "working").length,
    load: Math.max(0, ...agents.map((agent) => agent.load)),
    memoryFreeMb: Math.max(0, ...agents.map((agent) => agent.memory_free_mb)),
    seenAt:
      agents
        .map((agent) => agent.seen_at)
        .sort()
        .at(-1) ?? null,
  };
}

/** Gigabytes from a thousand megabytes on. */
export function memory(mb: number): string {
  return mb < 1000 ? `${mb} MB` : `${(mb / 1000).toFixed(1)} GB`;
}

/** The tasks at work, in the order in which their seats are shown. */
export function tasksOf(all: readonly Machine[]): Task[] {
  return all.flatMap((each) => each.seats.flatMap((seat) => seat.work?.task ?? []));
}
