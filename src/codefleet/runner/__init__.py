"""A runner: it holds seats, and drives the runs of the agents that sit on them.

The runner itself: `loop` fills the seats, `waiting` knows when to look again, `desk` is what its
parts share and `places` where its files are. `background` is one that nobody watches. `departed`
tells which runners are no more, and `homecoming` what a machine does that was away.

One run: `attempt` drives it from start to end and `hold` keeps its lease. `workplace` makes its
folder ready, with a `worktree` and with the work it builds on, its `heritage`; `staging` is for a
stage of a workflow. When the agent has ended, `inspection` gathers the `evidence` and `verdict`
says what the run amounts to; `ending` writes that down. `giving_up`, `blame` and `aftermath` are
for runs that end otherwise.

Processes: `custody` starts agents, each under a `keeper`, and finds them again. `channel` is the
way to speak to one, `process` tells one process from another, `leftovers` finds and ends what a run
left at work, and `traces` is what an agent left in files.

Around the runs: `landing` brings work onto the trunk, `radar` sees collisions, `collector` and
`cleanup` take away what is no longer needed. `checkup` looks whether all is there that is needed.
"""
