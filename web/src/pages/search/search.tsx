import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { type ReactNode, useEffect, useRef, useState } from "react";
import type { Found, Task } from "../../api/schema";
import { useCursor } from "../../keyboard/cursor";
import { useKeys } from "../../keyboard/keys";
import { useFound } from "../../live/queries";
import { Empty } from "../../parts/empty";
import { rows, Section } from "../../parts/section";
import { TaskChip } from "../../parts/task-chip";
import { Ago } from "../../parts/time";
import { excerpt, isIn, pieces } from "./excerpt";
import { useAlike } from "./queries";
import styles from "./search.module.css";

const PAUSE_MS = 150;

/** Everything that has the words of a query. The query is in the address. */
export default function SearchPage() {
  const asked = String((useSearch({ strict: false }) as { q?: unknown }).q ?? "");
  const { data: found, isFetching, error } = useFound(asked.trim());
  return (
    <div className={styles.page}>
      <Query asked={asked} />
      {error && <p className={styles.wrong}>{error.message}</p>}
      {asked.trim() === "" && (
        <Empty command="fleet list --search WORDS">
          Tasks, questions, what agents learnt, and the newest events: type some words. Beginnings
          of words are enough.
        </Empty>
      )}
      {asked.trim() !== "" && found && <Results found={found} query={asked} isStale={isFetching} />}
    </div>
  );
}

function Query({ asked }: { asked: string }) {
  const navigate = useNavigate();
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(asked);
  useEffect(() => setText(asked), [asked]);
  useEffect(() => {
    if (text === asked) return;
    const later = setTimeout(() => {
      if (location.pathname !== "/search") return; // another page is on its way
      void navigate({ to: "/search", search: text ? { q: text } : {}, replace: true });
    }, PAUSE_MS);
    return () => clearTimeout(later);
  }, [text, asked, navigate]);
  const wasEmpty = useRef(asked === "");
  useEffect(() => {
    if (wasEmpty.current) input.current?.focus();
  }, []);
  useKeys([{ key: "/", does: "Search", run: () => input.current?.select() }]);
  return (
    <search>
      <input
        ref={input}
        type="search"
        className={styles.query}
        placeholder="Search  /"
        aria-label="Search for words"
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Escape" && event.key !== "Enter") return;
          event.preventDefault(); // a browser would empty it
          input.current?.blur();
        }}
      />
    </search>
  );
}

function Results({ found, query, isStale }: { found: Found; query: string; isStale: boolean }) {
  const navigate = useNavigate();
  const about = new Map(found.about.map((task) => [task.id, task]));
  const ids = [...found.tasks.map((task) => task.id), ...found.about.map((task) => task.id)];
  const { at } = useCursor([...new Set(ids)], (ref) => {
    void navigate({ to: "/task/$ref", params: { ref } });
  });
  const many =
    found.tasks.length + found.questions.length + found.memories.length + found.events.length;
  const row = (task: string | null) =>
    `${rows.group} ${task !== null && task === at ? rows.at : ""}`;
  if (many === 0) {
    return (
      <>
        <Empty command="fleet log">
          Nothing has all these words. Older events are in the log of the command line:
        </Empty>
        <Alike query={query} />
      </>
    );
  }
  return (
    <div className={isStale ? styles.stale : styles.results} aria-live="polite">
      <Group title="Tasks" many={found.tasks.length}>
        {found.tasks.map((task) => (
          <div key={task.id} className={row(task.id)} data-row={task.id}>
            <div className={styles.head}>
              <TaskChip task={task} marked={<Marked text={task.title} query={query} />} />
              <span className="quiet clip" title={task.repo}>
                {task.repo}
              </span>
              <Ago at={task.updated_at} />
            </div>
            {isIn(task.prompt, query) && <Place text={task.prompt} query={query} />}
            {isIn(task.labels.join(" "), query) && (
              <Place text={task.labels.join(" · ")} query={query} />
            )}
          </div>
        ))}
      </Group>
      <Group title="Questions" many={found.questions.length}>
        {found.questions.map((each) => (
          <div key={each.id} className={row(each.task)}>
            <div className={styles.head}>
              <About id={each.task} tasks={about} />
              <span className="quiet">{each.answered_at ? "answered" : "open"}</span>
              <Ago at={each.asked_at} />
            </div>
            <Place text={[each.text, ...each.options].join(" · ")} query={query} />
            {each.answer && <Place text={`→ ${each.answer}`} query={query} />}
          </div>
        ))}
      </Group>
      <Group title="Knowledge" many={found.memories.length}>
        {found.memories.map((each) => (
          <div key={each.id} className={rows.group}>
            <div className={styles.head}>
              <strong className="clip" dir="auto">
                <Marked text={each.key} query={query} />
              </strong>
              <span className="quiet clip">
                {each.type} · {each.repo} · {each.handle}
              </span>
              <Ago at={each.stored_at} />
            </div>
            <Place text={each.value} query={query} />
          </div>
        ))}
      </Group>
      <Group title="Events" many={found.events.length}>
        {found.events.map((event) => (
          <div key={event.seq} className={row(event.task)}>
            <div className={styles.head}>
              <code className="quiet">
                <Marked text={event.kind} query={query} />
              </code>
              {event.task && <About id={event.task} tasks={about} />}
              <Ago at={event.at} />
            </div>
            {event.text && <Place text={event.text} query={query} />}
          </div>
        ))}
      </Group>
    </div>
  );
}

/** When nothing has all the words: the tasks that are most similar, finished ones too. */
function Alike({ query }: { query: string }) {
  const found = useAlike(query.trim()).data ?? [];
  return (
    <Group title="Similar tasks" many={found.length}>
      {found.map(({ task }) => (
        <div key={task.id} className={`${rows.group} ${styles.head}`}>
          <TaskChip task={task} />
          <span className="quiet clip">{task.repo}</span>
          <Ago at={task.updated_at} />
        </div>
      ))}
    </Group>
  );
}

function Group(props: { title: string; many: number; children: ReactNode }) {
  if (props.many === 0) return null;
  return (
    <Section title={props.title} aside={props.many}>
      {props.children}
    </Section>
  );
}

function About({ id, tasks }: { id: string; tasks: ReadonlyMap<string, Task> }) {
  const task = tasks.get(id);
  if (task) return <TaskChip task={task} />;
  return (
    <Link to="/task/$ref" params={{ ref: id }}>
      <code>{id}</code>
    </Link>
  );
}

function Place({ text, query }: { text: string; query: string }) {
  return (
    <p className={`${styles.place} quiet`} dir="auto">
      <Marked text={excerpt(text, query)} query={query} />
    </p>
  );
}

function Marked({ text, query }: { text: string; query: string }) {
  return pieces(text, query).map((each) =>
    each.isMarked ? <mark key={each.at}>{each.text}</mark> : <span key={each.at}>{each.text}</span>,
  );
}
