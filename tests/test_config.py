"""Settings: which one wins, where a value comes from, and the errors for invalid ones."""

import os
import time
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from codefleet.config import KEYS, Config, RepoFile, fleet_home, load
from codefleet.config.file import sample, set_value
from codefleet.config.legacy import OLD_NAMES
from codefleet.config.reloading import Live
from codefleet.domain.errors import BadConfig
from codefleet.domain.prices import Price
from codefleet.domain.words import LandingMode
from tests.runner.forged import rewrite_unnoticed


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    return folder


def written(folder: Path, text: str) -> Path:
    file = folder / "fleet.toml"
    file.write_text(text, encoding="utf-8")
    return file


def own(repo: Path) -> RepoFile:
    """A repo's file as it would be on its trunk."""
    file = repo / "fleet.toml"
    return RepoFile(str(file), text=file.read_text(encoding="utf-8"))


def refused(
    home: Path, repo: Path | None = None, env: Mapping[str, str] | None = None
) -> BadConfig:
    with pytest.raises(BadConfig) as caught:
        load(home, repo=own(repo) if repo else None, env=env or {})
    return caught.value


def test_without_any_file_every_value_is_the_default(home: Path) -> None:
    config = load(home, env={})
    assert config == Config()
    assert {config.source(key) for key in KEYS} == {"default"}


def test_a_stronger_place_wins_and_the_config_knows_which(home: Path, repo: Path) -> None:
    main = written(
        home,
        'coder = "a"\nmodel = "a"\nsetup = "a"\nattempts = 9\n'
        '[repos.shop]\nmodel = "b"\nsetup = "b"\nattempts = 8\n',
    )
    file = written(repo, 'trunk = "c"\nsetup = "c"\nattempts = 7\n')
    env = {"FLEET_SETUP": "d", "FLEET_ATTEMPTS": "6"}
    config = load(
        home, repo=own(repo), repo_name="shop", env=env, flags={"attempts": 5, "coder": None}
    )
    told = {
        key: (getattr(config, key), config.source(key))
        for key in ("coder", "model", "trunk", "setup", "attempts", "agents")
    }
    assert told == {
        "coder": ("a", f"home: {main}"),
        "model": ("b", f"home: {main} [repos.shop]"),
        "trunk": ("c", f"repo: {file}"),
        "setup": ("d", "FLEET_SETUP"),
        "attempts": (5, "flag"),
        "agents": (3, "default"),
    }


def test_the_table_of_another_repo_does_not_count(home: Path) -> None:
    written(home, '[repos.shop]\nlanding = "review"\n')
    assert load(home, repo_name="shop", env={}).landing is LandingMode.REVIEW
    assert load(home, repo_name="mail", env={}).landing is LandingMode.QUEUE


def test_options_of_a_coder_are_joined_one_by_one(home: Path) -> None:
    written(
        home,
        '[coders.command]\nargv = ["a"]\noutput = "text"\n[coders.other]\nx = 1\n'
        '[repos.shop.coders.command]\nargv = ["b"]\n',
    )
    config = load(home, repo_name="shop", env={})
    assert config.coders == {"command": {"argv": ["b"], "output": "text"}, "other": {"x": 1}}


def test_rules_of_the_policy_are_those_of_all_places(home: Path, repo: Path) -> None:
    written(
        home,
        '[[policy]]\ntool = "Bash"\nmatch = "git *"\nthen = "allow"\n'
        '[[repos.shop.policy]]\ntool = "Read"\nthen = "allow"\n'
        '[[repos.other.policy]]\nthen = "allow"\n',
    )
    written(repo, '[[policy]]\nmatch = "git push*"\nthen = "deny"\n')
    env = {"FLEET_POLICY": '[{tool = "Write", then = "ask"}]'}
    config = load(home, repo=own(repo), repo_name="shop", env=env)
    assert [rule.text for rule in config.policy] == [
        "allow Bash git *",
        "allow Read *",
        "deny * git push*",
        "ask Write *",
    ]


def test_a_repos_own_file_cannot_give_its_agents_leave(home: Path, repo: Path) -> None:
    file = written(repo, 'coder = "a"\n[[policy]]\ntool = "Bash"\nthen = "allow"\n')
    wrong = refused(home, repo)
    assert wrong.problem == f"{file}, line 2: a repo's own file can deny and ask, but not allow"
    assert "[[repos.NAME.policy]]" in wrong.hint


@pytest.mark.parametrize("line", ['then = "maybe"', 'tool = "Bash"', 'then = "deny"\ntol = "x"'])
def test_a_rule_that_cannot_be_used_is_refused(home: Path, line: str) -> None:
    written(home, f"[[policy]]\n{line}\n")
    assert "policy" in refused(home).problem


def test_a_list_in_a_variable_is_toml_or_separated_by_commas(home: Path) -> None:
    assert load(home, env={"FLEET_CHECKS": "make test, make lint"}).checks == (
        "make test",
        "make lint",
    )
    assert load(home, env={"FLEET_CHECKS": '["a, b"]'}).checks == ("a, b",)
    assert load(home, env={"FLEET_CHECKS": "make test,"}).checks == ("make test",)


def test_an_empty_variable_sets_nothing(home: Path) -> None:
    assert load(home, env={"FLEET_AGENTS": ""}).source("agents") == "default"


def test_an_unknown_key_is_refused_with_its_line_and_the_nearest_known_one(home: Path) -> None:
    file = written(home, "# hello\n\nagnets = 4\n")
    error = refused(home)
    assert error.problem == f"{file}, line 3: there is no setting 'agnets'"
    assert error.hint.startswith("did you mean agents? ")


def test_a_bad_value_is_refused_with_its_file_line_and_meaning(home: Path) -> None:
    file = written(home, "attempts = 2\nagents = 0\n")
    error = refused(home)
    assert error.problem.startswith(f"{file}, line 2: agents should be a whole number from 1")
    assert error.problem.endswith("not 0")
    assert "How many agents" in error.hint


def test_a_bad_value_in_the_table_of_any_repo_is_refused_with_its_line(home: Path) -> None:
    file = written(home, 'landing = "queue"\n[repos.mail]\nlanding = "soon"\n')
    assert refused(home).problem.startswith(f"{file}, line 3: landing should be")


@pytest.mark.parametrize("name", ["repos", "coders"])
def test_a_table_that_is_no_table_is_refused(home: Path, name: str) -> None:
    written(home, f"[{name}]\nshop = 3\n")
    assert f"{name}.shop should be a table, not 3" in refused(home).problem


def test_a_value_that_only_toml_knows_is_refused_in_words(home: Path) -> None:
    written(home, "agents = 2026-01-01\n")
    assert refused(home).problem.endswith('not "2026-01-01"')


def test_a_command_that_needs_a_shell_is_refused_with_its_line(home: Path) -> None:
    file = written(home, 'agents = 2\nchecks = ["true && true"]\n')
    error = refused(home)
    assert error.problem.startswith(f"{file}, line 2: checks: 'true && true' runs without a shell")
    assert "sh -c" in error.hint


def test_options_of_a_coders_own_may_be_anything(home: Path) -> None:
    written(home, '[coders.other]\nspeed = 3\nargv = ["run"]\n')
    assert load(home, env={}).coders == {"other": {"speed": 3, "argv": ["run"]}}


def test_a_bad_variable_is_refused_by_its_name(home: Path) -> None:
    assert refused(home, env={"FLEET_AGENTS": "many"}).problem.startswith("FLEET_AGENTS: agents")


@pytest.mark.parametrize("name", ["FLEET_MODEL", "FLEET_HOST", "FLEET_DEFAULT_MODEL"])
def test_a_variable_of_bytes_that_are_no_text_is_refused_by_its_name(home: Path, name: str) -> None:
    with pytest.raises(BadConfig, match=f"{name}: it contains bytes that are not text"):
        load(home, env={name: os.fsdecode(b"large\xff")})


def test_a_bad_flag_is_refused_by_its_name(home: Path) -> None:
    with pytest.raises(BadConfig, match=r"^--agents: agents should be"):
        load(home, env={}, flags={"agents": -1})


def test_a_file_that_is_not_toml_is_refused_with_the_line(home: Path) -> None:
    written(home, "agents = 3\nagents three\n")
    assert "line 2" in refused(home).problem


@pytest.mark.parametrize("make", [lambda f: f.write_bytes(b"\xff\xfe\x00"), lambda f: f.mkdir()])
def test_a_file_that_cannot_be_read_is_refused(home: Path, make: object) -> None:
    assert callable(make)
    make(home / "fleet.toml")
    assert refused(home).problem.startswith(f"cannot read {home / 'fleet.toml'}")


@pytest.mark.parametrize("line", ['store = "x"', "agents = 2", 'environment = ["AWS_SECRET"]'])
def test_a_repos_own_file_cannot_decide_for_the_fleet(home: Path, repo: Path, line: str) -> None:
    written(repo, line)
    assert "cannot be set here" in refused(home, repo).problem


@pytest.mark.parametrize(
    "text",
    [
        '[coders.claude]\npermission_mode = "bypassPermissions"',
        '[coders.claude.env]\nANTHROPIC_BASE_URL = "http://elsewhere"',
        '[coders.acp.agents.mine]\nargv = ["./agent"]',
        "permission_s = 1e9",
    ],
)
def test_a_repo_cannot_give_itself_leave(home: Path, repo: Path, text: str) -> None:
    written(repo, text + "\n")
    wrong = refused(home, repo)
    assert f"{repo / 'fleet.toml'}, line 1: " in wrong.problem
    assert "cannot be set here" in wrong.problem
    assert "put it in the home's fleet.toml; for one repo: [repos.NAME]" in wrong.hint


def test_a_repo_may_choose_among_the_coders_by_name(home: Path, repo: Path) -> None:
    rule = '[[route]]\nname = "all"\ncoder = "codex"\n'
    written(repo, f'coder = "claude"\nmodel = "small"\nfallback = "gemini"\n{rule}')
    config = load(home, repo=own(repo), env={})
    assert (config.coder, config.model, config.fallback) == ("claude", "small", "gemini")
    assert config.route[0].coder == "codex"


def test_the_home_is_named_by_a_variable_or_is_in_the_users_folder(tmp_path: Path) -> None:
    assert fleet_home({"FLEET_HOME": str(tmp_path)}) == tmp_path
    assert fleet_home({}) == Path.home() / ".fleet"


def test_setting_a_value_keeps_comments_and_order(home: Path) -> None:
    file = written(home, "# mine\nagents = 2 # two\n\n[coders.command]\nargv = ['a'] # why\n")
    set_value(file, "agents", "5")
    set_value(file, "coders.command.argv", '["run", "{prompt_file}"]')
    set_value(file, "checks", "make test, make lint")
    set_value(file, "repos.shop.landing", "review")
    text = file.read_text()
    assert text.startswith("# mine\nagents = 5 # two\n")
    assert "# why" in text
    config = load(home, repo_name="shop", env={})
    assert (config.agents, config.checks) == (5, ("make test", "make lint"))
    assert config.coders == {"command": {"argv": ["run", "{prompt_file}"]}}
    assert config.landing is LandingMode.REVIEW


def test_setting_a_value_makes_the_file_and_an_empty_text_takes_it_out(home: Path) -> None:
    file = home / "deep" / "fleet.toml"
    set_value(file, "model", "large")
    assert tomllib.loads(file.read_text()) == {"model": "large"}
    set_value(file, "model", "")
    assert tomllib.loads(file.read_text()) == {}


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("agents", "0"),
        ("agnets", "1"),
        ("agents.x", "1"),
        ("coders.command", "1"),
        ("repos.shop.agents", "1"),
        ("repos.shop.nope", "1"),
        ("landing", "never"),
        ("lease_s", "0.0001"),
        ("radar_s", "0"),
        ("coders.command.argv", "x"),
        ("coders.command.argv", "[]"),
        ("coders.claude.args", "--fast"),
        ("coders.claude.env", "A=1"),
        ("checks", '["make test && make lint"]'),
        ("checks", '[""]'),
        ("repos.shop.checks", "make | tee log"),
        ("setup", "npm ci > log"),
        ("run_budget_usd", "0"),
        ("day_budget_tokens", "1.5"),
        ("repos.shop.day_budget_usd", "5"),
        ("prices.", "{ input = 1, output = 2 }"),
        ("prices.-", "{ input = 1, output = 2 }"),
        ("windows.-", "200000"),
        ("windows.gpt-9.1", "0"),
        ("windows.gpt-9.1", "large"),
        ("prices.gpt-9.1", "{ input = 1 }"),
        ("prices.gpt-9.1", "{ input = -1, output = 2 }"),
        ("prices.gpt-9.1", "cheap"),
        ("setup", "echo 'open"),
        ("setup", "echo a\0b"),
        ("lease_s", "1e12"),
        ("lease_s", "nan"),
        ("keep_runs_days", "1e6"),
        ("attempts", "9223372036854775808"),
    ],
)
def test_a_value_that_cannot_be_used_is_not_written(home: Path, key: str, text: str) -> None:
    file = written(home, "agents = 2\n")
    with pytest.raises(BadConfig):
        set_value(file, key, text)
    assert file.read_text() == "agents = 2\n"
    assert [file] == list(home.iterdir())


@pytest.mark.parametrize("key", ["prices.gpt-9.1", 'prices."gpt-9.1"'])
def test_a_price_is_set_by_the_name_of_its_model_dots_and_all(home: Path, key: str) -> None:
    set_value(home / "fleet.toml", key, "{ input = 1, output = 5 }")
    assert load(home, env={}).prices == {"gpt-9.1": Price(input=1, output=5)}
    set_value(home / "fleet.toml", key, "")
    assert load(home, env={}).prices == {}


@pytest.mark.parametrize(
    "text",
    [
        *("run_budget_usd = 99", "repo_day_budget_usd = 99", "day_budget_usd = 99"),
        '[prices."*"]\ninput = 0\noutput = 0',
    ],
)
def test_a_repo_cannot_give_itself_money(home: Path, repo: Path, text: str) -> None:
    written(repo, text + "\n")
    assert "cannot be set here" in refused(home, repo).problem


def test_the_settings_for_a_repo_are_those_of_its_table_unless_a_variable_says_otherwise(
    home: Path,
) -> None:
    written(home, "run_budget_usd = 1.0\n[repos.shop]\nrun_budget_usd = 2.0\nattempts = 7\n")
    config = load(home, env={"FLEET_ATTEMPTS": "9"})
    shop, mail = config.for_repo("shop"), config.for_repo("mail")
    assert (shop.run_budget_usd, shop.attempts) == (2.0, 9)
    assert (mail.run_budget_usd, mail.attempts) == (1.0, 9)


def test_a_limit_can_come_from_a_variable(home: Path) -> None:
    config = load(home, env={"FLEET_DAY_BUDGET_USD": "4.5", "FLEET_RUN_BUDGET_TOKENS": "100"})
    assert (config.day_budget_usd, config.run_budget_tokens) == (4.5, 100)


def test_a_link_to_a_file_of_settings_stays_a_link(home: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_text("agents = 2\n")
    (home / "fleet.toml").symlink_to(real)
    set_value(home / "fleet.toml", "agents", "4")
    assert (home / "fleet.toml").is_symlink()
    assert real.read_text() == "agents = 4\n"


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadConfig, match="cannot write"):
        set_value(tmp_path / "file" / "fleet.toml", "agents", "4")


def test_the_sample_file_changes_nothing_and_each_of_its_lines_can_be_used(home: Path) -> None:
    written(home, sample())
    assert load(home, env={}) == Config()
    lines = [line.removeprefix("# ") for line in sample().splitlines() if " = " in line]
    usable = "\n".join(line for line in lines if not line.endswith("..."))
    written(home, usable)
    assert load(home, env={}).evolve(sources={}) == Config()


def live(home: Path) -> Live:
    return Live(lambda: load(home, env={}), [home / "fleet.toml"])


def test_a_live_config_takes_over_a_changed_file(home: Path) -> None:
    settings = live(home)
    assert settings.refresh() is None
    written(home, "agents = 7\n")
    assert settings.refresh() == "changed"
    assert settings.config.agents == 7
    assert settings.refresh() is None


def test_a_live_config_takes_over_a_file_that_was_changed_in_place(home: Path) -> None:
    file = written(home, "agents = 7\n")
    settings = live(home)
    rewrite_unnoticed(file, "agents = 8\n")
    assert settings.refresh() == "changed"
    assert settings.config.agents == 8


def test_a_live_config_keeps_the_last_good_one_and_tells_a_mistake_once(home: Path) -> None:
    file = written(home, "agents = 7\n")
    settings = live(home)
    written(home, "agents = 'seven'\n")
    assert isinstance(settings.refresh(), BadConfig)
    assert settings.refresh() is None
    assert settings.config.agents == 7
    file.unlink()
    assert settings.refresh() == "changed"
    assert settings.config.agents == 3


def test_a_file_touched_without_a_new_value_is_no_change(home: Path) -> None:
    file = written(home, "agents = 7\n")
    settings = live(home)
    os.utime(file, ns=(1, 1))
    assert settings.refresh() is None


@pytest.mark.parametrize(("name", "path"), OLD_NAMES.items())
def test_an_older_variable_sets_what_it_stands_for_and_ours_is_stronger(
    tmp_path: Path, name: str, path: tuple[str, ...]
) -> None:
    seven, eight = ("7h", "8h") if path == ("token_ttl",) else ("7", "8")
    config = load(tmp_path, env={name: seven})
    value: Any = getattr(config, path[0])
    for part in path[1:]:
        value = value[part]
    assert str(value).removesuffix(".0") == seven
    assert config.source(path[0]) == name
    if len(path) == 1:
        ours = f"FLEET_{path[0].upper()}"
        assert str(getattr(load(tmp_path, env={name: seven, ours: eight}), path[0]))[0] == "8"


@pytest.mark.parametrize(
    ("owners", "repos", "holds"),
    [
        ('landing = "review"', 'landing = "queue"', {"landing": "review"}),
        ('landing = "queue"', 'landing = "review"', {"landing": "review"}),
        ('landing = "review"', 'landing = "branch"', {"landing": "branch"}),
        ('checks = ["make"]', "checks = []", {"checks": ("make",)}),
        ('checks = ["make"]', 'checks = ["lint", "make"]', {"checks": ("make", "lint")}),
        ("", "attempts = 99", {"attempts": 3}),
        ("attempts = 99", "attempts = 9", {"attempts": 9}),
        ("", "timeout_s = 1e9", {"timeout_s": 3600.0}),
        ("", "check_timeout_s = 60", {"check_timeout_s": 60.0}),
        ("rest_s = 5", "rest_s = 0", {"rest_s": 5.0}),
        ('coder = "claude"', 'coder = "scripted"', {"coder": "claude"}),
        ("", 'coder = "codex"', {"coder": "codex"}),
        ('setup = "mine"', 'setup = "theirs"', {"setup": "mine"}),
        ('trunk = "main"', 'trunk = "other"', {"trunk": "main"}),
    ],
)
def test_a_repos_own_file_can_tighten_and_never_loosen(
    home: Path, repo: Path, owners: str, repos: str, holds: dict[str, Any]
) -> None:
    written(home, owners + "\n")
    written(repo, repos + "\n")
    config = load(home, repo=own(repo), env={})
    assert {key: getattr(config, key) for key in holds} == holds


@pytest.mark.parametrize("part", ["a", '"a"', "'a'", '"\\""', "a "])
def test_a_key_that_would_take_minutes_to_read_is_refused_at_once(
    home: Path, repo: Path, part: str
) -> None:
    written(repo, ".".join([part] * 13_000) + " = 1")
    began = time.process_time()
    assert "nested too deeply" in refused(home, repo).problem
    assert time.process_time() - began < 2


def test_a_looser_value_is_told_with_the_one_that_holds(home: Path, repo: Path) -> None:
    main = written(home, 'landing = "review"\n')
    written(repo, 'landing = "queue"\n')
    source = load(home, repo=own(repo), env={}).source("landing")
    assert source.startswith(f"home: {main}; the repo's own file says")
    assert '"queue"' in source


@pytest.mark.parametrize(
    "text",
    ["x = " + "[" * 5000 + "]" * 5000, ".".join(["a"] * 5000) + " = 1", "[a" + ".a" * 99 + "]"],
)
def test_settings_that_are_nested_without_end_are_refused(
    home: Path, repo: Path, text: str
) -> None:
    written(repo, text)
    assert "nested too deeply" in refused(home, repo).problem
    written(home, text)
    assert "nested too deeply" in refused(home).problem
