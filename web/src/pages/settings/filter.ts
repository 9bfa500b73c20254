import type { Setting } from "../../api/schema";

export interface Filter {
  text?: string;
  /** Only what is not as it is by default. */
  changed?: boolean;
}

/** The settings that a filter leaves: all its words are in their name, value or meaning. */
export function fitting(settings: readonly Setting[], filter: Filter): Setting[] {
  const words = (filter.text ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  return settings.filter((each) => {
    if (filter.changed && each.source === "default") return false;
    const about = `${each.key} ${each.value} ${each.meaning} ${each.source}`.toLowerCase();
    return words.every((word) => about.includes(word));
  });
}

/** Where a value comes from in a word or two; the whole place is shown on hover. */
export function place(source: string): string {
  if (source.startsWith("home:")) return "fleet.toml";
  if (source.startsWith("repo:")) return "repo's fleet.toml";
  return source;
}

/** The command that does the same. */
export function command(key: string, value: string): string {
  return `fleet config set ${quoted(key)} ${quoted(value)}`;
}

function quoted(text: string): string {
  return /^[\w./:@%+,=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`;
}
