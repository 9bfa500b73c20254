import { useNavigate } from "@tanstack/react-router";
import { useMemo, useRef } from "react";
import { useKeys } from "../../keyboard/keys";
import type { Tasks } from "../../live/cache";
import styles from "./board.module.css";
import { CHOICES, type Filter, filterIn, valuesOf } from "./filter";
import { Views } from "./views";

/** The filters, which are in the address: what one sees can be linked. */
export function Filters({ tasks, filter }: { tasks: Tasks; filter: Filter }) {
  const navigate = useNavigate();
  const input = useRef<HTMLInputElement>(null);
  const values = useMemo(() => valuesOf(tasks.values()), [tasks]);
  const show = (search: Filter, replace: boolean) =>
    void navigate({ to: "/board", search: filterIn({ ...search }), replace });
  const set = (changed: Filter) => show({ ...filter, ...changed }, true);
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
        onKeyDown={(event) => event.key === "Escape" && input.current?.blur()}
      />
      {CHOICES.filter((name) => values[name].length > 1 || filter[name]).map((name) => (
        <select
          key={name}
          aria-label={`Filter by ${name}`}
          value={filter[name] ?? ""}
          onChange={(event) => set({ [name]: event.target.value })}
        >
          <option value="">every {name}</option>
          {withChosen(values[name], filter[name]).map((value) => (
            <option key={value}>{value}</option>
          ))}
        </select>
      ))}
      <Views filter={filter} show={(view) => show(view, false)} />
    </search>
  );
}

/** A value in the address may be one that no task has. */
function withChosen(values: readonly string[], chosen: string | undefined): readonly string[] {
  return chosen === undefined || values.includes(chosen) ? values : [...values, chosen];
}
