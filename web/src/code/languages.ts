import type { LanguageFn } from "highlight.js";

type Load = () => Promise<{ default: LanguageFn }>;

/** The languages that have colours, each loaded when a file of it is shown. */
export const LANGUAGES: Record<string, Load> = {
  bash: () => import("highlight.js/lib/languages/bash"),
  c: () => import("highlight.js/lib/languages/c"),
  cpp: () => import("highlight.js/lib/languages/cpp"),
  css: () => import("highlight.js/lib/languages/css"),
  dockerfile: () => import("highlight.js/lib/languages/dockerfile"),
  go: () => import("highlight.js/lib/languages/go"),
  ini: () => import("highlight.js/lib/languages/ini"),
  java: () => import("highlight.js/lib/languages/java"),
  javascript: () => import("highlight.js/lib/languages/javascript"),
  json: () => import("highlight.js/lib/languages/json"),
  kotlin: () => import("highlight.js/lib/languages/kotlin"),
  makefile: () => import("highlight.js/lib/languages/makefile"),
  markdown: () => import("highlight.js/lib/languages/markdown"),
  php: () => import("highlight.js/lib/languages/php"),
  python: () => import("highlight.js/lib/languages/python"),
  ruby: () => import("highlight.js/lib/languages/ruby"),
  rust: () => import("highlight.js/lib/languages/rust"),
  sql: () => import("highlight.js/lib/languages/sql"),
  swift: () => import("highlight.js/lib/languages/swift"),
  typescript: () => import("highlight.js/lib/languages/typescript"),
  xml: () => import("highlight.js/lib/languages/xml"),
  yaml: () => import("highlight.js/lib/languages/yaml"),
};

/** The languages that stand inside of others. */
export const INSIDE: Record<string, readonly string[]> = {
  javascript: ["xml"],
  typescript: ["xml"],
  markdown: ["xml"],
  php: ["xml"],
  xml: ["css", "javascript"],
};

/** The endings of file names, which agents also write at the top of a block of code. */
const ENDINGS: Record<string, string> = {
  ...{ bash: "bash", sh: "bash", zsh: "bash", shell: "bash", console: "bash" },
  ...{ c: "c", h: "c", cc: "cpp", cpp: "cpp", cxx: "cpp", hh: "cpp", hpp: "cpp" },
  ...{ css: "css", scss: "css", less: "css", dockerfile: "dockerfile", go: "go" },
  ...{ cfg: "ini", ini: "ini", toml: "ini", java: "java", kt: "kotlin", kts: "kotlin" },
  ...{ cjs: "javascript", js: "javascript", jsx: "javascript", mjs: "javascript" },
  ...{ javascript: "javascript", json: "json", jsonc: "json", jsonl: "json", kotlin: "kotlin" },
  ...{ mk: "makefile", makefile: "makefile", md: "markdown", markdown: "markdown", php: "php" },
  ...{ py: "python", pyi: "python", python: "python", rb: "ruby", ruby: "ruby" },
  ...{ rs: "rust", rust: "rust", sql: "sql", swift: "swift" },
  ...{ cts: "typescript", mts: "typescript", ts: "typescript", tsx: "typescript" },
  ...{ typescript: "typescript", htm: "xml", html: "xml", svg: "xml", xml: "xml" },
  ...{ yaml: "yaml", yml: "yaml" },
};

const NAMES: Record<string, string> = {
  containerfile: "dockerfile",
  dockerfile: "dockerfile",
  gemfile: "ruby",
  gnumakefile: "makefile",
  makefile: "makefile",
  rakefile: "ruby",
};

/** The language of a file, by its name; undefined if it has no colours. */
export function languageOf(path: string): string | undefined {
  const [stem = "", ...rest] = path
    .slice(path.lastIndexOf("/") + 1)
    .toLowerCase()
    .split(".");
  return own(ENDINGS, rest.at(-1) ?? "") ?? own(NAMES, stem);
}

/** The language that somebody calls by this word, as in a fenced block of code. */
export function languageCalled(word: string): string | undefined {
  return own(ENDINGS, word.toLowerCase());
}

/** What a table says: names of files come from agents, and may be `constructor`. */
function own(table: Record<string, string>, key: string): string | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}
