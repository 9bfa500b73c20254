"""Files and nouns without keys."""

import stat
from pathlib import Path

import pytest

from codefleet.domain.errors import Workspace
from codefleet.domain.model import Check, Evidence
from codefleet.domain.signals import Asks
from codefleet.domain.words import Reason
from codefleet.runner.agents.redaction import CHUNK, LONGEST_WORDS, abridged, redact_file, redacted
from codefleet.runner.verdict import Asked, Failed

KEY = "ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC2eF4hJ6"
STARS = "[redacted******************************]"
PEM = (
    "-----BEGIN PRIVATE KEY-----\n"
    + "MIIEowIBAAKCAQEAxVQ7mQO8\n" * 200
    + "-----END PRIVATE KEY-----\n"
)


def test_every_text_in_a_value_is_redacted_and_the_rest_stays() -> None:
    check = Check(command="x", exit_code=1, seconds=0.1, tail=f"it is {KEY}")
    evidence = Evidence(base="a", tip="b", tree="c", checks=(check,))
    clean = redacted({"found": [evidence, 7, None]}, ())
    assert clean["found"][0].checks[0].tail == f"it is {STARS}"
    assert clean["found"][1:] == [7, None]
    assert redacted(Asked(Asks(KEY, (KEY,))), ()) == Asked(Asks(STARS, (STARS,)))
    failed = redacted(Failed(Reason.CRASHED, "known-value"), {"known-value"})
    assert failed == Failed(Reason.CRASHED, "[redacted*]")
    assert failed.reason is Reason.CRASHED


@pytest.mark.parametrize("known", [(), ("a value that is known",)])
def test_of_a_huge_text_the_two_ends_are_kept_and_no_half_of_a_key(known: tuple[str, ...]) -> None:
    key = known[0] if known else KEY
    kept = LONGEST_WORDS // 4
    for shift in range(-len(key) - 2, 3):
        start = "s" * (kept + shift - 1) + f" {key} "
        end = f" {key} " + "e" * (kept + shift - 1)
        clean = abridged(start + "x " * LONGEST_WORDS + end, known)
        assert key[:6] not in clean
        assert key[-6:] not in clean
        assert clean[:4000] == "s" * 4000
        assert clean[-4000:] == "e" * 4000
        assert "characters left out" in clean
        assert len(clean) < LONGEST_WORDS


def test_a_text_that_is_not_huge_is_kept_whole() -> None:
    text = "x " * (LONGEST_WORDS // 2 - 50) + KEY
    assert abridged(text, ()) == text.replace(KEY, STARS)


def test_a_file_keeps_its_length_and_is_for_its_owner_only(tmp_path: Path) -> None:
    file = tmp_path / "stdout.jsonl"
    file.write_bytes(b"\xff\0 first\n" + KEY.encode() + b"\nlast without an end")
    file.chmod(0o644)
    redact_file(file, ())
    assert file.read_bytes() == b"\xff\0 first\n" + STARS.encode() + b"\nlast without an end"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [file]


def test_a_file_without_keys_is_not_written_at_all(tmp_path: Path) -> None:
    file = tmp_path / "stderr.log"
    file.write_text("all is well\n")
    before = file.stat()
    redact_file(file, ())
    redact_file(tmp_path / "nothing", ())
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.parametrize("shift", [-3000, -200, -20, 0, 20])
def test_keys_at_the_seams_of_a_large_file_go_too(tmp_path: Path, shift: int) -> None:
    file = tmp_path / "stderr.log"
    before = "x" * 99 + "\n"
    full = before * (CHUNK // 100 - 50)
    text = full + " " * (CHUNK + shift - len(full)) + f"{KEY}\n" + PEM + before * 100
    file.write_text(text)
    redact_file(file, ())
    clean = file.read_text()
    assert len(clean) == len(text)
    assert "ghp_" not in clean
    assert "MII" not in clean


def test_a_file_that_cannot_be_replaced_is_told(tmp_path: Path) -> None:
    file = tmp_path / "stderr.log"
    file.write_text(KEY)
    (tmp_path / "stderr.log.draft").mkdir()
    with pytest.raises(Workspace, match="cannot redact"):
        redact_file(file, ())


def test_a_value_that_is_broken_where_two_pieces_of_a_file_meet_is_found(tmp_path: Path) -> None:
    file = tmp_path / "log"
    filler = "x" * (CHUNK - 6)
    file.write_text(f"{filler}\nopen-\n  sesame\nlast")
    redact_file(file, ["open-sesame"])
    assert file.read_text() == f"{filler}\n*****\n  ******\nlast"
