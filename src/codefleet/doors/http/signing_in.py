"""`/session`: a browser exchanges a code or a token for a session, asks who it is, and leaves."""

from collections.abc import Awaitable, Callable, Sequence
from http import HTTPStatus
from time import monotonic

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from codefleet.api.operation import JSON
from codefleet.domain.access import Holder, Right
from codefleet.domain.errors import FleetError, Invalid, Unauthenticated
from codefleet.domain.noun import Noun
from codefleet.domain.validation import checked
from codefleet.domain.words import Role
from codefleet.doors.http import session_cookie
from codefleet.doors.http.claude_fleet.attempts import Attempts
from codefleet.doors.http.gate import Gate
from codefleet.doors.http.handler import parsed, read_body
from codefleet.doors.http.problem import problem
from codefleet.fleet import Fleet

PATH = "/session"
LARGEST_BODY = 8 * 1024
Answer = Callable[[Request], Awaitable[Response]]


class SignIn(Noun):
    """Who wants a session: whoever has a code of this machine, or a token."""

    code: str | None = None
    token: str | None = None


class Visitor(Noun):
    """Who has a session, and what it may do."""

    name: str
    team: str | None = None
    role: Role | None = None
    rights: Sequence[Right]


class SigningIn:
    """Opens, shows and ends the session of a browser."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._attempts = Attempts(monotonic)

    async def open(self, request: Request) -> Response:
        """Exchange a code or a token for a session."""
        return await _told(self._open, request)

    async def show(self, request: Request) -> Response:
        """Who has the session."""
        return await _told(self._show, request)

    async def end(self, request: Request) -> Response:
        """Let the browser forget its session."""
        response = Response(status_code=HTTPStatus.NO_CONTENT)
        session_cookie.take(response, request.headers)
        return response

    async def _open(self, request: Request) -> Response:
        address = request.client.host if request.client else ""
        self._attempts.refuse_guesser(address)
        said = checked(SignIn, parsed(request, await read_body(request, LARGEST_BODY)))
        try:
            async with self._attempts.one(address):
                fleet = await self._fleet(said)
        except Unauthenticated:
            self._gate.traffic.refused += 1
            raise
        response = await _visitor(fleet)
        session_cookie.give(response, request.headers, await fleet.session())
        return response

    async def _show(self, request: Request) -> Response:
        return await _visitor(await self._gate.fleet(request.headers))

    async def _fleet(self, said: SignIn) -> Fleet:
        if said.code is not None:
            return await self._gate.stranger.with_code(said.code)
        if said.token is not None:
            return await self._gate.stranger.with_token(said.token)
        raise Invalid("there is neither a code nor a token", hint="`fleet dashboard` makes a code")


async def _visitor(fleet: Fleet) -> Response:
    who = fleet.actor
    told = Visitor(name=str(who), rights=await fleet.rights())
    if isinstance(who, Holder):
        told = told.evolve(team=who.team, role=who.role)
    return Response(msgspec.json.encode(told), media_type=JSON)


async def _told(answer: Answer, request: Request) -> Response:
    try:
        return await answer(request)
    except FleetError as refused:
        return problem(refused)
