"""What all tests share: one PostgreSQL server per test run, a git that tests can script, and how
many examples a property is tried with.

Properties judge results, not time: a busy machine must not fail them.
"""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from codefleet import platform
from tests import gitrepo, postgres
from tests.path import without_agents
from tests.trap import Trap

SMOKE = (
    "tests/doors/test_demo.py::test_the_demo_heeds_no_hook_and_no_key_of_the_user",
    "tests/programs/test_claude.py::TestClaude::test_a_task_is_edited_checked_and_landed",
    "tests/doors/http/test_role_matrix.py"
    "::test_over_http_a_role_is_refused_what_the_table_denies_and_changes_nothing[worker]",
    "tests/doors/http/test_claude_fleet.py::test_a_worker_is_spawned_shown_and_dismissed",
    "tests/doors/http/test_metrics.py::test_what_the_fleet_did_is_in_the_numbers",
    "tests/faults/test_kill_the_runner.py::test_kills_of_the_runner_lose_and_repeat_nothing[3]",
    "tests/stories/test_hostile_agents.py"
    "::test_what_the_agent_of_a_reviewed_task_creates_is_reviewed_too",
    "tests/stories/test_moved_branches.py"
    "::test_work_that_grew_after_it_was_approved_goes_back_to_review",
    "tests/stories/test_repo_settings.py::test_a_file_that_landed_cannot_take_the_review_away",
    "tests/stories/test_the_users_checkout.py::test_a_clean_checkout_moves_forward_with_its_files",
)


settings.register_profile(
    "quick", max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("thorough", settings.get_profile("quick"), max_examples=100)
settings.load_profile("quick")  # unless --hypothesis-profile names another, as `make test-all` does


def pytest_configure() -> None:
    # A shell lets what it runs in the background ignore Ctrl-C, which tests send.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    postgres.share()
    os.environ["PATH"] = without_agents(os.environ["PATH"])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the slow tests that stand for their kind, and skip those that need another platform."""
    for item in items:
        on_a_server = "/test_contract_" in item.nodeid and "[postgres" in item.nodeid
        if on_a_server or item.nodeid in SMOKE:
            item.add_marker("smoke")
        if item.get_closest_marker("linux") and platform.name() != platform.LINUX:
            item.add_marker(pytest.mark.skip("only Linux can do that"))


@pytest.fixture(scope="session", autouse=True)
def samples(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep the repositories that tests copy in a folder of this run."""
    gitrepo.samples = tmp_path_factory.mktemp("samples")


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trap:
    """A git that comes before the real one, and does what the test plans."""
    trap = Trap(tmp_path / "trap")
    monkeypatch.setenv("PATH", f"{trap.folder}{os.pathsep}{os.environ['PATH']}")
    return trap
