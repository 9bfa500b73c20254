import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import type { Trends } from "../../api/schema";
import { useKeys } from "../../keyboard/keys";
import { useCosts, useTrends } from "../../live/queries";
import { useMay } from "../../live/session";
import { Empty } from "../../parts/empty";
import { count, money, span, tokens } from "../../parts/format";
import { rows, Section } from "../../parts/section";
import { type Column, ended, everyDay, type Line, line, lines, percent } from "./bill";
import { Burn } from "./burn";
import { Chart, Strip } from "./chart";
import styles from "./costs.module.css";
import { Activity, Conflicts, FleetNow, Limits } from "./now";

const PERIODS = [
  { hours: 24, title: "24 hours" },
  { hours: 168, title: "7 days" },
  { hours: 720, title: "30 days" },
] as const;
const USUAL = 168;

/** What the fleet costs and how well it does, over a period. */
export default function CostsPage() {
  const mayRead = useMay("see the status");
  if (!mayRead) return <Empty>What the fleet costs is not for the role of your token.</Empty>;
  return <Costs />;
}

function Costs() {
  const asked = (useSearch({ strict: false }) as { hours?: number }).hours;
  const hours = PERIODS.find((each) => each.hours === asked)?.hours ?? USUAL;
  const { data: trends } = useTrends(hours);
  return (
    <div className={styles.page}>
      <Periods hours={hours} />
      {trends && <Summary hours={hours} trends={trends} />}
      <FleetNow />
      <div className={styles.halves}>
        <Burn />
        {trends && <ByDay hours={hours} trends={trends} />}
      </div>
      <div className={styles.thirds}>
        <Ranked hours={hours} by="repo" title="Cost by repo" />
        <Ranked hours={hours} by="coder" title="Cost by coder" />
        <Ranked hours={hours} by="model" title="Cost by model" />
      </div>
      {trends && (
        <>
          <Throughput trends={trends} />
          <div className={styles.halves}>
            <Scores trends={trends} />
            <AtWork trends={trends} />
          </div>
          <div className={styles.halves}>
            <Limits events={trends.limits} />
            <Conflicts />
          </div>
        </>
      )}
      <Activity />
    </div>
  );
}

function Periods({ hours }: { hours: number }) {
  const navigate = useNavigate();
  const go = (to: number) => navigate({ to: "/costs", search: { hours: to }, replace: true });
  useKeys(
    PERIODS.map((each, at) => ({
      key: String(at + 1),
      does: `The last ${each.title}`,
      run: () => void go(each.hours),
    })),
  );
  return (
    <nav className={styles.periods} aria-label="Period">
      {PERIODS.map((each) => (
        <Link
          key={each.hours}
          to="/costs"
          search={{ hours: each.hours }}
          replace
          aria-current={each.hours === hours ? "true" : undefined}
        >
          {each.title}
        </Link>
      ))}
    </nav>
  );
}

function Summary({ hours, trends }: { hours: number; trends: Trends }) {
  const spent = line("all", useCosts(hours, "day").data ?? []);
  const sum = (kind: "completed" | "failed") =>
    trends.flow.reduce((many, each) => many + each[kind], 0);
  const runs = trends.scores.reduce((many, each) => many + each.runs, 0);
  const good = trends.scores.reduce((many, each) => many + each.delivered, 0);
  const done = sum("completed");
  return (
    <section className={styles.tiles} aria-label="Summary">
      <Tile name="Spent" value={spent.text} more={`${tokens(spent.tokens)} tokens`} />
      <Tile
        name="Completed"
        value={done.toLocaleString("en")}
        more={done ? `${money(spent.usd / done)} each` : "tasks"}
      />
      <Tile name="Failed" value={sum("failed").toLocaleString("en")} more="tasks" />
      <Tile
        name="Runs that delivered"
        value={percent(good, runs)}
        more={`${good.toLocaleString("en")} of ${count(runs, "run")}`}
      />
      <Tile
        name="Lead time"
        value={trends.lead ? span(trends.lead.half_s) : "–"}
        more={trends.lead ? `nine of ten within ${span(trends.lead.most_s)}` : "from added to done"}
      />
    </section>
  );
}

export function Tile(props: { name: string; value: string; more: string }) {
  return (
    <div className={styles.tile}>
      <h3>{props.name}</h3>
      <div className={`${styles.big} num`}>{props.value}</div>
      <div className="quiet num">{props.more}</div>
    </div>
  );
}

function ByDay({ hours, trends }: { hours: number; trends: Trends }) {
  const days = everyDay(
    lines(useCosts(hours, "day").data ?? [], "day"),
    trends.since,
    trends.until,
  );
  const isMoney = days.some((each) => each.usd > 0);
  const columns: Column[] = days.map((day) => ({
    label: day.name,
    title: `${day.name}: ${day.text}, ${tokens(day.tokens)} tokens`,
    parts: [{ kind: "cost", value: isMoney ? day.usd : day.tokens }],
  }));
  const most = Math.max(...days.map((day) => (isMoney ? day.usd : day.tokens)), 0);
  const largest = isMoney ? money(most) : `${tokens(most)} tokens`;
  return (
    <Section title="Cost by day" aside="UTC">
      <Chart about={`Cost by day, ${largest} at most`} columns={columns} largest={largest} />
    </Section>
  );
}

function Ranked(props: { hours: number; by: "repo" | "coder" | "model"; title: string }) {
  const found = lines(useCosts(props.hours, props.by).data ?? [], props.by);
  const size = (each: Line) => (found.some((it) => it.usd > 0) ? each.usd : each.tokens);
  const most = Math.max(...found.map(size), 0) || 1;
  return (
    <Section title={props.title}>
      {found.map((each) => (
        <div key={each.name} className={rows.row}>
          <span className={`clip ${styles.name}`} title={each.name} dir="auto">
            {each.name}
          </span>
          <span className={rows.grow}>
            <progress
              className={styles.share}
              max={most}
              value={size(each)}
              aria-label={each.name}
            />
          </span>
          <span className={`num quiet ${styles.tokens}`}>{tokens(each.tokens)}</span>
          <span className={`num ${styles.usd}`}>{each.text}</span>
        </div>
      ))}
      {found.length === 0 && (
        <Empty command={`fleet cost --by ${props.by}`}>
          Nothing was spent yet. The same in a shell:
        </Empty>
      )}
    </Section>
  );
}

function Throughput({ trends }: { trends: Trends }) {
  const columns = ended(trends.flow, trends.step_s);
  const sums = columns.map((each) => each.parts.reduce((sum, part) => sum + part.value, 0));
  const most = Math.max(...sums, 0);
  const each = trends.step_s < 86_400 ? "hour" : "day";
  return (
    <Section title={`Tasks that ended, by ${each}`} aside={<Legend />}>
      {most > 0 ? (
        <Chart
          about={`Tasks that ended by ${each}, ${most} at most`}
          columns={columns}
          largest={String(most)}
        />
      ) : (
        <Empty command={'fleet add "Title"'}>No task ended in this period. Add one:</Empty>
      )}
    </Section>
  );
}

function Legend() {
  return (
    <span className={styles.legend}>
      {["completed", "failed", "cancelled"].map((kind) => (
        <span key={kind}>
          <svg viewBox="0 0 8 8" aria-hidden="true">
            <rect className={styles[kind]} width={8} height={8} />
          </svg>
          {kind}
        </span>
      ))}
    </span>
  );
}

function Scores({ trends }: { trends: Trends }) {
  return (
    <Section title="Success and time by coder and model">
      {trends.scores.length > 0 && (
        <table className={styles.table}>
          <thead>
            <tr>
              <th scope="col">Coder</th>
              <th scope="col">Model</th>
              <th scope="col">Runs</th>
              <th scope="col">Delivered</th>
              <th scope="col">Mean time</th>
            </tr>
          </thead>
          <tbody>
            {trends.scores.map((each) => (
              <tr key={`${each.coder} ${each.model}`}>
                <td>{each.coder}</td>
                <td className="quiet">{each.model || "–"}</td>
                <td>{each.runs.toLocaleString("en")}</td>
                <td>{percent(each.delivered, each.runs)}</td>
                <td>{each.mean_s === null ? "–" : span(each.mean_s)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {trends.scores.length === 0 && (
        <Empty command="fleet run">No run ended in this period. Agents start with:</Empty>
      )}
    </Section>
  );
}

function AtWork({ trends }: { trends: Trends }) {
  return (
    <Section title="Agents at work">
      {trends.busy.map((each) => {
        const hours = each.shares.reduce((sum, share) => sum + share, 0) * (trends.step_s / 3600);
        const worked = span(hours * 3600);
        return (
          <div key={each.agent} className={rows.row}>
            <span className={`clip ${styles.name}`} title={each.agent}>
              {each.agent}
            </span>
            <Strip about={`${each.agent} worked ${worked}`} shares={each.shares} />
            <span className={`num quiet ${styles.usd}`}>{worked}</span>
          </div>
        );
      })}
      {trends.busy.length === 0 && (
        <Empty command="fleet agents">No agent was at work in this period. Who there is:</Empty>
      )}
    </Section>
  );
}
