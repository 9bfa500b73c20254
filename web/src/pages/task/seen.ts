import { useState } from "react";
import { type File, fingerprint } from "./diff";

/** Which files somebody has seen, as they are now: one that changes is unseen again. */
export function useSeen(task: string): [(file: File) => boolean, (file: File) => void] {
  const key = `seen ${task}`;
  const [marks, setMarks] = useState<Record<string, string>>(() => read(key));
  const isSeen = (file: File) => marks[file.path] === fingerprint(file);
  const mark = (file: File) => {
    const { [file.path]: _, ...others } = marks;
    const after = isSeen(file) ? others : { ...others, [file.path]: fingerprint(file) };
    localStorage.setItem(key, JSON.stringify(after));
    setMarks(after);
  };
  return [isSeen, mark];
}

function read(key: string): Record<string, string> {
  try {
    return JSON.parse(localStorage.getItem(key) ?? "{}") as Record<string, string>;
  } catch {
    return {};
  }
}
