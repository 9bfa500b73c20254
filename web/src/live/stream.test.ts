import { expect, test, vi } from "vitest";
import type { Event } from "../api/schema";
import { Stream } from "./stream";

class FakeSocket {
  sent: string[] = [];
  onopen: (() => void) | null = null;
  onmessage: ((said: { data: string }) => void) | null = null;
  onclose: ((closed: { code: number }) => void) | null = null;
  send(text: string): void {
    this.sent.push(text);
  }
  close(): void {}
  says(message: unknown): void {
    this.onmessage?.({ data: JSON.stringify(message) });
  }
}

function begun() {
  vi.useFakeTimers();
  const sockets: FakeSocket[] = [];
  const events: number[] = [];
  const missed = vi.fn();
  const heard = { event: (event: Event) => events.push(event.seq), missed };
  const stream = new Stream(heard, () => {
    const socket = new FakeSocket();
    sockets.push(socket);
    return socket as unknown as WebSocket;
  });
  stream.start();
  const [first] = sockets;
  if (!first) throw new Error("it did not connect");
  first.onopen?.();
  first.says({ type: "subscribed", after: 7 });
  return { stream, sockets, first, events, missed };
}

test("it begins at the newest event", () => {
  const { stream, first } = begun();
  expect(first.sent).toEqual(['{"type":"subscribe"}']);
  expect(stream.liveness.get()).toEqual({ connection: "live", seq: 7 });
});

test("after a break it goes on where it stopped", () => {
  const { stream, sockets, first, events } = begun();
  first.says({ type: "event", event: { seq: 8 } });
  first.onclose?.({ code: 1012 });
  expect(stream.liveness.get().connection).toBe("offline");
  vi.advanceTimersByTime(300);
  sockets[1]?.onopen?.();
  expect(sockets[1]?.sent).toEqual(['{"type":"subscribe","after":8}']);
  sockets[1]?.says({ type: "subscribed", after: 8 });
  sockets[1]?.says({ type: "event", event: { seq: 9 } });
  expect(events).toEqual([8, 9]);
  expect(stream.liveness.get()).toEqual({ connection: "live", seq: 9 });
});

test("a gap makes all that is known old", () => {
  const { stream, first, missed } = begun();
  first.says({ type: "gap", after: 7, until: 2000 });
  expect(missed).toHaveBeenCalledOnce();
  expect(stream.liveness.get()).toEqual({ connection: "behind", seq: 2000 });
});

test("who is refused does not come back", () => {
  const { stream, sockets, first } = begun();
  first.onclose?.({ code: 1008 });
  vi.advanceTimersByTime(60_000);
  expect(stream.liveness.get().connection).toBe("refused");
  expect(sockets).toHaveLength(1);
});
