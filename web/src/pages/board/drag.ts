import { type RefObject, useLayoutEffect, useRef } from "react";

/** What dragging does. Places and cards are named by `data-place` and `data-row`. */
export interface Dragging {
  lift: (id: string) => void;
  /** The pointer is here, over this place. */
  hover: (place: string | undefined, x: number, y: number) => void;
  drop: (place: string | undefined) => void;
  putBack: () => void;
}

const SLACK = 4;
const EDGE = 48;
const SPEED = 12;

/** Let cards be dragged by mouse or pen. A finger scrolls, and opens the menu by a long press. */
export function useDrag(board: RefObject<HTMLElement | null>, dragging: Dragging): void {
  const current = useRef(dragging);
  current.current = dragging;
  useLayoutEffect(() => {
    const element = board.current;
    if (!element) return;
    const stop = new AbortController();
    const drag = new Drag(element, () => current.current);
    const on = <K extends keyof HTMLElementEventMap>(
      name: K,
      react: (event: HTMLElementEventMap[K]) => void,
      capture = false,
    ) => element.addEventListener(name, react, { signal: stop.signal, capture });
    on("pointerdown", drag.down);
    on("pointermove", drag.move);
    on("pointerup", drag.up);
    on("pointercancel", drag.cancel);
    on("click", drag.click, true);
    on("dragstart", (event) => event.preventDefault());
    return () => {
      stop.abort();
      drag.end();
    };
  }, [board]);
}

class Drag {
  private began: PointerEvent | undefined;
  private last: PointerEvent | undefined;
  private frame = 0;
  private wasDrag = false;

  constructor(
    private readonly board: HTMLElement,
    private readonly dragging: () => Dragging,
  ) {}

  down = (event: PointerEvent): void => {
    this.wasDrag = false;
    if (event.button === 0 && event.pointerType !== "touch" && cardAt(event)) this.began = event;
  };

  move = (event: PointerEvent): void => {
    if (!this.began) return;
    const far = Math.hypot(event.clientX - this.began.clientX, event.clientY - this.began.clientY);
    if (!this.last && far < SLACK) return;
    if (!this.last) this.lift(event);
    this.last = event;
    this.dragging().hover(placeAt(event), event.clientX, event.clientY);
  };

  up = (event: PointerEvent): void => {
    if (this.last) this.dragging().drop(placeAt(event));
    this.end();
  };

  cancel = (): void => {
    if (this.last) this.dragging().putBack();
    this.end();
  };

  /** A drag is no click. */
  click = (event: MouseEvent): void => {
    if (!this.wasDrag) return;
    this.wasDrag = false;
    event.preventDefault();
    event.stopPropagation();
  };

  end(): void {
    cancelAnimationFrame(this.frame);
    this.began = this.last = undefined;
  }

  /** The board has the pointer from now on: the card may leave a list that shows only a part. */
  private lift(event: PointerEvent): void {
    const id = this.began && cardAt(this.began);
    if (!id) return;
    this.wasDrag = true;
    this.board.setPointerCapture(event.pointerId);
    this.dragging().lift(id);
    this.frame = requestAnimationFrame(this.scroll);
  }

  /** Near an edge, the columns beyond come into view. */
  private scroll = (): void => {
    const { left, right } = this.board.getBoundingClientRect();
    const x = this.last?.clientX ?? (left + right) / 2;
    if (x < left + EDGE) this.board.scrollLeft -= SPEED;
    if (x > right - EDGE) this.board.scrollLeft += SPEED;
    this.frame = requestAnimationFrame(this.scroll);
  };
}

function cardAt(event: PointerEvent): string | undefined {
  const target = event.target as Element;
  return target.closest<HTMLElement>("[data-row]")?.dataset.row;
}

function placeAt(event: PointerEvent): string | undefined {
  const found = document.elementFromPoint(event.clientX, event.clientY);
  return found?.closest<HTMLElement>("[data-place]")?.dataset.place;
}
