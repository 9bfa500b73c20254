import { Refusal } from "../api/client";
import { External, useExternal } from "../live/external";
import styles from "./toasts.module.css";

interface Toast {
  id: number;
  text: string;
  hint: string;
  isBad: boolean;
}

const toasts = new External<readonly Toast[]>([]);
const GOOD_MS = 4000;
const BAD_MS = 10_000;
let last = 0;

/** Say that something was done. */
export function say(text: string): void {
  show({ text, hint: "", isBad: false });
}

/** Show a refusal with the core's own sentence and hint. */
export function refuse(error: unknown): void {
  const text = error instanceof Error ? error.message : String(error);
  show({ text, hint: error instanceof Refusal ? error.hint : "", isBad: true });
}

/** Do something; if it is refused, show why. Returns whether it was done. */
export async function attempt(act: () => Promise<unknown>, done?: string): Promise<boolean> {
  try {
    await act();
  } catch (error) {
    refuse(error);
    return false;
  }
  if (done) say(done);
  return true;
}

function show(toast: Omit<Toast, "id">): void {
  last += 1;
  const shown = { ...toast, id: last };
  toasts.set([...toasts.get().slice(-3), shown]);
  setTimeout(() => dismiss(shown.id), toast.isBad ? BAD_MS : GOOD_MS);
}

function dismiss(id: number): void {
  toasts.set(toasts.get().filter((toast) => toast.id !== id));
}

export function Toasts() {
  return (
    <div className={styles.toasts} role="status" aria-live="polite">
      {useExternal(toasts).map((toast) => (
        <div key={toast.id} className={`${styles.toast} ${toast.isBad ? styles.bad : ""}`}>
          <div>
            <div>{toast.text}</div>
            {toast.hint && <div className="quiet">{toast.hint}</div>}
          </div>
          <button
            type="button"
            className="bare"
            aria-label="Dismiss"
            onClick={() => dismiss(toast.id)}
          >
            ×
          </button>
        </div>
      ))}
    </div>
  );
}
