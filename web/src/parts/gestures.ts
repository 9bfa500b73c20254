import { type RefObject, useEffect, useRef } from "react";

/** What somebody does to a picture with wheel, pointer or fingers; places are relative to it. */
export interface Gestures {
  pan: (dx: number, dy: number) => void;
  zoom: (factor: number, x: number, y: number) => void;
}

const SLACK = 4;
const WHEEL = 0.0016;
const LINE_PX = 16;

/** Dragging and a sideways wheel pan; the wheel and two fingers zoom. A drag is no click. */
export function useGestures(target: RefObject<HTMLElement | null>, gestures: Gestures): void {
  const current = useRef(gestures);
  current.current = gestures;
  useEffect(() => {
    const element = target.current;
    if (!element) return;
    const stop = new AbortController();
    const hands = new Hands(element, () => current.current);
    const on = <K extends keyof HTMLElementEventMap>(
      name: K,
      react: (event: HTMLElementEventMap[K]) => void,
      more: AddEventListenerOptions = {},
    ) => element.addEventListener(name, react, { signal: stop.signal, ...more });
    on("wheel", hands.wheel, { passive: false });
    on("pointerdown", hands.down);
    on("pointermove", hands.move);
    on("pointerup", hands.up);
    on("pointercancel", hands.up);
    on("click", hands.click, { capture: true });
    on("dragstart", (event) => event.preventDefault());
    return () => stop.abort();
  }, [target]);
}

class Hands {
  private readonly fingers = new Map<number, PointerEvent>();
  private began: PointerEvent | undefined;
  private isDrag = false;

  constructor(
    private readonly element: HTMLElement,
    private readonly gestures: () => Gestures,
  ) {}

  wheel = (event: WheelEvent): void => {
    event.preventDefault();
    const scale = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE_PX : 1;
    const [dx, dy] = [event.deltaX * scale, event.deltaY * scale];
    if (event.shiftKey || Math.abs(dx) > Math.abs(dy)) this.gestures().pan(-(dx || dy), 0);
    else this.gestures().zoom(Math.exp(-dy * WHEEL), ...this.place(event));
  };

  down = (event: PointerEvent): void => {
    if (event.button !== 0) return;
    this.fingers.set(event.pointerId, event);
    if (this.fingers.size > 1) return;
    this.began = event;
    this.isDrag = false;
  };

  move = (event: PointerEvent): void => {
    const before = this.fingers.get(event.pointerId);
    if (!before || !this.began) return;
    const far = Math.hypot(event.clientX - this.began.clientX, event.clientY - this.began.clientY);
    if (!this.isDrag && far < SLACK) return;
    if (!this.isDrag) this.element.setPointerCapture(event.pointerId);
    this.isDrag = true;
    const other = [...this.fingers.values()].find((each) => each.pointerId !== event.pointerId);
    this.fingers.set(event.pointerId, event);
    if (other) this.pinch(before, event, other);
    else this.gestures().pan(event.clientX - before.clientX, event.clientY - before.clientY);
  };

  up = (event: PointerEvent): void => {
    this.fingers.delete(event.pointerId);
  };

  click = (event: MouseEvent): void => {
    if (!this.isDrag) return;
    this.isDrag = false;
    event.preventDefault();
    event.stopPropagation();
  };

  private pinch(before: PointerEvent, after: PointerEvent, other: PointerEvent): void {
    const apart = (one: PointerEvent) =>
      Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY) || 1;
    const [x, y] = this.place(other);
    this.gestures().zoom(apart(after) / apart(before), x, y);
  }

  private place(event: MouseEvent): [x: number, y: number] {
    const box = this.element.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }
}
