import { useState } from "react";
import { languageOf } from "../../code/languages";
import type { File } from "./diff";
import styles from "./diff.module.css";
import { HunkRows } from "./hunk";

const MOST_LINES = 5000;

/** One file of the diff; a seen one is folded. */
export function FileDiff(props: {
  id: string;
  file: File;
  isSplit: boolean;
  isSeen: boolean;
  isAt: boolean;
  mark: () => void;
}) {
  const { file, isSeen } = props;
  const [isWhole, setWhole] = useState(false);
  const lines = file.hunks.reduce((sum, hunk) => sum + hunk.lines.length, 0);
  const isCut = lines > MOST_LINES && !isWhole;
  return (
    <section
      id={props.id}
      className={`${styles.file} ${props.isAt ? styles.at : ""}`}
      aria-label={file.path}
    >
      <header>
        <code className="clip" title={file.path}>
          {file.path}
        </code>
        <span className="quiet">{file.note}</span>
        <label>
          <input type="checkbox" checked={isSeen} onChange={props.mark} />
          seen
        </label>
      </header>
      {!isSeen && isCut && (
        <button type="button" onClick={() => setWhole(true)}>
          Show all {lines.toLocaleString("en")} lines
        </button>
      )}
      {!isSeen && !isCut && (
        <div className={`${styles.lines} ${props.isSplit ? styles.split : ""}`}>
          {file.hunks.map((hunk) => (
            <HunkRows
              key={hunk.head}
              hunk={hunk}
              path={file.path}
              language={languageOf(file.path)}
              isSplit={props.isSplit}
            />
          ))}
        </div>
      )}
    </section>
  );
}
