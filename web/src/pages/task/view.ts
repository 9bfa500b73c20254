import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useState } from "react";

const KEY = "diff view";
const PHONE = "(max-width: 640px)";

/** Is the diff shown side by side? The address says so; without it, what this browser had last. */
export function useSplit(): [isSplit: boolean, toggle: () => void] {
  const navigate = useNavigate();
  const { view } = useSearch({ strict: false }) as { view?: string };
  const isPhone = useMedia(PHONE);
  const isSplit = (view ?? localStorage.getItem(KEY)) === "split";
  const show = (split: boolean) =>
    void navigate({
      to: ".",
      search: ({ view: _, ...others }: Record<string, unknown>) =>
        split ? { ...others, view: "split" } : others,
      replace: true,
    });
  const isTold = isSplit === (view === "split");
  // biome-ignore lint/correctness/useExhaustiveDependencies: only what is remembered goes there
  useEffect(() => {
    if (!isTold) show(isSplit);
  }, [isTold]);
  const toggle = () => {
    localStorage.setItem(KEY, isSplit ? "unified" : "split");
    show(!isSplit);
  };
  return [isSplit && !isPhone, toggle];
}

function useMedia(query: string): boolean {
  const [fits, setFits] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const media = matchMedia(query);
    const look = () => setFits(media.matches);
    media.addEventListener("change", look);
    return () => media.removeEventListener("change", look);
  }, [query]);
  return fits;
}
