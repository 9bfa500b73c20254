import { useLayoutEffect, useRef } from "react";

/** A key, what it does, and the function that does it. `mod` is Ctrl, or Cmd on a Mac. */
export interface Binding {
  key: string;
  does: string;
  run: () => void;
  mod?: boolean;
  /** Also while somebody types. */
  always?: boolean;
}

type Layer = { current: readonly Binding[]; isModal: boolean };

/** The layers of keys on the screen, the topmost last; a modal one hides those below it. */
const layers: Layer[] = [];

/** While the component is on the screen, these keys do this. */
export function useKeys(bindings: readonly Binding[], isModal = false): void {
  const layer = useRef<Layer>({ current: bindings, isModal });
  layer.current.current = bindings;
  useLayoutEffect(() => {
    const own = layer.current; // at once: what can be seen can be reached by keys
    layers.push(own);
    return () => {
      layers.splice(layers.indexOf(own), 1);
    };
  }, []);
}

/** All keys that do something now, for the help. */
export function bindings(): readonly Binding[] {
  const seen = new Map<string, Binding>();
  for (const layer of layers) for (const each of layer.current) seen.set(name(each), each);
  return [...seen.values()];
}

export function name(binding: Pick<Binding, "key" | "mod">): string {
  const key = binding.key === " " ? "Space" : binding.key;
  return binding.mod ? `Ctrl-${key.toUpperCase()}` : key;
}

export function press(event: KeyboardEvent): void {
  const found = meant(event);
  if (!found) return;
  event.preventDefault();
  if (isControl(event.target) && !layers.at(-1)?.isModal) event.target.blur();
  found.run();
}

function meant(event: KeyboardEvent): Binding | undefined {
  const mod = event.ctrlKey || event.metaKey;
  const typing = isTyping(event.target);
  const isPressed = isControl(event.target) && ["Enter", " "].includes(event.key);
  for (const layer of [...layers].reverse()) {
    const found = layer.current.find(
      (each) =>
        each.key.toLowerCase() === event.key.toLowerCase() &&
        (each.mod ?? false) === mod &&
        !event.altKey &&
        (each.always || each.mod || !(typing || isPressed)),
    );
    if (found || layer.isModal) return found;
  }
  return undefined;
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName))
  );
}

/** A button or a link that has the focus is pressed by Enter and Space, until another key is used. */
function isControl(target: EventTarget | null): target is HTMLElement {
  return target instanceof HTMLElement && ["A", "BUTTON", "SUMMARY"].includes(target.tagName);
}
