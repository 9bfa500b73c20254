"""Stories with the real Gemini CLI."""

import pytest

from codefleet.domain.model import Reason
from tests.programs.conftest import FIRST_TIME_S, Station
from tests.programs.stories import ProgramStories

pytestmark = [pytest.mark.slow, pytest.mark.programs, pytest.mark.timeout(FIRST_TIME_S)]

TOO_LONG = "The input token count (3000000) exceeds the maximum number of tokens allowed (1048576)."


class TestGemini(ProgramStories):
    program = "gemini"

    @pytest.mark.parametrize(
        ("step", "reason"),
        [
            pytest.param({"error": 404}, Reason.CODER_MISSING, id="an unknown model"),
            pytest.param(
                {"error": {"status": 400, "message": TOO_LONG}},
                Reason.CONTEXT_FULL,
                id="a full context",
            ),
            pytest.param({"text": "never to the end", "cut": True}, Reason.CRASHED, id="a cut"),
        ],
    )
    async def test_a_refusal_fails_for_the_right_reason(
        self, station: Station, step: dict[str, object], reason: Reason
    ) -> None:
        assert await self.failure(station, step) is reason
