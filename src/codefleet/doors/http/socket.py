"""The log over a WebSocket: authenticate, subscribe with filters, and get each event."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect

from codefleet.domain.errors import FleetError, Invalid
from codefleet.domain.noun import Natural, Noun
from codefleet.domain.validation import checked
from codefleet.doors.http.gate import Gate, unauthenticated
from codefleet.doors.http.guests import Guest
from codefleet.doors.http.hub import Hub
from codefleet.doors.http.session_cookie import session_in
from codefleet.doors.http.stream import Frame, Gap, Wanted
from codefleet.doors.http.traffic import Traffic
from codefleet.fleet import Fleet

AUTHENTICATE_S = 10.0
LARGEST_MESSAGE = 64 * 1024
RESTARTING = 1012
REFUSED = 1008
LEFT = 1005


class Subscription(Noun):
    """What a client wants from here on."""

    type: str
    after: Natural | None = None
    task: str | None = None
    run: str | None = None
    kinds: tuple[str, ...] = ()
    team: str | None = None


class Socket:
    """One endpoint; each connection is a `Connection`."""

    def __init__(self, gate: Gate, hub: Hub, traffic: Traffic) -> None:
        self._gate, self._hub, self._traffic = gate, hub, traffic

    async def __call__(self, socket: WebSocket) -> None:
        await socket.accept()
        self._traffic.sockets += 1
        try:
            with suppress(WebSocketDisconnect, RuntimeError):  # a client may leave at any moment
                fleet = await self._authenticated(socket)
                if fleet:
                    with self._hub.connected(fleet) as guest:
                        await Connection(socket, guest, self._hub, self._traffic).serve()
        finally:
            self._traffic.sockets -= 1

    async def _authenticated(self, socket: WebSocket) -> Fleet | None:
        """The fleet of the client's token, from a header, its session or its first message."""
        try:
            async with asyncio.timeout(AUTHENTICATE_S):
                if "authorization" in socket.headers or session_in(socket.headers):
                    return await self._gate.fleet(socket.headers)
                said = await _message(socket)
            if said.get("type") != "auth" or not isinstance(said.get("token"), str):
                raise unauthenticated()
            fleet = await self._gate.fleet_for(said["token"])
        except (FleetError, TimeoutError) as refused:
            told = refused if isinstance(refused, FleetError) else unauthenticated()
            await _send(socket, "error", **told.as_dict())
            await socket.close(REFUSED, "this needs a valid token")
            return None
        await _send(socket, "authenticated")
        return fleet


class Connection:
    """One authenticated client: it may subscribe anew at any time."""

    def __init__(self, socket: WebSocket, guest: Guest, hub: Hub, traffic: Traffic) -> None:
        self._socket, self._guest, self._hub, self._traffic = socket, guest, hub, traffic
        self._fleet = guest.fleet
        self._sending: asyncio.Task[None] | None = None

    async def serve(self) -> None:
        """Do what the client asks until it, or the server, goes away."""
        leaving = asyncio.create_task(self._leave_once_refused())
        try:
            while True:
                try:
                    said = await _message(self._socket)
                    self._traffic.received += 1
                    await self._obey(said)
                except FleetError as refused:
                    await _send(self._socket, "error", **refused.as_dict())
        finally:
            leaving.cancel()
            await self._unsubscribe()

    async def _leave_once_refused(self) -> None:
        """Hang up as soon as the client may no longer ask, even if it asks for nothing."""
        await self._guest.refused.wait()
        await self._unsubscribe()
        with suppress(WebSocketDisconnect, RuntimeError):  # it may have left
            await self._socket.close(REFUSED, "this token is no longer valid")

    async def _obey(self, said: Mapping[str, Any]) -> None:
        match said.get("type"):
            case "subscribe":
                await self._subscribe(checked(Subscription, said))
            case "unsubscribe":
                await self._unsubscribe()
                await _send(self._socket, "unsubscribed")
            case "ping":
                await _send(self._socket, "pong")
            case _:
                raise Invalid(
                    "this message has no known type", hint="use subscribe, unsubscribe or ping"
                )

    async def _subscribe(self, wanted: Subscription) -> None:
        await self._unsubscribe()
        if not await self._guest.check():  # the token may have been revoked a moment ago
            raise unauthenticated()
        task = (await self._fleet.get(wanted.task)).id if wanted.task else None
        if wanted.team is not None:
            await self._fleet.team(wanted.team)  # it must exist
        after = await self._fleet.last_seq() if wanted.after is None else wanted.after
        await _send(self._socket, "subscribed", after=after)
        self._sending = asyncio.create_task(
            self._send_all(Wanted(task, wanted.run, wanted.kinds, wanted.team), after)
        )

    async def _unsubscribe(self) -> None:
        if self._sending:
            self._sending.cancel()
            await asyncio.gather(self._sending, return_exceptions=True)
            self._sending = None

    async def _send_all(self, wanted: Wanted, after: int) -> None:
        stream = await self._hub.open(self._fleet, wanted, after)
        try:
            async for parts in stream.parts():
                for part in parts:
                    await self._socket.send_text(_written(part))
                self._traffic.sent += len(parts)
            if not stream.guest.refused.is_set():
                await self._socket.close(RESTARTING, "the server stops")
        except (WebSocketDisconnect, RuntimeError):
            return
        finally:
            await self._hub.close(stream)


def _written(part: Frame | Gap) -> str:
    if isinstance(part, Gap):
        return f'{{"type":"gap","after":{part.after},"until":{part.until}}}'
    return f'{{"type":"event","event":{part.json.decode()}}}'


async def _message(socket: WebSocket) -> dict[str, Any]:
    text = await _text(socket)
    if len(text) > LARGEST_MESSAGE:
        raise Invalid("this message is too long", hint="send less")
    try:
        said = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        said = None
    return said if isinstance(said, dict) else {}


async def _text(socket: WebSocket) -> str:
    message = await socket.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code", LEFT))
    text = message.get("text")
    if not isinstance(text, str):
        raise Invalid("a message must be text, not binary", hint="send JSON as a text message")
    return text


async def _send(socket: WebSocket, kind: str, **fields: Any) -> None:
    await socket.send_text(msgspec.json.encode({"type": kind, **fields}).decode())
