import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { type ComponentType, useState } from "react";
import { api } from "../../api/client";
import type { Swarm, Worker } from "../../api/schema";
import { useCursor } from "../../keyboard/cursor";
import { useKeys } from "../../keyboard/keys";
import { cache } from "../../live/cache";
import { useSwarms, useWorkers } from "../../live/queries";
import { useMay } from "../../live/session";
import { useAsked } from "../../parts/asked";
import { Empty } from "../../parts/empty";
import { FormDialog } from "../../parts/form-dialog";
import { count } from "../../parts/format";
import forms from "../../parts/forms.module.css";
import { rows, Section } from "../../parts/section";
import { Ago } from "../../parts/time";
import { CheckpointsTab } from "./checkpoints";
import { MailTab } from "./mail";
import styles from "./swarms.module.css";
import { WorkersTab } from "./workers";

export interface SwarmSearch {
  tab?: string;
  worker?: string;
  handle?: string;
  all?: boolean;
}

const TABS: readonly { id: string; title: string; show: ComponentType }[] = [
  { id: "swarms", title: "Swarms", show: SwarmsTab },
  { id: "workers", title: "Workers", show: WorkersTab },
  { id: "mail", title: "Mail and handoffs", show: MailTab },
  { id: "checkpoints", title: "Checkpoints", show: CheckpointsTab },
];

/** Agents in groups: swarms, workers by their handles, and what they tell one another. */
export default function SwarmsPage() {
  const { tab } = useSearch({ strict: false }) as SwarmSearch;
  const navigate = useNavigate();
  const current = TABS.find((each) => each.id === tab) ?? TABS[0];
  useKeys(
    TABS.map((each, index) => ({
      key: String(index + 1),
      does: each.title,
      run: () => void navigate({ to: "/swarms", search: { tab: each.id }, replace: true }),
    })),
  );
  const Shown = current?.show ?? SwarmsTab;
  return (
    <div className={styles.page}>
      <nav className={styles.tabs} aria-label="About swarms">
        {TABS.map((each) => (
          <Link
            key={each.id}
            to="/swarms"
            search={{ tab: each.id }}
            replace
            className={each === current ? (styles.current ?? "") : ""}
            aria-current={each === current ? "page" : undefined}
          >
            {each.title}
          </Link>
        ))}
      </nav>
      <Shown />
    </div>
  );
}

function SwarmsTab() {
  const { all = false } = useSearch({ strict: false }) as SwarmSearch;
  const swarms = useSwarms(all).data;
  const workers = useWorkers().data ?? [];
  const mayManage = useMay("manage swarms");
  const navigate = useNavigate();
  const [isNew, setNew] = useAsked("swarm");
  const { at } = useCursor(swarms?.map((swarm) => swarm.id) ?? [], (swarm) => {
    void navigate({ to: "/swarms/$swarm", params: { swarm } });
  });
  if (!swarms) return null;
  const button = mayManage && (
    <button type="button" className="primary" onClick={() => setNew(true)}>
      New swarm
    </button>
  );
  return (
    <>
      <div className={styles.top}>
        <label className="quiet">
          <input
            type="checkbox"
            checked={all}
            onChange={() =>
              void navigate({ to: "/swarms", search: all ? {} : { all: true }, replace: true })
            }
          />{" "}
          killed ones too
        </label>
        {swarms.length > 0 && button}
      </div>
      <Section title={`Swarms (${swarms.length})`}>
        {swarms.map((swarm) => (
          <Row
            key={swarm.id}
            swarm={swarm}
            members={workers.filter((worker) => worker.swarm === swarm.id)}
            isAt={at === swarm.id}
          />
        ))}
        {swarms.length === 0 && (
          <Empty command="fleet swarm-create NAME 3" action={button}>
            No swarm yet. A swarm is a group of agents with a cap and a blackboard.
          </Empty>
        )}
      </Section>
      {isNew && mayManage && <NewSwarm close={() => setNew(false)} />}
    </>
  );
}

function Row(props: { swarm: Swarm; members: readonly Worker[]; isAt: boolean }) {
  const { swarm, members } = props;
  const working = members.filter((worker) => worker.state === "working").length;
  return (
    <div className={`${rows.row} ${props.isAt ? rows.at : ""}`} data-row={swarm.id}>
      <Link to="/swarms/$swarm" params={{ swarm: swarm.id }} className={styles.name ?? ""}>
        <span className="clip" dir="auto" title={swarm.name}>
          {swarm.name}
        </span>
        <code className="quiet">{swarm.id}</code>
      </Link>
      <span className={`quiet clip ${styles.wide} ${rows.grow}`} dir="auto">
        {swarm.description}
      </span>
      <span className="quiet num">
        {swarm.killed_at ? "killed" : `${working} of ${swarm.max_agents} at work`} ·{" "}
        {count(members.length, "worker")}
      </span>
      <Ago at={swarm.created_at} />
    </div>
  );
}

function NewSwarm({ close }: { close: () => void }) {
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  const [most, setMost] = useState(3);
  const create = async () => {
    await api.POST("/api/v1/swarms", { body: { name, description, max_agents: most } });
    await cache.invalidateQueries({ queryKey: ["swarms"] });
  };
  return (
    <FormDialog
      title="New swarm"
      button="Create"
      done="The swarm is ready for workers"
      close={close}
      submit={create}
    >
      <label>
        Name
        <input required value={name} onChange={(event) => setName(event.target.value)} />
      </label>
      <label>
        What it is for
        <input value={description} onChange={(event) => setDescription(event.target.value)} />
      </label>
      <label className={forms.row}>
        Most agents at work at once
        <input
          type="number"
          min={1}
          value={most}
          onChange={(event) => setMost(Number(event.target.value))}
        />
      </label>
    </FormDialog>
  );
}
