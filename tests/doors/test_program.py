"""The program as a process: exit codes, pipes, signals, imports, and error messages."""

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from codefleet.doors.cli.commands import COMMANDS
from tests.doors.conftest import START, Cli, on_a_terminal, program
from tests.doors.test_add import added
from tests.gitrepo import SampleRepo

SLOW = {"rich", "yaml", "psutil", "tomlkit", "pathspec", "difflib"}


def test_without_a_command_the_help_is_printed() -> None:
    result = program()
    assert result.code == 0
    assert {name for name in COMMANDS if f"  {name} " in result.out} == set(COMMANDS)


def test_the_version_is_told() -> None:
    assert program("--version").out.startswith("codefleet ")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(cli: Cli, command: str) -> None:
    result = cli(command, "--help")
    assert result.code == 0
    assert result.out.startswith(f"Usage: fleet {command}")


@pytest.mark.parametrize("command", [("status",), ("list",), ("add", "A task")])
def test_a_command_imports_only_what_it_needs(fleet: Cli, command: tuple[str, ...]) -> None:
    code = (
        "import sys\nfrom codefleet.doors.cli import main\n"
        f"try: main({list(command)!r})\n"
        "finally: print(*sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0
    loaded = set(done.stderr.splitlines()[-1].split())
    assert {"codefleet", "sqlite3"} <= loaded
    assert SLOW & loaded == set()


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("lst",), 2, "there is no command 'lst'; did you mean list?"),
        (("list", "--lable", "x"), 2, "--lable"),
        (("list", "--state", "asleep"), 2, "'asleep' is not a state"),
        (("list", "-n", "0"), 2, "-n"),
        (("add", "--yolo"), 2, "put -- before a title"),
        (("show",), 2, "see `fleet show --help`"),
        (("show", "nope"), 3, "no task nope"),
        (("answer", "nope", "yes"), 3, "no task nope"),
        (("add", "A", "--needs", "nope"), 3, "no task nope"),
        (("add", "A", "--repo", "/nowhere"), 3, "there is no folder /nowhere"),
        (("add", "A", "--repo", "/"), 2, "/ is not in a git repository"),
        (("add", "A", "--scope", "../x"), 2, "is not a file scope"),
        (("add", "A", "--budget", "-1"), 2, "--budget"),
        (("add", "A", "--budget", "0"), 2, "--budget"),
        (("add", "A", "--budget", "nan"), 2, "--budget"),
        (("add", "A", "--budget-tokens", "0"), 2, "--budget-tokens"),
        (("add", "A", "--attempts", "0"), 2, "--attempts"),
        (("add", "A", "--timeout", "inf"), 2, "--timeout"),
        (("add", "A", "--complexity", "huge"), 2, "--complexity"),
        (("add", "A", "--check", ""), 2, "a command is empty"),
        (("add", "A", "--check", "echo 'a"), 2, "unclosed quote"),
        (("add", "A", "--check", "true && true"), 2, "sh -c '...'"),
        (("add", "A", "--assign", ""), 2, "an assignee needs a name"),
        (("add", "A", "--coder", "nope"), 3, "installed coders: "),
        (("add", "A", "--coder", ""), 3, "installed coders: "),
        (("run", "--coder", "nope"), 3, "installed coders: "),
        (("config", "set", "coder", "nope"), 3, "installed coders: "),
        (("config", "set", "repos.shop.coder", "nope"), 3, "installed coders: "),
        (("config", "set", "coders.command.argv", "x"), 2, "coders.command.argv should be"),
        (("config", "set", "lease_s", "0.0001"), 2, "lease_s should be a number from 2"),
        (("config", "set", "checks", "make \udcff"), 2, "it contains bytes that are not text"),
        (("add", "A \udcff"), 2, "it contains bytes that are not text"),
        (("add", ""), 2, "title"),
        (("add", " \n "), 2, "error: a title needs at least one visible character"),
        (("add", "x" * 201), 2, "title"),
        (("reject", "nope", "why"), 3, "no task nope"),
        (("reset",), 4, "deletes every task"),
        (("import", "/nowhere"), 2, "cannot read /nowhere"),
        (("config", "set", "agnets", "3"), 2, "did you mean agents?"),
        (("completion", "tcsh"), 2, "tcsh"),
    ],
)
def test_bad_input_gets_a_sentence_a_hint_and_its_exit_code(
    fleet: Cli, args: tuple[str, ...], code: int, said: str
) -> None:
    result = fleet(*args)
    assert (result.code, result.out) == (code, "")
    assert said in result.err
    assert result.err.startswith("error: ")
    assert "\nhint:  " in result.err
    assert "Traceback" not in result.err


@pytest.mark.parametrize("command", [("list", "-n"), ("ready", "-n"), ("log", "-n")])
def test_more_than_a_store_can_count_means_all(fleet: Cli, command: tuple[str, ...]) -> None:
    task = added(fleet, "One")
    shown = fleet(*command, "9" * 30)
    assert (shown.code, shown.err) == (0, "")
    assert task in shown.out


def test_the_log_after_more_than_a_store_can_count_is_empty(fleet: Cli) -> None:
    assert fleet("log", "--since", "9" * 30) == (0, "", "")


@pytest.mark.parametrize("group", ["config", "workflow"])
def test_a_group_of_commands_without_a_command_prints_its_help(cli: Cli, group: str) -> None:
    result = cli(group)
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith(f"Usage: fleet {group}")


def test_an_argument_of_any_length_is_answered_in_a_few_lines(fleet: Cli) -> None:
    for args in (("init", "x" * 99_999), ("import", "x" * 99_999), ("edit", "x" * 99_999)):
        result = fleet(*args)
        assert result.code in (2, 6)
        assert len(result.err) < 5000
        assert "\nhint:  " in result.err


@pytest.mark.parametrize(
    ("home", "says"), [("", "a folder needs a name"), ("/tmp/\udcff", "is not valid UTF-8")]
)
def test_a_home_that_has_no_name_or_none_that_is_text_is_refused(
    cli: Cli, repo: SampleRepo, home: str, says: str
) -> None:
    before = sorted(repo.path.iterdir())
    result = cli("--home", home, "init")
    assert result.code == 2
    assert says in result.err
    assert "\nhint:  " in result.err
    assert sorted(repo.path.iterdir()) == before


def test_a_folder_that_is_gone_under_our_feet_is_told(fleet: Cli, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()
    for command in (("init",), ("config", "show"), ("add", "One")):
        result = fleet(*command)
        assert result.code == 6
        told = "error: the current folder no longer exists\nhint:  change to another one\n"
        assert result.err == told


def test_before_init_the_hint_says_to_init(cli: Cli, repo: SampleRepo) -> None:
    result = cli("status")
    assert result.code == 5
    assert "fleet init" in result.err


HOSTILE = {
    "flag": "--yolo",
    "shell": "$(touch pwned) `touch pwned` ; touch pwned",
    "newlines": "one\ntwo\r\nthree",
    "emoji": "🚀 日本語 👩‍👩‍👧",
    "ansi": "\x1b[2J\x1b]0;owned\x07red",
    "bidi": "safe\u202egnp.exe",
    "format": "%s {0} {title} \\x1b",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_title_is_only_a_title(fleet: Cli, repo: SampleRepo, name: str) -> None:
    task = added(fleet, "--", HOSTILE[name])
    for command in (("list",), ("show", task), ("status",), ("log",), ("ready",)):
        result = fleet(*command)
        assert result.code == 0
        assert not set(result.out) & set("\x1b\x07\r\u202e")
    assert len([line for line in fleet("list").out.splitlines() if line.startswith(task)]) == 1
    assert not (repo.path / "pwned").exists()


def test_a_megabyte_of_description_is_kept_and_more_is_refused(fleet: Cli) -> None:
    kept = program("add", "-q", "Long", "-d", "-", stdin="x" * 1_000_000)
    assert kept.code == 0
    assert "x" * 1_000_000 in fleet("show", kept.out.strip()).out
    refused = program("add", "Too long", "-d", "-", stdin="x" * 1_000_001)
    assert refused.code == 2
    assert refused.err.startswith("error: prompt")
    assert len(refused.err) < 500


def test_input_that_is_not_text_is_refused(fleet: Cli) -> None:
    done = subprocess.run(
        [sys.executable, "-c", START, "add", "A", "-d", "-"], input=b"\xff\xfe", capture_output=True
    )
    assert done.returncode == 2
    assert b"not UTF-8" in done.stderr


def test_a_corrupt_store_is_told(fleet: Cli, home: Path) -> None:
    (home / "fleet.db").write_bytes(b"this is not a database, not at all" * 100)
    result = fleet("list")
    assert result.code == 5
    assert "damaged" in result.err


def test_a_store_of_a_newer_codefleet_is_told(fleet: Cli, home: Path) -> None:
    with sqlite3.connect(home / "fleet.db") as database:
        database.execute("PRAGMA user_version = 999")
    database.close()
    result = fleet("list")
    assert result.code == 5
    assert "newer codefleet" in result.err


@pytest.mark.parametrize("command", ["init", "status", "list", "run", "doctor"])
def test_a_home_that_cannot_be_is_told(
    cli: Cli, repo: SampleRepo, tmp_path: Path, command: str
) -> None:
    (tmp_path / "file").write_text("in the way")
    for place in (tmp_path / "file", tmp_path / "file" / "home", Path("/proc/fleet")):
        result = cli("--home", str(place), command)
        assert result.code in (1, 5, 6)
        assert "unexpected" not in result.err
        assert "Traceback" not in result.err + result.out


def test_a_bad_setting_is_told_with_its_file_and_line(fleet: Cli, home: Path) -> None:
    (home / "fleet.toml").write_text("# mine\nagents = 'many'\n")
    wrong = f"{home / 'fleet.toml'}, line 2: agents"
    for command, code, word in (
        (("list",), 0, "warning"),
        (("status",), 0, "warning"),
        (("run", "--until-idle"), 2, "error"),
        (("config", "show"), 2, "error"),
    ):
        result = fleet(*command)
        assert result.code == code
        assert f"{word}: {wrong}" in result.err


def test_a_setting_that_lacks_a_part_is_told_by_its_name(fleet: Cli, home: Path) -> None:
    (home / "fleet.toml").write_text("[[policy]]\n")
    assert "line 1: policy.0.then: it is missing" in fleet("status").err


def test_a_full_disk_under_the_output_is_told(fleet: Cli) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", START, "config", "show"], stdout=full, stderr=subprocess.PIPE
        )
    assert done.returncode == 6
    assert done.stderr.startswith(b"error: the disk is full\nhint:  ")


def test_a_full_disk_under_the_store_is_told_and_loses_nothing(fleet: Cli) -> None:
    task = added(fleet, "First")
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1, 1)); {START}"
    done = subprocess.run(
        [sys.executable, "-c", limited, "add", "Second"], capture_output=True, text=True
    )
    assert done.returncode == 5
    assert "hint:" in done.stderr
    assert "Traceback" not in done.stderr
    assert fleet("list").out.count("\n") == 2
    assert task in fleet("list").out


def test_a_closed_pipe_ends_the_program_without_a_word(fleet: Cli) -> None:
    for number in range(3):
        added(fleet, f"Task {number}", "-d", "x" * 100_000)
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-c", START, "list", "--json"], stdout=writer, stderr=subprocess.PIPE
    )
    os.close(writer)
    assert done.returncode == 141
    assert done.stderr == b""


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_as_good_as_an_empty_one(fleet: Cli, closed: str, home: Path) -> None:
    for command in ("list", "show nope", "add A -d -", "run --until-idle"):
        words = [sys.executable, "-c", START, *command.split()]
        done = subprocess.run(
            ["sh", "-c", f'exec "$@" {closed}', "sh", *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        assert done.returncode == {"show nope": 3, "run --until-idle": 1}.get(command, 0)
        assert "Traceback" not in done.stderr
    assert not (home / "logs" / "crash.log").exists()


def test_ctrl_c_ends_the_program_without_a_traceback(fleet: Cli) -> None:
    added(fleet, "First")
    following = subprocess.Popen(
        [sys.executable, "-c", START, "log", "-f"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert following.stdout
    assert any("task.added" in line for line in following.stdout)
    following.send_signal(signal.SIGINT)
    _, err = following.communicate(timeout=30)
    assert following.returncode == 130
    assert err.strip() == ""


def test_a_mistake_of_ours_is_told_in_a_line_and_kept_in_a_log(fleet: Cli, home: Path) -> None:
    broken = "import codefleet.fleet.status as s; s.Overview.status = lambda self: 1 / 0; "
    done = subprocess.run(
        [sys.executable, "-c", broken + START, "status"], capture_output=True, text=True
    )
    log = home / "logs" / "crash.log"
    assert done.returncode == 1
    assert done.stderr.startswith("error: unexpected: ZeroDivisionError")
    assert str(log) in done.stderr
    assert "Traceback" not in done.stderr
    assert "Traceback" in log.read_text()
    env = {**os.environ, "FLEET_DEBUG": "1"}
    done = subprocess.run(
        [sys.executable, "-c", broken + START, "status"], capture_output=True, text=True, env=env
    )
    assert "Traceback" in done.stderr


def test_no_key_is_kept_with_a_mistake_of_ours(fleet: Cli, home: Path) -> None:
    key = "ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC2eF4hJ6"
    broken = f"import codefleet.fleet.status as s; s.Overview.status = lambda self: {{}}['{key}']; "
    subprocess.run([sys.executable, "-c", broken + START, "status"], capture_output=True)
    told = (home / "logs" / "crash.log").read_text()
    assert "KeyError" in told
    assert key not in told


def test_colours_are_for_terminals_that_want_them(fleet: Cli) -> None:
    added(fleet, "First")
    assert "\x1b[" not in program("list").out
    wanted = on_a_terminal("list", NO_COLOR="")
    assert "\x1b[" in wanted
    assert "\x1b[" not in on_a_terminal("list", NO_COLOR="1")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_and_says_how_to_install_it(cli: Cli, shell: str) -> None:
    result = cli("completion", shell)
    assert result.code == 0
    assert "_FLEET_COMPLETE" in result.out
    assert "fleet completion" in result.err


def test_a_shell_completes_commands_and_task_ids(fleet: Cli) -> None:
    task = added(fleet, "First")
    asked = {"_FLEET_COMPLETE": "bash_complete", "COMP_CWORD": "1", "COMP_WORDS": "fleet sta"}
    assert program(env=asked).out.strip() == "plain,status"
    asked |= {"COMP_CWORD": "2", "COMP_WORDS": f"fleet show {task[:3]}"}
    assert program(env=asked).out.strip() == f"plain,{task}"


WITHOUT = "import sys; sys.modules |= dict.fromkeys({names!r}); {start}"


@pytest.mark.parametrize(
    ("names", "args", "says"),
    [
        (("mcp", "mcp_types", "uvicorn", "starlette", "pydantic"), ("mcp",), "MCP library"),
        (("psycopg",), ("status",), "PostgreSQL driver"),
        (("psycopg.pq",), ("status",), "PostgreSQL driver"),
    ],
)
def test_a_library_that_is_not_installed_is_told_with_the_way_to_get_it(
    home: Path, names: tuple[str, ...], args: tuple[str, ...], says: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT.format(names=names, start=START), *args],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**os.environ, "FLEET_STORE": "postgresql://localhost/x" if args[0] != "mcp" else ""},
    )
    assert done.returncode == 2
    assert f"{says} is not installed" in done.stderr
    assert "pip install" in done.stderr
