import { useState } from "react";
import { bindings, name, useKeys } from "../keyboard/keys";
import { Dialog } from "./dialog";
import styles from "./help.module.css";

/** `?` shows every key that does something here. */
export function Help() {
  const [isOpen, setOpen] = useState(false);
  useKeys([{ key: "?", does: "This help", run: () => setOpen(true) }]);
  if (!isOpen) return null;
  const keys = bindings();
  return (
    <Dialog title="Keys" close={() => setOpen(false)}>
      <h2>Keys</h2>
      <dl className={styles.keys}>
        {keys.map((each) => (
          <div key={name(each)}>
            <dt>
              <kbd>{name(each)}</kbd>
            </dt>
            <dd>{each.does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
