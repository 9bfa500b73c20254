"""A runner: it holds seats and drives the runs of the agents in them.

The runner itself: `loop` fills the seats, `waiting` decides when to look again, `desk` holds what
the parts share, and `places` knows where files are. `background` runs it unattended. `departed`
detects dead runners, and `homecoming` handles a machine that comes back.

One run: `attempt` drives it from start to end and `hold` keeps its lease. `workplace` prepares its
folder: a `worktree` and the work it builds on, its `heritage`; `staging` does so for a stage of a
workflow. When the agent has ended, `inspection` gathers the `evidence`, `verdict` decides the
outcome, and `ending` records it. `giving_up`, `blame` and `aftermath` handle runs that end
otherwise.

Processes: `custody` starts agents, each under a `keeper`, and finds them again. `channel` sends
lines to an agent, `process` identifies processes, `leftovers` finds and ends what a run left
running, and `traces` finds what an agent left in files.

Around the runs: `landing` merges work into the trunk, `radar` detects collisions, `collector` and
`cleanup` remove what is no longer needed. `checkup` verifies that everything needed is there.
"""
