"""A runner: it holds seats and drives the runs of the agents in them.

The runner itself: `loop` fills the seats, `seats` counts them, `startable_repos` are those it may
start work on, `cancellation` stops agents when a human says so, `waiting` decides when to look
again, `workload` is what it works on, `context` is what its parts share, and `paths` knows where
files are. `background` runs it unattended. `registration` announces it to the fleet. `peers`
detects dead runners, `adoption` takes over what they left, `stale_agents` ends what continued
elsewhere, `radar` detects collisions, and `unanswered` denies permissions that nobody gave in time.

Its rooms, each of which uses only those below it:

- `gc/` removes what is no longer needed; `doctor/` checks that everything needed is there.
- `landing/` merges finished work into the trunk.
- `run/` drives one run from start to end: its workspace, its agent, its evidence, its verdict.
- `limits/` bounds the work: money, memory, context windows, resting accounts.
- `sharing/` exchanges work with other machines through a repo's remote.
- `output/` reads what an agent says, and answers it.
- `brief/` prepares what an agent is told.
- `git/` is git as a runner uses it: worktrees, branches, refs, and how no work is lost.
- `programs/` knows the agent programs on this machine.
- `process/` starts agents under keepers, and finds, stops and cleans up processes.

`lease` is a run as its runner holds it: every write of a run goes through it, fenced.
"""
