import { agents } from "./agents";
import { board } from "./board";
import { coders } from "./coders";
import { conflicts } from "./conflicts";
import { costs } from "./costs";
import { graph } from "./graph";
import { inbox } from "./inbox";
import { now } from "./now";
import type { Page } from "./page";
import { repo, repos } from "./repos";
import { search } from "./search";
import { settings } from "./settings";
import { swarm, swarms } from "./swarms";
import { task } from "./task";
import { team, teams } from "./teams";
import { timeline } from "./timeline";
import { workflow, workflows } from "./workflows";

/** Every page, in the order of the navigation. A new page adds its line here. */
export const PAGES: readonly Page[] = [
  now,
  board,
  graph,
  timeline,
  inbox,
  conflicts,
  agents,
  workflows,
  workflow,
  swarms,
  swarm,
  costs,
  search,
  repos,
  repo,
  teams,
  team,
  coders,
  settings,
  task,
];
