"""What the fleet verifies itself: facts from git, and checks that it runs."""

import asyncio
import os
from pathlib import Path

import psutil
import pytest

from codefleet.callers import TAG
from codefleet.domain.errors import WorkspaceTrouble
from codefleet.domain.model import Check
from codefleet.runner.git.git import PLAIN_DIFF, Git
from codefleet.runner.run.evidence import check, facts, fingerprint, tail, touched
from tests.gitrepo import SampleRepo, make_repo
from tests.runner.forged import rewrite_unnoticed


@pytest.fixture
def repo(tmp_path: Path) -> SampleRepo:
    text = "".join(f"line {n}\n" for n in range(20))
    return make_repo(tmp_path / "repo", {"a.txt": "a\n", "gone.txt": "x\ny\n", "old.txt": text})


def started(repo: SampleRepo) -> str:
    """Start a branch; return where it started."""
    base = repo.sha("main")
    repo.git("checkout", "--quiet", "-b", "fleet/k3")
    return base


async def test_every_change_is_listed_with_its_kind_and_lines(repo: SampleRepo) -> None:
    base = started(repo)
    repo.write("a.txt", "b\nc\n")
    repo.write("src/new.txt", "one\ntwo\nthree\n")
    (repo.path / "gone.txt").unlink()
    (repo.path / "old.txt").rename(repo.path / "moved.txt")
    (repo.path / "blob").write_bytes(b"\0\1\2")
    repo.commit("one")
    repo.write("moved.txt", (repo.path / "moved.txt").read_text() + "more\n")
    repo.commit("two")
    found = await facts(repo.path, base, ())
    assert found.commits == 2
    assert [tuple(change.plain().values()) for change in found.changes] == [
        ("a.txt", "modified", 2, 1),
        ("blob", "added", 0, 0),
        ("gone.txt", "deleted", 0, 2),
        ("moved.txt", "renamed", 1, 0),
        ("src/new.txt", "added", 3, 0),
    ]
    assert (found.base, found.tip) == (base, repo.sha("HEAD"))
    assert found.tree == repo.git("rev-parse", "HEAD^{tree}")


async def test_what_the_trunk_did_meanwhile_is_not_the_runs_work(repo: SampleRepo) -> None:
    started(repo)
    repo.write("mine.txt", "mine\n")
    repo.commit("mine")
    repo.git("checkout", "--quiet", "main")
    repo.write("theirs.txt", "theirs\n")
    repo.commit("theirs")
    repo.git("checkout", "--quiet", "fleet/k3")
    found = await facts(repo.path, "main", ())
    assert [change.path for change in found.changes] == ["mine.txt"]
    assert found.commits == 1


async def test_a_run_without_changes_has_no_evidence_of_any(repo: SampleRepo) -> None:
    found = await facts(repo.path, started(repo), ("src/**",), salvaged=True)
    assert (found.commits, found.changes, found.outside_scope, found.unresolved) == (0, (), (), ())
    assert found.salvaged


async def test_files_outside_the_declared_scope_are_named(repo: SampleRepo) -> None:
    base = started(repo)
    repo.write("src/in.txt", "in\n")
    repo.write("out.txt", "out\n")
    (repo.path / "old.txt").rename(repo.path / "src" / "old.txt")
    repo.commit()
    assert (await facts(repo.path, base, ("src/**",))).outside_scope == ("old.txt", "out.txt")
    assert (await facts(repo.path, base, ())).outside_scope == ()


async def test_conflict_markers_that_the_run_added_are_found(repo: SampleRepo) -> None:
    marked = "<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n"
    repo.write("was-marked.txt", marked)
    repo.write("resolved.txt", marked)
    base = repo.commit("a lesson on conflicts")
    started(repo)
    repo.write("was-marked.txt", marked + "more\n")
    repo.write("resolved.txt", "a\n")
    repo.write("odd\nname.txt", marked)
    repo.write("title.rst", "Title\n=======\n\n >>>>>>> a quote\n")
    repo.commit()
    assert (await facts(repo.path, base, ())).unresolved == ("odd\nname.txt",)


async def test_any_file_name_can_be_told(repo: SampleRepo) -> None:
    base = started(repo)
    odd = ["-dash", "new\nline", "tab\t", "ü"]
    for name in odd:
        repo.write(name, "x\n")
    (repo.path / "latin\udcff").write_text("x\n")
    repo.commit()
    found = await facts(repo.path, base, ("none/**",))
    assert {change.path for change in found.changes} == {*odd, "latin\\xff"}
    assert found.json()


async def test_settings_of_the_user_do_not_change_the_facts(repo: SampleRepo) -> None:
    base = started(repo)
    for name, value in {
        "diff.renames": "false",
        "diff.external": "/bin/false",
        "diff.noprefix": "true",
        "color.ui": "always",
        "core.quotePath": "true",
    }.items():
        repo.git("config", name, value)
    (repo.path / "old.txt").rename(repo.path / "ümlaut.txt")
    repo.commit()
    (change,) = (await facts(repo.path, base, ())).changes
    assert (change.path, change.kind) == ("ümlaut.txt", "renamed")


async def test_a_submodule_at_another_commit_is_listed_though_gitmodules_hides_it(
    repo: SampleRepo,
) -> None:
    repo.write(".gitmodules", '[submodule "lib"]\npath = lib\nurl = ../lib\nignore = all\n')
    first = repo.commit("settings")
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{first},lib")
    repo.git("commit", "--quiet", "--message=library")
    base = repo.sha("HEAD")
    repo.git("update-index", "--cacheinfo", f"160000,{base},lib")
    repo.git("commit", "--quiet", "--message=another library")
    found = await facts(repo.path, base, ())
    assert [change.path for change in found.changes] == ["lib"]
    shown = await Git(repo.path)("diff", *PLAIN_DIFF, base, found.tip)
    assert f"+Subproject commit {base}" in shown


async def test_a_history_without_a_common_past_is_compared_with_its_base(
    repo: SampleRepo,
) -> None:
    base = repo.sha("main")
    repo.git("checkout", "--quiet", "--orphan", "fleet/k3")
    repo.write("a.txt", "new\n")
    repo.commit("from nothing")
    found = await facts(repo.path, base, ())
    assert [change.path for change in found.changes] == ["a.txt"]


async def run_check(command: str, folder: Path, timeout_s: float = 30) -> Check:
    return await check(
        command, folder, env=os.environ, log=folder / "logs" / "check.log", timeout_s=timeout_s
    )


async def test_a_check_tells_its_exit_code_and_what_it_printed(tmp_path: Path) -> None:
    done = await run_check("sh -c 'echo out; echo err >&2; pwd; exit 3'", tmp_path)
    assert (done.exit_code, done.passed) == (3, False)
    assert done.tail == f"out\nerr\n{tmp_path}\n" == Path(done.log).read_text()
    assert (await run_check("true", tmp_path)).passed


async def test_a_check_command_never_reaches_a_shell(tmp_path: Path) -> None:
    done = await run_check("echo $(touch x) ; touch y && echo 'two words'", tmp_path)
    assert done.tail == "$(touch x) ; touch y && echo two words\n"
    assert {each.name for each in tmp_path.iterdir()} == {"logs"}


@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        ("no-such-program --flag", 127, "there is no program 'no-such-program'"),
        ("echo 'open quote", 127, "cannot parse the command: No closing quotation"),
        ("", 127, "the command is empty"),
        ("./notes.txt", 126, "cannot run './notes.txt'"),
        ("sh -c 'kill -9 $$'", 137, "killed by signal 9"),
    ],
)
async def test_a_check_that_cannot_run_says_why(
    tmp_path: Path, command: str, code: int, words: str
) -> None:
    (tmp_path / "notes.txt").write_text("not a program")
    done = await run_check(command, tmp_path)
    assert done.exit_code == code
    assert words in done.tail
    assert words in Path(done.log).read_text()


async def test_a_check_in_a_missing_folder_says_so(tmp_path: Path) -> None:
    log = tmp_path / "check.log"
    done = await check("true", tmp_path / "gone", env=os.environ, log=log, timeout_s=30)
    assert (done.exit_code, done.tail) == (126, f"there is no folder {tmp_path / 'gone'}\n")


async def test_only_the_end_of_a_long_output_is_quoted_and_all_of_it_logged(
    tmp_path: Path,
) -> None:
    done = await run_check("python3 -c \"print('ä' * 50000 + 'end')\"", tmp_path)
    assert done.tail.endswith("ää" + "end\n")
    assert len(done.tail) == 4000
    assert len(Path(done.log).read_text()) == 50004


def test_the_end_of_a_file_is_read_without_the_rest(tmp_path: Path) -> None:
    log = tmp_path / "stderr.log"
    assert tail(log) == ""
    log.touch()
    os.truncate(log, 1 << 40)  # takes no disk space, and more memory than there is
    with log.open("ab") as file:
        file.write("the last words: ü".encode())
    assert tail(log, 17) == "the last words: ü"


async def test_a_log_that_cannot_be_written_is_an_error_with_a_hint(tmp_path: Path) -> None:
    (tmp_path / "logs").touch()
    with pytest.raises(WorkspaceTrouble, match=r"cannot write .*check\.log"):
        await run_check("true", tmp_path)


STUBBORN = """
import os, signal, subprocess, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
idle = "import signal; signal.pause()"
subprocess.Popen([sys.executable, "-c", idle], start_new_session=True)
open("up", "w").close()
if "stays" in sys.argv:
    signal.pause()
"""


def survivors(tag: str) -> list[int]:
    return [
        process.pid
        for process in psutil.process_iter(["environ"])
        if (process.info["environ"] or {}).get(TAG) == tag
    ]


async def test_a_check_that_takes_too_long_is_killed_with_all_it_started(tmp_path: Path) -> None:
    (tmp_path / "stubborn.py").write_text(STUBBORN)
    tag = f"test-{tmp_path}"
    done = await check(
        "python3 stubborn.py stays",
        tmp_path,
        env={**os.environ, TAG: tag},
        log=tmp_path / "check.log",
        timeout_s=1,
    )
    assert done.exit_code == 124
    assert "longer than 1 seconds" in done.tail
    assert (tmp_path / "up").exists()
    assert survivors(tag) == []


async def test_what_a_check_leaves_running_is_killed_when_it_ends(tmp_path: Path) -> None:
    (tmp_path / "stubborn.py").write_text(STUBBORN)
    tag = f"test-{tmp_path}"
    environment = {**os.environ, TAG: tag}
    log = tmp_path / "check.log"
    done = await check("python3 stubborn.py", tmp_path, env=environment, log=log, timeout_s=30)
    assert done.passed
    assert survivors(tag) == []


async def test_a_cancelled_check_leaves_nothing_running(tmp_path: Path) -> None:
    (tmp_path / "stubborn.py").write_text(STUBBORN)
    os.mkfifo(tmp_path / "up")
    tag = f"test-{tmp_path}"
    work = asyncio.create_task(
        check(
            "python3 stubborn.py stays",
            tmp_path,
            env={**os.environ, TAG: tag},
            log=tmp_path / "check.log",
            timeout_s=600,
        )
    )
    await asyncio.to_thread((tmp_path / "up").read_bytes)  # a pipe: returns once it is up
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert survivors(tag) == []


async def test_a_checkout_that_nobody_touched_looks_the_same(repo: SampleRepo) -> None:
    repo.write("a.txt", "the user's own edit\n")
    before = await fingerprint(repo.path)
    assert touched(before, await fingerprint(repo.path)) == ()
    assert [*before] == ["a.txt"]


async def test_a_file_that_an_agent_touched_and_set_back_is_named(repo: SampleRepo) -> None:
    file = repo.write("a.txt", "the user's own edit\n")
    before = await fingerprint(repo.path)
    rewrite_unnoticed(file, "the agent's own one\n")
    assert touched(before, await fingerprint(repo.path)) == ("a.txt",)


async def test_every_file_touched_in_a_checkout_is_named(repo: SampleRepo) -> None:
    repo.write("a.txt", "the user's own edit\n")
    repo.write("note\n.txt", "untracked\n")
    repo.git("mv", "old.txt", "moved.txt")
    before = await fingerprint(repo.path)
    os.utime(repo.write("a.txt", "the user's own edit!\n"), ns=(1, 1))
    (repo.path / "note\n.txt").unlink()
    (repo.path / "gone.txt").unlink()
    repo.write("fresh/file", "agent was here\n")
    repo.git("add", "fresh/file")
    after = await fingerprint(repo.path)
    assert touched(before, after) == ("a.txt", "fresh/file", "gone.txt", "note\n.txt")


async def test_work_that_lands_in_a_checkout_does_not_count_as_touched(repo: SampleRepo) -> None:
    before = await fingerprint(repo.path)
    repo.write("a.txt", "landed\n")
    repo.commit("landed")
    assert touched(before, await fingerprint(repo.path)) == ()
