import { useMemo } from "react";
import type { Finding } from "../../api/schema";
import { useKeys } from "../../keyboard/keys";
import { cache } from "../../live/cache";
import { useCoders, useDoctor } from "../../live/queries";
import { useMay } from "../../live/session";
import { Command } from "../../parts/command";
import { Empty } from "../../parts/empty";
import { rows, Section } from "../../parts/section";
import { StateDot } from "../../parts/state";
import styles from "./coders.module.css";
import { type Known, known, others, weight } from "./findings";
import { Said } from "./said";

/** Which agent programs there are, if they work, and what else the doctor finds. */
export default function CodersPage() {
  const isOwner = useMay("change settings");
  if (!isOwner) {
    return <Empty command="fleet doctor">The state of the machine is for the fleet's owner.</Empty>;
  }
  return <Coders />;
}

function Coders() {
  const coders = useCoders(true).data;
  const { data: findings, isFetching, error } = useDoctor(true);
  const all = useMemo(() => known(coders ?? [], findings ?? []), [coders, findings]);
  const again = () => {
    void cache.invalidateQueries({ queryKey: ["coders"] });
    void cache.invalidateQueries({ queryKey: ["doctor"] });
  };
  useKeys([{ key: "u", does: "Check again", run: again }]);
  return (
    <div className={styles.page}>
      <div className={styles.top}>
        <span className="quiet" role="status">
          {isFetching ? "Asking each program; that takes a few seconds…" : verdict(findings ?? [])}
        </span>
        <button type="button" disabled={isFetching} onClick={again}>
          Check again <kbd>u</kbd>
        </button>
      </div>
      {error && <Empty command="fleet doctor">{error.message}</Empty>}
      <Section title="Coders" aside={all.length || ""}>
        {all.map((each) => (
          <Coder key={each.facts.name} coder={each} isAsking={isFetching && !findings} />
        ))}
      </Section>
      {findings && (
        <Section title="The machine" aside="fleet doctor">
          {others(findings).map((each) => (
            <Found key={each.what} finding={each} />
          ))}
        </Section>
      )}
    </div>
  );
}

function verdict(findings: readonly Finding[]): string {
  const must = findings.filter((each) => weight(each) === 0).length;
  if (must > 0) return `${must} must be fixed before the fleet can work.`;
  return "The fleet has all that it needs.";
}

function Coder({ coder, isAsking }: { coder: Known; isAsking: boolean }) {
  const { facts, finding, version, login } = coder;
  const isMissing = facts.trouble !== "";
  return (
    <div className={rows.group} data-coder={facts.name}>
      <div className={styles.line}>
        <Mark finding={finding} isMissing={isMissing} />
        <strong>{facts.name}</strong>
        <span className="num">{version}</span>
        <span className={`clip quiet ${rows.grow}`} title={facts.path ?? ""}>
          {facts.path}
        </span>
        {isAsking && !isMissing && <span className="quiet">…</span>}
        {login && <span className={login === "logged in" ? "" : styles.warned}>{login}</span>}
        <span className={facts.verified ? "" : "quiet"}>
          {facts.verified ? "verified" : "not verified"}
        </span>
      </div>
      <div className={styles.more}>
        <span className="quiet">{abilities(coder)}</span>
        {facts.passed_on.length > 0 && (
          <span className="quiet">
            gets <code>{facts.passed_on.join(", ")}</code>
          </span>
        )}
        {facts.held_back.length > 0 && (
          <span>
            <code>{facts.held_back.join(", ")}</code>{" "}
            <span className="quiet">is not passed on</span>
          </span>
        )}
      </div>
      <Fix coder={coder} />
    </div>
  );
}

/** What makes it work, if something is to be done. */
function Fix({ coder }: { coder: Known }) {
  const { facts, finding } = coder;
  const told = finding?.fix || facts.trouble;
  const isKeyTold = facts.pass_on === "" || told.includes(facts.pass_on);
  if (!told && isKeyTold) return null;
  return (
    <div className={styles.fix}>
      {told && <Said text={told} />}
      {!isKeyTold && <Command text={facts.pass_on} />}
    </div>
  );
}

function abilities({ facts }: Known): string {
  return [
    facts.resume && "resumes sessions",
    facts.talks && "takes messages while it works",
    facts.reports_cost && "reports cost",
    facts.reports_context && "reports context",
  ]
    .filter(Boolean)
    .join(" · ");
}

function Found({ finding }: { finding: Finding }) {
  return (
    <div className={rows.group}>
      <div className={styles.line}>
        <Mark finding={finding} isMissing={false} />
        <span className={styles.what}>{finding.what}</span>
      </div>
      {finding.fix && (
        <div className={styles.fix}>
          <Said text={finding.fix} />
        </div>
      )}
    </div>
  );
}

function Mark({ finding, isMissing }: { finding: Finding | undefined; isMissing: boolean }) {
  if (finding?.fix) return <StateDot state={finding.must ? "failed" : "asking"} />;
  return <StateDot state={isMissing ? "pending" : "completed"} />;
}
