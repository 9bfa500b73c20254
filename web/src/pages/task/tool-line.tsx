import { useMemo, useState } from "react";
import type { Event } from "../../api/schema";
import { Block } from "../../code/code";
import { languageOf } from "../../code/languages";
import { useWorkSoFar } from "../../live/queries";
import { Ago } from "../../parts/time";
import { call } from "./conversation";
import { parse } from "./diff";
import diffs from "./diff.module.css";
import { HunkRows } from "./hunk";
import styles from "./live.module.css";

const COMMANDS = /bash|command|exec|shell|terminal/i;

/** Something that the agent does, as one line that unfolds. */
export function ToolLine({ event, result }: { event: Event; result: string | undefined }) {
  const [isOpen, setOpen] = useState(false);
  const { name, detail } = call(event);
  const path = pathOf(event, detail);
  return (
    <details className={styles.call} onToggle={(it) => setOpen(it.currentTarget.open)}>
      <summary className={styles.tool}>
        <strong>{name}</strong>
        <code className="clip" title={detail}>
          {detail.split("\n", 1)[0]}
        </code>
        <Ago at={event.at} />
      </summary>
      {isOpen && (
        <div className={styles.unfolded}>
          {typeof event.data.why === "string" && <p className="quiet">{event.data.why}</p>}
          {path && event.run ? (
            <MiniDiff run={event.run} path={path} />
          ) : (
            <Block text={detail || name} language={COMMANDS.test(name) ? "sh" : ""} />
          )}
          {result && (
            <pre className={styles.result} dir="auto">
              {result}
            </pre>
          )}
        </div>
      )}
    </details>
  );
}

/** The file that it is about, if it is about one. */
function pathOf(event: Event, detail: string): string {
  if (typeof event.data.path === "string") return event.data.path;
  return event.kind === "run.tool" && /^\S*[/.]\S*$/.test(detail) ? detail : "";
}

/** How the run has changed a file so far. Agents may name it by its whole path. */
function MiniDiff({ run, path }: { run: string; path: string }) {
  const { data: text, error } = useWorkSoFar(run);
  const files = useMemo(() => parse(text ?? ""), [text]);
  const file = files.find((each) => path === each.path || path.endsWith(`/${each.path}`));
  if (error) return <p className="quiet">{error.message}</p>;
  if (text === undefined) return null;
  if (!file) {
    return (
      <p className="quiet">
        This run leaves <code>{path}</code> as it was.
      </p>
    );
  }
  return (
    <div className={`${diffs.lines} ${styles.diff}`}>
      {file.hunks.map((hunk) => (
        <HunkRows
          key={hunk.head}
          hunk={hunk}
          path={file.path}
          language={languageOf(file.path)}
          isSplit={false}
        />
      ))}
    </div>
  );
}
