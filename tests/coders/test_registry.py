"""Coders are found by name."""

from importlib.metadata import Distribution, EntryPoint, EntryPoints
from importlib.metadata._meta import SimplePath

import pytest

from codefleet.coders import registry
from codefleet.domain.errors import BadConfig, NotFound


@pytest.mark.parametrize("name", ["scripted", "command"])
def test_a_built_in_coder_is_found_by_its_name(name: str) -> None:
    assert registry.coder(name).name == name
    assert name in registry.names()


def test_an_unknown_coder_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(NotFound, match="no coder 'clade'") as told:
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


class Package(Distribution):
    """A package that provides a coder."""

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    def read_text(self, filename: str) -> str | None:
        return None

    def locate_file(self, path: object) -> SimplePath:
        raise FileNotFoundError(path)

    def brings(self, coder: str, value: str) -> EntryPoint:
        entry = EntryPoint(name=coder, value=value, group=registry.GROUP)
        vars(entry).update(dist=self)
        return entry


def test_another_package_cannot_take_the_name_of_a_built_in_coder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    entries = [
        Package("another").brings("scripted", "no_such_package:coder"),
        Package("codefleet").brings("scripted", "codefleet.coders.scripted:coder"),
    ]
    monkeypatch.setattr(registry, "entry_points", lambda **_: EntryPoints(entries))
    registry.coder.cache_clear()
    assert registry.coder("scripted").name == "scripted"
    assert registry.shadowed() == ["the coder scripted of another is not used: codefleet has one"]
    registry.coder.cache_clear()
