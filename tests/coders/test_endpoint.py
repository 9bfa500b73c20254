"""The address of a run's tools, as each program takes it: never with the token in an argument."""

import json
from pathlib import Path

import pytest

from codefleet.coder import Endpoint, Start
from codefleet.coders import registry
from tests.coders.assignments import assignment

URL, TOKEN = "http://127.0.0.1:20000/mcp", "t1.1:f00d"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
OVER_HTTP = ("acp", "claude", "codex", "gemini", "opencode")


def started(coder: str, home: Path) -> Start:
    """How the coder starts with both ways to reach the tools."""
    options: dict[str, object] = {"argv": ["agent"]} if coder == "acp" else {}
    given = assignment(home, options=options, tools=("fleet", "mcp"), endpoint=Endpoint(URL, TOKEN))
    return registry.coder(coder).start(given)


@pytest.mark.parametrize("coder", OVER_HTTP)
def test_no_argument_has_the_token(coder: str, tmp_path: Path) -> None:
    start = started(coder, tmp_path)
    assert not [word for word in start.argv if "f00d" in word]
    assert "f00d" in str(start.env) + str(start.files)


def test_coders_say_whether_they_take_an_address() -> None:
    able = [n for n in registry.names() if registry.coder(n).abilities.http_tools]
    assert sorted(able) == sorted(OVER_HTTP)


def test_claude_reads_it_from_a_file_in_the_folder_of_the_run(tmp_path: Path) -> None:
    start = started("claude", tmp_path)
    [(name, text)] = start.files.items()
    assert f"--mcp-config={tmp_path / 'runs' / 't1.1' / name}" in start.argv
    server = {"type": "http", "url": URL, "headers": BEARER}
    assert json.loads(text) == {"mcpServers": {"fleet": server}}
    assert [word for word in start.argv if word.endswith(",mcp__fleet")]


def test_codex_reads_the_token_from_a_variable(tmp_path: Path) -> None:
    start = started("codex", tmp_path)
    assert f'--config=mcp_servers.fleet.url="{URL}"' in start.argv
    assert '--config=mcp_servers.fleet.bearer_token_env_var="FLEET_RUN_TOKEN"' in start.argv
    assert not [word for word in start.argv if "mcp_servers.fleet.command" in word]
    assert start.env["FLEET_RUN_TOKEN"] == TOKEN


def test_opencode_has_it_in_its_settings_variable(tmp_path: Path) -> None:
    settings = json.loads(started("opencode", tmp_path).env["OPENCODE_CONFIG_CONTENT"])
    server = settings["mcp"]["fleet"]
    assert (server["type"], server["url"], server["headers"]) == ("remote", URL, BEARER)
    assert "command" not in server


def test_gemini_has_variables_to_which_its_users_settings_can_refer(tmp_path: Path) -> None:
    env = started("gemini", tmp_path).env
    assert (env["FLEET_TOOLS_URL"], env["FLEET_RUN_TOKEN"]) == (URL, TOKEN)


def test_the_bridge_to_acp_gets_both_ways_and_lets_the_agent_choose(tmp_path: Path) -> None:
    start = started("acp", tmp_path)
    assert f"--endpoint={URL}" in start.argv
    assert {"--server=fleet", "--server=mcp"} <= set(start.argv)
