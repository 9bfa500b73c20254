import { api } from "../../api/client";
import type { Rest } from "../../api/schema";
import { cache } from "../../live/cache";
import { useRests } from "../../live/queries";
import { useMay } from "../../live/session";
import { clock, exact } from "../../parts/format";
import { rows, Section } from "../../parts/section";
import { Ago, useNow } from "../../parts/time";
import { attempt } from "../../parts/toasts";
import styles from "./agents.module.css";

/** The accounts of coders that rest, until when, why, and what a human can do. */
export function Rests() {
  const rests = useRests().data ?? [];
  if (rests.length === 0) return null;
  return (
    <Section title={`Resting accounts (${rests.length})`}>
      {rests.map((rest) => (
        <Resting key={rest.account} rest={rest} />
      ))}
    </Section>
  );
}

function Resting({ rest }: { rest: Rest }) {
  const mayWake = useMay("wake an account");
  const wake = async () => {
    await api.POST("/api/v1/rests/{name}/wake", { params: { path: { name: rest.account } } });
    await cache.invalidateQueries({ queryKey: ["rests"] });
  };
  return (
    <div className={`${rows.group} ${styles.rest}`}>
      <div className={rows.grow}>
        <strong>{rest.account}</strong>{" "}
        <span className="quiet">
          {rest.reason.replaceAll("_", " ")} · rests for <Ago at={rest.since} />
        </span>
        <p dir="auto">{rest.note}</p>
        {rest.remedy && <p className="quiet">{rest.remedy}</p>}
      </div>
      <Until rest={rest} />
      {mayWake && (
        <button type="button" onClick={() => void attempt(wake, `${rest.account} is awake`)}>
          Wake
        </button>
      )}
    </div>
  );
}

function Until({ rest }: { rest: Rest }) {
  const now = useNow();
  if (!rest.until) return <span className="quiet">until a human wakes it</span>;
  return (
    <time className="num" dateTime={rest.until} title={exact(rest.until)}>
      {rest.guessed ? "probably " : ""}back in {clock((Date.parse(rest.until) - now) / 1000)}
    </time>
  );
}
