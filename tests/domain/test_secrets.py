"""Keys are redacted; everything else stays."""

import base64
import json
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from codefleet.domain import secrets
from codefleet.domain.secrets import redact, redact_bytes, secret_values

LETTERS = "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC2eF4hJ6"  # 36 random characters
WEB_TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9"
PEM = """-----BEGIN RSA PRIVATE KEY-----
MIIEowIBAAKCAQEAxVQ7mQO8x1Jk0f6w2bZ9K3hT4uR5yP6sD7gF8hJ9kL0zX1cV
2bN3mM4qW5eR6tY7uI8oP9aS0dF1gH2jK3lZ4xC5vB6nM7qW8eR9tY0uI1oP2aS3
-----END RSA PRIVATE KEY-----
"""
KEYS = {
    "claude": f"sk-ant-api03-{LETTERS}-{LETTERS}_{LETTERS}AA",
    "openai": f"sk-{LETTERS}{LETTERS[:12]}",
    "openai project": f"sk-proj-{LETTERS}_{LETTERS}",
    "github": f"ghp_{LETTERS}",
    "github app": f"ghs_{LETTERS}",
    "github fine": f"github_pat_11ABCDEFG0{LETTERS}_{LETTERS}",
    "aws": "AKIAIOSFODNN7EXAMPLE",
    "aws without a digit": "AKIAIOSFODNNZEXAMPLE",
    "slack": "xoxb-123456789012-1234567890123-AbCdEfGhIjKlMnOpQrStUvWx",
    "gitlab": "glpat-AbC1dEf2GhI3jKl4MnO5",
    "google": f"AIza{LETTERS[:35]}",
    "npm": f"npm_{LETTERS}",
    "hugging face": f"hf_{LETTERS[:34]}",
    "web token": WEB_TOKEN,
}
AROUND = {
    "alone": "{}",
    "in words": "The key is {}, keep it.",
    "at the end of a sentence": "The key is {}.",
    "in quotes": "key='{}'",
    "in a list": "a,{},b",
    "after a line end in JSON": '{{"text": "first\\n{}\\nlast"}}',
    "coloured": "\x1b[31m{}\x1b[0m",
    "coloured in JSON": '"\\u001b[31m{}\\u001b[0m"',
    "in a path of a URL": "https://host/{}/x",
    "escaped in a URL": "?to=https%3A%2F%2Fhost%3A{}%40x",
}
STAY = [
    "a commit 0f2c9b1de4a67f8c3b5a9d8e7f6c5b4a3d2e1f00",
    "a tree 9daeafb9864cf43055ae93beb0afd6c7d144bfa4 and 4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "an id 123e4567-e89b-12d3-a456-426614174000",
    "the task-force-of-1999-was-a-risk-management-thing",
    "task-4f9d8a7b6c5e4d3c2b1a0f9e8d7c6b5a, disk-4f9d8a7b6c5e4d3c2b1a0f9e",
    "sk-SK, sk-learn-pipeline-2024-version-final, sk-",
    "token = get_token()",
    "token=get_token(user, 12345678)",
    "token=oauth2_sha256_of(user), password = vault2024[name]",
    "password=os.environ['PASSWORD']",
    "password=self.password2, token=settings.api2.token",
    "api_key=api_key, token=token, password=None",
    "TOKEN = load_token(path)",
    "api_key = config.anthropic_api_key",
    'return {"input_tokens": 12345678, "max_tokens": 40960000, "cache_key": "abc12345678"}',
    "def token(self, password: str | None = None) -> Token:",
    "the secret: be kind; the token: a word",
    "Bearer authentication is required, please log in",
    "unexpected token 0f2c9b1de4a67f8c3b5a9d8e7f6c5b4a3d2e1f00",
    "an API key (ANTHROPIC_API_KEY) is missing",
    "/usr/lib/python3.11/site-packages/sk_something/very/long/path/to/some/file_2024.py",
    "npm_config_registry npm_package_json hf_hub_download ghp_short AKIA AIza xoxo-xoxo",
    "-----BEGIN PRIVATE KEY----- is how it begins",
    "-----BEGIN CERTIFICATE-----\nMIIEowIBAAKCAQEAxVQ7mQO8x1Jk0f6w2bZ9K3hT4uR5yP6sD7gF8h\n",
    "line 4290: rate limit",
    "ssh://git@host:22/repo https://host:8080/@scope/pkg user@host:path",
    "mail to a.b@example.org at 10:30",
    '{"type":"assistant","apiKeySource":"ANTHROPIC_API_KEY","uuid":"123e4567-e89b-12d3"}',
]
LABELLED = [
    ("Authorization: Bearer {}", "abcdefgh"),
    ("authorization: token {}", "0f2c9b1de4a67f8c"),
    ('{{"Authorization": "Basic {}"}}', "dXNlcjpwYXNz"),
    ("curl -H 'Bearer {}'", "A1b2C3d4E5f6G7h8"),
    ("https://host/x?token={}&page=2", "correcthorse"),
    ("https://host/x?a=1&access_token={}", "correcthorse"),
    ("https://user:{}@host/repo.git", "hunter2"),
    ("DB_PASSWORD={}", "correcthorse"),
    ("export API_TOKEN='{}'", "correct-horse"),
    ("MY_API_KEY={}\n", "a.b.c/d+e=f1"),
    ("aws_secret_access_key = {}", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
    ('{{"password": "{}"}}', "hunter2hunter2"),
    ('{{"text": "{{\\"api_key\\": \\"{}\\"}}"}}', "a1b2c3d4e5f6"),
    ("x-api-key: {}", "a1b2c3d4e5f6"),
]


@pytest.mark.parametrize("around", AROUND.values(), ids=AROUND)
@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_keys_go_wherever_they_stand(key: str, around: str) -> None:
    text = around.format(key)
    clean = redact(text)
    assert key not in clean
    assert key[8:16] not in clean
    before, after = around.format("\0").split("\0")
    assert (clean[: len(before)], clean[len(text) - len(after) :]) == (before, after)
    assert len(clean) == len(text)


@pytest.mark.parametrize(("around", "value"), LABELLED)
def test_values_go_that_are_named_secret(around: str, value: str) -> None:
    text = around.format(value)
    clean = redact(text)
    assert value not in clean
    assert len(clean) == len(text)
    before, after = around.format("\0").split("\0")
    assert clean.startswith(before)
    assert clean.endswith(after)


@pytest.mark.parametrize("text", STAY)
def test_what_is_no_key_stays(text: str) -> None:
    assert redact(text) == text


def test_a_picture_stays() -> None:
    picture = base64.b64encode(bytes(range(256)) * 400).decode()
    line = json.dumps({"type": "image", "data": picture, "url": f"data:image/png;base64,{picture}"})
    assert redact(line) == line


def test_a_private_key_goes_line_by_line() -> None:
    clean = redact(f"before\n{PEM}after\n")
    assert "MII" not in clean
    assert "aS3" not in clean
    assert clean.startswith("before\n-----BEGIN RSA PRIVATE KEY-----\n***")
    assert clean.endswith("***\n-----END RSA PRIVATE KEY-----\nafter\n")
    in_json = redact(json.dumps({"text": PEM}))
    assert "MII" not in in_json
    assert json.loads(in_json)["text"].startswith("-----BEGIN RSA PRIVATE KEY-----\n[redacted***")


def test_known_values_go_also_inside_json() -> None:
    known = {'pass"word\\1', "ünïcödé-geheim"}
    text = json.dumps({"said": 'it is pass"word\\1'}, ensure_ascii=False) + " ünïcödé-geheim"
    clean = redact(text, known)
    assert json.loads(clean[: clean.index("}") + 1])["said"].startswith("it is [redacted")
    assert "geheim" not in clean
    assert len(clean.encode()) == len(text.encode())


def test_the_longer_of_two_known_values_goes_whole() -> None:
    assert "tail" not in redact("abcdefgh-tail", {"abcdefgh", "abcdefgh-tail"})


def test_variables_are_secret_by_their_names() -> None:
    given = {
        "ANTHROPIC_API_KEY": "value-one",
        "GITHUB_TOKEN": "value-two",
        "db_password": "value-three",
        "SECRET": "value-four",
        "AWS_SECRET_ACCESS_KEY": "value-five",
        "KEYBOARD": "us-international",
        "MAX_TOKENS": "100000000",
        "HOME": "/home/somebody",
        "SHORT_KEY": "1234567",
    }
    numbers = ("one", "two", "three", "four", "five")
    assert {*secret_values(given, ())} == {f"value-{number}" for number in numbers}


def test_what_the_owner_lists_is_secret_whatever_its_name_unless_it_is_trivial() -> None:
    given = {"SHOP": "sesame", "PORT": "8080", "EMPTY": "", "DEBUG": "true", "OTHER": "as it is"}
    assert secret_values(given, ["SHOP", "PORT", "EMPTY", "DEBUG"]) == {"sesame": "SHOP"}


@pytest.mark.parametrize(
    "broken",
    [
        "open\x1b[31m-ses\x1b[0mame",
        "open-\nsesame",
        "open-\r\n    sesame",
        '{"text": "open-\\nsesame"}',
        '{"text": "open\\u001b[1;31m-sesa\\u001b[0mme"}',
        "o\np\ne\nn\n-\ns\ne\ns\na\nm\ne",
        "\x1b[1mopen\x1b[0m-\n  \x1b[2msesame",
    ],
)
def test_a_known_value_is_found_through_colours_and_line_breaks(broken: str) -> None:
    clean = redact(f"before {broken} after", ["open-sesame"])
    assert len(clean) == len(f"before {broken} after")
    assert clean.startswith("before ")
    assert clean.endswith(" after")
    assert clean.count("*") >= len("open-sesame")


PIECES = st.sampled_from(
    [
        *KEYS.values(),
        *AROUND.values(),
        *STAY,
        PEM,
        "\n",
        "\\n",
        '"',
        "password=",
        "://a:",
        "@",
        "1m",
    ]
    + [around.format(value) for around, value in LABELLED]
)


@given(st.lists(PIECES | st.text(max_size=12), max_size=8).map("".join))
@example("\ud800 sk-")
def test_whatever_it_is_given_the_length_stays_and_a_second_time_changes_nothing(text: str) -> None:
    clean = redact(text)
    assert len(clean.encode(errors="surrogatepass")) == len(text.encode(errors="surrogatepass"))
    assert redact(clean) == clean


@given(st.binary(max_size=200), st.sampled_from(list(KEYS.values())))
def test_bytes_that_are_no_text_keep_their_length(noise: bytes, key: str) -> None:
    data = noise + b" " + key.encode() + b" " + noise
    clean = redact_bytes(data)
    assert len(clean) == len(data)
    assert key.encode() not in clean


@given(st.dictionaries(st.text(), st.text() | st.sampled_from([*KEYS.values(), PEM])))
def test_json_stays_json(value: dict[str, str]) -> None:
    assert json.loads(redact(json.dumps(value))).keys() == json.loads(json.dumps(value)).keys()


@pytest.mark.parametrize(
    "piece",
    [
        *("a", "sk-", "1meyJ", "eyJ.", "-eyJ", "ghp_", "://a:", "password=", "Bearer ", "token=a1"),
        *("-----BEGIN PRIVATE KEY-----\\nA", "authorization:", "?a&b", "AKIA1", "xoxb-", "\\n"),
    ],
)
@pytest.mark.timeout(60)  # quadratic time would take hours
def test_a_hostile_megabyte_is_read_to_its_end(piece: str) -> None:
    size = 1 << 20
    assert redact_bytes((piece.encode() * size)[:size])


def test_a_line_of_twenty_megabytes_is_read_whole() -> None:
    line = b'{"data": "' + b"A1b2C3d4" * (20 << 17) + b" " + KEYS["github"].encode() + b'"}'
    clean = redact_bytes(line)
    assert len(clean) == len(line)
    assert re.search(rb"ghp_[A-Za-z]", clean) is None


@pytest.mark.parametrize(("around", "value"), [("{}", KEYS["github"]), *LABELLED])
def test_keys_go_at_every_step_of_the_search(
    around: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = 2 * secrets.SHORT  # a shorter step is the same search in less time
    monkeypatch.setattr(secrets, "STEP", step)
    text = around.format(value).encode()
    for shift in range(len(text) + 1):
        data = b"." * (step - shift - 1) + b" " + text + b" "
        assert value.encode() not in redact_bytes(data)


def test_a_tab_before_a_credential_is_enough() -> None:
    assert "A1b2C3d4" not in redact("Bearer\tA1b2C3d4E5f6G7h8")
