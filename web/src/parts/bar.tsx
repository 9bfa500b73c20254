import styles from "./bar.module.css";

/** How much of something is used; over the limit, it is full and says so. */
export function Bar({ share, label }: { share: number; label: string }) {
  const percent = Math.round(Math.min(Math.max(share, 0), 1) * 100);
  return (
    <span className={styles.bar} title={label}>
      <progress
        className={share > 1 ? styles.over : ""}
        max={100}
        value={percent}
        aria-label={label}
      />
    </span>
  );
}
