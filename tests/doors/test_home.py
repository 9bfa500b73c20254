"""The home: init, doctor, export, import, reset, gc."""

import json
import shutil
from pathlib import Path

import pytest

from tests.doors.conftest import Cli, program
from tests.doors.test_add import added
from tests.gitrepo import SampleRepo, make_repo
from tests.script import script


def test_init_makes_a_home_and_can_be_called_again(cli: Cli, repo: SampleRepo, home: Path) -> None:
    first = cli("init")
    assert first.code == 0
    assert f"created the fleet's home {home}" in first.err
    assert "shop is a repo of this fleet" in first.err
    (home / "fleet.toml").write_text("agents = 7\n")
    again = cli("init")
    assert again.code == 0
    assert "found" in again.err
    assert (home / "fleet.toml").read_text() == "agents = 7\n"
    assert home.stat().st_mode & 0o077 == 0


def test_init_outside_of_a_repository_says_what_is_missing(cli: Cli) -> None:
    result = cli("init")
    assert result.code == 0
    assert "not a git repository" in result.err


def test_a_bare_repository_is_told_from_none_with_the_way_to_a_clone(
    cli: Cli, repo: SampleRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = tmp_path / "bare.git"
    repo.git("clone", "--quiet", "--bare", str(repo.path), str(bare))
    monkeypatch.chdir(bare)
    for command in (("init",), ("add", "A", "--repo", str(bare))):
        result = cli(*command)
        assert result.code == 2
        assert f"{bare} is a bare repository" in result.err
        assert f"git clone {bare} FOLDER" in result.err


def test_a_repository_of_another_user_is_told_from_none_with_the_way_to_trust_it(
    cli: Cli, repo: SampleRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    result = cli("init")
    assert result.code == 2
    assert f"{repo.path} belongs to another user, so git does not trust it" in result.err
    assert f"git config --global --add safe.directory {repo.path}" in result.err


def test_a_branch_in_the_way_of_all_branches_of_the_fleet_is_told(
    cli: Cli, repo: SampleRepo
) -> None:
    repo.git("branch", "fleet")
    refused = cli("init")
    assert refused.code == 2
    assert "has a branch named fleet" in refused.err
    assert "git branch --move fleet" in refused.err
    repo.git("branch", "--delete", "fleet")
    assert cli("init").code == 0
    repo.git("branch", "fleet")
    cli("config", "set", "attempts", "1")
    task = added(cli, "Write", "-d", script("write a.txt a"))
    assert cli("run", "--until-idle").code == 1
    assert "has a branch named fleet" in cli("show", task).out


def test_init_says_that_the_trunk_is_gone_and_how_to_name_another(
    fleet: Cli, repo: SampleRepo
) -> None:
    repo.git("branch", "--move", "main", "trunk")
    said = fleet("init").err
    assert "there is no branch main" in said
    assert "fleet config set repos.shop.trunk BRANCH" in said
    fleet("config", "set", "repos.shop.trunk", "trunk")
    assert "there is no branch" not in fleet("init").err


def test_init_shows_what_a_folder_s_name_would_do_to_a_terminal(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(make_repo(tmp_path / "shop\x1b[2J\nnew").path)
    said = cli("init").err
    assert "\x1b" not in said
    assert [line for line in said.splitlines() if line.startswith("shop") and "new is a" in line]


def test_a_repo_that_got_its_remote_later_can_be_shared(
    fleet: Cli, repo: SampleRepo, tmp_path: Path
) -> None:
    refused = fleet("init", "--share")
    assert "shop has no remote that others could reach" in refused.err
    remote = tmp_path / "remote.git"
    repo.git("init", "--quiet", "--bare", str(remote))
    repo.git("remote", "add", "origin", str(remote))
    repo.git("push", "--quiet", "origin", "main")
    assert f"its work is shared through {remote}" in fleet("init", "--share").err
    assert f"shop through {remote}" in fleet("log").out


def test_init_in_a_subfolder_finds_the_root(
    cli: Cli, repo: SampleRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repo.path / "src" / "mail")
    assert f"{repo.path}, trunk main" in cli("init").err


def test_a_home_named_by_the_option_is_used(cli: Cli, repo: SampleRepo, tmp_path: Path) -> None:
    other = tmp_path / "other home"
    assert cli("--home", str(other), "init").code == 0
    assert (other / "fleet.toml").exists()
    assert cli("--home", str(other), "status").code == 0


def test_a_healthy_fleet_passes_the_doctor(fleet: Cli) -> None:
    result = fleet("doctor")
    assert result.code == 0, result.out
    assert "fix   " not in result.out
    findings = json.loads(fleet("doctor", "--json").out)
    assert {"git", "SQLite", "Python"} <= {finding["what"].split()[0] for finding in findings}


def test_the_doctor_says_what_to_mend(
    fleet: Cli, repo: SampleRepo, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLEET_AGNETS", "3")
    settings = 'coder = "nobody"\n[coders.command]\nargv = ["no-such-program-here"]\n'
    (home / "fleet.toml").write_text(settings)
    repo.path.rename(repo.path.with_name("moved"))
    monkeypatch.chdir(home)
    result = fleet("doctor")
    assert result.code == 1
    for finding in (
        "the coder nobody is not installed",
        "no-such-program-here",
        "was it moved?",
        "did you mean FLEET_AGENTS?",
    ):
        assert finding in result.out


def test_the_doctor_reads_the_settings_of_every_repo(fleet: Cli, repo: SampleRepo) -> None:
    repo.write("fleet.toml", "agents = 3\n")
    repo.commit("settings")
    result = fleet("doctor")
    assert result.code == 1
    assert "agents cannot be set here" in result.out


def test_the_doctor_tells_of_rules_that_a_coder_in_use_never_asks_about(
    fleet: Cli, home: Path
) -> None:
    rule = '[[policy]]\ntool = "Bash"\nthen = "deny"\n'
    (home / "fleet.toml").write_text(f'fallback = "codex"\n{rule}')
    told = "does not ask for permission: the rules of [[policy]] do not apply to it"
    out = fleet("doctor").out
    assert f"codex {told}" in out
    assert out.count(told) == 1


def test_the_doctor_misses_a_trunk_that_is_gone(fleet: Cli, repo: SampleRepo) -> None:
    repo.git("branch", "--move", "main", "other")
    result = fleet("doctor")
    assert result.code == 1
    assert "there is no branch main" in result.out


@pytest.mark.slow
def test_a_trunk_that_was_renamed_is_told_with_the_way_on(fleet: Cli, repo: SampleRepo) -> None:
    repo.git("branch", "--move", "main", "other")
    fleet("config", "set", "attempts", "1")
    task = added(fleet, "Write", "-d", script("write a.txt a"))
    ran = fleet("run", "--until-idle")
    assert (ran.code, "shop has no branch main" in ran.out) == (8, True)
    assert "shop has no branch main" in ran.err
    assert "shop has no branch main to start from and land on" in fleet("show", task).out
    assert "fleet config set repos.shop.trunk BRANCH" in fleet("doctor").out
    fleet("config", "set", "repos.shop.trunk", "other")
    assert "trunk other" in fleet("init").err
    assert "trunk other" in fleet("doctor").out
    assert fleet("doctor").code == 0
    assert fleet("run", "--until-idle").code == 0
    assert repo.read("other", "a.txt") == "a\n"


def test_a_home_inside_the_repository_is_no_part_of_it(cli: Cli, repo: SampleRepo) -> None:
    house = ("--home", str(repo.path / ".fleet"))
    assert cli(*house, "init").code == 0
    cli(*house, "add", "Write", "-d", script("write a.txt a"))
    result = cli(*house, "run", "--until-idle")
    assert result.code == 0
    assert "checkout changed" not in result.out
    assert repo.git("status", "--porcelain") == ""


@pytest.mark.parametrize("file", ["fleet.toml", "fleet.db"])
def test_the_doctor_survives_what_is_broken(fleet: Cli, home: Path, file: str) -> None:
    (home / file).write_bytes(b"[[[ neither settings nor a store" * 50)
    result = fleet("doctor")
    assert result.code == 1
    assert "fix   " in result.out


def test_the_doctor_tells_of_a_missing_git_beside_all_else(
    fleet: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    result = fleet("doctor")
    assert result.code == 1
    assert "git is not installed" in result.out
    assert "repo shop" in result.out
    assert result.err == ""


def test_the_doctor_sends_a_newcomer_to_init(cli: Cli) -> None:
    result = cli("doctor")
    assert result.code == 1
    assert "fleet init" in result.out


def test_an_export_can_be_imported_into_an_empty_fleet(fleet: Cli, tmp_path: Path) -> None:
    first = added(fleet, "First", "-d", "日本\n🚀")
    added(fleet, "Second", "--needs", first)
    file = tmp_path / "fleet.jsonl"
    assert fleet("export", str(file)).code == 0
    before = fleet("list", "--all", "--json").out
    other = str(tmp_path / "other")
    assert fleet("--home", other, "import", str(file)).code == 0
    assert fleet("--home", other, "list", "--all", "--json").out == before
    assert fleet("--home", other, "log", "--json").out == fleet("log", "--json").out
    assert fleet("export", "-").out == file.read_text()


def test_an_export_of_texts_with_every_kind_of_line_end_can_be_imported(
    fleet: Cli, tmp_path: Path
) -> None:
    ends = "one\u2028two\u2029three\x85four\x0bfive\x1csix\rseven\r\neight"
    fleet("add", "Ends", "-d", ends)
    file = tmp_path / "fleet.jsonl"
    assert fleet("export", str(file)).code == 0
    fleet("reset", "--yes")
    assert fleet("import", str(file)).code == 0
    assert json.loads(fleet("list", "--json").out)[0]["prompt"] == ends


def test_an_export_that_fails_leaves_no_file(
    fleet: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLEET_STORE", f"sqlite://{tmp_path / 'none.db'}")
    assert fleet("export", str(tmp_path / "fleet.jsonl")).code == 5
    assert not [*tmp_path.glob("fleet.jsonl*")]


def test_an_export_overwrites_nothing(fleet: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    assert fleet("export", str(tmp_path / "file")).code == 4
    assert (tmp_path / "file").read_text() == "mine"


NO_TASK, DEEP = '{"kind": "task", "body": {"id": 3}}', '{"kind": "task", "body": ' + "[" * 100_000


@pytest.mark.parametrize("line", ["words", "{}", NO_TASK, "[1]", DEEP])
def test_an_import_of_something_else_is_refused_and_changes_nothing(fleet: Cli, line: str) -> None:
    result = program("import", "-", stdin=line + "\n")
    assert result.code in (2, 4)
    assert "Traceback" not in result.err
    assert result.err.startswith("error: ")
    assert json.loads(fleet("list", "--json").out) == []


def test_reset_tells_of_work_in_a_repository_that_is_not_there(
    fleet: Cli, repo: SampleRepo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    repo.path.rename(tmp_path / "moved")
    result = fleet("reset", "--yes")
    assert result.code == 0
    assert f"work on shop stays: there is no folder {repo.path}" in result.err


def test_reset_forgets_all_only_after_a_clear_yes(fleet: Cli) -> None:
    added(fleet, "First")
    assert fleet("reset").code == 4
    assert len(json.loads(fleet("list", "--json").out)) == 1
    assert fleet("reset", "--yes").code == 0
    assert json.loads(fleet("list", "--all", "--json").out) == []


def state_of(fleet: Cli, task: str) -> str:
    return str(json.loads(fleet("show", task, "--json").out)["task"]["state"])


def moved_to(name: str, repo: SampleRepo, monkeypatch: pytest.MonkeyPatch) -> Path:
    there = repo.path.with_name(name)
    repo.path.rename(there)
    monkeypatch.chdir(there)
    return there


def test_a_moved_repository_that_the_fleet_has_worked_on_is_known_again(
    fleet: Cli, repo: SampleRepo, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    added(fleet, "One", "-d", script("write one.txt 1"))
    assert fleet("run", "--until-idle").code == 0
    waiting = added(fleet, "Two", "-d", script("write two.txt 2"))
    there = moved_to("store", repo, monkeypatch)
    assert f"shop is a repo of this fleet: {there}, trunk main" in fleet("init").err
    assert fleet("run", "--until-idle").code == 0
    assert state_of(fleet, waiting) == "completed"
    assert (there / "two.txt").read_text().strip() == "2"


@pytest.mark.slow
def test_a_moved_repository_without_work_of_the_fleet_is_known_again_when_one_says_so(
    fleet: Cli, repo: SampleRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = added(fleet, "One", "-d", script("write one.txt 1"))
    still = fleet("init", "--moved", "shop")
    assert (still.code, "is already shop" in still.err) == (4, True)
    there = moved_to("store", repo, monkeypatch)
    assert fleet("init", "--moved", "nothing").code == 3
    assert f"shop is a repo of this fleet: {there}" in fleet("init", "--moved", "shop").err
    assert fleet("run", "--until-idle").code == 0
    assert state_of(fleet, waiting) == "completed"


def test_a_second_clone_is_no_moved_repository(
    fleet: Cli, repo: SampleRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone = tmp_path / "clone"
    repo.git("clone", "--quiet", str(repo.path), str(clone))
    monkeypatch.chdir(clone)
    result = fleet("init", "--moved", "shop")
    assert result.code == 4
    assert f"shop still exists at {repo.path}" in result.err
    assert "clone is a repo of this fleet" in fleet("init").err


@pytest.mark.slow
def test_a_copy_beside_a_repository_that_the_fleet_has_worked_on_is_another_repo(
    fleet: Cli, repo: SampleRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    added(fleet, "One", "-d", script("write one.txt 1"))
    assert fleet("run", "--until-idle").code == 0
    monkeypatch.chdir(shutil.copytree(repo.path, tmp_path / "copy"))
    assert "copy is a repo of this fleet" in fleet("init").err
    assert f"repo shop: {repo.path}" in fleet("doctor").out


@pytest.mark.slow
def test_a_new_repository_is_not_taken_for_one_that_vanished(
    fleet: Cli, repo: SampleRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    added(fleet, "One", "-d", script("write one.txt 1"))
    assert fleet("run", "--until-idle").code == 0
    monkeypatch.chdir(make_repo(tmp_path / "store", {"README.md": "# store\n"}).path)
    shutil.rmtree(repo.path)
    assert "store is a repo of this fleet" in fleet("init").err
    assert f"repo shop: there is no {repo.path}" in fleet("doctor").out


def test_a_repo_whose_name_differs_only_in_capitals_gets_another_name(
    fleet: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(make_repo(tmp_path / "other" / "SHOP", {"README.md": "# shop\n"}).path)
    assert "SHOP-2 is a repo of this fleet" in fleet("init").err
