import styles from "./code.module.css";
import { useColours } from "./colours";
import { languageCalled } from "./languages";
import type { Tokens } from "./tokens";

/** A line of code: its pieces in colours if they are known, its text until then. */
export function Code({ text, tokens }: { text: string; tokens: Tokens | undefined }) {
  if (!tokens) return text;
  return tokens.map(([part, kind], at) =>
    kind ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: pieces never move within a line
      <span key={at} className={styles[kind]}>
        {part}
      </span>
    ) : (
      part
    ),
  );
}

/** A block of code in a language that is called by this word. */
export function Block({ text, language }: { text: string; language: string }) {
  const lines = useColours(text, languageCalled(language));
  return (
    <pre className={styles.block}>
      <code>
        {text.split("\n").map((line, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines never move within a block
          <span key={at} className={styles.line}>
            <Code text={line} tokens={lines?.[at]} />
            {"\n"}
          </span>
        ))}
      </code>
    </pre>
  );
}
