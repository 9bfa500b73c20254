import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../api/client";
import type { Post, Swarm } from "../../api/schema";
import { cache } from "../../live/cache";
import { type PostFilter, usePosts } from "../../live/queries";
import { useMay } from "../../live/session";
import { Empty } from "../../parts/empty";
import { count } from "../../parts/format";
import { rows, Section } from "../../parts/section";
import { Ago } from "../../parts/time";
import { attempt } from "../../parts/toasts";
import { linesOf, payloadOf } from "./payload";
import styles from "./swarms.module.css";

const TYPES = ["directive", "request", "response", "status", "checkpoint"];
const PRIORITIES = ["critical", "high", "normal", "low"];

/** What the agents of a swarm tell one another, the most urgent first. */
export function Blackboard({ swarm, handles }: { swarm: Swarm; handles: readonly string[] }) {
  const mayRead = useMay("read what agents tell each other");
  const mayPost = useMay("talk to other agents");
  const filter = useSearch({ strict: false }) as PostFilter;
  const asked = {
    ...(filter.type ? { type: filter.type } : {}),
    ...(filter.priority ? { priority: filter.priority } : {}),
    ...(filter.unread_only ? { unread_only: true } : {}),
  };
  const posts = usePosts(swarm.id, asked, mayRead).data ?? [];
  const fresh = usePosts(swarm.id, { ...asked, unread_only: true }, mayRead).data ?? [];
  const unread = new Set(fresh.map((post) => post.id));
  if (!mayRead) return null;
  return (
    <Section
      title="Blackboard"
      aside={
        <span className={styles.buttons}>
          {fresh.length > 0 && (
            <>
              {fresh.length} unread
              <button
                type="button"
                className="bare"
                onClick={() => void attempt(() => markRead(fresh))}
              >
                Mark all as read
              </button>
            </>
          )}
        </span>
      }
    >
      <Filters filter={filter} />
      {posts.map((post) => (
        <Said key={post.id} post={post} isNew={unread.has(post.id)} />
      ))}
      {posts.length === 0 && (
        <Empty command={`fleet blackboard-post ${swarm.id} lead directive '{"text": "…"}'`}>
          {Object.keys(asked).length > 0
            ? "Nothing here fits the filter."
            : "Nothing is on the blackboard. What you post, every agent of the swarm can read."}
        </Empty>
      )}
      {mayPost && !swarm.killed_at && <Write swarm={swarm.id} handles={handles} />}
    </Section>
  );
}

async function markRead(posts: readonly Post[]): Promise<void> {
  await api.POST("/api/v1/posts/read", { body: { ids: posts.map((post) => post.id) } });
  await cache.invalidateQueries({ queryKey: ["posts"] });
}

async function archive(post: Post): Promise<void> {
  const path = { swarm: post.swarm };
  const body = { ids: [post.id] };
  await api.POST("/api/v1/swarms/{swarm}/posts/archive", { params: { path }, body });
  await cache.invalidateQueries({ queryKey: ["posts"] });
}

function Filters({ filter }: { filter: PostFilter }) {
  const navigate = useNavigate();
  const set = (changed: Record<string, string | boolean | undefined>) =>
    void navigate({
      to: ".",
      search: (old: Record<string, unknown>) => ({ ...old, ...changed }),
      replace: true,
    });
  return (
    <search className={`${rows.row} ${styles.filters}`}>
      <select
        aria-label="Filter by type"
        value={filter.type ?? ""}
        onChange={(event) => set({ type: event.target.value || undefined })}
      >
        <option value="">every type</option>
        {TYPES.map((type) => (
          <option key={type}>{type}</option>
        ))}
      </select>
      <select
        aria-label="Filter by priority"
        value={filter.priority ?? ""}
        onChange={(event) => set({ priority: event.target.value || undefined })}
      >
        <option value="">every priority</option>
        {PRIORITIES.map((priority) => (
          <option key={priority}>{priority}</option>
        ))}
      </select>
      <label>
        <input
          type="checkbox"
          checked={filter.unread_only ?? false}
          onChange={() => set({ unread_only: filter.unread_only ? undefined : true })}
        />{" "}
        only unread
      </label>
    </search>
  );
}

function Said({ post, isNew }: { post: Post; isNew: boolean }) {
  const mayArchive = useMay("manage swarms");
  return (
    <article className={`${rows.group} ${styles.post}`} data-unread={isNew}>
      <div className={styles.line}>
        <span className={styles.mark} role="img" aria-label={isNew ? "unread" : "read"} />
        <strong>{post.sender}</strong>
        <span className="quiet">
          {post.type}
          {post.target && ` to ${post.target}`}
          {post.priority !== "normal" && ` · ${post.priority}`}
        </span>
        <Ago at={post.posted_at} />
        <span className={`quiet ${styles.wide}`} title={post.read_by.join(", ")}>
          {post.read_by.length > 0 && `read by ${count(post.read_by.length, "reader")}`}
        </span>
        <span className={`${styles.buttons} ${styles.last}`}>
          {isNew && (
            <button type="button" onClick={() => void attempt(() => markRead([post]))}>
              Mark as read
            </button>
          )}
          {mayArchive && (
            <button type="button" onClick={() => void attempt(() => archive(post))}>
              Archive
            </button>
          )}
        </span>
      </div>
      <Payload payload={post.payload} />
    </article>
  );
}

export function Payload({ payload }: { payload: Readonly<Record<string, unknown>> }) {
  return (
    <div className={styles.payload}>
      {linesOf(payload).map(([key, text]) => (
        <p key={key} dir="auto">
          {key && <span className="quiet">{key}: </span>}
          {text}
        </p>
      ))}
    </div>
  );
}

function Write({ swarm, handles }: { swarm: string; handles: readonly string[] }) {
  const [text, setText] = useState("");
  const [type, setType] = useState("directive");
  const [priority, setPriority] = useState("normal");
  const [target, setTarget] = useState("");
  const post = async () => {
    const body = { type, priority, payload: payloadOf(text), ...(target ? { target } : {}) };
    await api.POST("/api/v1/swarms/{swarm}/posts", { params: { path: { swarm } }, body });
    setText("");
    await cache.invalidateQueries({ queryKey: ["posts"] });
  };
  return (
    <form
      className={`${rows.group} ${styles.write}`}
      onSubmit={(event) => {
        event.preventDefault();
        void attempt(post);
      }}
    >
      <textarea
        required
        rows={2}
        aria-label="Post"
        placeholder="Text, or a JSON object"
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <div className={styles.filters}>
        <select aria-label="Type" value={type} onChange={(event) => setType(event.target.value)}>
          {TYPES.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
        <select
          aria-label="Priority"
          value={priority}
          onChange={(event) => setPriority(event.target.value)}
        >
          {PRIORITIES.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
        <select aria-label="For" value={target} onChange={(event) => setTarget(event.target.value)}>
          <option value="">for everybody</option>
          {handles.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
        <button type="submit" className={`primary ${styles.last}`}>
          Post
        </button>
      </div>
    </form>
  );
}
