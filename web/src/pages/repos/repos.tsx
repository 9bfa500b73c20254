import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api, told } from "../../api/client";
import type { Repo } from "../../api/schema";
import { useCursor } from "../../keyboard/cursor";
import { cache } from "../../live/cache";
import { useRepos } from "../../live/queries";
import { useMay } from "../../live/session";
import { useAsked } from "../../parts/asked";
import { Empty } from "../../parts/empty";
import { FormDialog } from "../../parts/form-dialog";
import page from "../../parts/page.module.css";
import { rows, Section } from "../../parts/section";

/** The repositories that the fleet works on. */
export default function ReposPage() {
  const repos = useRepos().data;
  const mayAdd = useMay("add a repository");
  const navigate = useNavigate();
  const [isNew, ask] = useAsked("repo");
  const { at } = useCursor(repos?.map((repo) => repo.name) ?? [], (repo) => {
    void navigate({ to: "/repos/$repo", params: { repo } });
  });
  if (!repos) return null;
  const button = mayAdd && (
    <button type="button" className="primary" onClick={() => ask(true)}>
      Register a repo
    </button>
  );
  return (
    <div className={page.page}>
      {repos.length > 0 && button && <div className={page.top}>{button}</div>}
      <Section title={`Repos (${repos.length})`}>
        {repos.map((repo) => (
          <Row key={repo.name} repo={repo} isAt={at === repo.name} />
        ))}
        {repos.length === 0 && (
          <Empty command="fleet init" action={button}>
            No repo yet. The fleet works on git repositories of the server's machine.
          </Empty>
        )}
      </Section>
      {isNew && mayAdd && <Register close={() => ask(false)} />}
    </div>
  );
}

function Row({ repo, isAt }: { repo: Repo; isAt: boolean }) {
  return (
    <div className={`${rows.row} ${isAt ? rows.at : ""}`} data-row={repo.name}>
      <Link to="/repos/$repo" params={{ repo: repo.name }} className={page.name ?? ""}>
        {repo.name}
      </Link>
      <code className="quiet">{repo.trunk}</code>
      <span className={`quiet clip ${rows.grow}`} title={repo.path}>
        {repo.path}
      </span>
      {repo.shared && <span className="quiet">shared</span>}
    </div>
  );
}

function Register({ close }: { close: () => void }) {
  const [path, setPath] = useState("");
  const [trunk, setTrunk] = useState("");
  const register = async () => {
    await told(api.POST("/api/v1/repos", { body: { path, ...(trunk ? { trunk } : {}) } }));
    await cache.invalidateQueries({ queryKey: ["repos"] });
  };
  return (
    <FormDialog
      title="Register a repo"
      button="Register"
      done="The fleet can work on it"
      close={close}
      submit={register}
    >
      <label>
        Folder on the server's machine
        <input
          required
          placeholder="/srv/shop"
          value={path}
          onChange={(event) => setPath(event.target.value)}
        />
      </label>
      <label>
        Trunk
        <input
          placeholder="the branch that is checked out"
          value={trunk}
          onChange={(event) => setTrunk(event.target.value)}
        />
      </label>
    </FormDialog>
  );
}
