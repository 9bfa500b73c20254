import { type ReactNode, useState } from "react";
import { Refusal } from "../api/client";
import { Dialog } from "./dialog";
import styles from "./forms.module.css";
import { say } from "./toasts";

/** A form over the page. A refusal stays in it, so that what was typed can be mended. */
export function FormDialog(props: {
  title: string;
  button: string;
  /** What is said when it is done, unless `submit` says it. */
  done?: string;
  close: () => void;
  /** Where to go on when it is done; by default, the dialog closes. */
  then?: () => void;
  submit: () => Promise<unknown>;
  children: ReactNode;
}) {
  const [wrong, setWrong] = useState<Error>();
  const submit = async () => {
    try {
      await props.submit();
      if (props.done) say(props.done);
      (props.then ?? props.close)();
    } catch (error) {
      setWrong(error instanceof Error ? error : new Error(String(error)));
    }
  };
  return (
    <Dialog title={props.title} close={props.close}>
      <form
        className={styles.form}
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <h2>{props.title}</h2>
        {props.children}
        {wrong && (
          <div role="alert">
            {wrong.message}
            {wrong instanceof Refusal && <div className="quiet">{wrong.hint}</div>}
          </div>
        )}
        <div className={styles.buttons}>
          <button type="button" onClick={props.close}>
            Close
          </button>
          <button type="submit" className="primary">
            {props.button}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
