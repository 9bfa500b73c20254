import { useNavigate, useSearch } from "@tanstack/react-router";
import { useOwnHandle, useWorkers } from "../../live/queries";
import type { SwarmSearch } from "./swarms";
import styles from "./swarms.module.css";

/** Whose mail or checkpoints are shown; it is in the address. */
export function useHandle(): string {
  const own = useOwnHandle().data ?? "";
  return (useSearch({ strict: false }) as SwarmSearch).handle || own;
}

export function HandlePicker() {
  const handle = useHandle();
  const own = useOwnHandle().data ?? "";
  const workers = useWorkers().data ?? [];
  const navigate = useNavigate();
  const known = [...new Set([own, ...workers.map((worker) => worker.handle), handle])];
  return (
    <label className={styles.picker}>
      <span className="quiet">Of</span>
      <select
        aria-label="Whose"
        value={handle}
        onChange={(event) => {
          const search = (old: SwarmSearch) => ({ ...old, handle: event.target.value });
          void navigate({ to: ".", search, replace: true });
        }}
      >
        {known.map((each) => (
          <option key={each} value={each}>
            {each === own ? `${each} (you)` : each}
          </option>
        ))}
      </select>
    </label>
  );
}
