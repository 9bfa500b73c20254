import type { ReactNode } from "react";
import styles from "./section.module.css";

/** A part of a page under its heading. */
export function Section(props: { title: string; aside?: ReactNode; children: ReactNode }) {
  return (
    <section className={styles.section} aria-label={props.title}>
      <div className={styles.head}>
        <h3>{props.title}</h3>
        <span className="quiet num">{props.aside}</span>
      </div>
      <div className={styles.card}>{props.children}</div>
    </section>
  );
}

export { styles as rows };
