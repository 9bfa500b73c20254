import { type RefObject, useCallback, useLayoutEffect, useState } from "react";
import { useGestures } from "../../parts/gestures";
import type { Box } from "./layout";

/** Where the picture is on the screen, and how large. */
export interface View {
  x: number;
  y: number;
  scale: number;
}

export interface Size {
  width: number;
  height: number;
}

const SMALLEST = 0.04;
const LARGEST = 2;
const MARGIN = 24;

/** The same picture, larger or smaller around a point of the screen that stays where it is. */
export function zoomed(view: View, factor: number, x: number, y: number): View {
  const scale = Math.min(Math.max(view.scale * factor, SMALLEST), LARGEST);
  const by = scale / view.scale;
  return { scale, x: x - (x - view.x) * by, y: y - (y - view.y) * by };
}

/** The view that shows all of a box, no larger than life; not smaller than `least` shows from its left. */
export function fitted(box: Box, size: Size, least = SMALLEST): View {
  const room = { width: size.width - 2 * MARGIN, height: size.height - 2 * MARGIN };
  const whole = Math.min(room.width / box.width, room.height / box.height, 1);
  const scale = Math.max(whole, least);
  const spare = (have: number, need: number) => Math.max((have - need * scale) / 2, 0);
  return {
    scale,
    x: MARGIN + spare(room.width, box.width) - box.x * scale,
    y: MARGIN + spare(room.height, box.height) - box.y * scale,
  };
}

/** The same size, but with this box on the screen: moved only as far as it takes. */
export function revealed(view: View, box: Box, size: Size): View {
  const shift = (at: number, length: number, room: number, offset: number) => {
    const [low, high] = [at * view.scale + offset, (at + length) * view.scale + offset];
    if (low < MARGIN) return MARGIN - low;
    return high > room - MARGIN ? room - MARGIN - high : 0;
  };
  return {
    ...view,
    x: view.x + shift(box.x, box.width, size.width, view.x),
    y: view.y + shift(box.y, box.height, size.height, view.y),
  };
}

/** The smallest box around all of these. */
export function around(boxes: readonly Box[]): Box | undefined {
  if (boxes.length === 0) return undefined;
  const [x, y] = [Math.min(...boxes.map((box) => box.x)), Math.min(...boxes.map((box) => box.y))];
  const right = Math.max(...boxes.map((box) => box.x + box.width));
  return { x, y, width: right - x, height: Math.max(...boxes.map((b) => b.y + b.height)) - y };
}

const TILE = 512;

/** The part of the picture that is on the screen, in whole tiles: small moves leave it as it is. */
export function regionOf(view: View, size: Size): Box {
  const tile = TILE * 2 ** Math.ceil(-Math.log2(view.scale));
  const down = (at: number) => Math.floor(at / view.scale / tile) * tile;
  const up = (at: number) => Math.ceil(at / view.scale / tile) * tile;
  const [x, y] = [down(-view.x), down(-view.y)];
  return { x, y, width: up(size.width - view.x) - x, height: up(size.height - view.y) - y };
}

export function isIn(box: Box, region: Box): boolean {
  const isBefore = (one: Box, other: Box) =>
    one.x + one.width < other.x || one.y + one.height < other.y;
  return !isBefore(box, region) && !isBefore(region, box);
}

/** A view that is moved by wheel, pointer and fingers, and the size of the frame it is seen in. */
export function useView(frame: RefObject<HTMLElement | null>) {
  const [view, setView] = useState<View>({ x: 0, y: 0, scale: 1 });
  const [size, setSize] = useState<Size>();
  const pan = useCallback(
    (dx: number, dy: number) => setView((was) => ({ ...was, x: was.x + dx, y: was.y + dy })),
    [],
  );
  const zoom = useCallback(
    (by: number, x: number, y: number) => setView((was) => zoomed(was, by, x, y)),
    [],
  );
  useGestures(frame, { pan, zoom });
  useLayoutEffect(() => {
    const element = frame.current;
    if (!element) return;
    const seen = new ResizeObserver(() => {
      setSize({ width: element.clientWidth, height: element.clientHeight });
    });
    seen.observe(element);
    return () => seen.disconnect();
  }, [frame]);
  return { view, setView, pan, zoom, size };
}
