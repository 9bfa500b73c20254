import { useState } from "react";
import { useKeys } from "../../keyboard/keys";
import { useExternal } from "../../live/external";
import { FormDialog } from "../../parts/form-dialog";
import { removeView, saveView, views } from "../../parts/saved-views";
import styles from "./board.module.css";
import { type Filter, filterIn, isEmpty, isSame } from "./filter";

/** The saved views: a click opens one, another click leaves it; the filters of now can become one. */
export function Views({ filter, show }: { filter: Filter; show: (filter: Filter) => void }) {
  const saved = useExternal(views).map((view) => ({ ...view, filter: filterIn(view.search) }));
  const [isNaming, setNaming] = useState(false);
  const isNew = !isEmpty(filter) && !saved.some((view) => isSame(view.filter, filter));
  useKeys(isNew ? [{ key: "v", does: "Save this view", run: () => setNaming(true) }] : []);
  return (
    <>
      {saved.map((view) => (
        <span key={view.name} className={styles.view}>
          <button
            type="button"
            className="bare"
            title={Object.values(view.filter).join(" · ")}
            aria-pressed={isSame(view.filter, filter)}
            dir="auto"
            onClick={() => show(isSame(view.filter, filter) ? {} : view.filter)}
          >
            {view.name}
          </button>
          <button
            type="button"
            className="bare"
            aria-label={`Delete the view ${view.name}`}
            onClick={() => removeView(view.name)}
          >
            ×
          </button>
        </span>
      ))}
      {isNew && (
        <button type="button" onClick={() => setNaming(true)}>
          Save view <kbd>v</kbd>
        </button>
      )}
      {isNaming && <Naming filter={filter} close={() => setNaming(false)} />}
    </>
  );
}

function Naming({ filter, close }: { filter: Filter; close: () => void }) {
  const [name, setName] = useState("");
  return (
    <FormDialog
      title="Save this view"
      button="Save"
      done="Saved in this browser"
      close={close}
      submit={async () => saveView({ name: name.trim(), search: { ...filter } })}
    >
      <p className="quiet" dir="auto">
        {Object.values(filter).join(" · ")}
      </p>
      <label>
        Name
        <input
          required
          pattern=".*\S.*"
          maxLength={40}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
      </label>
    </FormDialog>
  );
}
