"""A small ACP agent that does what its prompt says, well or badly: the other end of the bridge.

It uses the agent side of the same library, which checks each message. The prompt is a JSON list of
deeds, done one after the other; see DEEDS. The `--way`s are how it behaves when it is started.
"""

import argparse
import asyncio
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

from acp import (
    PROTOCOL_VERSION,
    RequestError,
    run_agent,
    start_tool_call,
    update_agent_message_text,
    update_agent_thought_text,
    update_tool_call,
)
from acp.interfaces import Client
from acp.schema import (
    AgentCapabilities,
    AuthenticateResponse,
    AuthEnvVar,
    AuthMethodAgent,
    Cost,
    EnvVarAuthMethod,
    InitializeResponse,
    LoadSessionResponse,
    McpCapabilities,
    NewSessionResponse,
    PermissionOption,
    PromptResponse,
    SessionMode,
    SessionModeState,
    SetSessionModeResponse,
    ToolCallLocation,
    ToolCallUpdate,
    Usage,
    UsageUpdate,
)

KEY = "SMALL_AGENT_KEY"
OPTIONS = [
    PermissionOption(option_id="for ever", name="Always", kind="allow_always"),
    PermissionOption(option_id="yes", name="Yes", kind="allow_once"),
    PermissionOption(option_id="no", name="No", kind="reject_once"),
]


class SmallAgent:
    """One session at a time; they are remembered in `notes`."""

    def __init__(self, ways: set[str], notes: Path) -> None:
        self.ways, self.notes = ways, notes
        self.logged_in = not ways & {"locked", "locked-with-key"}
        self.mode = "careful"
        self.cancelled = asyncio.Event()
        self.client: Client

    def on_connect(self, conn: Client) -> None:
        self.client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:
        key = EnvVarAuthMethod(id="key", name="A key", type="env_var", vars=[AuthEnvVar(name=KEY)])
        by_hand = AuthMethodAgent(id="browser", name="A browser")
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION + 1 if "from-the-future" in self.ways else 1,
            agent_capabilities=AgentCapabilities(
                load_session="forgetful" not in self.ways,
                mcp_capabilities=McpCapabilities(http="over-http" in self.ways),
            ),
            auth_methods=[by_hand, key] if "locked-with-key" in self.ways else [by_hand],
        )

    async def authenticate(self, method_id: str, **_: Any) -> AuthenticateResponse:
        self.logged_in = True
        return AuthenticateResponse()

    async def new_session(
        self, cwd: str, mcp_servers: list[Any] | None = None, **_: Any
    ) -> NewSessionResponse:
        if not self.logged_in:
            raise RequestError.auth_required()
        self.notes.mkdir(exist_ok=True)
        session = f"s{len(list(self.notes.iterdir())) + 1}"
        servers = [server.model_dump(by_alias=True) for server in mcp_servers or ()]
        (self.notes / session).write_text(json.dumps({"servers": servers, "env": [*os.environ]}))
        modes = [SessionMode(id=mode, name=mode) for mode in ("careful", "bold")]
        state = SessionModeState(available_modes=modes, current_mode_id=self.mode)
        return NewSessionResponse(session_id=session, modes=state)

    async def load_session(self, session_id: str, **_: Any) -> LoadSessionResponse:
        if not (self.notes / session_id).exists():
            raise RequestError.resource_not_found(session_id)
        await self.client.session_update(session_id, update_agent_message_text("an old story"))
        return LoadSessionResponse()

    async def set_session_mode(self, mode_id: str, **_: Any) -> SetSessionModeResponse:
        if mode_id not in ("careful", "bold"):
            raise RequestError.invalid_params({"details": "no such mode"})
        self.mode = mode_id
        return SetSessionModeResponse()

    async def cancel(self, session_id: str, **_: Any) -> None:
        self.cancelled.set()

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> PromptResponse:
        [deeds] = re.findall(r"\[\{.*\}\]", prompt[0].text)
        for deed in json.loads(deeds):
            [(name, value)] = deed.items()
            if isinstance(ended := await DEEDS[name](self, session_id, value), PromptResponse):
                return ended
            if self.cancelled.is_set():
                return PromptResponse(stop_reason="cancelled")
        return PromptResponse(stop_reason="end_turn")

    async def say(self, session: str, pieces: list[str]) -> None:
        for piece in pieces:
            await self.client.session_update(session, update_agent_message_text(piece))

    async def think(self, session: str, words: str) -> None:
        await self.client.session_update(session, update_agent_thought_text(words))

    async def tell_mode(self, session: str, _: object) -> None:
        await self.say(session, [self.mode])

    async def ask(self, session: str, command: str) -> None:
        """Ask for permission, and report which option was chosen."""
        call = ToolCallUpdate(
            tool_call_id=command, title=command, kind="execute", raw_input={"command": command}
        )
        answer = await self.client.request_permission(session, call, OPTIONS)
        await self.say(session, [getattr(answer.outcome, "option_id", "cancelled")])

    async def edit(self, session: str, path: str) -> None:
        """Write a file through the client, as a tool call in three messages."""
        place = [ToolCallLocation(path=path)]
        begun = start_tool_call("e1", "Edit", kind="edit", status="pending")
        await self.client.session_update(session, begun)
        goes = update_tool_call("e1", status="in_progress", locations=place)
        await self.client.session_update(session, goes)
        try:
            await self.client.write_text_file(session, path, "made\n")
        except RequestError as refused:
            await self.client.session_update(session, update_tool_call("e1", status="failed"))
            await self.say(session, [str(refused.data)])
            return
        await self.client.session_update(session, update_tool_call("e1", status="completed"))

    async def use(self, session: str, tokens: int) -> PromptResponse:
        full = UsageUpdate(
            session_update="usage_update",
            used=tokens,
            size=1000,
            cost=Cost(amount=0.25, currency="USD"),
        )
        await self.client.session_update(session, full)
        used = Usage(total_tokens=tokens, input_tokens=tokens, output_tokens=7)
        return PromptResponse(stop_reason="end_turn", usage=used)

    async def stop(self, session: str, reason: Any) -> PromptResponse:
        return PromptResponse(stop_reason=reason)

    async def fail(self, session: str, error: list[Any]) -> None:
        raise RequestError(*error)

    async def die_as_parent(self, session: str, code: int) -> None:
        """Leave a child behind that holds all pipes, and exit."""
        await asyncio.create_subprocess_exec("sleep", "300")
        await self.die(session, code)

    async def die(self, session: str, code: int) -> None:
        sys.stderr.write("segmentation fault, more or less\n")
        sys.stderr.flush()
        os._exit(code)

    async def babble(self, session: str, lines: list[str]) -> None:
        """Print something that is not a message."""
        for line in lines:
            sys.stdout.write(line + "\n")
        sys.stdout.flush()

    async def wait(self, session: str, sign: str) -> PromptResponse:
        """Report that it waits, until it is cancelled."""
        await self.say(session, ["x" * 1000])
        await self.cancelled.wait()
        return PromptResponse(stop_reason="cancelled")

    async def ignore(self, session: str, sign: str) -> None:
        """Wait forever, even when cancelled."""
        await self.say(session, ["x" * 1000])
        await asyncio.Event().wait()


DEEDS: dict[str, Any] = {
    "say": SmallAgent.say,
    "think": SmallAgent.think,
    "mode": SmallAgent.tell_mode,
    "ask": SmallAgent.ask,
    "edit": SmallAgent.edit,
    "use": SmallAgent.use,
    "stop": SmallAgent.stop,
    "fail": SmallAgent.fail,
    "die": SmallAgent.die,
    "die as parent": SmallAgent.die_as_parent,
    "babble": SmallAgent.babble,
    "wait": SmallAgent.wait,
    "ignore": SmallAgent.ignore,
}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--notes", type=Path, required=True)
    parser.add_argument("--way", action="append", default=[])
    given = parser.parse_args()
    agent: Any = SmallAgent(set(given.way), given.notes)
    asyncio.run(run_agent(agent))
