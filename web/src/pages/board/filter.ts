import type { Task } from "../../api/schema";

/** What one looks for on the board, as it is in the address. */
export interface Filter {
  text?: string;
  repo?: string;
  label?: string;
  coder?: string;
  team?: string;
}

export const CHOICES = ["repo", "label", "coder", "team"] as const;
const NAMES = ["text", ...CHOICES] as const;

/** The filter in an address, whatever somebody has typed there. */
export function filterIn(search: Readonly<Record<string, unknown>>): Filter {
  const given = NAMES.map((name) => [name, String(search[name] ?? "")]);
  return Object.fromEntries(given.filter(([, value]) => value));
}

export function isSame(one: Filter, other: Filter): boolean {
  return NAMES.every((name) => (one[name] ?? "") === (other[name] ?? ""));
}

export function isEmpty(filter: Filter): boolean {
  return isSame(filter, {});
}

/** Whether a task fits: every choice, and all the words. */
export function matcher(filter: Filter): (task: Task) => boolean {
  const words = (filter.text ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  return (task) => {
    if (filter.repo && task.repo !== filter.repo) return false;
    if (filter.coder && task.coder !== filter.coder) return false;
    if (filter.team && task.team !== filter.team) return false;
    if (filter.label && !task.labels.includes(filter.label)) return false;
    if (words.length === 0) return true;
    const about = `${task.title} ${task.id} ${task.labels.join(" ")}`.toLowerCase();
    return words.every((word) => about.includes(word));
  };
}

/** What there is to choose from. */
export function valuesOf(tasks: Iterable<Task>): Record<(typeof CHOICES)[number], string[]> {
  const [repo, label, coder, team] = CHOICES.map(() => new Set<string>()) as Four;
  for (const task of tasks) {
    repo.add(task.repo);
    for (const each of task.labels) label.add(each);
    if (task.coder) coder.add(task.coder);
    if (task.team) team.add(task.team);
  }
  const list = (set: Set<string>) => [...set].sort();
  return { repo: list(repo), label: list(label), coder: list(coder), team: list(team) };
}

type Four = [Set<string>, Set<string>, Set<string>, Set<string>];
