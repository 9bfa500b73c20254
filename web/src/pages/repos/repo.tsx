import { useNavigate, useParams } from "@tanstack/react-router";
import { Refusal } from "../../api/client";
import type { Repo } from "../../api/schema";
import { useKeys } from "../../keyboard/keys";
import { useMay } from "../../live/session";
import { Empty } from "../../parts/empty";
import page from "../../parts/page.module.css";
import { rows, Section } from "../../parts/section";
import { Claims } from "./claims";
import { Knowledge } from "./knowledge";
import { useRepo } from "./queries";

export default function RepoPage() {
  const { repo = "" } = useParams({ strict: false }) as { repo?: string };
  const { data, error } = useRepo(repo);
  const navigate = useNavigate();
  useKeys([{ key: "Escape", does: "Back", run: () => void navigate({ to: "/repos" }) }]);
  if (data) return <Shown key={data.name} repo={data} />;
  return error instanceof Refusal ? (
    <Empty command="fleet init">
      {error.message}. {error.hint}
    </Empty>
  ) : null;
}

/** One repo: where it is, what agents learnt about it, and which files they have claimed. */
function Shown({ repo }: { repo: Repo }) {
  const mayRead = useMay("read what agents tell each other");
  const facts: [string, string][] = [
    ["trunk", repo.trunk],
    ["remote", repo.remote ?? "none"],
    ...(Object.entries(repo.paths).length > 0
      ? Object.entries(repo.paths)
      : [["folder", repo.path] as [string, string]]),
  ];
  return (
    <div className={page.page}>
      <header className={page.head}>
        <h2>{repo.name}</h2>
        {repo.shared && <span className="quiet">shared between machines</span>}
      </header>
      <Section title="Where it is">
        {facts.map(([name, value]) => (
          <div key={name} className={rows.row}>
            <span className={`quiet ${page.label}`}>{name}</span>
            <code className={`clip ${rows.grow}`} title={value}>
              {value}
            </code>
          </div>
        ))}
      </Section>
      {mayRead && <Knowledge repo={repo.name} />}
      <Claims repo={repo.name} />
    </div>
  );
}
