import { External } from "../live/external";

/** Filters of the board under a name. They are kept in this browser; an address shares one. */
export interface View {
  name: string;
  search: Readonly<Record<string, string>>;
}

const KEY = "views";

export const views = new External<readonly View[]>(read(localStorage.getItem(KEY)));

addEventListener("storage", (event) => {
  if (event.key === KEY) views.set(read(event.newValue));
});

/** Keep a view, instead of an older one of the same name. */
export function saveView(view: View): void {
  keep([...views.get().filter(({ name }) => name !== view.name), view]);
}

export function removeView(name: string): void {
  keep(views.get().filter((view) => view.name !== name));
}

function keep(after: readonly View[]): void {
  const sorted = [...after].sort((one, other) => one.name.localeCompare(other.name));
  localStorage.setItem(KEY, JSON.stringify(sorted));
  views.set(sorted);
}

/** What was kept; nothing, if something else has written there. */
export function read(text: string | null): readonly View[] {
  try {
    const found: unknown = JSON.parse(text ?? "[]");
    return Array.isArray(found) ? found.filter(isView) : [];
  } catch {
    return [];
  }
}

function isView(found: unknown): found is View {
  const { name, search } = (found ?? {}) as Partial<View>;
  return typeof name === "string" && typeof search === "object" && search !== null;
}
