import createClient, { type Middleware } from "openapi-fetch";
import type { Problem, paths } from "./schema";

/** What the core says when it refuses: its sentence, and what to do about it. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly hint: string,
  ) {
    super(message);
  }
}

const UNREACHABLE = new Refusal(
  0,
  "unreachable",
  "the server does not answer",
  "start it with `fleet serve`; the page goes on by itself",
);

const refusals: Middleware = {
  async onResponse({ response }) {
    if (response.ok) return undefined;
    throw await refusal(response);
  },
  onError({ error }) {
    return error instanceof Refusal ? error : UNREACHABLE;
  },
};

export const api = createClient<paths>({
  querySerializer: { array: { style: "form", explode: true } },
});
api.use(refusals);

type Readable = { [P in keyof paths]: paths[P] extends { get: object } ? P : never }[keyof paths];

/** The address of something to download, with its query. */
export const address = (path: Readable, query: Record<string, string> = {}): string =>
  [path, new URLSearchParams(query)].join("?");

/** The answer of a request: a refusal was thrown before. */
export async function told<T>(asked: Promise<{ data?: T }>): Promise<T> {
  return (await asked).data as T;
}

async function refusal(response: Response): Promise<Refusal> {
  try {
    const told = (await response.json()) as Problem;
    return new Refusal(response.status, told.code, told.detail, told.hint);
  } catch {
    return new Refusal(response.status, "unknown", `the server answered ${response.status}`, "");
  }
}
