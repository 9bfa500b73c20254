import type { CoderFacts, Finding } from "../../api/schema";

/** A coder as its page shows it: the facts, and what the doctor found out about its program. */
export interface Known {
  facts: CoderFacts;
  finding?: Finding;
  version: string;
  login: "logged in" | "not logged in" | "";
}

/** The coders that can be used or need a fix first, then those that nobody has set up. */
export function known(coders: readonly CoderFacts[], findings: readonly Finding[]): Known[] {
  const found = coders.map((facts) => {
    const finding = findings.find((each) => each.facts.coder === facts.name);
    const version = finding?.facts.version;
    return {
      facts,
      ...(finding ? { finding } : {}),
      version: typeof version === "string" ? version : "",
      login: loginOf(finding),
    };
  });
  return found.sort((one, other) => rank(one) - rank(other));
}

function loginOf(finding: Finding | undefined): Known["login"] {
  const isIn = finding?.facts.logged_in;
  return isIn === true ? "logged in" : isIn === false ? "not logged in" : "";
}

function rank(each: Known): number {
  return each.facts.trouble === "" ? 0 : each.finding?.fix ? 1 : 2;
}

/** What is not about a coder: what must be fixed first, then what may be, then what is well. */
export function others(findings: readonly Finding[]): Finding[] {
  const rest = findings.filter((each) => !("coder" in each.facts));
  return rest.sort((one, other) => weight(one) - weight(other));
}

export function weight(finding: Finding): 0 | 1 | 2 {
  return finding.fix === "" ? 2 : finding.must ? 0 : 1;
}

/** A sentence in pieces; what is between backticks is a command. */
export function spoken(text: string): { text: string; isCode: boolean; at: number }[] {
  return text
    .split("`")
    .map((piece, at) => ({ text: piece, isCode: at % 2 === 1, at }))
    .filter((piece) => piece.text !== "");
}
