/** What was typed as a payload: a JSON object as it is, anything else as its text. */
export function payloadOf(typed: string): Record<string, unknown> {
  try {
    const said: unknown = JSON.parse(typed);
    if (typeof said === "object" && said !== null && !Array.isArray(said)) {
      return said as Record<string, unknown>;
    }
  } catch {
    // It is text.
  }
  return { text: typed };
}

/** A payload as lines that people read: a lone text as such, everything else by its keys. */
export function linesOf(payload: Readonly<Record<string, unknown>>): [key: string, text: string][] {
  return Object.entries(payload).map(([key, value]) => [key === "text" ? "" : key, textOf(value)]);
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value) && value.every((each) => typeof each === "string")) {
    return value.join(", ");
  }
  return JSON.stringify(value);
}
