"""The settings of a fleet."""

from codefleet.config.layers import FILE
from codefleet.config.loading import fleet_home, load
from codefleet.config.settings import FLEET_WIDE, KEYS, NOT_IN_A_REPO, Config
from codefleet.config.values import nearest, toml, value_of, without_password

__all__ = [
    "FILE",
    "FLEET_WIDE",
    "KEYS",
    "NOT_IN_A_REPO",
    "Config",
    "fleet_home",
    "load",
    "nearest",
    "toml",
    "value_of",
    "without_password",
]
