"""How often an address may send a wrong secret: the counts are bounded, in time and in number."""

from asyncio import Lock
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from ipaddress import IPv6Address, IPv6Network, ip_address
from math import ceil

from codefleet.domain.errors import TooManyGuesses, Unauthenticated

MOST = 5
WITHIN_S = 60.0
MOST_ADDRESSES = 10_000
HOST_BITS = 64
"""Whoever has one IPv6 address usually has this many bits of them."""


class Attempts:
    """The last wrong secrets from each address."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._wrong: OrderedDict[str, deque[float]] = OrderedDict()
        self._lock = Lock()

    def refuse_guesser(self, address: str) -> None:
        """Refuse an address that has to wait."""
        if seconds := self.wait(address):
            raise TooManyGuesses("there were too many wrong secrets from your address", seconds)

    @asynccontextmanager
    async def one(self, address: str) -> AsyncIterator[None]:
        """Try a secret, and count it if it is wrong. One at a time: of many at once, each would be
        tried before any is counted."""
        async with self._lock:
            self.refuse_guesser(address)
            try:
                yield
            except Unauthenticated:
                self.count(address)
                raise

    def wait(self, address: str) -> int:
        """How many seconds this address has to wait until it may try again; 0 if it may now."""
        wrong = self._wrong.get(_network(address))
        if wrong is None or len(wrong) < MOST:
            return 0
        return max(0, ceil(wrong[0] + WITHIN_S - self._clock()))

    def count(self, address: str) -> None:
        """Count a wrong secret. If there are too many addresses, the one longest quiet is freed."""
        network = _network(address)
        self._wrong.setdefault(network, deque(maxlen=MOST)).append(self._clock())
        self._wrong.move_to_end(network)
        if len(self._wrong) > MOST_ADDRESSES:
            self._wrong.popitem(last=False)


def _network(address: str) -> str:
    """The address, or the network that belongs to one holder."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:  # a socket file has no address
        return address
    if isinstance(found, IPv6Address) and found.ipv4_mapped is None:
        return str(IPv6Network((found, 128 - HOST_BITS), strict=False))
    return str(found)
