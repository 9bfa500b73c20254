import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import type { Setting } from "../../api/schema";
import { useCursor } from "../../keyboard/cursor";
import { useKeys } from "../../keyboard/keys";
import { useSettings } from "../../live/queries";
import { useMay } from "../../live/session";
import { Empty } from "../../parts/empty";
import { rows, Section } from "../../parts/section";
import { Editor } from "./editor";
import { type Filter, fitting, place } from "./filter";
import styles from "./settings.module.css";
import { Upkeep } from "./upkeep";

/** Every setting, its value, and where that comes from. */
export default function SettingsPage() {
  const mayChange = useMay("change settings");
  const { data: settings, error } = useSettings(mayChange);
  if (!mayChange) {
    return <Empty command="fleet config show">The settings are for the fleet's owner.</Empty>;
  }
  if (error) return <Empty command="fleet doctor">{error.message}</Empty>;
  return settings ? <Settings settings={settings} /> : <Empty>Reading the settings…</Empty>;
}

function Settings({ settings }: { settings: readonly Setting[] }) {
  const filter = useSearch({ strict: false }) as Filter;
  const [edited, setEdited] = useState<string | null>(null);
  const [isAdding, setAdding] = useState(false);
  const found = fitting(settings, filter);
  const { at, setAt } = useCursor(
    found.map((each) => each.key),
    setEdited,
  );
  return (
    <div className={styles.page}>
      <Upkeep />
      <Filters filter={filter} add={() => setAdding(true)} />
      {isAdding && <NewEntry done={() => setAdding(false)} />}
      <Section title="Settings" aside={`${found.length} of ${settings.length}`}>
        {found.map((each) => (
          <Row
            key={each.key}
            setting={each}
            isAt={at === each.key}
            isEdited={edited === each.key}
            edit={() => {
              setAt(each.key);
              setEdited(each.key);
            }}
            done={() => setEdited(null)}
          />
        ))}
        {found.length === 0 && (
          <Empty command="fleet config show">No setting has all these words.</Empty>
        )}
      </Section>
    </div>
  );
}

function Filters({ filter, add }: { filter: Filter; add: () => void }) {
  const navigate = useNavigate();
  const input = useRef<HTMLInputElement>(null);
  const set = (changed: Filter) => {
    const all = Object.entries({ ...filter, ...changed }).filter(([, value]) => value);
    void navigate({ to: "/settings", search: Object.fromEntries(all), replace: true });
  };
  useKeys([{ key: "/", does: "Filter", run: () => input.current?.focus() }]);
  return (
    <search className={styles.filters}>
      <input
        ref={input}
        type="search"
        placeholder="Filter  /"
        aria-label="Filter by words"
        value={filter.text ?? ""}
        onChange={(event) => set({ text: event.target.value })}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          event.preventDefault(); // a browser would empty it
          input.current?.blur();
        }}
      />
      <label className={styles.check}>
        <input
          type="checkbox"
          checked={filter.changed ?? false}
          onChange={(event) => set({ changed: event.target.checked })}
        />
        Only what is set
      </label>
      <button type="button" onClick={add}>
        New entry
      </button>
    </search>
  );
}

function Row(props: {
  setting: Setting;
  isAt: boolean;
  isEdited: boolean;
  edit: () => void;
  done: () => void;
}) {
  const { setting } = props;
  const isDefault = setting.source === "default";
  return (
    <div
      className={`${rows.group} ${props.isAt ? rows.at : ""}`}
      data-row={setting.key}
      data-source={setting.source}
    >
      <div className={styles.line}>
        <code className={styles.key}>{setting.key}</code>
        {props.isEdited ? (
          <span className={styles.value} />
        ) : (
          <button
            type="button"
            className={`bare ${styles.value} ${isDefault ? "quiet" : ""}`}
            title={setting.value || "Edit"}
            aria-label={`Edit ${setting.key}: ${setting.value || "none"}`}
            onClick={props.edit}
          >
            <code className="clip">{setting.value || "none"}</code>
          </button>
        )}
        <span
          className={`${styles.source} ${isDefault ? "quiet" : ""}`}
          title={setting.overridden_by ? `${setting.source} overrides fleet.toml` : setting.source}
        >
          {place(setting.source)}
        </span>
      </div>
      {props.isEdited && <Editor setting={setting} done={props.done} />}
      <p className={`quiet ${styles.meaning}`}>{setting.meaning}</p>
    </div>
  );
}

/** An entry of a table that is not there yet: its name, then its value. */
function NewEntry({ done }: { done: () => void }) {
  const [key, setKey] = useState("");
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.focus(), []);
  return (
    <Section title="New entry">
      <div className={rows.group}>
        <p className="quiet">
          The name is like <code>coders.claude.model</code>, <code>repos.shop.landing</code> or{" "}
          <code>prices.MODEL</code>.
        </p>
        <input
          ref={input}
          className={styles.name}
          aria-label="Name of the setting"
          placeholder="coders.claude.model"
          value={key}
          onChange={(event) => setKey(event.target.value)}
          onKeyDown={(event) => event.key === "Escape" && done()}
        />
        <Editor setting={{ ...NOTHING, key }} done={done} waits />
      </div>
    </Section>
  );
}

const NOTHING: Setting = {
  key: "",
  value: "",
  source: "default",
  default: "",
  meaning: "",
  choices: [],
  overridden_by: "",
};
