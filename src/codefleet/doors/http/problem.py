"""An error as HTTP tells it: `application/problem+json` with our code, sentence and hint."""

from collections.abc import Callable, Mapping
from http import HTTPStatus

import msgspec
from starlette.responses import Response

from codefleet.domain.errors import FleetError, TooManyGuesses

MEDIA = "application/problem+json"
HEADERS: Mapping[int, Mapping[str, str]] = {
    HTTPStatus.UNAUTHORIZED: {"WWW-Authenticate": "Bearer"},
    HTTPStatus.REQUEST_TIMEOUT: {"Connection": "close"},  # the rest may still arrive
}


Report = Callable[[FleetError], Response]


class Problem(msgspec.Struct, rename={"kind": "type"}, kw_only=True):
    """What went wrong, as RFC 9457 describes it, and what to do."""

    kind: str
    title: str
    status: int
    detail: str
    code: str
    hint: str
    error: str | msgspec.UnsetType = msgspec.UNSET
    """The same as `detail`, where clients of claude-fleet look for it."""


class Unacceptable(FleetError):
    """A request that breaks a rule of HTTP or of this server, rather than of the fleet."""

    code = "unacceptable"

    def __init__(self, status: int, problem: str, *, hint: str = "") -> None:
        super().__init__(problem, hint=hint)
        self.http_status = status
        self.word = HTTPStatus(status).phrase.lower().replace(" ", "_")


def problem(error: FleetError) -> Response:
    """The response that reports this error."""
    return _response(_told(error), error)


def problem_with_error(error: FleetError) -> Response:
    """The same for clients of claude-fleet."""
    told = _told(error)
    told.error = told.detail
    return _response(told, error)


def _told(error: FleetError) -> Problem:
    status, code = (
        (error.http_status, error.word)
        if isinstance(error, Unacceptable)
        else (error.status, error.code)
    )
    return Problem(
        kind=f"urn:codefleet:{code}",
        title=HTTPStatus(status).phrase,
        status=status,
        detail=error.problem,
        code=code,
        hint=error.hint,
    )


def _response(told: Problem, error: FleetError) -> Response:
    headers = dict(HEADERS.get(told.status, {}))
    if isinstance(error, TooManyGuesses):
        headers["Retry-After"] = str(error.seconds)
    return Response(msgspec.json.encode(told), told.status, headers, MEDIA)
