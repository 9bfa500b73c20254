"""What each part of `Dispatch` builds on."""

from codefleet.fleet import Fleet


class DispatchPart:
    """A runner's verbs, on the core of this fleet and for the same actor."""

    def __init__(self, fleet: Fleet) -> None:
        self.core = fleet.core
