import { External } from "../live/external";
import { refuse, say } from "../parts/toasts";

const KEY = "notifications";

/** Whether this browser notifies of what needs somebody: off until they ask for it. */
export const isOn = new External(read());
addEventListener("storage", () => isOn.set(read()));

/** Turn notifications on or off; the browser asks for permission, so call it for a click or key. */
export async function switchNotifications(): Promise<void> {
  if (isOn.get()) {
    keep("off");
    return say("No more notifications");
  }
  const why = await refusal();
  if (why) return refuse(new Error(why));
  keep("on");
  say("You are notified of what needs you while you are elsewhere");
}

/** Why there can be no notifications, or nothing if there can. */
async function refusal(): Promise<string> {
  if (!("Notification" in globalThis && "locks" in navigator)) {
    return "Browsers notify only for pages at localhost or over https: open this one there";
  }
  const answer = await Notification.requestPermission();
  return answer === "granted"
    ? ""
    : "The browser does not allow it: allow notifications for this page in its settings";
}

function keep(value: "on" | "off"): void {
  localStorage.setItem(KEY, value);
  isOn.set(value === "on");
}

function read(): boolean {
  return (
    localStorage.getItem(KEY) === "on" &&
    "locks" in navigator &&
    globalThis.Notification?.permission === "granted"
  );
}
