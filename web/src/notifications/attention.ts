const LOOKED_AT = "codefleet is looked at";
let leave = () => {};

/** Is this page on the screen, and the one that is typed into? */
export function isLookedAt(): boolean {
  return document.visibilityState === "visible" && document.hasFocus();
}

/** Let every page of this browser know while this one is looked at: it holds a lock then. */
export function showAttention(): () => void {
  const look = () => {
    leave();
    if (isLookedAt()) void navigator.locks.request(LOOKED_AT, { mode: "shared" }, hold);
  };
  look();
  addEventListener("focus", look);
  addEventListener("blur", look);
  document.addEventListener("visibilitychange", look);
  return () => {
    removeEventListener("focus", look);
    removeEventListener("blur", look);
    document.removeEventListener("visibilitychange", look);
    leave();
  };
}

/** Is any page of this browser looked at? */
export async function isAnyLookedAt(): Promise<boolean> {
  if (isLookedAt()) return true;
  const { held } = await navigator.locks.query();
  return held?.some(({ name }) => name === LOOKED_AT) ?? false;
}

function hold(): Promise<void> | undefined {
  if (!isLookedAt()) return undefined;
  return new Promise((done) => {
    leave = done;
  });
}
