"""The files for operators are valid, and what they run exists."""

import configparser
import re
import shlex
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from codefleet.config import KEYS
from tests.docs.pages import ROOT
from tests.docs.test_commands import understand

DEPLOY = ROOT / "examples" / "deploy"
ELSEWHERE = {"FLEET_HOME", "FLEET_DB_PASSWORD", "FLEET_IMAGE"}
"""Read by the command line, or by the operator's own tool."""


def loaded(file: Path) -> Any:
    return yaml.safe_load(file.read_text(encoding="utf-8"))


def values(tree: Any, key: str) -> Iterator[Any]:
    """What this key holds, anywhere in a file."""
    children = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    if isinstance(tree, dict) and key in tree:
        yield tree[key]
    for child in children:
        yield from values(child, key)


def test_the_commands_of_containers_are_understood() -> None:
    for file in sorted(DEPLOY.glob("*.yaml")):
        commands = [shlex.join(argv) for argv in values(loaded(file), "command")]
        assert commands, file
        for command in commands:
            understand(command)


def service() -> configparser.ConfigParser:
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]  # systemd minds the case
    unit.read(DEPLOY / "codefleet-runner.service")
    return unit


def test_the_command_of_the_service_is_understood() -> None:
    unit = service()
    program, _, words = unit["Service"]["ExecStart"].partition(" ")
    assert Path(program).name == "fleet"
    understand(f"fleet {words}")
    assert set(unit.sections()) == {"Unit", "Service", "Install"}


def test_a_service_that_was_stopped_has_not_failed() -> None:
    assert service()["Service"]["SuccessExitStatus"] == str(128 + signal.SIGTERM)


@pytest.mark.parametrize("file", ["compose.yaml", "kubernetes.yaml"])
def test_containers_know_the_key_of_the_git_server(file: str) -> None:
    """Nobody is there to confirm that it is the right one."""
    text = (DEPLOY / file).read_text(encoding="utf-8")
    (known,) = re.findall(r"UserKnownHostsFile=(\S+)", text)
    mounts = ("/run/secrets/", "/etc/fleet-git/")
    assert known.startswith(mounts)


def test_every_variable_of_the_fleet_is_a_setting() -> None:
    for file in DEPLOY.iterdir():
        named = set(re.findall(r"\bFLEET_[A-Z_]+", file.read_text(encoding="utf-8"))) - ELSEWHERE
        assert named <= {f"FLEET_{key.upper()}" for key in KEYS}, file


def test_a_volume_or_secret_that_is_mounted_is_there() -> None:
    compose = loaded(DEPLOY / "compose.yaml")
    assert set(compose["services"]["runner"]["secrets"]) == set(compose["secrets"])
    pod = loaded(DEPLOY / "kubernetes.yaml")["spec"]
    mounted = {mount["name"] for mounts in values(pod, "volumeMounts") for mount in mounts}
    claims = {claim["metadata"]["name"] for claim in pod["volumeClaimTemplates"]}
    volumes = {volume["name"] for volume in pod["template"]["spec"]["volumes"]}
    assert mounted == claims | volumes
