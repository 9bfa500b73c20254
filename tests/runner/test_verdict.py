"""How a run ended, from what was recorded."""

from codefleet.domain.signals import Broke
from codefleet.domain.words import Reason
from codefleet.ports import Abilities
from codefleet.runner.agents.hearing import Heard
from codefleet.runner.custody import Exit
from codefleet.runner.verdict import Failed, of_the_run


def test_a_failure_without_words_is_told_in_a_sentence() -> None:
    heard = Heard()
    heard.take(Broke(" ", "crashed"))
    ended = of_the_run(heard, Exit(code=1), None, Abilities())
    assert ended == Failed(Reason.CRASHED, "the agent gave up without a reason")
