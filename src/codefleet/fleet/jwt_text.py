"""The text of a token: a JSON Web Token, signed with HS256 and nothing else.

The only module that knows the library for it. Whether a token is valid, and what its role is, the
stored `Token` decides, which has a hash of the text: so servers need no common key to accept each
other's tokens, a key alone forges none, and what is stored does not help to make one up.
"""

from collections.abc import Sequence
from hashlib import sha256
from types import ModuleType

from codefleet.domain.errors import BadConfig, Unauthenticated
from codefleet.domain.model import Token, TokenId
from codefleet.fleet.signing_keys import SigningKey

ALGORITHM = "HS256"
LONGEST = 4096
DOTS = 2
"""A token has three parts: header, claims, signature."""


def written(token: Token, key: SigningKey) -> str:
    """The text that proves that somebody holds this token."""
    claims = {
        "jti": token.id,
        "sub": token.handle,
        "team": token.team,
        "role": token.role.value,
        "iat": int(token.created_at.timestamp()),
        "exp": int(token.expires_at.timestamp()),
    }
    text: str = _library().encode(claims, key.secret, ALGORITHM, headers={"kid": key.id})
    return text


def text_hash(text: str) -> str:
    """What is stored of a text."""
    return sha256(text.encode(errors="replace")).hexdigest()


def token_named(text: str, keys: Sequence[SigningKey], *, only_these: bool) -> TokenId:
    """The id of the token that this text says it is; its hash has to prove that.

    What names one of these keys must be signed with it. What names another was signed on another
    machine, and is refused if `only_these` count.
    """
    if len(text) > LONGEST or text.count(".") != DOTS:
        raise unknown()
    jwt = _library()
    try:
        kid = jwt.get_unverified_header(text).get("kid")
        secret = next((key.secret for key in keys if key.id == kid), None)
        if secret is None and only_these:
            raise unknown()
        options = {**_NO_TIMES, "verify_signature": secret is not None}
        claims = jwt.decode(text, secret or "", algorithms=[ALGORITHM], options=options)
        return TokenId(str(claims["jti"]))
    except (jwt.InvalidTokenError, ValueError, KeyError, RecursionError):
        raise unknown() from None


_NO_TIMES = {"verify_exp": False, "verify_iat": False, "verify_nbf": False}
"""Times are judged by the clock of the store, which has also set them."""


def unknown() -> Unauthenticated:
    return Unauthenticated(
        "this token does not belong to this fleet",
        hint="ask the fleet's owner for a token: `fleet token create TEAM HANDLE`",
    )


def _library() -> ModuleType:
    try:
        import jwt  # here, because only tokens of teams need it
    except ImportError:
        raise BadConfig(
            "the library for tokens is not installed",
            hint="install it next to codefleet: pip install 'pyjwt>=2.10'",
        ) from None
    return jwt
