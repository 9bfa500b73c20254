"""Coders are found by their names."""

from importlib.metadata import EntryPoint, EntryPoints

import pytest

from codefleet.coders import registry
from codefleet.domain.errors import BadConfig, NotFound


@pytest.mark.parametrize("name", ["scripted", "command"])
def test_a_built_in_coder_is_found_by_its_name(name: str) -> None:
    assert registry.coder(name).name == name
    assert name in registry.names()


def test_an_unknown_coder_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(NotFound, match="no coder clade") as told:
        registry.coder("clade")
    assert "scripted" in told.value.hint


def test_a_coder_that_cannot_be_loaded_is_told_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broken = EntryPoint(name="broken", value="no_such_package:coder", group=registry.GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda **_: EntryPoints([broken]))
    with pytest.raises(BadConfig, match="the coder broken cannot be loaded") as told:
        registry.coder("broken")
    assert told.value.hint
