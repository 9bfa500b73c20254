import { Code } from "../../code/code";
import { useThread } from "./comments";
import { type Line, type Pair, place } from "./diff";
import styles from "./diff.module.css";
import type { Colours } from "./hunk";

interface Props {
  row: Pair;
  path: string;
  colours: Colours;
}

/** A line below the other, with its numbers before and after. */
export function UnifiedRow({ row, path, colours }: Props) {
  const line = row.right ?? row.left;
  const { thread, mayComment, open } = useThread(path, line);
  if (!line) return null;
  return (
    <>
      <div className={`${styles.line} ${KINDS[line.kind]}`} {...told(line)}>
        <span className={styles.number}>{line.before}</span>
        <span className={styles.number}>{line.after}</span>
        <Mark line={line} open={mayComment ? open : undefined} />
        <code>
          <Code text={line.text} tokens={colours.get(line)} />
        </code>
      </div>
      {thread}
    </>
  );
}

/** What was, next to what is. A line that stays is commented on where it is now. */
export function SplitRow({ row, path, colours }: Props) {
  const isSame = row.left === row.right;
  const left = useThread(path, isSame ? null : row.left);
  const right = useThread(path, row.right);
  return (
    <>
      <div className={styles.pair}>
        <Half
          line={row.left}
          number={row.left?.before}
          colours={colours}
          isQuiet={isSame}
          {...left}
        />
        <Half line={row.right} number={row.right?.after} colours={colours} {...right} />
      </div>
      {(left.thread || right.thread) && (
        <div className={styles.pair}>
          <div className={styles.thread}>{left.thread}</div>
          <div className={styles.thread}>{right.thread}</div>
        </div>
      )}
    </>
  );
}

function Half(props: {
  line: Line | null;
  number: number | null | undefined;
  colours: Colours;
  mayComment: boolean;
  isQuiet?: boolean;
  open: () => void;
}) {
  const { line } = props;
  if (!line) return <div className={styles.nothing} />;
  return (
    <div className={`${styles.half} ${KINDS[line.kind]}`} {...(props.isQuiet ? {} : told(line))}>
      <span className={styles.number}>{props.number}</span>
      <Mark line={line} open={props.mayComment && !props.isQuiet ? props.open : undefined} />
      <code>
        <Code text={line.text} tokens={props.colours.get(line)} />
      </code>
    </div>
  );
}

function Mark({ line, open }: { line: Line; open: (() => void) | undefined }) {
  const at = place(line);
  return (
    <span className={styles.mark}>
      {open && (
        <button
          type="button"
          aria-label={`Comment on line ${at.line}${at.removed ? ", removed" : ""}`}
          onClick={open}
        >
          +
        </button>
      )}
      {line.kind}
    </span>
  );
}

const KINDS = { " ": "", "+": styles.added, "-": styles.removed };

function told(line: Line) {
  return { "data-line": place(line).line, "data-kind": line.kind };
}
