import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import type { Team } from "../../api/schema";
import { useCursor } from "../../keyboard/cursor";
import { useRepos } from "../../live/queries";
import { useMay } from "../../live/session";
import { useAsked } from "../../parts/asked";
import { Empty } from "../../parts/empty";
import { FormDialog } from "../../parts/form-dialog";
import page from "../../parts/page.module.css";
import { rows, Section } from "../../parts/section";
import { Ago, Until } from "../../parts/time";
import { createTeam, removeTeam, revoke } from "./acts";
import { useOwnToken, useTeams } from "./queries";

/** Who shares the fleet. A member sees only its own team. */
export default function TeamsPage() {
  const teams = useTeams().data;
  const mayManage = useMay("manage teams");
  const navigate = useNavigate();
  const [isNew, ask] = useAsked("team");
  const { remove } = useSearch({ strict: false }) as { remove?: string };
  const { at } = useCursor(teams?.map((team) => team.name) ?? [], (team) => {
    void navigate({ to: "/teams/$team", params: { team } });
  });
  if (!teams) return null;
  const button = mayManage && (
    <button type="button" className="primary" onClick={() => ask(true)}>
      New team
    </button>
  );
  return (
    <div className={page.page}>
      {teams.length > 0 && button && <div className={page.top}>{button}</div>}
      <Section title={`Teams (${teams.length})`}>
        {teams.map((team) => (
          <Row key={team.name} team={team} isAt={at === team.name} />
        ))}
        {teams.length === 0 && (
          <Empty command="fleet team create NAME" action={button}>
            No team yet, and you need none on your own machine. A team is for people and programs
            that reach this fleet over a network: each has a token, and sees only what its team
            does.
          </Empty>
        )}
      </Section>
      <OwnToken />
      {isNew && mayManage && <NewTeam close={() => ask(false)} />}
      {remove && mayManage && (
        <Remove team={remove} close={() => void navigate({ to: "/teams" })} />
      )}
    </div>
  );
}

function Row({ team, isAt }: { team: Team; isAt: boolean }) {
  return (
    <div className={`${rows.row} ${isAt ? rows.at : ""}`} data-row={team.name}>
      <Link to="/teams/$team" params={{ team: team.name }} className={page.name ?? ""}>
        {team.name}
      </Link>
      <span className={`quiet clip ${rows.grow}`} title={team.repos.join(", ")}>
        {team.repos.join(", ") || "all repos"}
      </span>
      <Ago at={team.created_at} />
    </div>
  );
}

/** What a member holds itself, and may give up. */
function OwnToken() {
  const token = useOwnToken().data;
  const [isLeaving, setLeaving] = useState(false);
  if (!token) return null;
  return (
    <Section title="Your token">
      <div className={rows.row}>
        <code>{token.id}</code>
        <span className={`quiet ${rows.grow}`}>
          {token.handle}, {token.role} of {token.team}
        </span>
        <Until at={token.expires_at} />
        <button type="button" onClick={() => setLeaving(true)}>
          Revoke…
        </button>
      </div>
      {isLeaving && (
        <FormDialog
          title="Revoke your own token"
          button="Revoke"
          done="Your token is no longer valid"
          close={() => setLeaving(false)}
          submit={() => revoke(token.id)}
        >
          <p className="quiet">You are signed out wherever you use it, here too.</p>
        </FormDialog>
      )}
    </Section>
  );
}

function NewTeam({ close }: { close: () => void }) {
  const repos = useRepos().data ?? [];
  const navigate = useNavigate();
  const [name, setName] = useState("");
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const toggle = (repo: string) =>
    setChosen((old) => (old.includes(repo) ? old.filter((it) => it !== repo) : [...old, repo]));
  return (
    <FormDialog
      title="New team"
      button="Create"
      done={`${name} is ready for members`}
      close={close}
      submit={() => createTeam(name, [...chosen])}
      then={() => void navigate({ to: "/teams/$team", params: { team: name } })}
    >
      <label>
        Name
        <input
          required
          placeholder="web"
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
      </label>
      {repos.length > 0 && (
        <fieldset>
          <legend className="quiet">Repos that it may use; all of them if you choose none</legend>
          {repos.map((repo) => (
            <label key={repo.name}>
              <span>
                <input
                  type="checkbox"
                  checked={chosen.includes(repo.name)}
                  onChange={() => toggle(repo.name)}
                />{" "}
                {repo.name}
              </span>
            </label>
          ))}
        </fieldset>
      )}
    </FormDialog>
  );
}

/** Asked on this page, since there is nothing to read about a team that is gone. */
function Remove({ team, close }: { team: string; close: () => void }) {
  return (
    <FormDialog
      title={`Remove ${team}`}
      button="Remove"
      done={`${team} is gone, and its tokens are no longer valid`}
      close={close}
      submit={() => removeTeam(team)}
    >
      <p className="quiet">
        Its tasks must be finished. Its members, invites and tokens go; its work stays.
      </p>
    </FormDialog>
  );
}
