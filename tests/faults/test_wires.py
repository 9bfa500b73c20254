"""The wires of the fault campaigns leave nothing open behind them."""

import asyncio
from pathlib import Path

from tests.faults.wires import to_postgres, wire


async def test_who_is_on_a_wire_that_ends_is_let_go(tmp_path: Path) -> None:
    hung_up = asyncio.Event()

    async def listen(heard: asyncio.StreamReader, said: asyncio.StreamWriter) -> None:
        said.write(b"hello")
        await heard.read()
        said.close()
        hung_up.set()

    socket = tmp_path / "s"
    async with await asyncio.start_unix_server(listen, socket):
        async with wire(to_postgres(socket)) as cut:
            near, out = await asyncio.open_connection("127.0.0.1", cut.port)
            assert await near.readexactly(5) == b"hello"
        await asyncio.wait_for(hung_up.wait(), 10)
        out.close()
