import type { Limit } from "../../api/schema";
import { useBoard, useLimits } from "../../live/queries";
import { Empty } from "../../parts/empty";
import { money, tokens } from "../../parts/format";
import { rows, Section } from "../../parts/section";
import styles from "./costs.module.css";

/** What is spent of each limit today, and how fast. */
export function Burn() {
  const limits = useLimits().data;
  const board = useBoard().data;
  const rate = board?.usd_per_hour ? `${money(board.usd_per_hour)}/h` : "";
  return (
    <Section title="Spent of today's budgets" aside={rate}>
      {limits
        ?.flatMap((limit) => parts(limit))
        .map((part) => (
          <div key={part.name} className={rows.row}>
            <span className={`clip ${styles.name}`} title={part.name}>
              {part.name}
            </span>
            <span className={rows.grow}>
              <progress
                className={`${styles.share} ${part.share >= 0.8 ? styles.near : ""}`}
                max={1}
                value={Math.min(part.share, 1)}
                aria-label={`${part.name}: ${part.text}`}
              />
            </span>
            <span className="num">{part.text}</span>
          </div>
        ))}
      {limits?.length === 0 && (
        <Empty command="fleet config set day_budget_usd 20">
          {board ? `${money(board.spent.cost_usd)} today. ` : ""}No limit is set; this one stops new
          work when it is spent:
        </Empty>
      )}
    </Section>
  );
}

function parts(limit: Limit): { name: string; share: number; text: string }[] {
  const found = [];
  const { usd, tokens: most } = limit.budget;
  const used = limit.spent.input_tokens + limit.spent.output_tokens;
  if (usd) {
    const unknown = limit.unpriced_tokens ? " + ?" : "";
    const text = `${money(limit.spent.cost_usd)}${unknown} of ${money(usd)}`;
    found.push({ name: limit.name, share: limit.spent.cost_usd / usd, text });
  }
  if (most) {
    const text = `${tokens(used)} of ${tokens(most)} tokens`;
    found.push({ name: `${limit.name}, tokens`, share: used / most, text });
  }
  return found;
}
