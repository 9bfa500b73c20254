import { useQuery } from "@tanstack/react-query";
import { api, told } from "../../api/client";
import { useTasks } from "../../live/queries";
import { rows, Section } from "../../parts/section";
import { TaskChip } from "../../parts/task-chip";

/** Files that several unfinished tasks have changed: no conflict yet, but worth an eye. */
export function SharedFiles() {
  const shared = useQuery({
    queryKey: ["conflicts", "files"],
    queryFn: () => told(api.GET("/api/v1/shared-files")),
  }).data;
  const tasks = useTasks().data;
  const files = Object.entries(shared ?? {});
  if (files.length === 0) return null;
  return (
    <Section title={`Changed by several tasks (${files.length})`}>
      {files.map(([path, ids]) => (
        <div key={path} className={rows.group}>
          <code>{path}</code>
          {ids.map((id) => {
            const task = tasks?.get(id);
            return task ? <TaskChip key={id} task={task} /> : <code key={id}>{id}</code>;
          })}
        </div>
      ))}
    </Section>
  );
}
