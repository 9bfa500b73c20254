import { type ReactNode, useEffect, useRef } from "react";
import { useKeys } from "../keyboard/keys";
import styles from "./dialog.module.css";

/** A question over the page. Escape closes it, and the keys below it do nothing meanwhile. */
export function Dialog(props: { title: string; close: () => void; children: ReactNode }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const { close } = props;
  useKeys([{ key: "Escape", does: "Close", always: true, run: close }], true);
  useEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    return () => shown?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      className={styles.dialog}
      aria-label={props.title}
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
      onMouseDown={(event) => event.target === dialog.current && close()}
    >
      <div className={styles.inside}>{props.children}</div>
    </dialog>
  );
}
