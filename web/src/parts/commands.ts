import { address, api } from "../api/client";
import type { Right, WorkflowStatus } from "../api/schema";
import { cache } from "../live/cache";
import { signOut, visitor } from "../live/session";
import { isOn, switchNotifications } from "../notifications/switch";
import { FLOW_MOVES, performFlow } from "./flow-moves";
import { openNewTask } from "./new-task";
import { type Kind, openTelling, TELLINGS } from "./telling";
import { nextTheme } from "./theme";
import { attempt } from "./toasts";

/** Something that the palette offers to those who have the right; without one, to everybody. */
export interface Command {
  text: string;
  detail?: string;
  right?: Right;
  run: () => void;
}

/** What the page is about, by the names in its address. */
export interface Here {
  flow?: string;
  swarm?: string;
  team?: string;
  repo?: string;
}

/** Opens a page, with what it should ask or show. */
export type Go = (to: string, search?: Record<string, string | boolean>) => void;

/** All commands that whoever is signed in may use. */
export function commands(here: Here, go: Go): readonly Command[] {
  const rights = visitor.get()?.rights ?? [];
  const all = [...about(here, go), ...ofTheFleet(go), ...ofTheMachine(go), ...ofThePage()];
  return all.filter(({ right }) => right === undefined || rights.includes(right));
}

/** What may be done with the workflow, swarm, team or repo that the page shows. */
function about({ flow, swarm, team, repo }: Here, go: Go): Command[] {
  const found: Command[] = [];
  if (flow) {
    const stands = cache.getQueryData<WorkflowStatus>(["workflows", flow]);
    for (const move of stands?.moves ?? []) {
      const run = () => void performFlow(move, flow);
      found.push({ text: `${FLOW_MOVES[move].text} this workflow`, detail: flow, run });
    }
  }
  const add = (text: string, to: string, ask: string, right: Right) =>
    found.push({ text, detail: to.split("/").at(-1) ?? "", right, run: () => go(to, { ask }) });
  if (swarm) {
    add("Spawn a worker in this swarm", `/swarms/${swarm}`, "worker", "spawn workers");
    add("Kill this swarm…", `/swarms/${swarm}`, "kill", "manage swarms");
  }
  if (team) {
    add("New token for this team", `/teams/${team}`, "token", "manage teams");
    add("Invite to this team", `/teams/${team}`, "invite", "manage teams");
    const remove = () => go("/teams", { remove: team });
    found.push({ text: "Remove this team…", detail: team, right: "manage teams", run: remove });
  }
  if (repo) {
    add("Add knowledge about this repo", `/repos/${repo}`, "knowledge", "talk to other agents");
    add("Claim files of this repo", `/repos/${repo}`, "claim", "talk to other agents");
  }
  return found;
}

function ofTheFleet(go: Go): Command[] {
  const told = (Object.keys(TELLINGS) as Kind[]).map((kind) => ({
    text: `${TELLINGS[kind].title}…`,
    right: TELLINGS[kind].right,
    run: () => openTelling(kind),
  }));
  return [
    { text: "New task", detail: "c", right: "add tasks", run: openNewTask },
    {
      text: "Start a workflow",
      right: "start a workflow",
      run: () => go("/workflows", { start: true }),
    },
    {
      text: "Spawn a worker",
      right: "spawn workers",
      run: () => go("/swarms", { tab: "workers", ask: "worker" }),
    },
    { text: "New swarm", right: "manage swarms", run: () => go("/swarms", { ask: "swarm" }) },
    {
      text: "Write mail or a handoff",
      right: "talk to other agents",
      run: () => go("/swarms", { tab: "mail", ask: "mail" }),
    },
    {
      text: "Write a checkpoint",
      right: "talk to other agents",
      run: () => go("/swarms", { tab: "checkpoints", ask: "checkpoint" }),
    },
    ...told,
    requested("Pause the fleet", () => api.POST("/api/v1/pause")),
    requested("Resume the fleet", () => api.POST("/api/v1/resume")),
  ];
}

function requested(text: string, act: () => Promise<unknown>): Command {
  return { text, right: "pause or resume the whole fleet", run: () => void attempt(act) };
}

function ofTheMachine(go: Go): Command[] {
  return [
    {
      text: "Register a repo",
      right: "add a repository",
      run: () => go("/repos", { ask: "repo" }),
    },
    { text: "New team", right: "manage teams", run: () => go("/teams", { ask: "team" }) },
    {
      text: "Clean up…",
      detail: "worktrees, branches, old files",
      right: "remove what is old",
      run: () => go("/settings", { ask: "clean" }),
    },
    {
      text: "Archive old events…",
      right: "archive events",
      run: () => go("/settings", { ask: "archive" }),
    },
    { text: "Export the fleet", right: "export a fleet", run: downloadExport },
    {
      text: "Check the machine",
      detail: "doctor",
      right: "change settings",
      run: () => go("/coders"),
    },
  ];
}

function downloadExport(): void {
  const link = document.createElement("a");
  link.href = address("/api/v1/export");
  link.download = "fleet.jsonl";
  link.click();
}

function ofThePage(): Command[] {
  return [
    { text: "Change the theme", detail: "light, dark, as the system", run: nextTheme },
    {
      text: isOn.get() ? "Stop notifications" : "Notify me of what needs me",
      run: () => void attempt(switchNotifications),
    },
    { text: "Sign out", run: () => void attempt(signOut) },
  ];
}
