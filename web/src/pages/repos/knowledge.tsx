import { useState } from "react";
import { api } from "../../api/client";
import type { Memory } from "../../api/schema";
import { cache } from "../../live/cache";
import { useMay } from "../../live/session";
import { useAsked } from "../../parts/asked";
import { Empty } from "../../parts/empty";
import { FormDialog } from "../../parts/form-dialog";
import forms from "../../parts/forms.module.css";
import page from "../../parts/page.module.css";
import { rows, Section } from "../../parts/section";
import { Ago } from "../../parts/time";
import { useMemories } from "./queries";

const TYPES: readonly Memory["type"][] = ["fact", "decision", "pattern", "error"];

/** What agents and people learnt about a repo; what fits a task is in its agent's prompt. */
export function Knowledge({ repo }: { repo: string }) {
  const [words, setWords] = useState("");
  const [isNew, setNew] = useAsked("knowledge");
  const mayAdd = useMay("talk to other agents");
  const memories = useMemories(repo, words.trim(), true).data ?? [];
  return (
    <>
      <search className={page.top}>
        <input
          type="search"
          aria-label="Search the knowledge"
          placeholder="Search the knowledge"
          value={words}
          onChange={(event) => setWords(event.target.value)}
        />
        {mayAdd && (
          <button type="button" onClick={() => setNew(true)}>
            Add knowledge
          </button>
        )}
      </search>
      <Section title={`Knowledge (${memories.length})`}>
        {memories.map((memory) => (
          <Known key={memory.id} memory={memory} />
        ))}
        {memories.length === 0 && (
          <Empty>
            {words.trim()
              ? "Nothing has all these words."
              : "Nothing is known yet. Agents store what they learn here, and you can too: what fits a task is in its agent's prompt."}
          </Empty>
        )}
      </Section>
      {isNew && mayAdd && <Remember repo={repo} close={() => setNew(false)} />}
    </>
  );
}

function Known({ memory }: { memory: Memory }) {
  const about = [memory.type, memory.handle, ...memory.tags, memory.team ?? ""];
  return (
    <article className={rows.group}>
      <div className={page.line}>
        <strong dir="auto">{memory.key}</strong>
        <span className="quiet">{about.filter(Boolean).join(" · ")}</span>
        <Ago at={memory.stored_at} />
      </div>
      <p className={page.words} dir="auto">
        {memory.value}
      </p>
    </article>
  );
}

function Remember({ repo, close }: { repo: string; close: () => void }) {
  const [key, setKey] = useState("");
  const [value, setValue] = useState("");
  const [type, setType] = useState<Memory["type"]>("fact");
  const [tags, setTags] = useState("");
  const remember = async () => {
    const words = tags.split(/[\s,]+/).filter(Boolean);
    await api.POST("/api/v1/memories", { body: { key, value, type, tags: words, repo } });
    await cache.invalidateQueries({ queryKey: ["memories"] });
  };
  return (
    <FormDialog
      title="Add knowledge"
      button="Add"
      done="Agents of this repo can find it"
      close={close}
      submit={remember}
    >
      <label>
        Key; the same key replaces what you had under it
        <input
          required
          placeholder="test database"
          value={key}
          onChange={(event) => setKey(event.target.value)}
        />
      </label>
      <label>
        What is so
        <textarea
          required
          rows={4}
          value={value}
          onChange={(event) => setValue(event.target.value)}
        />
      </label>
      <div className={forms.row}>
        <label>
          Type
          <select value={type} onChange={(event) => setType(event.target.value as Memory["type"])}>
            {TYPES.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
        <label>
          Tags
          <input value={tags} onChange={(event) => setTags(event.target.value)} />
        </label>
      </div>
    </FormDialog>
  );
}
