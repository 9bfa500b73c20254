"""The how-to on testing coders: its examples work as printed, and it names every step."""

import re
import sys
from types import ModuleType

import pytest

from codefleet.testing.model_server import script
from tests.docs.pages import ROOT, blocks
from tests.docs.test_add_a_coder import parrot

PAGE = ROOT / "docs" / "how-to" / "test-a-coder.md"
CHECKS, SERVER = ("\n".join(b.lines) for b in blocks(PAGE) if b.language == "python")


def test_the_adapter_of_the_other_page_passes_the_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("fleet_parrot")
    module.__dict__["coder"] = parrot()
    monkeypatch.setitem(sys.modules, "fleet_parrot", module)
    names: dict[str, type] = {}
    exec(CHECKS, names)
    checks = names["TestParrot"]()
    run = [check for check in dir(checks) if check.startswith("test_")]
    for check in run:
        getattr(checks, check)()
    assert len(run) > 10


def test_the_server_of_the_page_starts_with_a_script_that_can_be_played() -> None:
    names: dict[str, str] = {}
    exec(SERVER, names)
    place = script.find([script.Message(False, (names["words"],))], None)
    assert place.step().text == "I begin."


def test_every_step_is_on_the_page_and_in_the_module() -> None:
    table = re.findall(r"^\|([^|]+)\|", PAGE.read_text(), re.MULTILINE)
    on_page = set(re.findall(r"`(\w+)`", " ".join(table)))
    in_module = set(re.findall(r"^\| `(\w+)`", script.__doc__ or "", re.MULTILINE))
    assert on_page == script.KEYS
    assert in_module == script.KEYS - {"input"}
