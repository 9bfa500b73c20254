import { useMemo, useRef } from "react";
import { useKeys } from "../../keyboard/keys";
import { useDiff, useReviews } from "../../live/queries";
import { Empty } from "../../parts/empty";
import { count } from "../../parts/format";
import { ReviewContext } from "./comments";
import { Decision } from "./decision";
import { type File, parse } from "./diff";
import styles from "./diff.module.css";
import { FileDiff } from "./file-diff";
import { anchor, useFileKeys } from "./file-keys";
import { FileTree } from "./file-tree";
import { useSeen } from "./seen";
import type { TabProps } from "./task";
import { useSplit } from "./view";

/** What the work changes, with comments on its lines that go back to the agent together. */
export function DiffTab({ details, moves }: TabProps) {
  const { task } = details;
  const { data: text, error } = useDiff(task.id);
  const files = useMemo(() => parse(text ?? ""), [text]);
  const comments = useReviews(task.id).data?.findLast((review) => !review.decision)?.comments;
  const drafts = useRef(new Map<string, string>()).current;
  const mayComment = moves.some(({ verb }) => verb === "comment");
  const review = useMemo(
    () => ({ task: task.id, mayComment, comments: comments ?? [], drafts }),
    [task.id, mayComment, comments, drafts],
  );
  const [seen, mark] = useSeen(task.id);
  const [at, go] = useFileKeys(files, mark);
  const [isSplit, toggle] = useSplit();
  useKeys([{ key: "v", does: "Unified or side by side", run: toggle }]);
  if (error) return <Empty>{error.message}</Empty>;
  if (text === undefined) return null;
  if (files.length === 0) return <Empty>Nothing has changed yet.</Empty>;
  return (
    <ReviewContext value={review}>
      <Summary files={files} seen={seen} isSplit={isSplit} toggle={toggle} />
      <div className={`${styles.review} ${files.length > 1 ? styles.several : ""}`}>
        {files.length > 1 && <FileTree files={files} at={at} seen={seen} go={go} />}
        <div className={styles.diffs}>
          {files.map((file) => (
            <FileDiff
              key={file.path}
              id={anchor(file)}
              file={file}
              isSplit={isSplit}
              isSeen={seen(file)}
              isAt={file.path === at}
              mark={() => mark(file)}
            />
          ))}
        </div>
      </div>
      <Decision details={details} moves={moves} comments={review.comments} />
    </ReviewContext>
  );
}

function Summary(props: {
  files: readonly File[];
  seen: (file: File) => boolean;
  isSplit: boolean;
  toggle: () => void;
}) {
  const { files, isSplit, toggle } = props;
  const total = (of: "added" | "removed") => files.reduce((sum, file) => sum + file[of], 0);
  const looked = files.filter(props.seen).length;
  return (
    <div className={styles.summary}>
      <span className="num">
        {count(files.length, "file")} <span className={styles.plus}>+{total("added")}</span>{" "}
        <span className={styles.minus}>−{total("removed")}</span>
      </span>
      {looked > 0 && <span className="quiet num">{`${looked} seen`}</span>}
      <fieldset className={styles.views} aria-label="View">
        <button type="button" aria-pressed={!isSplit} onClick={() => isSplit && toggle()}>
          Unified
        </button>
        <button type="button" aria-pressed={isSplit} onClick={() => isSplit || toggle()}>
          Split
        </button>
      </fieldset>
    </div>
  );
}
