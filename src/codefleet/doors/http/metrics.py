"""The fleet in numbers: in the text format of Prometheus, and as JSON."""

import time
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from codefleet.api.operation import JSON
from codefleet.domain.errors import FleetError
from codefleet.domain.measures import Measures
from codefleet.doors.http.gate import Gate
from codefleet.doors.http.hub import Hub
from codefleet.doors.http.problem import Unacceptable, problem
from codefleet.doors.http.traffic import Traffic
from codefleet.fleet import Fleet
from codefleet.fleet.measures import MetricsReader

MEDIA = "text/plain; version=0.0.4; charset=utf-8"
READ_WITHIN_S = 1.0


class MetricsPage:
    """Answers with everything that is measured to who may read it or, if public, to anybody."""

    def __init__(
        self, gate: Gate, hub: Hub, traffic: Traffic, reader: MetricsReader, *, is_public: bool
    ) -> None:
        self._gate, self._hub, self._traffic, self._reader = gate, hub, traffic, reader
        self._is_public = is_public
        self._began = time.monotonic()

    async def text(self, request: Request) -> Response:
        """All metrics, for Prometheus."""
        try:
            asking = self._gate.stranger if self._is_public else await self._asking(request)
            measures = await self._reader.read(asking, within=READ_WITHIN_S)
        except FleetError as refused:
            return problem(refused)
        from codefleet.doors.http.prometheus import text  # imported here: it is slow

        return Response(text(measures, self._traffic, self._hub), headers={"Content-Type": MEDIA})

    async def json(self, request: Request) -> Response:
        """The most important numbers, as claude-fleet names them."""
        try:
            measures = await self._reader.read(await self._asking(request), within=READ_WITHIN_S)
            told = self._summary(measures)
        except FleetError as refused:
            return problem(refused)
        return Response(msgspec.json.encode(told), media_type=JSON)

    async def _asking(self, request: Request) -> Fleet:
        return await self._gate.fleet(request.headers)

    def _summary(self, measures: Measures) -> dict[str, Any]:
        totals = measures.totals
        if totals is None:
            raise Unacceptable(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "the log is still being read",
                hint="ask again in a few seconds",
            )
        healthy = measures.workers - measures.lost_workers
        states = {"working": healthy, "stopped": measures.lost_workers}
        return {
            "uptime": time.monotonic() - self._began,
            "workers": {
                "total": measures.workers,
                "healthy": healthy,
                "degraded": 0,
                "unhealthy": measures.lost_workers,
                "byState": {state: many for state, many in states.items() if many},
            },
            "tasks": {"total": sum(measures.tasks.values()), "byStatus": measures.tasks},
            "agents": sum(measures.agents.values()),
            "chats": 0,
            "messages": totals.events.get("message.sent", 0),
            "restarts": {"total": totals.restarts, "lastHour": totals.restarts_last_hour},
        }
