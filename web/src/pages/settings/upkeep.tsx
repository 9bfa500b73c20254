import { useEffect, useState } from "react";
import { address, api, told } from "../../api/client";
import type { Archived, Removed } from "../../api/schema";
import { useMay } from "../../live/session";
import { useAsked } from "../../parts/asked";
import { FormDialog } from "../../parts/form-dialog";
import { count } from "../../parts/format";
import { rows, Section } from "../../parts/section";
import { refuse, say } from "../../parts/toasts";
import styles from "./settings.module.css";

/** What is done to a fleet now and then. */
export function Upkeep() {
  const [isCleaning, clean] = useAsked("clean");
  const [isArchiving, archive] = useAsked("archive");
  const may = {
    clean: useMay("remove what is old"),
    archive: useMay("archive events"),
    export: useMay("export a fleet"),
  };
  return (
    <Section title="Upkeep">
      <div className={`${rows.row} ${styles.upkeep}`}>
        {may.clean && (
          <button type="button" onClick={() => clean(true)}>
            Clean up…
          </button>
        )}
        {may.archive && (
          <button type="button" onClick={() => archive(true)}>
            Archive old events…
          </button>
        )}
        {may.export && (
          <a href={address("/api/v1/export")} download="fleet.jsonl">
            Export the fleet
          </a>
        )}
      </div>
      {isCleaning && may.clean && <CleanUp close={() => clean(false)} />}
      {isArchiving && may.archive && <Archive close={() => archive(false)} />}
    </Section>
  );
}

/** What would go, before it goes. */
function CleanUp({ close }: { close: () => void }) {
  const [found, setFound] = useState<readonly Removed[]>();
  useEffect(() => {
    told(api.POST("/api/v1/gc", { body: { dry_run: true } })).then(setFound, refuse);
  }, []);
  const clean = async () => {
    const removed = await told(api.POST("/api/v1/gc", { body: {} }));
    say(`${count(removed.filter((each) => each.gone).length, "thing")} removed`);
  };
  return (
    <FormDialog title="Clean up" button="Remove" close={close} submit={clean}>
      <p className="quiet">
        Idle worktrees, branches of finished tasks and files of old runs. What was committed or left
        there stays archived.
      </p>
      <ul className={styles.found} aria-busy={!found}>
        {found?.map((each) => (
          <li key={each.text} className={each.gone ? "" : "quiet"}>
            {each.text}
          </li>
        ))}
        {found?.length === 0 && <li className="quiet">There is nothing to remove.</li>}
        {!found && <li className="quiet">Looking…</li>}
      </ul>
    </FormDialog>
  );
}

function Archive({ close }: { close: () => void }) {
  const [age, setAge] = useState("30d");
  const [found, setFound] = useState<Archived>();
  const look = async () => {
    const body = { older_than: age, dry_run: true };
    setFound(await told(api.POST("/api/v1/events/archive", { body })));
  };
  const archive = async () => {
    const moved = await told(api.POST("/api/v1/events/archive", { body: { older_than: age } }));
    say(`${count(moved.events, "event")} of ${count(moved.tasks, "task")} moved to the archive`);
  };
  return (
    <FormDialog title="Archive old events" button="Archive" close={close} submit={archive}>
      <p className="quiet">
        The events of tasks that finished longer ago than this move to a compressed file next to the
        store. The whole log of a task still has them.
      </p>
      <label>
        Older than
        <input
          required
          title="12h, 30d"
          value={age}
          onChange={(event) => {
            setAge(event.target.value);
            setFound(undefined);
          }}
        />
      </label>
      <div className={styles.inputs}>
        <button type="button" onClick={() => void look().catch(refuse)}>
          How many?
        </button>
        {found && (
          <span role="status">
            {count(found.events, "event")} of {count(found.tasks, "task")}
          </span>
        )}
      </div>
    </FormDialog>
  );
}
