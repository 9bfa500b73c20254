import { useQuery } from "@tanstack/react-query";
import { api, told } from "../../api/client";
import type { WorkflowStatus } from "../../api/schema";
import { useTasks } from "../../live/queries";
import { rows, Section } from "../../parts/section";
import { TaskChip } from "../../parts/task-chip";

/** The tasks that agents created while they worked on the stages. */
export function Offspring({ flow }: { flow: WorkflowStatus }) {
  const params = { path: { ref: flow.workflow.id } };
  const family = useQuery({
    queryKey: ["workflows", flow.workflow.id, "tasks"],
    queryFn: () => told(api.GET("/api/v1/workflows/{ref}/tasks", { params })),
  }).data;
  const tasks = useTasks().data;
  const stages = new Set(flow.tasks.map((task) => task.id));
  const created = (family ?? []).flatMap((id) => (stages.has(id) ? [] : (tasks?.get(id) ?? [])));
  if (created.length === 0) return null;
  return (
    <Section title={`Created by its agents (${created.length})`}>
      {created.map((task) => (
        <div key={task.id} className={rows.row}>
          <TaskChip task={task} />
        </div>
      ))}
    </Section>
  );
}
