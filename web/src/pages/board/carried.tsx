import { type Ref, useEffect } from "react";
import type { Task } from "../../api/schema";
import { useKeys } from "../../keyboard/keys";
import styles from "./board.module.css";
import type { Carrying } from "./carrying";
import { Card } from "./column";

/** A card in the hand: where it is, what dropping it does, and the keys for it. */
export function Carried(props: { carrying: Carrying; task: Task; ghost: Ref<HTMLDivElement> }) {
  const { carrying, task } = props;
  const { by, over, step, drop, putBack } = carrying;
  const next = { does: "The next place", run: () => step(1) };
  const previous = { does: "The place before", run: () => step(-1) };
  const put = { does: "Drop the card", run: () => drop(over?.id) };
  useKeys(
    [
      { key: "Escape", does: "Put the card back", run: putBack },
      { key: "l", ...next },
      { key: "j", ...next },
      { key: "ArrowRight", ...next },
      { key: "ArrowDown", ...next },
      { key: "h", ...previous },
      { key: "k", ...previous },
      { key: "ArrowLeft", ...previous },
      { key: "ArrowUp", ...previous },
      { key: "Enter", ...put },
      { key: " ", ...put },
    ],
    true,
  );
  const place = by === "keys" ? over?.id : undefined;
  useEffect(() => {
    if (!place) return;
    const chosen = document.querySelector(`[data-place="${place}"]`);
    chosen?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [place]);
  return (
    <>
      {by === "pointer" && (
        <div ref={props.ghost} className={`${styles.card} ${styles.ghost}`} aria-hidden="true">
          <Card task={task} waiting={undefined} />
        </div>
      )}
      <div className={styles.told} role="status">
        <span className="clip" dir="auto">
          {task.title}
        </span>
        <strong>{over ? over.title : nowhere(carrying)}</strong>
        {by === "keys" && (
          <span className="quiet">
            <kbd>h</kbd> <kbd>l</kbd> choose, <kbd>Enter</kbd> drops, <kbd>Esc</kbd> puts it back
          </span>
        )}
      </div>
    </>
  );
}

function nowhere({ places }: Carrying): string {
  return places.length === 0 ? "It may go nowhere" : "Choose a place";
}
