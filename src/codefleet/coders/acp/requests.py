"""What an agent may ask of us: to write files in its worktree, and for permission to use a tool.

Reading is not offered. Agents do it themselves then, and Gemini CLI, if it is offered, cannot
create new files: it takes the answer that there is none for a failure.
"""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from acp import RequestError

from codefleet.coders.acp.bridge_input import Hearing
from codefleet.coders.acp.bridge_output import tell
from codefleet.coders.acp.reading import Reading
from codefleet.coders.jsonl import Fields, text
from codefleet.domain.permissions import is_meant

ONCE = {True: "allow_once", False: "reject_once", None: ""}
"""Never "always": lasting permissions belong in the fleet's policy, not in the agent's."""
EDIT = "edit"
CANCELLED = {"outcome": {"outcome": "cancelled"}}


class Requests:
    """Handles the agent's updates and answers its requests."""

    def __init__(
        self,
        worktree: Path,
        judged: Sequence[str],
        hearing: Hearing,
        reading: Reading,
    ) -> None:
        self._worktree = worktree.resolve()
        self._judged, self._hearing, self._reading = judged, hearing, reading
        self._asked = 0
        self._granted: set[Path] = set()
        self.muted = False
        """Set while an old session is loaded, because the agent then replays all of it."""

    async def handle(self, method: str, params: Any, is_notification: bool) -> Any:
        """The library's handler: a result, or RequestError for what we do not support."""
        fields: Fields = params if isinstance(params, dict) else {}
        if method == "session/update":
            self._update(fields)
            return None
        if is_notification:
            return None
        answer = self._answers().get(method)
        if answer is None:
            raise RequestError.method_not_found(method)
        return await answer(fields)

    def _answers(self) -> dict[str, Callable[[Fields], Awaitable[Any]]]:
        return {
            "session/request_permission": self._permission,
            "fs/write_text_file": self._write,
        }

    def _update(self, params: Fields) -> None:
        match params:
            case {"update": dict(update)} if not self.muted:
                tell(self._reading.update(update))

    async def _permission(self, params: Fields) -> Any:
        named = params.get("toolCall")
        call: Fields = named if isinstance(named, dict) else {}
        allowed = await self._may(call)
        chosen = _option(params.get("options"), ONCE[allowed])
        if chosen is None:
            return CANCELLED  # also if it offers no such option: that is safe
        if allowed:
            begins = {"sessionUpdate": "tool_call_update", "status": "in_progress"}
            tell(self._reading.update({**call, **begins}))
        return {"outcome": {"outcome": "selected", "optionId": chosen}}

    async def _may(self, call: Fields) -> bool | None:
        """Ask the fleet about tools that it has rules for; the others are allowed."""
        tool = self._reading.tool(call)
        if not is_meant(tool, self._judged):
            return True
        self._asked += 1
        request = str(self._asked)
        *told, wants = self._reading.wants(request, call)
        tell([*told, wants])
        allowed = await self._hearing.answer(request)
        if allowed and tool == EDIT:
            self._granted.update(self._place(path) for path in wants["paths"])
        return allowed

    async def _write(self, params: Fields) -> Any:
        path, content = self._inside(params), params.get("content")
        if not isinstance(content, str):
            raise RequestError.invalid_params({"details": "there is no content"})
        if not await self._may_write(path):
            raise RequestError.invalid_params({"details": f"{path} may not be written"})
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text(content), encoding="utf-8", newline="")
        except OSError as wrong:
            raise RequestError.invalid_params({"details": str(wrong)}) from None
        return {}

    async def _may_write(self, path: Path) -> bool:
        """What we write for the agent is checked, even if the agent did not ask before."""
        call = {"kind": EDIT, "locations": [{"path": str(path)}]}
        return path in self._granted or await self._may(call) is True

    def _place(self, named: str) -> Path:
        return (self._worktree / named).resolve()

    def _inside(self, params: Fields) -> Path:
        """The named file, links followed; one outside the worktree is refused."""
        named = params.get("path")
        if not isinstance(named, str) or "\0" in named:
            raise RequestError.invalid_params({"details": "there is no path"})
        path = self._place(named)
        inside = path.is_relative_to(self._worktree) and path != self._worktree
        if not inside or path.relative_to(self._worktree).parts[0] == ".git":
            raise RequestError.invalid_params({"details": f"{named} is not in the worktree"})
        return path


def _option(options: object, kind: str) -> str | None:
    for option in options if isinstance(options, list) else ():
        match option:
            case {"optionId": str(id), "kind": str(of)} if of == kind:
                return id
    return None
