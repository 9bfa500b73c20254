import { useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { Refusal } from "../../api/client";
import type { Team } from "../../api/schema";
import { useKeys } from "../../keyboard/keys";
import { useMay } from "../../live/session";
import { useAsked } from "../../parts/asked";
import { Empty } from "../../parts/empty";
import { count } from "../../parts/format";
import page from "../../parts/page.module.css";
import { rows, Section } from "../../parts/section";
import { Ago, Until } from "../../parts/time";
import { attempt } from "../../parts/toasts";
import { revoke, withdraw } from "./acts";
import { NewInvite, NewToken, Once, type Secret } from "./letting-in";
import { useInvites, useMembers, useTeam, useTokens } from "./queries";

export default function TeamPage() {
  const { team = "" } = useParams({ strict: false }) as { team?: string };
  const { data, error } = useTeam(team);
  const navigate = useNavigate();
  useKeys([{ key: "Escape", does: "Back", run: () => void navigate({ to: "/teams" }) }]);
  if (data) return <Shown key={data.name} team={data} />;
  return error instanceof Refusal ? (
    <Empty command="fleet team list">
      {error.message}. {error.hint}
    </Empty>
  ) : null;
}

/** One team: its members, what they hold, and how others join. */
function Shown({ team }: { team: Team }) {
  const mayManage = useMay("manage teams");
  const [isSigning, sign] = useAsked("token");
  const [isInviting, invite] = useAsked("invite");
  const navigate = useNavigate();
  const [secret, setSecret] = useState<Secret>();
  return (
    <div className={page.page}>
      <header className={page.head}>
        <h2>{team.name}</h2>
        <span className="quiet">{team.repos.join(", ") || "all repos"}</span>
        {mayManage && (
          <span className={page.buttons}>
            <button type="button" className="primary" onClick={() => sign(true)}>
              New token
            </button>
            <button type="button" onClick={() => invite(true)}>
              Invite
            </button>
            <button
              type="button"
              onClick={() => void navigate({ to: "/teams", search: { remove: team.name } })}
            >
              Remove…
            </button>
          </span>
        )}
      </header>
      <Members team={team.name} />
      {mayManage && <Tokens team={team.name} />}
      {mayManage && <Invites team={team.name} />}
      {isSigning && mayManage && (
        <NewToken team={team.name} tell={setSecret} close={() => sign(false)} />
      )}
      {isInviting && mayManage && (
        <NewInvite team={team.name} tell={setSecret} close={() => invite(false)} />
      )}
      {secret && <Once secret={secret} close={() => setSecret(undefined)} />}
    </div>
  );
}

function Members({ team }: { team: string }) {
  const members = useMembers(team).data;
  if (!members) return null;
  return (
    <Section title={`Members (${members.length})`}>
      {members.map((member) => (
        <div key={member.handle} className={rows.row}>
          <strong className={page.label}>{member.handle}</strong>
          <span className={`quiet ${rows.grow}`}>{member.role}</span>
          <Ago at={member.joined_at} />
        </div>
      ))}
      {members.length === 0 && (
        <Empty command={`fleet token create ${team} HANDLE --role worker`}>
          Nobody yet. A new token makes its holder a member; an invite lets others join by
          themselves.
        </Empty>
      )}
    </Section>
  );
}

function Tokens({ team }: { team: string }) {
  const tokens = useTokens(team, true).data;
  if (!tokens?.length) return null;
  return (
    <Section title={`Tokens (${tokens.length})`}>
      {tokens.map((token) => (
        <div key={token.id} className={rows.row}>
          <code>{token.id}</code>
          <span className={`quiet clip ${rows.grow}`} title={`${token.handle}, ${token.role}`}>
            {token.handle}, {token.role}
          </span>
          {token.revoked_at ? (
            <span className="quiet">
              revoked <Ago at={token.revoked_at} />
            </span>
          ) : (
            <>
              <Until at={token.expires_at} />
              <button
                type="button"
                aria-label={`Revoke ${token.id}`}
                onClick={() => void attempt(() => revoke(token.id), `${token.id} is revoked`)}
              >
                Revoke
              </button>
            </>
          )}
        </div>
      ))}
    </Section>
  );
}

function Invites({ team }: { team: string }) {
  const invites = useInvites(team, true).data;
  if (!invites?.length) return null;
  return (
    <Section title={`Invites (${invites.length})`}>
      {invites.map((invite) => (
        <div key={invite.id} className={rows.row}>
          <code>{invite.id}</code>
          <span className={`quiet clip ${rows.grow}`} title={count(invite.uses, "more use")}>
            {invite.role} · {count(invite.uses, "more use")}
          </span>
          <Until at={invite.expires_at} />
          <button
            type="button"
            aria-label={`Withdraw ${invite.id}`}
            onClick={() => void attempt(() => withdraw(invite.id), `${invite.id} admits nobody`)}
          >
            Withdraw
          </button>
        </div>
      ))}
    </Section>
  );
}
