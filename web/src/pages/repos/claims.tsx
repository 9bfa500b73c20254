import { useState } from "react";
import { api, told } from "../../api/client";
import type { FileClaim } from "../../api/schema";
import { cache } from "../../live/cache";
import { useTasks } from "../../live/queries";
import { useMay } from "../../live/session";
import { useAsked } from "../../parts/asked";
import { Empty } from "../../parts/empty";
import { FormDialog } from "../../parts/form-dialog";
import { rows, Section } from "../../parts/section";
import { TaskChip } from "../../parts/task-chip";
import { Ago } from "../../parts/time";
import { useClaims } from "./queries";

/** Who has said that they are about to change which files. */
export function Claims({ repo }: { repo: string }) {
  const claims = useClaims(repo).data ?? [];
  const mayClaim = useMay("talk to other agents");
  const [isNew, setNew] = useAsked("claim");
  return (
    <>
      <Section
        title={`Claims on files (${claims.length})`}
        aside={
          mayClaim && (
            <button type="button" className="bare" onClick={() => setNew(true)}>
              Claim files
            </button>
          )
        }
      >
        {claims.map((claim) => (
          <Claim key={`${claim.team} ${claim.handle} ${claim.path}`} claim={claim} />
        ))}
        {claims.length === 0 && (
          <Empty>
            Nobody has claimed a file. A claim is advice: whoever claims the same file is told who
            has it.
          </Empty>
        )}
      </Section>
      {isNew && mayClaim && <ClaimFiles repo={repo} close={() => setNew(false)} />}
    </>
  );
}

function Claim({ claim }: { claim: FileClaim }) {
  const task = useTasks().data?.get(claim.task ?? "");
  return (
    <div className={rows.row}>
      <code className="clip" title={claim.path}>
        {claim.path}
      </code>
      <strong>{claim.handle}</strong>
      <div className={rows.grow}>{task && <TaskChip task={task} />}</div>
      <Ago at={claim.claimed_at} />
    </div>
  );
}

function ClaimFiles({ repo, close }: { repo: string; close: () => void }) {
  const [text, setText] = useState("");
  const claim = async () => {
    const paths = text.split(/\s+/).filter(Boolean);
    const result = await told(api.POST("/api/v1/claims", { body: { paths, repo } }));
    if (!result.claimed) throw new Error(held(result.held_by));
    await cache.invalidateQueries({ queryKey: ["claims"] });
  };
  return (
    <FormDialog
      title="Claim files"
      button="Claim"
      done="They are yours for now"
      close={close}
      submit={claim}
    >
      <label>
        Paths or globs, one per line
        <textarea
          required
          rows={3}
          placeholder="src/mail/**"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </label>
    </FormDialog>
  );
}

function held(by: readonly FileClaim[]): string {
  return `claimed already: ${by.map((each) => `${each.path} by ${each.handle}`).join(", ")}`;
}
