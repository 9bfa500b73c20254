"""`fleet coders`: which there are, and how recorded output is read."""

import json
import os
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import pytest

from codefleet.coders import registry
from tests.doors.conftest import Cli

RECORDED = Path(__file__).parents[1] / "coders" / "transcripts"


def read(cli: Cli, name: str, recording: str, *args: str) -> dict[str, Any]:
    result = cli("coders", "read", name, str(RECORDED / f"{recording}.jsonl"), "--json", *args)
    assert result.code == 0, result.err
    found: dict[str, Any] = json.loads(result.out)
    return found


def install(folder: Path, name: str) -> Path:
    program = folder / name
    folder.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return program


def test_every_coder_is_listed_with_what_it_can_do(cli: Cli) -> None:
    listed = {each["name"]: each for each in json.loads(cli("coders", "--json").out)}
    assert sorted(listed) == registry.names()
    assert listed["claude"]["resume"] is True
    assert listed["claude"]["verified"] is True
    assert listed["goose"]["verified"] is False


def test_a_plug_in_is_not_verified_whatever_it_says(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "plug_in"
    (package / "theirs-1.0.dist-info").mkdir(parents=True)
    (package / "theirs-1.0.dist-info" / "METADATA").write_text("Name: theirs\nVersion: 1.0\n")
    (package / "theirs-1.0.dist-info" / "entry_points.txt").write_text(
        "[codefleet.coders]\nmine = theirs:coder\n"
    )
    (package / "theirs.py").write_text(
        "from codefleet.coders.scripted import Scripted\n"
        "class Theirs(Scripted):\n    name = 'mine'\n"
        "coder = Theirs()\n"
    )
    monkeypatch.syspath_prepend(str(package))
    listed = {each["name"]: each for each in json.loads(cli("coders", "--json").out)}
    assert listed["mine"]["verified"] is False
    assert listed["scripted"]["verified"] is True


def test_a_program_is_found_on_the_path_or_where_the_settings_say(
    cli: Cli, fleet: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    codex, mine = install(tmp_path / "bin", "codex"), install(tmp_path / "my", "claude-2")
    monkeypatch.setenv("PATH", f"{codex.parent}:{os.environ['PATH']}")
    assert fleet("config", "set", "coders.claude.program", str(mine)).code == 0
    listed = {each["name"]: each for each in json.loads(cli("coders", "--json").out)}
    assert listed["codex"]["path"] == str(codex)
    assert listed["claude"]["path"] == str(mine)
    assert listed["copilot"]["path"] is None
    assert "copilot: not found" in cli("coders").out


def test_a_coder_that_cannot_be_loaded_does_not_hide_the_others(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = EntryPoint(name="broken", value="no_such_package:coder", group=registry.GROUP)
    good = EntryPoint(name="codex", value="codefleet.coders.codex:coder", group=registry.GROUP)
    both = EntryPoints([broken, good])
    monkeypatch.setattr(registry, "entry_points", lambda **by: both.select(**by))
    result = cli("coders", "--json")
    assert [each["name"] for each in json.loads(result.out)] == ["codex"]
    assert "the coder broken cannot be loaded" in result.err


def test_a_recording_is_read_as_a_run_would(cli: Cli) -> None:
    found = read(cli, "claude", "claude-allowed-tools")
    assert {"signal": "Said", "text": "done", "more": False} in found["signals"]
    assert found["signals"][0]["signal"] == "Started"
    assert found["outcome"] == {
        "ok": True,
        "reason": None,
        "note": "",
        "session": "55bf0183-4aec-449d-b54a-d90827fad696",
        "text": "done",
        "usage": {"input_tokens": 300, "output_tokens": 60, "cached_tokens": 0},
        "cost_usd": pytest.approx(0.0024),
        "resets_at": None,
    }


def test_a_limit_tells_when_it_ends(cli: Cli) -> None:
    outcome = read(cli, "claude", "claude-oauth-429", "--exit-code", "1")["outcome"]
    assert (outcome["ok"], outcome["reason"]) == (False, "quota")
    assert outcome["resets_at"] == "2026-11-15T19:28:45+00:00"


def test_the_end_of_the_program_is_taken_into_account(cli: Cli, tmp_path: Path) -> None:
    silent = read(cli, "gemini", "gemini-nokey")["outcome"]
    assert (silent["reason"], silent["note"]) == (
        "crashed",
        "the agent was cut off, with exit code 0",
    )
    assert read(cli, "gemini", "gemini-nokey", "--exit-code", "41")["outcome"]["reason"] == "auth"
    killed = read(cli, "claude", "claude-killed-1", "--exit-code=-9")["outcome"]
    assert killed["note"] == "the agent was killed by signal 9"
    assert read(cli, "gemini", "gemini-tool", "--exit-code=-9")["outcome"]["ok"], "it was done"
    complaint = tmp_path / "stderr.log"
    complaint.write_text("error: unexpected argument '--sandbox' found\n")
    told = read(cli, "codex", "codex-resume-bad", "--exit-code=2", f"--stderr={complaint}")
    assert told["outcome"]["reason"] == "coder_missing"


def test_a_human_reads_a_line_for_each_signal_and_the_outcome(cli: Cli) -> None:
    shown = cli("coders", "read", "codex", str(RECORDED / "codex-tool.jsonl")).out
    assert "Said  text=All done." in shown
    assert "Changed  path=/repo/hello.txt" in shown
    assert shown.splitlines()[-4:] == [
        "ok         yes",
        "session    01a1e069-6a77-7790-8855-6d457f81401e",
        "text       All done.",
        "usage      480 tokens",
    ]


def test_an_unknown_coder_or_file_is_refused(cli: Cli, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    output.write_text("{}\n")
    assert cli("coders", "read", "clade", str(output)).code == 3
    assert cli("coders", "read", "claude", str(tmp_path / "none")).code == 2


def test_broken_bytes_are_read_all_the_same(cli: Cli, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    output.write_bytes(b'\xff\xfe\0\n{"type": "res\n' + "ü".encode()[:1])
    result = cli("coders", "read", "claude", str(output), "--json")
    assert json.loads(result.out)["signals"] == []


def test_a_resting_account_is_shown_everywhere_until_it_is_woken(fleet: Cli) -> None:
    task = "```fleet\nbroke auth Please log in\n```"
    assert fleet("add", "Locked", "-d", task).code == 0
    assert fleet("run", "--until-idle").code == 8
    told = "scripted is logged out: log in, then `fleet coders wake scripted`"
    for command in ("coders", "status", "inbox"):
        assert told in fleet(command).out
    listed = {each["name"]: each for each in json.loads(fleet("coders", "--json").out)}
    assert [rest["account"] for rest in listed["scripted"]["rests"]] == ["scripted"]
    assert listed["claude"]["rests"] == []
    assert "scripted can be used again" in fleet("coders", "wake", "scripted").err
    assert told not in fleet("coders").out
    assert fleet("coders", "wake", "scripted").code == 3
