"""How a run ended, from what was recorded."""

from codefleet.coder import Abilities
from codefleet.domain.signals import Broke
from codefleet.domain.words import Reason
from codefleet.runner.output.transcript import OutputState
from codefleet.runner.process.custody import Exit
from codefleet.runner.run.verdict import Failed, judge_run


def test_a_failure_without_words_is_told_in_a_sentence() -> None:
    heard = OutputState()
    heard.take(Broke(" ", "crashed"))
    ended = judge_run(heard, Exit(code=1), None, Abilities())
    assert ended == Failed(Reason.CRASHED, "the agent gave up without a reason")
