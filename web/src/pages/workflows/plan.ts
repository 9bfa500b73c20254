import type { Plan } from "../../api/schema";

/** The plan in a file, YAML or JSON; whether it is a good one, only the core can say. */
export async function readPlan(text: string, prompt: string): Promise<Plan> {
  const { parse } = await import("yaml");
  const said: unknown = parse(text);
  if (typeof said !== "object" || said === null || Array.isArray(said)) {
    throw new Error("this is not a workflow: it should be an object with `stages`");
  }
  return { ...said, ...(prompt.trim() ? { prompt } : {}) } as Plan;
}

export const EXAMPLE = `name: careful change
prompt: What should be different?
stages:
  - name: plan
    prompt: |
      Plan this, and change nothing: {task_prompt}
  - name: decide
    needs: [plan]
    gate: |
      {plan.summary}
      Shall I go on?
  - name: implement
    needs: [decide]
    prompt: |
      {task_prompt}
      The plan: {plan.summary}
    landing: review
`;
