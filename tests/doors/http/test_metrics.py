"""The fleet in numbers: complete, true, readable by Prometheus, and not for strangers."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

from codefleet.domain.model import Draft
from codefleet.fleet import Fleet
from tests import prometheus
from tests.doors.conftest import Cli
from tests.doors.http.conftest import Served, serving
from tests.doors.http.test_generated_requests import settled
from tests.script import script
from tests.store.conftest import skip_or_fail

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[3] / "examples" / "monitoring"
WORD = re.compile(r"\b(?:fleet|http|collab)_[a-z_]+\b")
SCRAPE = """\
scrape_configs:
  - job_name: codefleet
    scrape_interval: 1s
    authorization: {{credentials_file: {token}}}
    static_configs: [targets: ["{target}"]]
"""
OF_CLAUDE_FLEET = """
    http_requests_total http_request_duration_seconds
    collab_workers_total collab_workers_healthy collab_workers_by_state collab_worker_restarts_total
    collab_worker_spawns_total collab_worker_dismissals_total collab_tasks_total
    collab_tasks_by_status collab_tasks_created_total collab_tasks_completed_total
    collab_messages_total collab_messages_sent_total collab_broadcasts_sent_total
    collab_agents_total collab_agent_authentications_total collab_workitems_total
    collab_workitems_by_status collab_errors_total collab_auth_failures_total
    collab_websocket_connections collab_websocket_messages_received_total
    collab_websocket_messages_sent_total
"""


@pytest.fixture
async def worked(home: Path, fleet: Fleet) -> AsyncIterator[Served]:
    """A served fleet whose agents finished one task and failed at another."""
    prompts = {
        "Greet": script("usage input=100 output=20 cost=0.25", "write a.txt hi"),
        "Break": script("crash 3"),
    }
    drafts = [
        Draft(title=title, coder="scripted", prompt=prompt, max_attempts=1)
        for title, prompt in prompts.items()
    ]
    await fleet.add(drafts)
    with serving(home, "--agents=2") as server:
        await settled(fleet)
        yield server


def scraped(served: Served) -> str:
    answer = httpx2.get(f"{served.url}/metrics", headers=served.owner)
    assert answer.status_code == 200, answer.text
    return answer.text


def samples(text: str) -> dict[str, float]:
    """The value of each series, by its name and the values of its labels."""
    return {
        " ".join([sample.name, *(sample.labels[name] for name in sorted(sample.labels))]): (
            sample.value
        )
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def test_what_the_fleet_did_is_in_the_numbers(worked: Served) -> None:
    scraped(worked)
    told = samples(scraped(worked))
    assert told["fleet_tasks completed"] == told["fleet_tasks failed"] == 1
    assert told["fleet_runs_ended_total submitted "] == 1
    assert told["fleet_runs_ended_total failed crashed"] == 1
    assert told["fleet_tokens_total scripted input"] == 100
    assert told["fleet_cost_usd_total scripted"] == 0.25
    assert told["fleet_claim_seconds_count"] == 2
    assert told["fleet_landing_seconds_count"] == 1
    assert told["fleet_agents idle"] == 2
    assert told["http_requests_total GET metrics 200"] >= 1
    assert told["collab_tasks_by_status resolved"] == told["collab_worker_spawns_total"] == 2


async def test_totals_survive_a_restart_because_the_log_does(
    worked: Served, home: Path, fleet: Fleet
) -> None:
    before = samples(scraped(worked))
    worked.stop()
    with serving(home) as again:
        after = samples(scraped(again))
    for name in ("fleet_claim_seconds_sum", "fleet_cost_usd_total scripted"):
        assert after[name] == before[name]


async def test_strangers_get_no_numbers_unless_they_are_public(served: Served, home: Path) -> None:
    for path in ("/metrics", "/metrics/json"):
        assert httpx2.get(served.url + path).status_code == 401
    served.stop()
    with serving(home, "--public-metrics") as public:
        assert httpx2.get(f"{public.url}/metrics").status_code == 200
        assert httpx2.get(f"{public.url}/metrics/json").status_code == 401


async def test_a_path_that_a_stranger_makes_up_is_no_label(served: Served) -> None:
    for number in range(3):
        httpx2.get(f"{served.url}/made-up-{number}")
    told = samples(scraped(served))
    assert told["http_requests_total other unknown 404"] == 3
    assert not any("made-up" in name for name in told)


async def test_the_names_of_claude_fleet_are_there(served: Served) -> None:
    told = {family.name for family in text_string_to_metric_families(scraped(served))}
    told |= {f"{name}_total" for name in told}
    assert told >= set(OF_CLAUDE_FLEET.split())


async def test_the_most_important_numbers_are_json_too(worked: Served) -> None:
    told = httpx2.get(f"{worked.url}/metrics/json", headers=worked.owner).json()
    assert told["tasks"] == {"total": 2, "byStatus": {"completed": 1, "failed": 1}}
    assert told["workers"]["total"] == told["restarts"]["total"] == 0
    assert told["agents"] == 2


async def test_the_commands_show_the_same(worked: Served, fleet: Fleet, cli: Cli) -> None:
    told = json.loads((await asyncio.to_thread(cli, "metrics", "--json")).out)
    assert told["tasks"] == {"completed": 1, "failed": 1}
    assert "tasks completed" in (await asyncio.to_thread(cli, "metrics")).out
    told = json.loads((await asyncio.to_thread(cli, "health", "--json")).out)
    assert told["server"] == worked.url
    assert (await asyncio.to_thread(cli, "health")).out == f"ok; served at {worked.url}\n"


async def test_a_fleet_that_is_not_served_can_be_well(cli: Cli, fleet: Fleet) -> None:
    assert (await asyncio.to_thread(cli, "health")).out == "ok; not being served\n"


@pytest.fixture
def promtool() -> None:
    skip_or_fail(prometheus.missing())


@pytest.mark.usefixtures("promtool")
async def test_promtool_has_nothing_to_say(worked: Served) -> None:
    scraped(worked)
    assert prometheus.check("metrics", text=scraped(worked)) == ""
    assert prometheus.check("rules", str(EXAMPLES / "alerts.yml")) == ""


@pytest.mark.usefixtures("promtool")
async def test_a_real_prometheus_scrapes_the_fleet(
    worked: Served, home: Path, tmp_path: Path
) -> None:
    settings = tmp_path / "prometheus.yml"
    token, target = home / "keys" / "owner.token", worked.url.removeprefix("http://")
    settings.write_text(SCRAPE.format(token=token, target=target))
    with prometheus.scraping(settings) as url:
        assert prometheus.value(url, 'fleet_tasks{state="completed"}') == 1
        assert prometheus.value(url, "up") == 1


async def test_the_dashboard_and_the_alerts_name_only_what_is_measured(worked: Served) -> None:
    scraped(worked)
    told = re.findall(r"^# TYPE (\S+) (\S+)$", scraped(worked), re.MULTILINE)
    known = {f"{name}_bucket" if kind == "histogram" else name for name, kind in told}
    dashboard = json.loads((EXAMPLES / "dashboard.json").read_text())
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    asked = {word for query in queries for word in WORD.findall(query)}
    asked |= set(re.findall(WORD, (EXAMPLES / "alerts.yml").read_text()))
    assert asked <= known
