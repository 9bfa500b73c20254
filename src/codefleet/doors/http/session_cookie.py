"""The cookie with the session of our page. No script can read it, and no other site can use it.

Cookies are the same for all ports of a host: so this one is named after ours, and it counts only
if the browser says that our own page asks, or says nothing about it.
"""

from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie

from starlette.responses import Response

from codefleet.fleet.sessions import LASTS

OWN_PAGE = ("same-origin", "none")


def session_in(headers: Mapping[str, str]) -> str | None:
    """The session that a request brings, if it comes from our page."""
    if headers.get("sec-fetch-site", "none") not in OWN_PAGE:
        return None
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(_name(headers))
    except CookieError:
        return None
    return found.value if found else None


def give(response: Response, headers: Mapping[str, str], session: str) -> None:
    """Let the browser keep this session."""
    response.set_cookie(
        *(_name(headers), session),
        max_age=int(LASTS.total_seconds()),
        secure=headers.get("origin", "").startswith("https:"),
        httponly=True,
        samesite="strict",
    )


def take(response: Response, headers: Mapping[str, str]) -> None:
    """Let the browser forget its session."""
    response.delete_cookie(_name(headers), httponly=True, samesite="strict")


def _name(headers: Mapping[str, str]) -> str:
    port = headers.get("host", "").rpartition(":")[2]
    return f"fleet_{port}" if port.isdecimal() else "fleet"
