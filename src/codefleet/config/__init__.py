"""The settings of a fleet."""

from codefleet.config.layers import FILE
from codefleet.config.loading import fleet_home, load, trouble_of
from codefleet.config.repo_file import RepoFile, kept
from codefleet.config.settings import FLEET_WIDE, KEYS, NOT_IN_A_REPO, Config
from codefleet.config.values import toml, value_of, without_password

__all__ = [
    "FILE",
    "FLEET_WIDE",
    "KEYS",
    "NOT_IN_A_REPO",
    "Config",
    "RepoFile",
    "fleet_home",
    "kept",
    "load",
    "toml",
    "trouble_of",
    "value_of",
    "without_password",
]
