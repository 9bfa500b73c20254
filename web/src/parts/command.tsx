import styles from "./command.module.css";
import { say } from "./toasts";

/** A command or a secret to copy. */
export function Command({ text }: { text: string }) {
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    say("Copied");
  };
  return (
    <span className={styles.command}>
      <code>{text}</code>
      <button
        type="button"
        className="bare"
        aria-label={`Copy ${text}`}
        onClick={() => void copy()}
      >
        Copy
      </button>
    </span>
  );
}
