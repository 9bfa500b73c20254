"""Strangers: no token, a foreign name, a foreign page, a run's token."""

from itertools import product
from pathlib import Path

import httpx2

from codefleet.api.table import OPERATIONS
from codefleet.doors.network import hosts, is_known
from codefleet.fleet import Fleet
from tests.doors.http.conftest import API, Served, serving


async def test_nothing_is_answered_without_a_token(served: Served) -> None:
    wrong: tuple[dict[str, str], ...] = (
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": served.token},
    )
    async with httpx2.AsyncClient(base_url=served.url + API) as stranger:
        for operation, headers in product(OPERATIONS, wrong):
            path = operation.path.replace("{", "").replace("}", "")
            refused = await stranger.request(operation.method, path, headers=headers)
            assert refused.status_code == 401, operation.name
            assert refused.headers["www-authenticate"] == "Bearer"


async def test_anybody_may_ask_whether_the_server_is_alive(served: Served) -> None:
    assert httpx2.get(f"{served.url}/health").json() == {"status": "ok"}


FOREIGN = (
    ({"Host": "evil.example"}, 421),
    ({"Host": "127.0.0.1:1"}, 421),
    ({"Origin": "http://evil.example"}, 403),
    ({"Origin": "null"}, 403),
)


async def test_a_foreign_name_or_page_is_refused_even_with_the_token(served: Served) -> None:
    for headers, status in FOREIGN:
        refused = httpx2.get(served.url + API + "/status", headers={**served.owner, **headers})
        assert refused.status_code == status, headers


NAMES = ("--allow-host", "Fleet.example.org", "--allow-host", "other.example:8443")
CALLED = (
    ({"Host": "fleet.example.org"}, 200),
    ({"Host": "fleet.example.org:443"}, 200),
    ({"Host": "FLEET.example.org:9", "Origin": "https://fleet.example.org"}, 200),
    ({"Host": "fleet.example.org", "Origin": "http://fleet.example.org:8080"}, 200),
    ({"Host": "other.example:8443", "Origin": "https://other.example:8443"}, 200),
    ({"Host": "other.example:8443", "Origin": "https://other.example"}, 403),
    ({"Host": "fleet.example.org", "Origin": "ftp://fleet.example.org"}, 403),
    ({"Host": "fleet.example.org", "Origin": "https://evil.example"}, 403),
    ({"Host": "other.example"}, 421),
    ({"Host": "other.example:443"}, 421),
    ({"Host": "fleet.example.org.evil.example"}, 421),
    ({"Host": "fleet.example.org:443:80"}, 421),
    ({"Host": "localhost"}, 421),
    ({"Host": ""}, 421),
)


async def test_a_name_that_is_allowed_may_be_called_at_the_port_of_a_proxy(
    home: Path, fleet: Fleet
) -> None:
    with serving(home, *NAMES) as server:
        for headers, status in CALLED:
            answer = httpx2.get(server.url + API + "/time", headers={**server.owner, **headers})
            assert answer.status_code == status, headers


def test_on_a_usual_port_clients_leave_it_out() -> None:
    known = hosts("127.0.0.1", 80)
    assert is_known("localhost", known)
    assert is_known("[::1]", known)
    assert is_known("localhost:80", known)
    assert not is_known("localhost:443", known)
    assert not is_known("localhost", hosts("127.0.0.1", 8000))


async def test_the_servers_own_page_may_ask(served: Served) -> None:
    mine = {**served.owner, "Origin": served.url}
    assert httpx2.get(served.url + API + "/status", headers=mine).status_code == 200


async def test_the_token_is_in_a_file_that_only_its_owner_can_read(
    served: Served, fleet: Fleet
) -> None:
    file = fleet.home / "keys" / "owner.token"
    assert file.read_text() == served.token
    assert file.stat().st_mode & 0o777 == 0o600
