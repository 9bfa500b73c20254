import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import type { Task } from "../api/schema";
import { useKeys } from "../keyboard/keys";
import { External, useExternal } from "../live/external";
import { useMoves } from "../live/queries";
import { isAct, perform } from "./asking";
import styles from "./menu.module.css";

interface Open {
  task: Task;
  x: number;
  y: number;
}

const open = new External<Open | null>(null);
const WIDTH = 200;

/** Show what the core lets one do with this task. */
export function openMenu(task: Task, x: number, y: number): void {
  open.set({ task, x, y });
}

/** The same next to the row of a task, for the keyboard. */
export function openMenuAt(task: Task): void {
  const row = document.querySelector(`[data-row="${CSS.escape(task.id)}"]`);
  const at = row?.getBoundingClientRect();
  openMenu(task, (at?.left ?? 100) + 24, at?.bottom ?? 100);
}

export function Menu() {
  const shown = useExternal(open);
  return shown && <Shown key={shown.task.id} {...shown} />;
}

function Shown({ task, x, y }: Open) {
  const moves = useMoves(task.id).data;
  const box = useRef<HTMLDivElement>(null);
  const navigate = useNavigate();
  const close = () => open.set(null);
  const step = (by: number) => {
    const items = [...(box.current?.querySelectorAll("button") ?? [])];
    const at = items.indexOf(document.activeElement as HTMLButtonElement);
    items[(at + by + items.length) % items.length]?.focus();
  };
  useKeys(
    [
      { key: "Escape", does: "Close", run: close },
      { key: "j", does: "Next", run: () => step(1) },
      { key: "k", does: "Previous", run: () => step(-1) },
      { key: "ArrowDown", does: "Next", run: () => step(1) },
      { key: "ArrowUp", does: "Previous", run: () => step(-1) },
    ],
    true,
  );
  useEffect(() => {
    const menu = box.current;
    if (!menu) return;
    menu.style.left = `${Math.min(x, innerWidth - WIDTH - 8)}px`;
    menu.style.top = `${Math.min(y, innerHeight - menu.offsetHeight - 8)}px`;
    if (moves) menu.querySelector("button")?.focus();
  }, [x, y, moves]);
  const verbs = (moves ?? []).filter(({ verb }) => isAct(verb));
  return (
    <>
      <button type="button" className={styles.shade} aria-label="Close the menu" onClick={close} />
      <div ref={box} className={styles.menu} role="menu" aria-label={task.title}>
        <button
          type="button"
          role="menuitem"
          onClick={() => {
            close();
            void navigate({ to: "/task/$ref", params: { ref: task.id } });
          }}
        >
          Open
        </button>
        {verbs.map(({ verb }) => (
          <button
            key={verb}
            type="button"
            role="menuitem"
            onClick={() => {
              close();
              perform(verb, task);
            }}
          >
            {TEXTS[verb] ?? label(verb)}
          </button>
        ))}
      </div>
    </>
  );
}

const TEXTS: Record<string, string> = {
  answer: "Answer…",
  reject: "Send back…",
  send: "Send a message…",
};

export function label(verb: string): string {
  return TEXTS[verb] ?? verb.charAt(0).toUpperCase() + verb.slice(1);
}
