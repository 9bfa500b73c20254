"""What programs report about themselves, and what each coder makes of it."""

import json
from collections.abc import Mapping

import pytest

from codefleet.coder import Answers, Probed
from codefleet.coders.registry import coder, names
from codefleet.runner.programs import probe

SETTINGS = json.dumps({"security": {"auth": {"selectedType": "oauth-personal"}}})
OTHER_PROVIDER = 'model = "x"\n  model_provider = "mine"\n'


def logged_in(name: str, answers: Answers) -> bool | None:
    asked = coder(name)
    assert isinstance(asked, Probed)
    return asked.probe.logged_in(answers)


@pytest.mark.parametrize(
    ("name", "code", "said", "expected"),
    [
        ("claude", 0, '{\n  "loggedIn": true,\n  "authMethod": "api_key"\n}\n', True),
        ("claude", 1, 'a warning\n{"loggedIn": false}\nanother', False),
        ("claude", 1, "error: unknown command 'auth'", None),
        ("claude", 0, '{"loggedIn": "yes"}', None),
        ("claude", 0, "} {", None),
        ("codex", 0, "Logged in using ChatGPT", True),
        ("codex", 1, "WARNING: something\nNot logged in\n", False),
        ("codex", 1, "error: unrecognized subcommand", None),
        ("opencode", 0, "┌  Credentials ~/.local\n│\n└  2 credentials\n", True),
        ("opencode", 0, "└  0 credentials\n┌  Environment\n└  1 environment variable\n", True),
        ("opencode", 0, "└  0 credentials", None),
        ("goose", None, "", None),
    ],
)
def test_the_word_of_a_program_is_understood(
    name: str, code: int | None, said: str, expected: bool | None
) -> None:
    assert logged_in(name, Answers(code, said)) is expected


def test_codex_is_logged_in_by_a_key_of_which_its_status_takes_no_notice() -> None:
    answers = Answers(1, "Not logged in", env={"CODEX_API_KEY": "sk-any"})
    assert logged_in("codex", answers) is True


def test_codex_with_a_provider_of_its_own_needs_no_login() -> None:
    answers = Answers(1, "Not logged in", {"config.toml": OTHER_PROVIDER})
    assert logged_in("codex", answers) is None


@pytest.mark.parametrize(
    ("files", "env", "expected"),
    [
        ({}, {}, False),
        ({}, {"GEMINI_API_KEY": ""}, False),
        ({}, {"GEMINI_API_KEY": "k"}, True),
        ({".gemini/.env": "GEMINI_API_KEY=k"}, {}, True),
        ({".gemini/oauth_creds.json": "{}"}, {}, True),
        ({".gemini/settings.json": SETTINGS}, {}, None),
        ({".gemini/settings.json": "[] no JSON {"}, {}, False),
        ({}, {"GOOGLE_GENAI_USE_VERTEXAI": "true"}, None),
    ],
)
def test_geminis_login_is_known_by_its_files_and_variables(
    files: Mapping[str, str], env: Mapping[str, str], expected: bool | None
) -> None:
    assert logged_in("gemini", Answers(files=files, env=env)) is expected


@pytest.mark.parametrize(
    ("argv", "flags"),
    [
        (["claude", "-p", "--a=1", "--b", "word"], ["-p", "--a", "--b"]),
        (["codex", "exec", "--json", "resume", "--", "--id", "-"], ["--json"]),
        (["codex", "-", "--=", "-1"], ["-1"]),
        (["agent"], []),
    ],
)
def test_flags_are_told_from_other_words(argv: list[str], flags: list[str]) -> None:
    assert probe.flags(argv) == flags


@pytest.mark.parametrize(
    ("options", "program"),
    [
        ({"argv": ["gemini", "--acp"]}, "gemini"),
        ({"agents": {"opencode": {"argv": ["opencode", "acp"]}}}, "opencode"),
    ],
)
def test_the_agent_behind_the_bridge_is_looked_for(
    options: dict[str, object], program: str
) -> None:
    [first, *_] = probe.calls(coder("acp"), options)
    assert probe.program(first) == program


@pytest.mark.parametrize("name", sorted({*names()} - {"acp", "command", "scripted"}))
def test_every_coder_with_a_program_can_be_asked(name: str) -> None:
    assert isinstance(coder(name), Probed)
    assert all(probe.flags(argv) for argv in probe.calls(coder(name), {}))
