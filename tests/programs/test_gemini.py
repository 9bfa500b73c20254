"""Stories with the real Gemini CLI."""

import pytest

from codefleet.domain.words import Reason
from tests.programs.conftest import FIRST_TIME_S, Station
from tests.programs.stories import GEMINI_REFUSALS, ProgramStories

pytestmark = [pytest.mark.slow, pytest.mark.programs, pytest.mark.timeout(FIRST_TIME_S)]


class TestGemini(ProgramStories):
    program = "gemini"

    @pytest.mark.parametrize(("step", "reason"), GEMINI_REFUSALS)
    async def test_a_refusal_fails_for_the_right_reason(
        self, station: Station, step: dict[str, object], reason: Reason
    ) -> None:
        assert await self.failure(station, step) is reason
