"""`POST /auth` at work: open to whoever knows a secret, and closed for a while to who guesses."""

from collections.abc import Mapping
from time import monotonic
from typing import Any

from starlette.requests import Request

from codefleet.domain.errors import Unauthenticated
from codefleet.doors.http.claude_fleet.attempts import Attempts
from codefleet.doors.http.claude_fleet.table import AUTH
from codefleet.doors.http.gate import Gate
from codefleet.doors.http.handler import Handler
from codefleet.doors.http.problem import problem_with_error
from codefleet.fleet import Fleet

LARGEST_BODY = 4 * 1024
"""Strangers may not fill the memory."""


class Joining(Handler):
    """Answers those who have no token yet."""

    largest_body = LARGEST_BODY

    def __init__(self, gate: Gate) -> None:
        super().__init__(AUTH, gate, problem_with_error)
        self._attempts = Attempts(monotonic)

    async def _fleet(self, request: Request) -> Fleet:
        """The fleet for those without a token; who has to wait is refused before we read more."""
        self._attempts.refuse_guesser(_address(request))
        return self._gate.stranger

    async def _done(
        self, fleet: Fleet, given: Mapping[str, Any], request: Request, body: bytes
    ) -> Any:
        try:
            async with self._attempts.one(_address(request)):
                admitted = await super()._done(fleet, given, request, body)
        except Unauthenticated:
            self._gate.traffic.refused += 1
            raise
        self._gate.traffic.authenticated += 1
        return admitted


def _address(request: Request) -> str:
    return request.client.host if request.client else ""
