"""What PostgreSQL's errors mean to people: the one place that knows them."""

from psycopg import Error, OperationalError, errors
from psycopg.conninfo import conninfo_to_dict

from codefleet.domain.errors import BadConfig, StoreTrouble

Words = tuple[str, str]

_REFUSED = (
    "the server of the store {place} refuses this user",
    "check user and password in the address, and the server's pg_hba.conf",
)
_NO_DATABASE = (
    "there is no database for the store {place}",
    "create it: createdb --encoding=UTF8 NAME",
)
_STARTING = (
    "the server of the store {place} is starting or stopping",
    "try again in a moment",
)
_CROWDED = (
    "the server of the store {place} accepts no more connections",
    "raise its max_connections, or put pgbouncer in front of it",
)
_UNREACHABLE = (
    "the store {place} cannot be reached: {error}",
    "check that the server runs, and the host and port in the address",
)
_MEANING: dict[str, Words] = {
    "28P01": _REFUSED,
    "28000": _REFUSED,
    "3D000": _NO_DATABASE,
    "53300": _CROWDED,
    "57P03": _STARTING,
    "25006": (
        "the server of the store {place} is read-only",
        "it may be a standby: give the address of the primary",
    ),
    "42501": (
        "the user of the store {place} lacks a permission there",
        "make it the owner of the database, or grant it CREATE on the schema",
    ),
    "53100": (
        "the disk is full on the server of the store {place}",
        "free some disk space there; nothing that was stored is lost",
    ),
    "53200": (
        "the server of the store {place} is out of memory",
        "try again; nothing that was stored is lost",
    ),
}
_SAID: dict[str, Words] = {
    "authentication failed": _REFUSED,
    "no password supplied": _REFUSED,
    "no pg_hba.conf entry": _REFUSED,
    'role "': _REFUSED,
    'database "': _NO_DATABASE,
    "too many clients": _CROWDED,
    "remaining connection slots": _CROWDED,
    "starting up": _STARTING,
    "not yet accepting": _STARTING,
    "shutting down": _STARTING,
    "recovery mode": _STARTING,
    "server_login_retry": _UNREACHABLE,
    "cannot connect to server": _UNREACHABLE,
    "query_wait_timeout": _CROWDED,
    "max_client_conn": _CROWDED,
}
"""What a server says when it refuses a connection: the driver passes on its message, not its code.
The last ones are pgbouncer's."""
_UNKNOWN = ("the store {place} cannot be used: {error}", "run `fleet doctor`")
_LOST = "08"
"""The prefix of all connection error codes; pgbouncer uses one if its own connections fail."""
_PASSING = frozenset({"57P01", "57P02", "57P03", "57P05", "53300", "25P03"})
_WRONG = "ZF001"
"""The server's code for a writer's wrong assumption; see `insist`."""
_CONTESTED = (errors.DeadlockDetected, errors.SerializationFailure, errors.LockNotAvailable)


def place_of(address: str, *, setting: str = "store") -> str:
    """The address as it may be shown: without the password, wherever it was."""
    try:
        parts = {name: str(value) for name, value in conninfo_to_dict(address).items() if value}
        for host in parts.get("host", "").split(","):
            if not host.startswith(("/", "@")):  # not the folder or name of a socket
                host.encode("idna")
    except (Error, UnicodeError):  # their texts repeat the address
        raise BadConfig(
            f"{setting}: this is not the address of a PostgreSQL database",
            hint="use postgresql://USER:PASSWORD@HOST/DATABASE",
        ) from None
    user = f"{parts['user']}@" if "user" in parts else ""
    port = f":{parts['port']}" if "port" in parts else ""
    return f"postgresql://{user}{parts.get('host', '')}{port}/{parts.get('dbname', '')}"


def is_passing(error: Error) -> bool:
    """Is the cause temporary, such as a lost connection?"""
    if isinstance(error, OperationalError) and error.sqlstate is None:
        return _words(error) in (_UNREACHABLE, _STARTING, _CROWDED)
    is_lost = (error.sqlstate or "").startswith(_LOST)
    return is_lost or error.sqlstate in _PASSING or is_outdated(error)


def is_outdated(error: Error) -> bool:
    """Does a statement that the server keeps no longer match the tables? A newer codefleet may have
    changed them meanwhile."""
    return (
        isinstance(error, errors.FeatureNotSupported)
        and error.diag.source_function == "RevalidateCachedQuery"
    )


def is_contested(error: Error) -> bool:
    """Did two transactions want the same, so that one has to be retried?"""
    taken = isinstance(error, errors.UniqueViolation) and error.diag.table_name == "tasks"
    return taken or error.sqlstate == _WRONG or isinstance(error, _CONTESTED)


def explained(error: Error, place: str) -> StoreTrouble:
    """The same error, explained."""
    problem, hint = _words(error)
    first, *_ = str(error).splitlines() or [""]
    return StoreTrouble(problem.format(place=place, error=first), hint=hint)


def _words(error: Error) -> Words:
    if error.sqlstate:
        unknown = _UNREACHABLE if error.sqlstate.startswith(_LOST) else _UNKNOWN
        return _MEANING.get(error.sqlstate, unknown)
    if not isinstance(error, OperationalError):
        return _UNKNOWN
    said = str(error)
    unknown = _UNKNOWN if "FATAL:" in said else _UNREACHABLE
    return next((words for part, words in _SAID.items() if part in said), unknown)
