import { useNavigate } from "@tanstack/react-router";
import { useCursor } from "../../keyboard/cursor";
import { useBoard } from "../../live/queries";
import { useMay } from "../../live/session";
import { Needs, useNeedKeys } from "../../parts/needs";
import { openTelling } from "../../parts/telling";
import styles from "../now/now.module.css";

/** Everything that waits for a human, the oldest first. */
export default function InboxPage() {
  const { data: board } = useBoard();
  const needs = board?.needs ?? [];
  const mayAlert = useMay("raise an alert");
  const navigate = useNavigate();
  const ids = needs.flatMap((need) => need.task?.id ?? []);
  const { at } = useCursor(ids, (ref) => {
    void navigate({ to: "/task/$ref", params: { ref } });
  });
  useNeedKeys(needs, at);
  return (
    <div className={styles.page}>
      {board && <Needs needs={needs} at={at} />}
      {mayAlert && (
        <button type="button" className={styles.alert} onClick={() => openTelling("alert")}>
          Raise an alert…
        </button>
      )}
    </div>
  );
}
