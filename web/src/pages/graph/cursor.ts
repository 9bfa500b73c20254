import type { Box } from "./layout";
import type { Edge } from "./picture";

export type Direction = "left" | "right" | "up" | "down";

/** The node next to another: along an edge, or the nearest that lies in that direction. */
export function next(
  at: string | undefined,
  direction: Direction,
  boxes: ReadonlyMap<string, Box>,
  edges: readonly Edge[],
): string | undefined {
  const from = at === undefined ? undefined : boxes.get(at);
  if (!from) return nearest([...boxes], (box) => box.x + box.y);
  const along = edges.flatMap((edge) => {
    if (direction === "right" && edge.from === at) return [edge.to];
    return direction === "left" && edge.to === at ? [edge.from] : [];
  });
  const linked = along.flatMap((id): [string, Box][] => {
    const box = boxes.get(id);
    return box ? [[id, box]] : [];
  });
  if (linked.length > 0) return nearest(linked, (box) => Math.abs(box.y - from.y));
  const isVertical = direction === "up" || direction === "down";
  const sign = direction === "down" || direction === "right" ? 1 : -1;
  const ahead = (box: Box) => sign * (isVertical ? box.y - from.y : box.x - from.x);
  const aside = (box: Box) => Math.abs(isVertical ? box.x - from.x : box.y - from.y);
  const candidates = [...boxes].filter(([, box]) => ahead(box) > 0);
  return nearest(candidates, (box) => ahead(box) + 3 * aside(box)) ?? at;
}

function nearest(boxes: readonly [string, Box][], far: (box: Box) => number): string | undefined {
  let found: string | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const [id, box] of boxes) {
    if (far(box) >= least) continue;
    [found, least] = [id, far(box)];
  }
  return found;
}
