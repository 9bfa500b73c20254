import { useExternal } from "../live/external";
import { isOn, switchNotifications } from "./switch";

/** The switch at the top of every page. */
export function Bell({ className }: { className: string | undefined }) {
  const isPressed = useExternal(isOn);
  const text = isPressed ? "Stop notifications" : "Notify me of what needs me";
  return (
    <button
      type="button"
      className={className}
      aria-pressed={isPressed}
      aria-label="Notifications"
      title={text}
      onClick={() => void switchNotifications()}
    >
      <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
        <path
          d="M8 1.5a4 4 0 0 0-4 4c0 3.5-1.5 4.5-1.5 6h11c0-1.5-1.5-2.5-1.5-6a4 4 0 0 0-4-4zM6.5 13.5h3"
          fill={isPressed ? "currentColor" : "none"}
          stroke="currentColor"
          strokeWidth="1.4"
          strokeLinecap="round"
          strokeLinejoin="round"
        />
      </svg>
    </button>
  );
}
