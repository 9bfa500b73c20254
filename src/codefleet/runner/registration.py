"""Announcing a runner to the fleet: who it is, and how busy its machine is."""

import os
from typing import Any

from codefleet import platform
from codefleet.domain.model import Runner
from codefleet.runner import peers
from codefleet.runner.limits import machine
from codefleet.runner.process.identity import Process
from codefleet.runner.workload import Workload


async def join(work: Workload, seats: int, coder: str | None) -> Runner:
    """Join the fleet with this many seats, besides those of agents that it is going to adopt."""
    fleet = work.fleet
    await peers.refuse_namesake(fleet)
    me = Process.find(os.getpid())
    assert me
    orphans = await work.orphans()
    return await work.context.dispatch.join(
        host=fleet.host,
        machine=platform.machine().pid_scope(),
        pid=me.pid,
        pid_started=me.started,
        seats=seats,
        coder=coder,
        workflow=work.workflow,
        **machine_load(),
        keep=[run.agent for run in orphans],
    )


def machine_load() -> dict[str, Any]:
    """The load of this machine, as shown to everybody."""
    return {"load": machine.load(), "memory_free_mb": int(machine.memory_left()) >> 20}
