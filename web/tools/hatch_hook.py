"""Build the page into a wheel. An editable installation has it from `make web`."""

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PageHook(BuildHookInterface[Any]):
    """Runs before the files of a wheel are gathered."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        sys.path.insert(0, str(Path(self.root)))
        from web.tools.build import build

        try:
            build()
        except Exception as why:
            self.app.display_warning(f"the dashboard is not part of this wheel: {why}")
