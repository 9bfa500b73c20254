"""Files without keys."""

import stat
from pathlib import Path

import pytest

from codefleet.domain.errors import WorkspaceTrouble
from codefleet.runner.file_redaction import CHUNK, redact_file

KEY = "ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC2eF4hJ6"
STARS = "[redacted******************************]"
PEM = (
    "-----BEGIN PRIVATE KEY-----\n"
    + "MIIEowIBAAKCAQEAxVQ7mQO8\n" * 200
    + "-----END PRIVATE KEY-----\n"
)


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
    with pytest.raises(WorkspaceTrouble, match="cannot redact"):
        redact_file(file, ())


def test_a_value_that_is_broken_where_two_pieces_of_a_file_meet_is_found(tmp_path: Path) -> None:
    file = tmp_path / "log"
    filler = "x" * (CHUNK - 6)
    file.write_text(f"{filler}\nopen-\n  sesame\nlast")
    redact_file(file, ["open-sesame"])
    assert file.read_text() == f"{filler}\n*****\n  ******\nlast"
