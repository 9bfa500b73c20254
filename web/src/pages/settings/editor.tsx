import { useState } from "react";
import { api, Refusal, told } from "../../api/client";
import type { Setting } from "../../api/schema";
import { cache } from "../../live/cache";
import { say } from "../../parts/toasts";
import { command } from "./filter";
import styles from "./settings.module.css";

/** A new value for a setting; what the core refuses is told right below. */
export function Editor(props: { setting: Setting; done: () => void; waits?: boolean }) {
  const { setting, done } = props;
  const [text, setText] = useState(setting.value);
  const [refused, setRefused] = useState<Refusal | null>(null);
  const save = async (value: string) => {
    try {
      const body = { key: setting.key, value };
      const now = await told(api.POST("/api/v1/settings", { body }));
      say(outcome(now, value));
    } catch (error) {
      setRefused(error instanceof Refusal ? error : new Refusal(0, "", String(error), ""));
      return;
    }
    await cache.invalidateQueries({ queryKey: ["settings"] });
    void cache.invalidateQueries({ queryKey: ["coders"] });
    done();
  };
  return (
    <form
      className={styles.editor}
      onSubmit={(event) => {
        event.preventDefault();
        void save(text);
      }}
      onKeyDown={(event) => event.key === "Escape" && done()}
    >
      <div className={styles.inputs}>
        <Input setting={setting} text={text} set={setText} isFirst={!props.waits} />
        <button type="submit" className="primary" disabled={text === "" && props.waits}>
          Save
        </button>
        {setting.source !== "default" && !setting.overridden_by && (
          <button type="button" onClick={() => void save("")}>
            Remove
          </button>
        )}
        <button type="button" onClick={done}>
          Cancel
        </button>
      </div>
      {refused && (
        <div role="alert" className={styles.refused}>
          {refused.message}
          {refused.hint && <div className="quiet">{refused.hint}</div>}
        </div>
      )}
      {setting.overridden_by && (
        <p className={styles.warned}>
          {setting.overridden_by === "flag" ? "A flag of this server" : setting.overridden_by}{" "}
          overrides what you save here.
        </p>
      )}
      <code className="quiet">{command(setting.key || "NAME", text)}</code>
    </form>
  );
}

function Input(props: {
  setting: Setting;
  text: string;
  set: (text: string) => void;
  isFirst: boolean;
}) {
  const shared = {
    "aria-label": `New value of ${props.setting.key}`,
    value: props.text,
    autoFocus: props.isFirst,
    onChange: (event: { target: { value: string } }) => props.set(event.target.value),
  };
  if (props.setting.choices.length === 0) {
    return <input {...shared} placeholder={props.setting.default} spellCheck={false} />;
  }
  return (
    <select {...shared}>
      {props.setting.choices.map((choice) => (
        <option key={choice}>{choice}</option>
      ))}
    </select>
  );
}

function outcome(now: Setting, value: string): string {
  return value ? `${now.key} is ${now.value || "set"}` : `${now.key} is as by default again`;
}
