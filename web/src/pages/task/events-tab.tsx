import { useQuery } from "@tanstack/react-query";
import { address, api, told } from "../../api/client";
import { useEvents } from "../../live/queries";
import { rows, Section } from "../../parts/section";
import { Ago } from "../../parts/time";
import type { TabProps } from "./task";
import styles from "./task.module.css";

/** The log of the task, the newest first. */
export function EventsTab({ details }: TabProps) {
  const { id } = details.task;
  const events = useEvents(id).data ?? [];
  return (
    <Section title="Events" aside={<WholeLog task={id} many={events.length} />}>
      {events.toReversed().map((event) => (
        <div key={event.seq} className={rows.row}>
          <span className={`num quiet ${styles.seq}`} data-seq>
            {event.seq}
          </span>
          <code className={styles.kind}>{event.kind}</code>
          <span className={`clip ${rows.grow}`} dir="auto" title={event.text}>
            {event.text}
          </span>
          <span className={`quiet clip ${styles.by}`} title={event.by}>
            {event.by}
          </span>
          <Ago at={event.at} />
        </div>
      ))}
    </Section>
  );
}

/** The way to the whole log, the archive too, of which the newest events are shown here. */
function WholeLog({ task, many }: { task: string; many: number }) {
  const params = { path: { task } };
  const isArchived = useQuery({
    queryKey: ["events", task, "archived"],
    queryFn: () => told(api.GET("/api/v1/tasks/{task}/archived", { params })),
  }).data;
  return (
    <>
      {many}
      {isArchived && ", older ones are in the archive"} ·{" "}
      <a href={address("/api/v1/events/story", { task })} download={`${task}.jsonl`}>
        Download all
      </a>
    </>
  );
}
