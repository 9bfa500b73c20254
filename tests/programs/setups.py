"""How each real program is set up to talk only to the scripted model server."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.programs.install import program

Options = dict[str, Any]

CODEX_CONFIG = """\
model = "gpt-5.5"
model_provider = "scripted"
approval_policy = "never"
check_for_update_on_startup = false
[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
supports_websockets = false
[analytics]
enabled = false
[features]
plugins = false
remote_plugin = false
apps = false
plugin_discovery_prefetch = false
unbounded_connection_retries = false
"""

GEMINI_SETTINGS = {
    "security": {
        "auth": {"selectedType": "gemini-api-key"},
        "folderTrust": {"enabled": False},
    },
    "general": {
        "enableAutoUpdate": False,
        "enableAutoUpdateNotification": False,
        "maxAttempts": 1,
    },
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
}


def claude(url: str, folder: Path) -> Options:
    variables = {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "sk-scripted",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": "0",
    }
    return {"account": str(folder / "claude"), "env": {**_own_home(folder), **variables}}


def codex(url: str, folder: Path) -> Options:
    account = folder / "codex"
    account.mkdir(parents=True)
    (account / "config.toml").write_text(CODEX_CONFIG.format(url=url))
    return {"account": str(account), "env": {**_own_home(folder), "SCRIPTED_KEY": "sk-scripted"}}


def gemini(url: str, folder: Path) -> Options:
    settings = folder / ".gemini" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps(GEMINI_SETTINGS))
    variables = {
        "GOOGLE_GEMINI_BASE_URL": url,
        "GEMINI_API_KEY": "scripted",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }
    return {"env": {**_own_home(folder), **variables}}


def opencode(url: str, folder: Path) -> Options:
    settings = folder / ".config" / "opencode" / "opencode.json"
    settings.parent.mkdir(parents=True)
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{url}/v1", "apiKey": "scripted"},
        "models": {
            "m1": {"limit": {"context": 200_000, "output": 8000}, "cost": {"input": 1, "output": 2}}
        },
    }
    chosen = {"model": "scripted/m1", "small_model": "scripted/m1"}
    asking = {"permission": {"edit": "ask", "bash": "ask"}}  # by default, it never asks
    settings.write_text(json.dumps({**chosen, **asking, "provider": {"scripted": provider}}))
    quiet = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS", "SHARE")
    variables = {f"OPENCODE_DISABLE_{name}": "1" for name in quiet}
    return {"env": {**_own_home(folder), **variables}}


SETUPS: Mapping[str, Callable[[str, Path], Options]] = {
    "claude": claude,
    "codex": codex,
    "gemini": gemini,
    "opencode": opencode,
}


def options(name: str, url: str, folder: Path) -> Options:
    """The options of a coder whose program is in this folder and uses the server at this URL."""
    return {"program": str(program(name)), **SETUPS[name](url, folder)}


def over_acp(given: Options, arguments: Sequence[str]) -> Options:
    """The options of the coder `acp` for a program that speaks ACP with these arguments."""
    rest = {name: value for name, value in given.items() if name != "program"}
    return {"argv": [given["program"], *arguments], **rest}


def _own_home(folder: Path) -> dict[str, str]:
    temporary = folder / "tmp"
    temporary.mkdir(parents=True)
    return {"HOME": str(folder), "TMPDIR": str(temporary), "NO_PROXY": "127.0.0.1"}
