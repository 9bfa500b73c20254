"""Servers to compare ours with: `python -m bench.http_bare KIND PORT HOME`.

`framework` answers to one address. `store` is the same framework over our store, without the API:
it checks nothing and asks for no token. `fastapi` is what one would write first with FastAPI and
SQLite. The first two also broadcast the log, in the plainest loop.
"""

import asyncio
import json
import sqlite3
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from codefleet.doors.network import listen

MEDIA = "application/json"


def main(kind: str, port: int, home: Path) -> None:
    app = {"framework": _framework, "store": _over_the_store, "fastapi": _fastapi}[kind](home)
    config = uvicorn.Config(app, log_level="error", http="h11", loop="asyncio")
    asyncio.run(uvicorn.Server(config).serve(sockets=[listen("127.0.0.1", port)]))


def _framework(home: Path) -> Any:
    async def health(request: Request) -> Response:
        return Response(b'{"status":"ok"}', media_type=MEDIA)

    return Starlette(routes=[Route("/health", health)])


def _over_the_store(home: Path) -> Any:
    from bench.http_store import Handlers

    handlers = Handlers(home)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with handlers.opened():
            yield

    async def health(request: Request) -> Response:
        return Response(b'{"status":"ok"}', media_type=MEDIA)

    async def events(request: Request) -> Response:
        return StreamingResponse(handlers.stream(), media_type="text/event-stream")

    async def socket(client: WebSocket) -> None:
        await client.accept()
        async for each in handlers.stream():
            await client.send_text(each.decode())

    async def create(request: Request) -> Response:
        (draft,) = msgspec.json.decode(await request.body())
        return _json([await handlers.create(draft["title"])], 201)

    async def assign(request: Request) -> Response:
        said = msgspec.json.decode(await request.body())
        return _json(await handlers.assign(request.path_params["ref"], said["assignee"]))

    async def cancel(request: Request) -> Response:
        return _json(await handlers.cancel(request.path_params["ref"]))

    return Starlette(
        lifespan=lifespan,
        routes=[
            Route("/health", health),
            Route("/api/v1/events", events),
            WebSocketRoute("/ws", socket),
            Route("/api/v1/tasks", create, methods=["POST"]),
            Route("/api/v1/tasks/{ref}", assign, methods=["PATCH"]),
            Route("/api/v1/tasks/{ref}/cancel", cancel, methods=["POST"]),
        ],
    )


def _json(what: Any, status: int = 200) -> Response:
    return Response(msgspec.json.encode(what), status, media_type=MEDIA)


def _fastapi(home: Path) -> Any:
    from pydantic import BaseModel

    class Draft(BaseModel):
        title: str

    class Change(BaseModel):
        assignee: str

    class Task(Draft):
        id: str
        state: str
        assignee: str | None = None

    home.mkdir(parents=True, exist_ok=True)
    database = sqlite3.connect(home / "floor.db", isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    columns = "id TEXT PRIMARY KEY, state TEXT, body TEXT, assignee TEXT"
    database.execute(f"CREATE TABLE tasks ({columns})")
    app = import_module("fastapi").FastAPI()

    async def health() -> dict[str, str]:
        return {"status": "ok"}

    async def create(drafts: list[Draft]) -> list[Task]:
        made = [Task(id=uuid4().hex[:8], title=draft.title, state="pending") for draft in drafts]
        database.execute("BEGIN IMMEDIATE")
        for task in made:
            row = (task.id, task.state, json.dumps({"title": task.title}))
            database.execute("INSERT INTO tasks VALUES (?, ?, ?, NULL)", row)
        database.execute("COMMIT")
        return made

    def changed(ref: str, state: str, assignee: str | None) -> Task:
        set_both = "UPDATE tasks SET state = ?, assignee = coalesce(?, assignee) WHERE id = ?"
        database.execute(set_both, (state, assignee, ref))
        read = "SELECT id, state, assignee, body FROM tasks WHERE id = ?"
        row = database.execute(read, (ref,)).fetchone()
        return Task(id=row[0], state=row[1], assignee=row[2], **json.loads(row[3]))

    async def assign(ref: str, change: Change) -> Task:
        return changed(ref, "assigned", change.assignee)

    async def cancel(ref: str) -> Task:
        return changed(ref, "cancelled", None)

    app.get("/health")(health)
    app.post("/api/v1/tasks", status_code=201)(create)
    app.patch("/api/v1/tasks/{ref}")(assign)
    app.post("/api/v1/tasks/{ref}/cancel")(cancel)
    return app


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
