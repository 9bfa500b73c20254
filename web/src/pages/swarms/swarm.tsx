import { useNavigate, useParams } from "@tanstack/react-router";
import { api } from "../../api/client";
import { useKeys } from "../../keyboard/keys";
import { cache } from "../../live/cache";
import { useSwarm, useWorkers } from "../../live/queries";
import { useMay } from "../../live/session";
import { useAsked } from "../../parts/asked";
import { Empty } from "../../parts/empty";
import { FormDialog } from "../../parts/form-dialog";
import { Ago } from "../../parts/time";
import { Blackboard } from "./blackboard";
import styles from "./swarms.module.css";
import { WorkerList } from "./workers";

/** One swarm: who works in it, and what is on its blackboard. */
export default function SwarmPage() {
  const { swarm: id = "" } = useParams({ strict: false }) as { swarm?: string };
  const { data: swarm, error } = useSwarm(id);
  const workers = useWorkers().data?.filter((worker) => worker.swarm === id) ?? [];
  const mayKill = useMay("manage swarms");
  const navigate = useNavigate();
  const [isKilling, setKilling] = useAsked("kill");
  useKeys([{ key: "Escape", does: "Back", run: () => void navigate({ to: "/swarms" }) }]);
  if (!swarm) {
    return error ? <Empty command="fleet swarms">{error.message}.</Empty> : null;
  }
  const working = workers.filter((worker) => worker.state === "working").length;
  return (
    <div className={styles.page}>
      <header className={styles.head}>
        <h2 dir="auto">{swarm.name}</h2>
        <code className="quiet">{swarm.id}</code>
        <span className="quiet num">
          {swarm.killed_at ? "killed" : `${working} of ${swarm.max_agents} at work`} ·{" "}
          <Ago at={swarm.killed_at ?? swarm.created_at} />
        </span>
        {mayKill && !swarm.killed_at && (
          <button type="button" className={styles.last} onClick={() => setKilling(true)}>
            Kill…
          </button>
        )}
      </header>
      {swarm.description && <p dir="auto">{swarm.description}</p>}
      <WorkerList workers={workers} {...(swarm.killed_at ? {} : { swarm: swarm.id })} />
      <Blackboard swarm={swarm} handles={workers.map((worker) => worker.handle)} />
      {isKilling && mayKill && (
        <FormDialog
          title={`Kill ${swarm.name}`}
          button="Kill"
          done="Killed; its work is archived"
          close={() => setKilling(false)}
          submit={async () => {
            const path = { ref: swarm.id };
            await api.POST("/api/v1/swarms/{ref}/kill", { params: { path } });
            await cache.invalidateQueries({ queryKey: ["swarms"] });
          }}
        >
          <p className="quiet">
            All its agents stop, and what has not started is cancelled. Their work is archived.
          </p>
        </FormDialog>
      )}
    </div>
  );
}
