import { useNavigate, useSearch } from "@tanstack/react-router";

/** Is this dialog of the page asked for? It is in the address, so that a command can open it. */
export function useAsked(name: string): [isAsked: boolean, ask: (isAsked: boolean) => void] {
  const { ask } = useSearch({ strict: false }) as { ask?: string };
  const navigate = useNavigate();
  const set = (isAsked: boolean) => {
    const search = (old: object) => ({ ...old, ask: isAsked ? name : undefined });
    void navigate({ to: ".", search, replace: true });
  };
  return [ask === name, set];
}
