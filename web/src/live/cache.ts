import { QueryClient } from "@tanstack/react-query";
import { api, Refusal, told } from "../api/client";
import type { Board, Event, Task } from "../api/schema";
import { forget } from "./session";
import { Stream } from "./stream";
import { isTalk, type Key, touched } from "./touched";

export type Tasks = ReadonlyMap<string, Task>;

const LONGEST_LOG = 2000;
/** More events than come while a log is being read. */
const RECENT = 500;
const SOON_MS = 16;
/** While much happens, what it touches is read again a third of the time, and at least so often. */
const LONGEST_PAUSE_MS = 300;
const PAUSES_PER_READING = 3;

/** All that the page knows of the fleet, by noun and id. Nothing grows old by itself. */
export const cache = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: Number.POSITIVE_INFINITY,
      retry: (failures, error) => error instanceof Refusal && error.status >= 500 && failures < 2,
      refetchOnWindowFocus: false,
      refetchOnReconnect: false,
    },
  },
});

/** Reads again what events have touched, in one go for all that come at once. */
class Refresher {
  private keys = new Map<string, Key>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private last = 0;
  private pause = 0;

  add(keys: readonly Key[]): void {
    for (const key of keys) this.keys.set(key.join(" "), key);
    if (this.keys.size > 0 && !this.timer) this.schedule(SOON_MS);
  }

  private schedule(soonest: number): void {
    clearTimeout(this.timer);
    const rest = this.last + this.pause - performance.now();
    this.timer = setTimeout(() => void this.flush(), Math.max(soonest, rest));
  }

  private async flush(): Promise<void> {
    const keys = [...this.keys.values()];
    this.keys.clear();
    this.timer = undefined;
    const began = performance.now();
    [this.last, this.pause] = [began, LONGEST_PAUSE_MS];
    await this.read(keys);
    const took = performance.now() - began;
    this.pause = Math.min(PAUSES_PER_READING * took, LONGEST_PAUSE_MS);
    if (this.timer) this.schedule(0);
  }

  /** Read again what is on the screen under these keys. */
  private async read(keys: readonly Key[]): Promise<void> {
    const ids = keys.flatMap(([noun, id]) => (noun === "tasks" && id ? [id] : []));
    const others = keys.filter(([noun]) => noun !== "tasks");
    await Promise.all([
      refreshTasks(ids).catch(() => this.postpone(ids)),
      ...others.map(readAgain),
    ]);
  }

  /** These could not be read: they are read together with what comes next. */
  private postpone(ids: readonly string[]): void {
    for (const id of ids) this.keys.set(`tasks ${id}`, ["tasks", id]);
  }
}

const refresher = new Refresher();
const hearers = new Set<(event: Event) => void>();

/** Be told of every event as it comes; returns how to end that. */
export function heard(hear: (event: Event) => void): () => void {
  hearers.add(hear);
  return () => hearers.delete(hear);
}

export const stream = new Stream(
  {
    event(event) {
      extendLog(event);
      if (isTalk(event)) showTalk(event);
      refresher.add(touched(event));
      for (const hear of hearers) hear(event);
    },
    missed() {
      void cache.invalidateQueries();
    },
  },
  () => new WebSocket(`${location.origin.replace(/^http/, "ws")}/ws`),
);
stream.liveness.watch(() => {
  if (stream.liveness.get().connection === "refused") forget();
});
followConnection();
cache.getQueryCache().subscribe(({ query }) => {
  const error = query.state.error;
  if (error instanceof Refusal && error.status === 401) forget();
});

/** What could not be read while the server was away is read as soon as it is back. */
function followConnection(): void {
  let wasOffline = false;
  stream.liveness.watch(() => {
    const { connection } = stream.liveness.get();
    if (wasOffline && connection === "live") void readWhatFailed();
    wasOffline = connection === "offline" || (wasOffline && connection !== "live");
  });
}

async function readWhatFailed(): Promise<void> {
  refresher.add([]);
  await cache.refetchQueries({
    type: "active",
    predicate: ({ state }) => state.isInvalidated || state.status === "error",
  });
}

/** Put tasks that were read into the one map of all tasks. */
export function keep(tasks: readonly Task[]): void {
  cache.setQueryData<Tasks>(["tasks"], (known) => known && newest(known, tasks));
}

/** Of each task the newest version that is in either. */
export function newest(known: Tasks, tasks: Iterable<Task>): Tasks {
  const after = new Map(known);
  for (const task of tasks) {
    if ((after.get(task.id)?.version ?? -1) <= task.version) after.set(task.id, task);
  }
  return after;
}

/** Read everything again that has to do with this task, because of what we just did to it. */
export function refresh(task: Task): void {
  keep([task]);
  refresher.add([["board"], ["details", task.id], ["moves", task.id], ["reviews", task.id]]);
}

/** Whatever is being read for the first time is read once more: it may be older than the event. */
async function readAgain(queryKey: Key): Promise<void> {
  const hasBegun = firstReadings(queryKey).length > 0;
  await cache.invalidateQueries({ queryKey });
  if (hasBegun) await cache.invalidateQueries({ queryKey });
}

function firstReadings(queryKey: Key) {
  const isFirst = ({ state }: { state: { data: unknown } }) => state.data === undefined;
  return cache.getQueryCache().findAll({ queryKey, fetchStatus: "fetching", predicate: isFirst });
}

async function refreshTasks(ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await Promise.all(firstReadings(["tasks"]).map((query) => query.fetch()));
  if (!cache.getQueryData(["tasks"])) return;
  const query = { ids: [...ids], limit: 1000 };
  const page = await told(api.GET("/api/v1/tasks", { params: { query } }));
  keep(page.tasks);
}

const news: Event[] = [];

/** A log that was read, and what has been heard of since it was asked for. */
export function withNews(log: readonly Event[], task?: string): readonly Event[] {
  const last = log.at(-1)?.seq ?? 0;
  const isNew = (event: Event) => event.seq > last && (!task || event.task === task);
  return [...log, ...news.filter(isNew)];
}

/** The log of a task that is on the screen goes on without being read again. */
function extendLog(event: Event): void {
  news.push(event);
  if (news.length > 2 * RECENT) news.splice(0, RECENT);
  for (const key of [["events"], ["events", event.task]]) {
    cache.setQueryData<readonly Event[]>(key, (log) => {
      if (!log || (log.at(-1)?.seq ?? 0) >= event.seq) return log;
      return [...log.slice(1 - LONGEST_LOG), event];
    });
  }
}

/** What an agent says is on the board at once. */
function showTalk(event: Event): void {
  cache.setQueryData<Board>(["board"], (board) => board && saying(board, event));
}

/** A board that was read, and what agents have said since it was asked for. */
export function withTalk(board: Board): Board {
  return news.filter((event) => event.seq > board.seq && isTalk(event)).reduce(saying, board);
}

function saying(board: Board, { run, text }: Event): Board {
  if (!board.working.some((each) => each.run.id === run)) return board;
  const working = board.working.map((each) =>
    each.run.id === run ? { ...each, doing: text, silent: "" } : each,
  );
  return { ...board, working };
}
