import { api, told } from "../api/client";
import type { Task } from "../api/schema";
import { refresh } from "./cache";

/** What people do with a task. Each is a request; the core decides, and its refusal is shown. */
export const acts = {
  pause: (ref: string) => done(api.POST("/api/v1/tasks/{ref}/pause", at(ref))),
  resume: (ref: string) => done(api.POST("/api/v1/tasks/{ref}/resume", at(ref))),
  cancel: (ref: string) => done(api.POST("/api/v1/tasks/{ref}/cancel", at(ref))),
  retry: (ref: string) => done(api.POST("/api/v1/tasks/{ref}/retry", at(ref))),
  land: (ref: string) => done(api.POST("/api/v1/tasks/{ref}/land", { ...at(ref), body: {} })),
  reject: (ref: string, why: string) =>
    done(api.POST("/api/v1/tasks/{ref}/reject", { ...at(ref), body: { why } })),
  answer: (ref: string, text: string) =>
    done(api.POST("/api/v1/tasks/{ref}/answer", { ...at(ref), body: { text } })),
  edit: (ref: string, changes: Partial<Task>) =>
    done(api.PATCH("/api/v1/tasks/{ref}", { ...at(ref), body: changes })),
  send: (ref: string, text: string) =>
    told(api.POST("/api/v1/tasks/{ref}/messages", { ...at(ref), body: { text } })),
};

/** What can be done with a task in one word; the others need a text. */
export type Act = "pause" | "resume" | "cancel" | "retry" | "land";
export const WORDLESS: readonly string[] = ["pause", "resume", "cancel", "retry", "land"];

function at(ref: string) {
  return { params: { path: { ref } } };
}

async function done(asked: Promise<{ data?: Task }>): Promise<Task> {
  const task = await told(asked);
  refresh(task);
  return task;
}
