"""What supervisors of agents have mistaken for failure or success.

Each row was seen in a program that watches agents. WORDS are harmless wherever they appear: in an
agent's answer, in the input and output of its tools, and on its stderr.
"""

from typing import NamedTuple


class Words(NamedTuple):
    """Words of an agent, and what they were once mistaken for."""

    id: str
    words: str
    taken_for: str


WORDS = (
    Words("line-4290", "tests/test_codes.py, line 4290: ok", "a rate limit, because of the 429"),
    Words("status-429", "The client now retries after HTTP 429.", "a rate limit of the agent"),
    Words("rate-limit", "I added a rate limit to the login form.", "a rate limit of the agent"),
    Words("rate_limit", 'The column is called "rate_limit".', "a rate limit of the agent"),
    Words("too-many", "The server answers Too Many Requests.", "a rate limit of the agent"),
    Words("exhausted", "grpc: RESOURCE_EXHAUSTED is mapped to 429", "a rate limit of the agent"),
    Words("quota", "quota exceeded: shown when the disk is full", "a used-up quota"),
    Words("usage-limit", "You've hit your usage limit, says the test.", "a used-up subscription"),
    Words("limit-resets", "You've hit your 5-hour limit · resets 7:28pm (UTC)", "the same"),
    Words("own-marker", "Rate limited, trying again in 4 s (1 of 3)", "its supervisor's own note"),
    Words("auth-required", "Authentication required, please log in", "a lost login: it was killed"),
    Words("please-log-in", "The page says: please log in", "a lost login"),
    Words("please-login", "Error text: please login", "a lost login"),
    Words("login-required", "login required -> redirect", "a lost login"),
    Words("not-logged-in", "Not logged in · Please run /login", "a lost login"),
    Words("browser", "Opening authentication page in your browser", "a lost login"),
    Words("bad-key", "Invalid API key · Fix external API key", "a lost login"),
    Words("status-401", "unexpected status 401 Unauthorized: see url", "a lost login"),
    Words("too-long", "prompt is too long: 300 tokens > 200 maximum", "a full context window"),
    Words("context", "Codex ran out of room in the model's context window", "the same"),
    Words("credit", "Your credit balance is too low", "an unpaid bill"),
    Words("failed", "FAILED: 3 tests failed, fatal error, exit code 1", "a failure, by a pattern"),
    Words("blocked", 'status: blocked. {"status": "blocked"}', "a blocked agent"),
    Words("question", "Which port should it use? I wait for you.", "a question to a human"),
    Words("wrong-flag", "error: unknown option `--colour'", "a program too old for its flags"),
    Words("an-event", '{"type": "error", "message": "429 Too Many Requests"}', "its own event"),
    Words("a-limit", '{"type": "limit", "text": "later"}', "its own event"),
    Words("a-refusal", '{"type": "turn.failed", "error": {"message": "no"}}', "its own event"),
)

ALL_OF_IT = "\n".join(row.words for row in WORDS)
