import { useNavigate, useParams } from "@tanstack/react-router";
import { useEffect, useMemo, useRef, useState } from "react";
import type { Task } from "../api/schema";
import { useKeys } from "../keyboard/keys";
import { External, useExternal } from "../live/external";
import { useMoves, useTasks } from "../live/queries";
import { PAGES } from "../pages";
import { isAct, perform } from "./asking";
import { type Command, commands, type Go, type Here } from "./commands";
import { Dialog } from "./dialog";
import { label } from "./menu";
import styles from "./palette.module.css";
import { views } from "./saved-views";
import { StateDot, shown } from "./state";

const isOpen = new External(false);
const SHOWN = 12;

export function openPalette(): void {
  isOpen.set(true);
}

export function Palette() {
  return useExternal(isOpen) && <Open />;
}

interface Choice {
  id: string;
  text: string;
  detail: string;
  task?: Task;
  run: () => void;
}

function Open() {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const choices = useChoices(text);
  const close = () => isOpen.set(false);
  const choose = (choice: Choice | undefined) => {
    if (!choice) return;
    close();
    choice.run();
  };
  const step = (by: number) =>
    setAt((old) => Math.min(Math.max(old + by, 0), Math.max(choices.length - 1, 0)));
  useKeys([
    { key: "ArrowDown", does: "Next", always: true, run: () => step(1) },
    { key: "ArrowUp", does: "Previous", always: true, run: () => step(-1) },
    { key: "Enter", does: "Choose", always: true, run: () => choose(choices[at]) },
  ]);
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    list.current?.children[at]?.scrollIntoView({ block: "nearest" });
  }, [at]);
  return (
    <Dialog title="Everything" close={close}>
      <input
        autoFocus
        className={styles.input}
        placeholder="A page, a task or something to do"
        aria-label="Search pages, tasks and commands"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setAt(0);
        }}
      />
      <div ref={list} className={styles.list} role="listbox" aria-label="Found">
        {choices.map((choice, index) => (
          <button
            key={choice.id}
            type="button"
            role="option"
            aria-selected={index === at}
            className={index === at ? styles.at : ""}
            onMouseMove={() => setAt(index)} // not of a mouse that only rests there
            onClick={() => choose(choice)}
          >
            {choice.task && <StateDot state={shown(choice.task)} />}
            <span dir="auto">{choice.text}</span>
            <small>{choice.detail}</small>
          </button>
        ))}
        {choices.length === 0 && <p className="quiet">Nothing is called that.</p>}
      </div>
    </Dialog>
  );
}

/** What may be done, pages, and tasks whose title or id has all the words. */
function useChoices(text: string): readonly Choice[] {
  const known = useKnown();
  const navigate = useNavigate();
  const tasks = useTasks().data;
  return useMemo(() => {
    const asked = text.trim().toLowerCase();
    const words = asked.split(/\s+/).filter(Boolean);
    const fits = (about: string) => words.every((word) => about.toLowerCase().includes(word));
    const begins = (choice: Choice) => Number(choice.text.toLowerCase().startsWith(asked));
    const found: Choice[] = [];
    for (const task of words.length ? (tasks?.values() ?? []) : []) {
      if (found.length >= SHOWN) break;
      if (!fits(`${task.title} ${task.id}`)) continue;
      const run = () => void navigate({ to: "/task/$ref", params: { ref: task.id } });
      found.push({ id: `task ${task.id}`, text: task.title, detail: task.id, task, run });
    }
    const named = known.filter((choice) => fits(choice.text));
    return [...named.sort((one, other) => begins(other) - begins(one)), ...found];
  }, [text, known, tasks, navigate]);
}

/** What the core lets one do with the task of this page, all commands, and all pages. */
function useKnown(): readonly Choice[] {
  const navigate = useNavigate();
  const here = useParams({ strict: false }) as Here & { ref?: string };
  const task = useTasks().data?.get(here.ref ?? "");
  const moves = useMoves(here.ref).data;
  return useMemo(() => {
    const go: Go = (to, search = {}) => void navigate({ to, search });
    const verbs = (task && moves ? moves : []).flatMap(({ verb }) => does(verb, task, go) ?? []);
    const pages = PAGES.filter((page) => page.nav).map(({ path, title }) => ({
      text: title,
      detail: "page",
      run: () => go(path),
    }));
    const saved = views.get().map(({ name, search }) => ({
      text: name,
      detail: "view of the board",
      run: () => go("/board", search),
    }));
    const all: Command[] = [...verbs, ...commands(here, go), ...pages, ...saved];
    return all.map((each) => ({ detail: "", ...each, id: `${each.detail} ${each.text}` }));
  }, [task, moves, here, navigate]);
}

function does(verb: string, task: Task | undefined, go: Go): Command | undefined {
  if (!task) return undefined;
  if (verb === "comment") {
    const run = () => go(`/task/${task.id}`, { tab: "diff" });
    return { text: "Comment on lines", detail: task.id, run };
  }
  if (!isAct(verb)) return undefined;
  return { text: label(verb), detail: task.id, run: () => perform(verb, task) };
}
