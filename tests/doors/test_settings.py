"""`fleet config`: what is in effect here and why, and how to change it."""

import json
from pathlib import Path

import pytest

from codefleet.config import KEYS
from tests.doors.conftest import Cli
from tests.gitrepo import SampleRepo


def test_config_alone_explains_itself(cli: Cli) -> None:
    result = cli("config")
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("Usage: fleet config")


def test_show_lists_every_setting_with_its_source(
    fleet: Cli, repo: SampleRepo, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.write("fleet.toml", 'landing = "review"\n')
    repo.commit("settings")
    fleet("config", "set", "repos.shop.model", "large")
    monkeypatch.setenv("FLEET_AGENTS", "9")
    shown = json.loads(fleet("config", "show", "--json").out)
    assert set(shown) == set(KEYS)
    assert shown["landing"] == {"value": "review", "source": f"repo: {repo.path / 'fleet.toml'}"}
    assert shown["agents"] == {"value": 9, "source": "FLEET_AGENTS"}
    assert shown["model"]["value"] == "large"
    assert shown["attempts"]["source"] == "default"
    assert "FLEET_AGENTS" in fleet("config", "show").out


def test_a_repos_file_counts_when_it_is_on_the_trunk(fleet: Cli, repo: SampleRepo) -> None:
    result = fleet("config", "set", "landing", "review", "--repo")
    assert "takes effect once it is committed to the trunk" in result.err
    assert json.loads(fleet("config", "show", "--json").out)["landing"]["value"] == "queue"
    assert "differs from the one on the trunk" in fleet("config", "show").err
    assert "only that one counts" in fleet("doctor").out
    repo.commit("Review first")
    assert json.loads(fleet("config", "show", "--json").out)["landing"]["value"] == "review"
    assert fleet("config", "show").err == ""
    assert "only that one counts" not in fleet("doctor").out


def test_set_writes_the_homes_file_or_the_repos(fleet: Cli, repo: SampleRepo, home: Path) -> None:
    assert fleet("config", "set", "agents", "5").code == 0
    assert "agents = 5" in (home / "fleet.toml").read_text()
    assert fleet("config", "set", "checks", "make test", "--repo").code == 0
    assert (repo.path / "fleet.toml").read_text() == 'checks = ["make test"]\n'


def test_set_warns_when_something_stronger_holds(
    fleet: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLEET_AGENTS", "9")
    assert "FLEET_AGENTS overrides it" in fleet("config", "set", "agents", "5").err


def test_a_bad_value_is_refused_and_the_file_stays(fleet: Cli, home: Path) -> None:
    before = (home / "fleet.toml").read_text()
    result = fleet("config", "set", "agents", "many")
    assert result.code == 2
    assert result.err.startswith("error: ")
    assert (home / "fleet.toml").read_text() == before


def test_a_negative_number_is_judged_as_a_value_and_not_as_an_option(fleet: Cli) -> None:
    result = fleet("config", "set", "agents", "-3")
    assert result.code == 2
    assert "agents should be a whole number from 1 to 256, not -3" in result.err


def test_settings_are_shown_also_when_the_store_cannot_open(fleet: Cli, home: Path) -> None:
    (home / "fleet.db").write_bytes(b"not a database" * 100)
    assert fleet("config", "show").code == 0


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("coder", "nobody"),
        ("fallback", "nobody"),
        ("repos.shop.coder", "nobody"),
        ("coders.nobody.program", "x"),
        ("route", '[{name = "hard", coder = "nobody"}]'),
    ],
)
def test_a_coder_that_is_not_installed_is_refused(
    fleet: Cli, home: Path, key: str, value: str
) -> None:
    before = (home / "fleet.toml").read_text()
    result = fleet("config", "set", key, value)
    assert result.code == 3
    assert "no coder 'nobody'" in result.err
    assert (home / "fleet.toml").read_text() == before


def test_an_address_that_no_store_has_is_refused(fleet: Cli, home: Path) -> None:
    before = (home / "fleet.toml").read_text()
    refused = fleet("config", "set", "store", "here")
    assert (refused.code, "not the address of a store" in refused.err) == (2, True)
    assert (home / "fleet.toml").read_text() == before


def test_an_option_that_its_coder_does_not_have_is_refused(fleet: Cli, home: Path) -> None:
    before = (home / "fleet.toml").read_text()
    result = fleet("config", "set", "coders.claude.modle", "opus")
    assert result.code == 2
    assert "the coder claude has no option modle" in result.err
    assert "did you mean model?" in result.err
    assert (home / "fleet.toml").read_text() == before


def test_a_coder_that_is_not_set_up_yet_can_be_set_up_in_any_order(fleet: Cli) -> None:
    assert fleet("config", "set", "coders.command.env", "{ A = '1' }").code == 0
    assert fleet("config", "set", "coders.command.argv", '["true"]').code == 0


def test_a_rule_that_names_an_installed_coder_is_taken(fleet: Cli) -> None:
    rule = '[{name = "hard", coder = "claude"}, {name = "rest", model = "m"}]'
    assert fleet("config", "set", "route", rule).code == 0


def test_set_keeps_who_may_read_the_file(fleet: Cli, home: Path, repo: SampleRepo) -> None:
    (home / "fleet.toml").chmod(0o640)
    fleet("config", "set", "agents", "5")
    assert (home / "fleet.toml").stat().st_mode & 0o777 == 0o640


def test_a_home_that_set_makes_is_its_owners_alone(cli: Cli, home: Path) -> None:
    assert cli("config", "set", "agents", "5").code == 0
    assert home.stat().st_mode & 0o077 == 0
