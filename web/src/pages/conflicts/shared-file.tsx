import type { Hunk } from "../task/diff";
import { collides, type Shared } from "./collision";
import styles from "./conflicts.module.css";

const KINDS = { " ": "", "+": styles.added, "-": styles.removed };

/** What both tasks did to one file, hunk by hunk. */
export function SharedFile({ file }: { file: Shared }) {
  return (
    <div className={styles.file}>
      <header>
        <code className="clip" title={file.path}>
          {file.path}
        </code>
      </header>
      {file.pairs.map((pair) => (
        <div
          key={[...pair.left, ...pair.right].map((hunk) => hunk.head).join()}
          className={styles.pair}
          data-collides={collides(pair)}
        >
          <Half hunks={pair.left} side="The left task" />
          <Half hunks={pair.right} side="The right task" />
        </div>
      ))}
      {file.pairs.length === 0 && (
        <p className={`quiet ${styles.nothing}`}>
          {file.left?.note || file.right?.note || "Neither of them changes this file any more."}
        </p>
      )}
    </div>
  );
}

function Half({ hunks, side }: { hunks: readonly Hunk[]; side: string }) {
  if (hunks.length === 0) {
    return <p className={`quiet ${styles.nothing}`}>{side} changes nothing here.</p>;
  }
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it
    <section className={styles.lines} aria-label={side} tabIndex={0}>
      {hunks.map((hunk) => (
        <div key={hunk.head}>
          <div className={styles.hunk}>{hunk.head}</div>
          {hunk.lines.map((line, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: lines never move within a diff
            <div key={at} className={`${styles.line} ${KINDS[line.kind]}`} data-kind={line.kind}>
              <span className={styles.number}>{line.after ?? line.before}</span>
              <span className={styles.number}>{line.kind}</span>
              <code>{line.text}</code>
            </div>
          ))}
        </div>
      ))}
    </section>
  );
}
