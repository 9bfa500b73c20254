"""The acp coder: starts the bridge to an ACP agent, and reads what it prints.

    [coders.acp]
    argv = ["gemini", "--acp"]              # the agent
    env = { GEMINI_API_KEY = "..." }        # added to its environment
    mode = "yolo"                           # one of the agent's own modes
    auth = "gemini-api-key"                 # how to log in, if the agent asks for it

    [coders.acp.agents.opencode]            # another agent, with the same four options
    argv = ["opencode", "acp"]

A task's model is one of the agent's own. If it begins with the name of an agent, that agent does
the task: `opencode`, or `opencode/anthropic/claude-sonnet-5` for one of its models.
"""

import sys
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

from codefleet.coder import Abilities, Assignment, Start
from codefleet.coders import jsonl, mcp_config
from codefleet.coders.options import PROVIDER_KEYS, Options, flag
from codefleet.domain.errors import BadConfig
from codefleet.domain.signals import Signal, Wants

PROGRAM = Path(__file__).with_name("bridge.py")
PROMPT = "prompt"
"""The id of the first message; later ones have ids of their own."""
LIBRARY = "acp"
INSTALL = "pip install agent-client-protocol"
EXAMPLE = 'for example: fleet config set coders.acp.argv \'["gemini", "--acp"]\''


class Acp:
    """Starts and reads the bridge, and sends messages to it."""

    name = "acp"
    abilities = Abilities(
        verified=True,
        resume=True,
        resume_after_crash=True,
        remembers=False,  # if the session is gone, the bridge starts a new one
        says_when_done=True,
        reports_context=True,
        talks=True,
        http_tools=True,
        keys=PROVIDER_KEYS,
    )

    def start(self, assignment: Assignment) -> Start:
        if not find_spec(LIBRARY):
            raise BadConfig("the coder acp needs a package that is not installed", hint=INSTALL)
        given, model = _chosen(assignment.options, assignment.run.model)
        options = Options(self.name, given, "argv", "mode", "auth")
        argv = options.texts("argv")
        if not argv:
            raise BadConfig("coders.acp.argv is not set", hint=EXAMPLE)
        return Start(
            argv=[
                *(sys.executable, "-P", str(PROGRAM)),  # -P: import nothing from the worktree
                *flag("mode", options.text("mode", "") if "mode" in given else None),
                *flag("auth", options.text("auth", "") if "auth" in given else None),
                *flag("model", model),
                *flag("resume", assignment.resume),
                *(f"--judged={tools}" for tools in assignment.judged),
                *(f"--server={word}" for word in assignment.tools),
                *flag("endpoint", assignment.endpoint.url if assignment.endpoint else None),
                *("--", *argv, *options.texts("args")),
            ],
            env=options.env(**mcp_config.token_variable(assignment.endpoint)),
            stdin=self.say(PROMPT, assignment.prompt) + "\n",
            listens=True,
        )

    def read(self, line: str) -> Iterator[Signal]:
        return jsonl.read(line)

    def explain(self, exit_code: int, stderr: str) -> Iterator[Signal]:
        return iter(())

    def say(self, id: str, text: str) -> str:
        return jsonl.say(id, text)

    def permit(self, wants: Wants, *, allowed: bool, why: str = "") -> str:
        return jsonl.permit(wants.request, allowed=allowed, why=why)


coder = Acp()


def _chosen(
    options: Mapping[str, object], model: str | None
) -> tuple[Mapping[str, object], str | None]:
    """The options of the agent that the model names, or the first one's; and the model."""
    agents = options.get("agents", {})
    if not isinstance(agents, Mapping) or not all(isinstance(a, Mapping) for a in agents.values()):
        raise BadConfig("coders.acp.agents is not a table of agents", hint="[coders.acp.agents.X]")
    first = {name: value for name, value in options.items() if name != "agents"}
    name, _, rest = (model or "").partition("/")
    if name in agents:
        return agents[name], rest or None
    if agents and "argv" not in first:
        raise BadConfig(
            "coders.acp.argv is not set, and the task's model does not name an agent",
            hint=f"set the model to one of: {', '.join(sorted(agents))}",
        )
    return first, model
