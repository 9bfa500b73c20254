"""Keys of memories: whatever can be stored can be recalled."""

import httpx2
import pytest

from codefleet.fleet import Fleet
from tests.doors.http.conftest import Served


@pytest.mark.parametrize("path", ["db/port", "db%2Fport"])
async def test_a_key_may_have_slashes(
    served: Served, fleet: Fleet, owner: httpx2.AsyncClient, path: str
) -> None:
    await fleet.remember("db/port", "5432", handle="bob")
    found = await owner.get(f"{served.url}/memory/recall/bob/{path}")
    assert (found.status_code, found.json()["value"]) == (200, "5432")


async def test_a_key_with_a_nul_is_refused(served: Served, owner: httpx2.AsyncClient) -> None:
    said = {"agentId": "bob", "key": "a\0b", "value": "x"}
    refused = await owner.post(f"{served.url}/memory/store", json=said)
    assert (refused.status_code, "NUL" in refused.json()["error"]) == (422, True)
