"""JSON as small programs read and write it, which is how `json` does."""

import json

import pytest

from codefleet import lean_json

VALUES = [
    {"code": None, "stopped": False, "is_on": True, "orphans": 0, "error": 'a "b"\n\\ü\udcff\x00'},
    {"keeper": {"pid": 7, "started": 1 << 60}, "grace_s": 1.5, "argv": ["sh", "-c", ""]},
    [],
]


@pytest.mark.parametrize("value", VALUES)
def test_a_value_is_read_and_written_as_json_does(value: object) -> None:
    assert lean_json.written(value) == json.dumps(value)
    assert lean_json.read(json.dumps(value)) == value


def test_what_json_cannot_say_is_refused() -> None:
    with pytest.raises(TypeError, match="not for JSON: <object"):
        lean_json.written(object())


@pytest.mark.parametrize("text", ["", '{"a": 1', "nil"])
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"Expecting|not JSON"):
        lean_json.read(text)
