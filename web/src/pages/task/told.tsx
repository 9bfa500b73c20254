import { memo } from "react";
import type { Event, Run } from "../../api/schema";
import { Block } from "../../code/code";
import { count } from "../../parts/format";
import { StateDot } from "../../parts/state";
import { Ago } from "../../parts/time";
import { parts, type Told } from "./conversation";
import styles from "./live.module.css";
import { ToolLine } from "./tool-line";

/** One thing that was told. `many` is how many events have been added to it in place. */
export const Line = memo(
  function Line({ told, runs }: { told: Told; many: number; runs: readonly Run[] }) {
    const { voice, event } = told;
    if (voice === "fleet") return <Fact event={event} />;
    if (voice === "tool") return <ToolLine event={event} result={told.more[0]?.text} />;
    if (voice === "thought") return <Thought event={event} />;
    if (voice === "check") {
      return (
        <Checks events={[event, ...told.more]} run={runs.find(({ id }) => id === event.run)} />
      );
    }
    return <Words event={event} isHuman={voice === "human"} />;
  },
  (before, after) =>
    before.told.event === after.told.event &&
    before.many === after.many &&
    (after.told.voice !== "check" || before.runs === after.runs),
);

function Words({ event, isHuman }: { event: Event; isHuman: boolean }) {
  return (
    <div className={`${styles.said} ${isHuman ? styles.human : ""}`}>
      <div className="quiet">
        {isHuman ? event.by || "human" : (event.agent ?? "agent")} <Ago at={event.at} />
      </div>
      {parts(event.text).map(({ text, language }, at) =>
        language === undefined ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: parts never move within a text
          <div key={at} className={styles.words} dir="auto">
            {text}
          </div>
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: parts never move within a text
          <Block key={at} text={text} language={language} />
        ),
      )}
    </div>
  );
}

function Thought({ event }: { event: Event }) {
  return (
    <details className={styles.call}>
      <summary className={`${styles.tool} quiet`}>
        <span className="clip" title={event.text}>
          Thinks: {event.text.trim().split("\n", 1)[0]}
        </span>
        <Ago at={event.at} />
      </summary>
      <div className={`${styles.unfolded} ${styles.words} quiet`} dir="auto">
        {event.text}
      </div>
    </details>
  );
}

/** The checks of a run as a list, each with what it printed. */
function Checks({ events, run }: { events: readonly Event[]; run: Run | undefined }) {
  return (
    <ul className={styles.checks} aria-label="Checks">
      {events.map((event) => {
        const command = event.text.replace(/^`|`$/g, "");
        const code = Number(event.data.exit_code ?? 1);
        const output = run?.evidence?.checks.find((check) => check.command === command)?.tail;
        return (
          <li key={event.seq}>
            <details>
              <summary className={styles.tool}>
                <StateDot state={code === 0 ? "completed" : "failed"} />
                <code className="clip" title={command}>
                  {command}
                </code>
                <span className={code ? styles.bad : styles.good}>
                  {code ? `failed (${code})` : "passed"}
                </span>
              </summary>
              <pre className={styles.output}>{output || "It printed nothing."}</pre>
            </details>
          </li>
        );
      })}
    </ul>
  );
}

/** What the fleet did: a line, and what it says about it if that is longer. */
function Fact({ event }: { event: Event }) {
  const [first = "", ...rest] = SILENT.has(event.kind) ? [] : event.text.trim().split("\n");
  return (
    <div className={styles.fleet}>
      {named(event)} {first} <Ago at={event.at} />
      {rest.length > 0 && (
        <details>
          <summary>{count(rest.length, "line")} more</summary>
          <pre>{rest.join("\n")}</pre>
        </details>
      )}
    </div>
  );
}

/** Their text is only the title of the task. */
const SILENT = new Set(["run.started", "task.submitted", "task.completed"]);

function named(event: Event): string {
  const [noun, what] = event.kind.split(".");
  const name = noun === "run" ? `Run ${event.run?.split(".")[1] ?? ""}` : "Task";
  const outcome = typeof event.data.outcome === "string" ? `: ${event.data.outcome}` : "";
  const by = event.kind === "run.started" ? ` by ${event.agent}` : "";
  return `${name} ${what}${outcome}${by}`;
}
