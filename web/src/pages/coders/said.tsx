import { Command } from "../../parts/command";
import styles from "./coders.module.css";
import { spoken } from "./findings";

/** A sentence of the core; the commands in it can be copied. */
export function Said({ text }: { text: string }) {
  return (
    <span className={styles.said}>
      {spoken(text).map((each) =>
        each.isCode ? (
          <Command key={each.at} text={each.text} />
        ) : (
          <span key={each.at}>{each.text}</span>
        ),
      )}
    </span>
  );
}
