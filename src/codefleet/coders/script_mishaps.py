"""The steps of the scripted agent in which something goes wrong."""

import os

from codefleet.coders.script_session import tell
from codefleet.coders.script_text import Trouble

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from typing import NoReturn
else:
    import _signal as signal  # without its enums, which take longer to load than all the rest


def crash(how: str = "1") -> "NoReturn":
    if how.isdecimal():
        os._exit(int(how))
    number = signal_of(how)
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    hang()


def hang() -> "NoReturn":
    while True:
        signal.pause()


def spin() -> "NoReturn":
    while True:
        pass


def ignore(name: str) -> None:
    signal.signal(signal_of(name), signal.SIG_IGN)


def signal_of(name: str) -> int:
    number = getattr(signal, name, None) if name.startswith("SIG") else None
    if not isinstance(number, int) or name.startswith("SIG_"):
        raise Trouble(f"there is no signal {name}; use SIGTERM, for example")
    return number


def orphan(seconds: str = "600") -> None:
    pid = os.posix_spawnp("sleep", ["sleep", seconds], os.environ, setsid=True)
    tell("said", text=f"Left process {pid} behind.")
