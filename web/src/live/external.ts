import { useSyncExternalStore } from "react";

/** A value outside of React that components can watch. */
export class External<T> {
  private readonly watchers = new Set<() => void>();

  constructor(private value: T) {}

  get = (): T => this.value;

  set = (value: T): void => {
    if (Object.is(value, this.value)) return;
    this.value = value;
    for (const watcher of this.watchers) watcher();
  };

  watch = (watcher: () => void): (() => void) => {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  };
}

export function useExternal<T>(external: External<T>): T {
  return useSyncExternalStore(external.watch, external.get);
}
