import { useMemo, useRef, useState } from "react";
import type { Task } from "../../api/schema";
import type { Tasks } from "../../live/cache";
import { useMoves } from "../../live/queries";
import { dropAt } from "./drop";
import { type Place, placesFor } from "./places";

type Hand = "pointer" | "keys";

/** A card that was picked up, and the place that it is over. */
interface Held {
  id: string;
  by: Hand;
  over?: string | undefined;
}

export interface Carrying {
  task: Task | undefined;
  by: Hand | undefined;
  /** Where it may go, as the core says. */
  places: readonly Place[];
  over: Place | undefined;
  lift: (id: string, by: Hand) => void;
  hover: (place: string | undefined) => void;
  /** Choose the next place, or the one before. */
  step: (by: 1 | -1) => void;
  drop: (place: string | undefined) => void;
  putBack: () => void;
}

/** Carrying a card to another place, by pointer or keys. */
export function useCarrying(tasks: Tasks | undefined): Carrying {
  const [held, show] = useState<Held>();
  const latest = useRef<Held>(undefined); // a quick hand drops before anything was drawn
  const set = (after: Held | undefined) => {
    latest.current = after;
    show(after);
  };
  const task = held && tasks?.get(held.id);
  const moves = useMoves(held?.id).data;
  const places = useMemo(() => (task && moves ? placesFor(task, moves) : []), [task, moves]);
  const hover = (over: string | undefined) => {
    const was = latest.current;
    if (was && was.over !== over) set({ ...was, over });
  };
  const putBack = () => set(undefined);
  return {
    task,
    by: held?.by,
    places,
    over: places.find(({ id }) => id === held?.over),
    lift: (id, by) => set({ id, by }),
    hover,
    step: (by) => {
      const at = places.findIndex(({ id }) => id === held?.over);
      hover(places.at(at < 0 && by < 0 ? -1 : (at + by) % places.length)?.id);
    },
    drop: (place) => {
      const dropped = tasks?.get(latest.current?.id ?? "");
      if (dropped && place) void dropAt(dropped, place);
      putBack();
    },
    putBack,
  };
}
