"""The scripted model server, as a program sees it: over HTTP, in every dialect."""

import http.client
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from codefleet.testing.model_server import ModelServer, prompt

WITHIN_S = 60
PATHS = {
    "anthropic": "/v1/messages",
    "responses": "/v1/responses",
    "chat": "/v1/chat/completions",
    "gemini": "/v1beta/models/any:streamGenerateContent",
}
HI = {"text": "Hi there, all of you."}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


def post(url: str, body: Any) -> str:
    request = Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    with urlopen(request, timeout=WITHIN_S) as answer:
        raw: bytes = answer.read()
    return raw.decode()


def talk(dialect: str, *texts: str, **more: Any) -> dict[str, Any]:
    """A request with these texts as its conversation, user and model in turn."""
    turns = [("assistant" if number % 2 else "user", text) for number, text in enumerate(texts)]
    if dialect == "gemini":
        roles = {"assistant": "model", "user": "user"}
        contents = [{"role": roles[role], "parts": [{"text": text}]} for role, text in turns]
        return {"contents": contents, **more}
    messages = [{"role": role, "content": text} for role, text in turns]
    key = "input" if dialect == "responses" else "messages"
    return {key: messages, "model": "any", "stream": True, **more}


def said(stream: str) -> str:
    """The text in a streamed answer, whatever the dialect."""
    return "".join(_pieces(stream))


def _pieces(stream: str) -> Iterator[str]:
    for line in stream.splitlines():
        if not line.startswith("data: {"):
            continue
        match json.loads(line.removeprefix("data: ")):
            case {"delta": {"text": str(text)}}:
                yield text
            case {"type": "response.output_text.delta", "delta": str(text)}:
                yield text
            case {"choices": [{"delta": {"content": str(text)}}]}:
                yield text
            case {"candidates": [{"content": {"parts": [{"text": str(text)}]}}]}:
                yield text


def ask(server: ModelServer, *texts: str, dialect: str = "anthropic", **more: Any) -> str:
    return said(post(server.url + PATHS[dialect], talk(dialect, *texts, **more)))


@pytest.mark.parametrize("dialect", PATHS)
def test_a_prompt_brings_its_own_script(server: ModelServer, dialect: str) -> None:
    assert ask(server, f"Please {prompt(HI)}", dialect=dialect) == HI["text"]


@pytest.mark.parametrize("dialect", PATHS)
def test_the_conversation_tells_which_step_is_next(server: ModelServer, dialect: str) -> None:
    script = prompt({"text": "one"}, {"text": "two"}, {"text": "three"})
    assert ask(server, script, dialect=dialect) == "one"
    assert ask(server, script, "one", "go on", dialect=dialect) == "two"
    assert ask(server, script, "one", "go on", "two", "go on", dialect=dialect) == "three"


def test_a_script_at_its_end_has_nothing_more_to_do(server: ModelServer) -> None:
    assert ask(server, prompt(HI), "Hi there", "and?") == "All done."


def test_a_prompt_that_comes_again_plays_its_next_script(server: ModelServer) -> None:
    twice = f"{prompt({'text': 'first'})} {prompt({'text': 'again'})}"
    assert ask(server, twice) == "first"
    assert ask(server, twice, "first", twice) == "again"
    assert ask(server, twice, "first", twice, "again", twice) == "again"


def test_a_prompt_without_a_script_plays_the_next_one_too(server: ModelServer) -> None:
    first = prompt({"text": "first"}, {"text": "more"})
    both = f"{first} {prompt({'text': 'second'}, {'text': 'end'})}"
    assert ask(server, both, "first", "Go on") == "second"
    assert ask(server, both, "first", "Go on", "second", "and?") == "end"
    assert ask(server, both, "first", "<note>a remark</note>") == "more"
    assert ask(server, both, "first", "[a remark]", "", "Go on") == "second"
    assert ask(server, first, "first", "Go on") == "more"


def test_the_newest_prompt_with_a_script_wins(server: ModelServer) -> None:
    assert ask(server, prompt({"text": "old"}), "old", prompt({"text": "new"})) == "new"


def test_prompts_joined_into_one_message_are_told_apart(server: ModelServer) -> None:
    parts = [{"type": "text", "text": prompt({"text": word})} for word in ("old", "new")]
    body = {"messages": [{"role": "user", "content": parts}], "stream": True}
    assert said(post(server.url + PATHS["anthropic"], body)) == "new"


def test_a_script_can_belong_to_an_address(server: ModelServer) -> None:
    base = server.script("greeter", HI, {"text": "Bye."})
    assert said(post(base + PATHS["chat"], talk("chat", "hello"))) == HI["text"]
    assert said(post(base + PATHS["chat"], talk("chat", "hello", "Hi", "bye"))) == "Bye."


@pytest.mark.parametrize("dialect", ["anthropic", "responses", "chat", "gemini"])
def test_an_answer_in_one_piece_says_the_same(server: ModelServer, dialect: str) -> None:
    path = PATHS[dialect].replace("streamGenerate", "generate")
    answer = post(server.url + path, talk(dialect, prompt(HI), stream=False))
    assert HI["text"] in answer


TOOLS = {
    "claude": ["Write file_path content", "Edit file_path old_string new_string", "Bash command"],
    "gemini": [
        "write_file file_path content",
        "replace file_path old_string new_string instruction",
        "run_shell_command command description",
    ],
    "opencode": ["write filePath content", "edit filePath oldString newString", "bash command"],
}


def offered(tools: list[str]) -> list[dict[str, Any]]:
    named = [tool.split() for tool in tools]
    return [
        {"name": name, "input_schema": {"properties": {argument: {} for argument in arguments}}}
        for name, *arguments in named
    ]


@pytest.mark.parametrize("program", TOOLS)
def test_actions_use_the_tools_and_words_of_each_program(server: ModelServer, program: str) -> None:
    actions = {"calls": [{"write": ["a", "1"]}, {"edit": ["a", "1", "2"]}, {"sh": "ls"}]}
    body = talk("anthropic", prompt(actions), stream=False, tools=offered(TOOLS[program]))
    answer = json.loads(post(server.url + PATHS["anthropic"], body))
    calls = [block for block in answer["content"] if block["type"] == "tool_use"]
    for call, tool in zip(calls, TOOLS[program], strict=True):
        name, *arguments = tool.split()
        assert call["name"] == name
        assert list(call["input"]) == arguments
    assert answer["stop_reason"] == "tool_use"


PATCHED = "*** Begin Patch\n*** Add File: a\n+1\n*** End Patch\n"
PATCH, EXEC = {"type": "custom", "name": "apply_patch"}, {"type": "custom", "name": "exec"}
SHELL = {
    "type": "function",
    "name": "shell",
    "parameters": {"properties": {"command": {"type": "array"}}},
}


@pytest.mark.parametrize(
    ("tool", "action", "given"),
    [
        (PATCH, {"write": ["a", "1\n"]}, PATCHED),
        (EXEC, {"write": ["a", "1\n"]}, f"text(await tools.apply_patch({json.dumps(PATCHED)}))"),
        (EXEC, {"sh": "ls"}, 'text(await tools.exec_command({"cmd": "ls"}))'),
        (SHELL, {"sh": "ls"}, '{"command": ["bash", "-lc", "ls"]}'),
    ],
)
def test_actions_use_the_patches_and_programs_of_codex(
    server: ModelServer, tool: dict[str, Any], action: dict[str, Any], given: str
) -> None:
    body = talk("responses", prompt(action), stream=False, tools=[tool])
    [call] = json.loads(post(server.url + PATHS["responses"], body))["output"]
    assert call["name"] == tool["name"]
    assert call.get("input", call.get("arguments")) == given


def test_a_request_without_tools_gets_words(server: ModelServer) -> None:
    assert ask(server, prompt({"sh": "ls"})) == "OK"


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("<<SCRIPT nonsense SCRIPT>>", "not JSON"),
        ("<<SCRIPT {} SCRIPT>>", "not a list"),
        (prompt({"txt": "Hi"}), "txt"),
        (prompt({"error": {"code": 3}}), "code"),
        (prompt({"write": "a"}), "cannot do"),
        (prompt({"sh": "ls"}), "no tool for"),
    ],
)
def test_a_script_that_cannot_be_played_is_told_to_program_and_test(
    server: ModelServer, script: str, problem: str
) -> None:
    with pytest.raises(HTTPError) as refused:
        ask(server, script, tools=offered(["Read file_path"]))
    with refused.value as answer:
        assert answer.code == 400
        assert problem in answer.read().decode()
    assert problem in server.requests[-1].problem


@pytest.mark.parametrize("dialect", PATHS)
def test_a_refusal_has_its_status_and_message(server: ModelServer, dialect: str) -> None:
    script = prompt({"error": {"status": 529, "message": "too busy", "headers": {"x-a": "b"}}})
    with pytest.raises(HTTPError) as refused:
        ask(server, script, dialect=dialect)
    with refused.value as answer:
        assert (answer.code, answer.headers["x-a"]) == (529, "b")
        assert "too busy" in answer.read().decode()


def test_a_refusal_can_end_after_some_times(server: ModelServer) -> None:
    script = prompt({**HI, "error": {"status": 429, "times": 2}})
    for _ in range(2):
        with pytest.raises(HTTPError) as refused:
            ask(server, script)
        refused.value.close()
    assert ask(server, script) == HI["text"]


@pytest.mark.parametrize(
    ("dialect", "tells"),
    [
        ("anthropic", "anthropic-ratelimit-unified-reset"),
        ("responses", "resets_at"),
        ("gemini", "retryDelay"),
    ],
)
def test_a_used_up_account_says_when_it_may_go_on(
    server: ModelServer, dialect: str, tells: str
) -> None:
    with pytest.raises(HTTPError) as refused:
        ask(server, prompt({"limit": 60}), dialect=dialect)
    with refused.value as answer:
        assert answer.code == 429
        assert tells in str(answer.headers) + answer.read().decode()


def test_a_cut_breaks_off_in_the_middle(server: ModelServer) -> None:
    with pytest.raises(http.client.IncompleteRead) as broken:
        ask(server, prompt({**HI, "cut": True}))
    assert "there" in said(broken.value.partial.decode())
    assert "message_stop" not in broken.value.partial.decode()


def test_an_answer_in_one_piece_hangs_until_the_server_closes() -> None:
    with ModelServer() as server:
        body = json.dumps(talk("anthropic", prompt({**HI, "hang": True}), stream=False))
        line = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=WITHIN_S)
        line.request("POST", PATHS["anthropic"], body)
        end = time.monotonic() + WITHIN_S
        while not server.requests:
            assert time.monotonic() < end, "the request never came"
    with pytest.raises(http.client.RemoteDisconnected):
        line.getresponse()
    line.close()


@pytest.mark.parametrize("way", [True, "silent"])
def test_a_hanging_answer_begins_and_ends_with_the_server(way: object) -> None:
    with ModelServer() as server:
        body = json.dumps(talk("anthropic", prompt({**HI, "hang": way})))
        line = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=WITHIN_S)
        line.request("POST", PATHS["anthropic"], body)
        answer = line.getresponse()
        assert answer.readline() == b"event: message_start\n"
    with pytest.raises(http.client.IncompleteRead):
        answer.read()
    line.close()


def test_tokens_are_counted_as_scripted(server: ModelServer) -> None:
    script = prompt({**HI, "usage": {"input": 7, "output": 3, "cached": 2}})
    answer = json.loads(
        post(server.url + PATHS["responses"], talk("responses", script, stream=False))
    )
    assert (answer["usage"]["input_tokens"], answer["usage"]["output_tokens"]) == (7, 3)


def test_thoughts_come_before_words(server: ModelServer) -> None:
    body = talk("anthropic", prompt({**HI, "think": "hmm"}), stream=False)
    answer = json.loads(post(server.url + PATHS["anthropic"], body))
    assert [block["type"] for block in answer["content"]] == ["thinking", "text"]


def test_a_side_question_for_json_gets_a_value_of_its_shape(server: ModelServer) -> None:
    shape = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    config = {"responseMimeType": "application/json", "responseJsonSchema": shape}
    body = talk("gemini", "route this", generationConfig=config)
    answer = json.loads(post(f"{server.url}/v1beta/models/any:generateContent", body))
    assert json.loads(answer["candidates"][0]["content"]["parts"][0]["text"]) == {"n": 0}


def test_an_answer_that_a_program_stores_as_two_messages_is_one(server: ModelServer) -> None:
    given = talk("chat", prompt({"text": "one"}, {"text": "two"}, {"text": "three"}))
    stored = [{"role": "assistant", "content": "one"}, {"role": "assistant", "tool_calls": []}]
    given["messages"] += [*stored, {"role": "tool", "content": "done"}]
    assert said(post(server.url + PATHS["chat"], given)) == "two"


def test_an_answer_in_one_piece_can_be_cut_too(server: ModelServer) -> None:
    with pytest.raises(http.client.IncompleteRead):
        ask(server, prompt({**HI, "cut": True}), stream=False)


def test_a_tool_of_an_mcp_server_is_called_by_both_names(server: ModelServer) -> None:
    action = {"tool": "mcp__till/add", "input": {"a": 1}}
    body = talk("responses", prompt(action), stream=False, tools=[SHELL])
    [call] = json.loads(post(server.url + PATHS["responses"], body))["output"]
    assert (call["namespace"], call["name"]) == ("mcp__till", "add")


@pytest.mark.parametrize("body", [{}, [], {"model": "any"}])
def test_a_request_that_is_none_is_refused(server: ModelServer, body: object) -> None:
    with pytest.raises(HTTPError) as refused:
        post(server.url + PATHS["anthropic"], body)
    with refused.value as answer:
        assert answer.code == 400
    assert "no 'messages'" in server.requests[-1].problem


def test_an_unknown_address_has_no_model(server: ModelServer) -> None:
    with pytest.raises(HTTPError) as refused:
        post(f"{server.url}/v1/embeddings", {})
    with refused.value as answer:
        assert answer.code == 404


def test_only_this_machine_can_reach_it(server: ModelServer) -> None:
    assert server.url.startswith("http://127.0.0.1:")


def test_it_is_a_program_too() -> None:
    argv = [sys.executable, "-m", "codefleet.testing.model_server"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout
        url = program.stdout.readline().strip()
        assert said(post(url + PATHS["chat"], talk("chat", prompt(HI)))) == HI["text"]
        program.terminate()
