import type { ReactNode } from "react";
import styles from "./empty.module.css";

/** Nothing is here: what to do next, and the command that does the same. */
export function Empty(props: { children: ReactNode; command?: string; action?: ReactNode }) {
  return (
    <div className={styles.empty}>
      <div>{props.children}</div>
      {(props.action || props.command) && (
        <div className={styles.next}>
          {props.action}
          {props.command && <code>{props.command}</code>}
        </div>
      )}
    </div>
  );
}
