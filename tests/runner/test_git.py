"""Git as the fleet runs it: quiet, exact, and independent of the user's environment."""

import asyncio
import os
from pathlib import Path

import psutil
import pytest

from codefleet.domain.errors import WorkspaceTrouble
from codefleet.runner.git.git import Git
from codefleet.runner.process.identity import Process
from tests.gitrepo import SampleRepo, make_repo
from tests.runner.yard import until


@pytest.fixture
def repo(tmp_path: Path) -> SampleRepo:
    return make_repo(tmp_path / "repo")


async def test_what_git_prints_comes_back_without_its_last_newline(repo: SampleRepo) -> None:
    assert await Git(repo.path)("rev-parse", "HEAD") == repo.sha("HEAD")


async def test_a_failing_git_is_an_error_that_can_be_tried_by_hand(repo: SampleRepo) -> None:
    with pytest.raises(WorkspaceTrouble, match=r"git rev-parse in .* said: fatal") as refused:
        await Git(repo.path)("rev-parse", "--verify", "nope")
    assert f"git -C {repo.path} rev-parse" in refused.value.hint


async def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceTrouble, match=f"there is no folder {tmp_path}/gone"):
        await Git(tmp_path / "gone")("status")


async def test_a_folder_that_is_no_repository_is_not_taken_for_part_of_one_above(
    repo: SampleRepo,
) -> None:
    inner = repo.path / "inner"
    inner.mkdir()
    with pytest.raises(WorkspaceTrouble, match="not a git repository"):
        await Git(inner)("status")
    assert await Git(inner, looks_up=True)("rev-parse", "HEAD") == repo.sha("HEAD")


async def test_a_missing_git_is_said_so(repo: SampleRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(repo.path))
    with pytest.raises(WorkspaceTrouble, match="git is not installed"):
        await Git(repo.path)("status")


async def test_a_cancelled_call_waits_for_its_git(repo: SampleRepo, tmp_path: Path) -> None:
    gate, begun, done = tmp_path / "gate", tmp_path / "begun", tmp_path / "done"
    os.mkfifo(gate)
    alias = f"alias.slow=!touch {begun}; cat {gate}; touch {done}"
    call = asyncio.create_task(Git(repo.path)("-c", alias, "slow"))
    async with asyncio.timeout(30):
        while not begun.exists():
            await asyncio.sleep(0.01)
        call.cancel()
        await asyncio.sleep(0)
        assert not call.done()
        await asyncio.to_thread(gate.write_text, "go")
        with pytest.raises(asyncio.CancelledError):
            await call
    assert done.exists()


async def test_a_git_that_takes_too_long_is_killed_with_its_helpers(
    repo: SampleRepo, tmp_path: Path
) -> None:
    gate, helper = tmp_path / "gate", tmp_path / "helper"
    os.mkfifo(gate)
    alias = f"alias.slow=!echo $$ > {helper}; cat {gate}"
    call = await Git(repo.path).run("-c", alias, "slow", within_s=0.5)
    assert (call.code, call.err) == (-9, "fatal: no answer within 0 s")
    async with asyncio.timeout(30):
        while helper.exists() and Process.find(int(helper.read_text())):
            await asyncio.sleep(0.01)


async def test_a_helper_that_git_leaves_behind_keeps_nobody_waiting(
    repo: SampleRepo, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    alias = f"alias.leave=!cat {gate} & echo left"
    async with asyncio.timeout(30):
        assert await Git(repo.path)("-c", alias, "leave") == "left"
        await asyncio.to_thread(gate.write_text, "go")


async def test_a_call_that_is_cancelled_twice_leaves_no_zombie(
    repo: SampleRepo, tmp_path: Path
) -> None:
    gate, begun = tmp_path / "gate", tmp_path / "begun"
    os.mkfifo(gate)
    alias = f"alias.slow=!echo $PPID > {begun}; cat {gate}"
    call = asyncio.create_task(Git(repo.path)("-c", alias, "slow"))
    async with asyncio.timeout(30):
        await until(lambda: begun.exists() and begun.read_text().endswith("\n"))
        for _ in range(2):
            call.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await call
        await asyncio.to_thread(gate.write_text, "go")
        await until(lambda: not psutil.pid_exists(int(begun.read_text())))


async def test_more_than_a_pipe_holds_goes_in_and_comes_out(repo: SampleRepo) -> None:
    text = "many words\n" * 100_000
    blob = await Git(repo.path)("hash-object", "-w", "--stdin", stdin=text)
    assert (await Git(repo.path).run("cat-file", "blob", blob)).out == text


async def test_any_bytes_go_in_and_come_out_unchanged(repo: SampleRepo) -> None:
    git = Git(repo.path)
    name = b"odd\xff\n\xc3\xbc".decode(errors="surrogateescape")
    (repo.path / name).touch()
    listed = await git("ls-files", "-z", "--others")
    assert listed == f"{name}\0"
    await git("update-index", "--add", "-z", "--stdin", stdin=listed)
    assert await git("ls-files", "-z", "--", name) == listed


async def test_a_repository_named_by_the_environment_is_not_taken_for_ours(
    repo: SampleRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_repo(tmp_path / "other")
    other.commit("differs")
    for name, path in {"GIT_DIR": ".git", "GIT_INDEX_FILE": ".git/index"}.items():
        monkeypatch.setenv(name, str(other.path / path))
    assert await Git(repo.path)("rev-list", "--count", "HEAD") == "1"


async def test_a_hook_of_the_user_does_not_run(repo: SampleRepo) -> None:
    hook = repo.write(".git/hooks/post-checkout", "#!/bin/sh\ntouch hooked\n")
    hook.chmod(0o755)
    await Git(repo.path)("checkout", "--quiet", "-b", "elsewhere")
    assert not (repo.path / "hooked").exists()


async def test_a_git_killed_by_a_signal_tells_which(repo: SampleRepo) -> None:
    git = Git(repo.path)
    killed = await git.run("-c", "alias.die=!kill -9 $PPID", "die")
    assert killed.code == -9


@pytest.mark.parametrize("setting", ["core.bare=true", "core.worktree=/"])
async def test_a_checkout_stays_one_whatever_its_settings_say(
    setting: str, repo: SampleRepo
) -> None:
    repo.git("config", *setting.split("="))
    repo.write("new.txt", "new")
    assert await Git(repo.path)("status", "--porcelain") == "?? new.txt"


async def test_git_is_given_no_key_of_the_runner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = make_repo(tmp_path / "shop")
    monkeypatch.setenv("MODEL_API_KEY", "sesame")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "alias.shown")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "!env")
    shown = (await Git(repo.path)("shown")).splitlines()
    assert not any("sesame" in line for line in shown)
    assert {"PATH", "HOME"} <= {line.partition("=")[0] for line in shown}
