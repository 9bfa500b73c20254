import { Fragment, useEffect, useRef } from "react";
import type { File } from "./diff";
import styles from "./diff.module.css";

/** The files by folder, with how much changes in each. */
export function FileTree(props: {
  files: readonly File[];
  at: string | undefined;
  seen: (file: File) => boolean;
  go: (file: File) => void;
}) {
  const list = useRef<HTMLElement>(null);
  useEffect(() => {
    if (props.at && list.current) reveal(list.current);
  }, [props.at]);
  return (
    <nav ref={list} className={styles.files} aria-label="Files">
      {props.files.map((file, at) => {
        const name = folder(file);
        const before = props.files[at - 1];
        return (
          <Fragment key={file.path}>
            {name && (!before || name !== folder(before)) && (
              <code className={`clip quiet ${styles.folder}`} title={name}>
                {name}
              </code>
            )}
            <button
              type="button"
              className={`bare ${name ? styles.inside : ""} ${props.seen(file) ? styles.seen : ""}`}
              aria-current={file.path === props.at ? "true" : undefined}
              title={file.path}
              onClick={() => props.go(file)}
            >
              <code className="clip" title={file.path}>
                {file.path.slice(name.length)}
              </code>
              <span className="num">
                {props.seen(file) && <span title="seen">✓ </span>}
                <span className={styles.plus}>+{file.added}</span>{" "}
                <span className={styles.minus}>−{file.removed}</span>
              </span>
            </button>
          </Fragment>
        );
      })}
    </nav>
  );
}

/** Scroll the list, and nothing else, to the file one is at. */
function reveal(list: HTMLElement): void {
  const file = list.querySelector<HTMLElement>("[aria-current]");
  const below = (file?.offsetTop ?? 0) - list.scrollTop;
  if (file && (below < 0 || below + file.offsetHeight > list.clientHeight)) {
    list.scrollTop = file.offsetTop - list.clientHeight / 2;
  }
}

function folder(file: File): string {
  return file.path.slice(0, file.path.lastIndexOf("/") + 1);
}
