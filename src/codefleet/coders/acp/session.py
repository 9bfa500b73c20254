"""One session with an agent: from initialization to the end of the last turn."""

import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from acp import PROTOCOL_VERSION, RequestError
from acp.connection import Connection

from codefleet.coder import Endpoint
from codefleet.coders import mcp_config
from codefleet.coders.acp import failures
from codefleet.coders.acp.bridge_options import Wish
from codefleet.coders.acp.requests import Requests
from codefleet.coders.jsonl import Fields, text

ABLE = {"fs": {"readTextFile": False, "writeTextFile": True}, "terminal": False}
SELF = {"name": "codefleet", "title": "codefleet", "version": "1"}


class Refused(Exception):
    """The agent cannot do what is wanted; the reason is one of the fleet's."""

    def __init__(self, text: str, reason: str) -> None:
        super().__init__(text)
        self.reason = reason


class Session:
    """The agent's side of the conversation, as calls."""

    def __init__(self, connection: Connection, requests: Requests, worktree: str) -> None:
        self._ask, self._tell = connection.send_request, connection.send_notification
        self._requests = requests
        self._where: dict[str, Any] = {"cwd": worktree, "mcpServers": []}
        self.id = ""
        self.model: str | None = None

    async def open(self, wish: Wish) -> None:
        """Initialize the agent, log in if it requires that, and start or resume a session."""
        hello = {
            "protocolVersion": PROTOCOL_VERSION,
            "clientCapabilities": ABLE,
            "clientInfo": SELF,
        }
        agent = _fields(await self._ask("initialize", hello))
        if (version := agent.get("protocolVersion")) != PROTOCOL_VERSION:
            raise Refused(f"it speaks version {version} of ACP, not 1", "coder_missing")
        self._where["mcpServers"] = _servers(agent, wish)
        try:
            begun = await self._begin(agent, wish.resume)
        except RequestError as error:
            if error.code != failures.AUTH_REQUIRED:
                raise
            await self._log_in(agent, wish.auth, str(error))
            begun = await self._begin(agent, wish.resume)
        self.id = text(begun.get("sessionId")) or self.id
        await self._choose(begun, "mode", wish.mode)
        await self._choose(begun, "model", wish.model)
        self.model = wish.model or _current(begun, "model")

    async def prompt(self, words: str) -> Fields:
        """One turn: the agent works until it has responded to this message."""
        blocks = [{"type": "text", "text": words}]
        return _fields(await self._ask("session/prompt", {"sessionId": self.id, "prompt": blocks}))

    async def cancel(self) -> None:
        await self._tell("session/cancel", {"sessionId": self.id})

    async def _begin(self, agent: Fields, resume: str | None) -> Fields:
        method = _way_back(agent) if resume else None
        if method:
            try:
                return await self._resume(method, str(resume))
            except RequestError as error:
                if error.code == failures.AUTH_REQUIRED:
                    raise
                sys.stderr.write(f"a new session, because {resume} is gone: {error}\n")
        return _fields(await self._ask("session/new", self._where))

    async def _resume(self, method: str, session: str) -> Fields:
        self._requests.muted = True
        try:
            begun = await self._ask(method, {"sessionId": session, **self._where})
        finally:
            self._requests.muted = False
        self.id = session
        return _fields(begun)

    async def _log_in(self, agent: Fields, wanted: str | None, said: str) -> None:
        """Log in the way the user names, or by variables that are set; nobody is there to type."""
        methods = [m for m in _list(agent.get("authMethods")) if isinstance(m, dict)]
        way = wanted or next(_silent(methods), None)
        if way is None:
            names = ", ".join(text(m.get("id")) for m in methods) or "none that it names"
            hint = f"log in with the agent itself, or set coders.acp.auth to one of: {names}"
            raise Refused(f"{said}\n{hint}", "auth")
        await self._ask("authenticate", {"methodId": way})

    async def _choose(self, begun: Fields, what: str, wanted: str | None) -> None:
        """Set a mode or model if the agent offers that choice, by either method."""
        if not wanted or wanted == _current(begun, what):
            return
        option = _option(begun, what)
        if isinstance(begun.get(f"{what}s"), dict):
            method, choice = f"session/set_{what}", {f"{what}Id": wanted}
        elif option:
            method, choice = "session/set_config_option", {"configId": option, "value": wanted}
        else:
            raise Refused(f"the agent does not let you choose its {what}", "coder_missing")
        try:
            await self._ask(method, {"sessionId": self.id, **choice})
        except RequestError as error:
            why = f"the agent refuses the {what} {wanted}: {error}"
            raise Refused(why, "coder_missing") from None


def _servers(agent: Fields, wish: Wish) -> list[Fields]:
    """The run's own MCP server, in a way that the agent can reach it."""
    match agent.get("agentCapabilities"):
        case {"mcpCapabilities": {"http": True}} if wish.endpoint:
            headers = mcp_config.headers(Endpoint(wish.endpoint, wish.token))
            sent = [{"name": name, "value": value} for name, value in headers.items()]
            where = {"type": "http", "url": wish.endpoint, "headers": sent}
            return [{"name": mcp_config.NAME, **where}]
    if not wish.server:
        return []
    command, *args = wish.server
    return [{"name": mcp_config.NAME, "command": command, "args": args, "env": []}]


def _way_back(agent: Fields) -> str | None:
    """How this agent resumes an old session, if it can."""
    match agent.get("agentCapabilities"):
        case {"sessionCapabilities": {"resume": dict()}}:
            return "session/resume"
        case {"loadSession": True}:
            return "session/load"
    return None


def _silent(methods: Sequence[Fields]) -> Iterator[str]:
    """The ways to log in that need only variables, and have them."""
    for method in methods:
        match method:
            case {"type": "env_var", "id": str(id), "vars": list(variables)}:
                names = [v.get("name") for v in variables if isinstance(v, dict)]
                if names and all(isinstance(n, str) and os.environ.get(n) for n in names):
                    yield id


def _current(begun: Fields, what: str) -> str | None:
    match begun.get(f"{what}s"):
        case dict(choice):
            return text(choice.get(f"current{what.title()}Id")) or None
    for option in _list(begun.get("configOptions")):
        match option:
            case {"category": category, "currentValue": str(value)} if category == what:
                return text(value)
    return None


def _option(begun: Fields, what: str) -> str | None:
    for option in _list(begun.get("configOptions")):
        match option:
            case {"category": category, "id": str(id)} if category == what:
                return id
    return None


def _fields(value: Any) -> Fields:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
