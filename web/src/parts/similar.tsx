import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { api, told } from "../api/client";
import styles from "./similar.module.css";
import { TaskChip } from "./task-chip";

const PAUSE_MS = 250;
const SHOWN = 3;

/** Unfinished tasks that say nearly the same as a title, once its author pauses. */
export function Similar({ title, repo }: { title: string; repo: string }) {
  const settled = useSettled(title.trim());
  const query = { title: settled, ...(repo ? { repo } : {}) };
  const found = useQuery({
    queryKey: ["similar", settled, repo],
    enabled: settled !== "",
    staleTime: 0,
    placeholderData: keepPreviousData,
    queryFn: () => told(api.GET("/api/v1/similar", { params: { query } })),
  }).data;
  if (!found?.length || settled === "") return null;
  return (
    <div className={styles.similar} role="status">
      <span>Is this one of these already?</span>
      {found.slice(0, SHOWN).map((task) => (
        <TaskChip key={task.id} task={task} target="_blank" />
      ))}
    </div>
  );
}

function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const later = setTimeout(() => setSettled(text), PAUSE_MS);
    return () => clearTimeout(later);
  }, [text]);
  return settled;
}
