import type { Event } from "../api/schema";
import { External } from "./external";

export type Connection = "connecting" | "live" | "behind" | "offline" | "refused";
export interface Liveness {
  connection: Connection;
  seq: number;
}

type Message =
  | { type: "subscribed"; after: number }
  | { type: "event"; event: Event }
  | { type: "gap"; after: number; until: number }
  | { type: "error" };

const REFUSED = 1008;
const SOONEST_MS = 250;
const LATEST_MS = 5000;
/** Without a sign of life for so long, a connection counts as lost. */
const PING_MS = 15_000;

export interface Heard {
  event(event: Event): void;
  /** Something was missed: whatever is known may be old. */
  missed(): void;
}

/** The one stream of events: it begins now, and after a break goes on where it stopped. */
export class Stream {
  readonly liveness = new External<Liveness>({ connection: "connecting", seq: 0 });
  private socket: WebSocket | null = null;
  private wait = SOONEST_MS;
  private hasBegun = false;
  private isClosed = false;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private pinging: ReturnType<typeof setInterval> | undefined;
  private heardAt = 0;

  constructor(
    private readonly heard: Heard,
    private readonly open: () => WebSocket,
  ) {}

  start(): void {
    this.isClosed = false;
    this.connect();
  }

  stop(): void {
    this.isClosed = true;
    clearTimeout(this.timer);
    clearInterval(this.pinging);
    this.socket?.close();
  }

  /** Try again now instead of later, as when the browser is online again. */
  hurry(): void {
    if (this.socket || this.isClosed) return;
    clearTimeout(this.timer);
    this.connect();
  }

  private connect(): void {
    const socket = this.open();
    this.socket = socket;
    socket.onopen = () => this.subscribe(socket);
    socket.onmessage = (said) => this.hear(JSON.parse(said.data as string) as Message);
    socket.onclose = (closed) => this.closed(closed.code);
  }

  private subscribe(socket: WebSocket): void {
    const after = this.hasBegun ? { after: this.liveness.get().seq } : {};
    socket.send(JSON.stringify({ type: "subscribe", ...after }));
    this.heardAt = Date.now();
    clearInterval(this.pinging);
    this.pinging = setInterval(() => {
      if (Date.now() - this.heardAt > 2 * PING_MS) socket.close();
      else socket.send('{"type":"ping"}');
    }, PING_MS);
  }

  private hear(message: Message): void {
    this.heardAt = Date.now();
    if (message.type === "subscribed") this.subscribed(message.after);
    else if (message.type === "event") {
      this.say("live", message.event.seq);
      this.heard.event(message.event);
    } else if (message.type === "gap") {
      this.say("behind", message.until);
      this.heard.missed();
    }
  }

  private subscribed(after: number): void {
    this.wait = SOONEST_MS;
    this.hasBegun = true;
    this.say("live", after);
  }

  private closed(code: number): void {
    this.socket = null;
    clearInterval(this.pinging);
    if (this.isClosed) return;
    if (code === REFUSED) {
      this.say("refused");
      return;
    }
    this.say("offline");
    this.timer = setTimeout(() => this.connect(), this.wait);
    this.wait = Math.min(this.wait * 2, LATEST_MS);
  }

  private say(connection: Connection, seq = this.liveness.get().seq): void {
    const before = this.liveness.get();
    if (before.connection === connection && before.seq === seq) return;
    this.liveness.set({ connection, seq });
  }
}
