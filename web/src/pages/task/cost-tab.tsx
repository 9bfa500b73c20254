import { Bar } from "../../parts/bar";
import { money, tokens } from "../../parts/format";
import { rows, Section } from "../../parts/section";
import type { TabProps } from "./task";

/** What the task has cost, run by run, against its budget. */
export function CostTab({ details }: TabProps) {
  const { task, runs } = details;
  const spent = runs.reduce((sum, run) => sum + run.usage.cost_usd, 0);
  const budget = task.budget?.usd;
  return (
    <Section title="Cost" aside={budget ? `${money(spent)} of ${money(budget)}` : money(spent)}>
      {budget && (
        <div className={rows.row}>
          <Bar
            share={spent / budget}
            label={`${Math.round((spent / budget) * 100)} % of the budget`}
          />
        </div>
      )}
      {runs.map((run) => (
        <div key={run.id} className={`${rows.row} num`}>
          <span className={rows.grow}>
            Run {run.number} · {run.coder} {run.model}
          </span>
          <span>{tokens(run.usage.input_tokens)} in</span>
          <span>{tokens(run.usage.cached_tokens)} cached</span>
          <span>{tokens(run.usage.output_tokens)} out</span>
          <span>{money(run.usage.cost_usd)}</span>
        </div>
      ))}
    </Section>
  );
}
