"""The steps of the scripted agent; `scripted_agent.py` explains each.

An agent starts for every run, so it loads little, as a keeper does.
"""

import os
import sys
import time
from itertools import count

from codefleet import lean_json
from codefleet.coders.script_mishaps import crash, hang, ignore, orphan, spin
from codefleet.coders.script_session import Notes, hear, message, tell
from codefleet.coders.script_text import Step, Trouble, blocks, steps_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

IDENTITY = ("-c", "user.name=scripted agent", "-c", "user.email=scripted@codefleet.invalid")
LOOK_AGAIN_S = 0.01
NOTES = os.environ.get("FLEET_NOTES", ".codefleet")
KNOWN = {"answer": "", "message": ""}
NOTED: list[str] = []
REQUESTS = count(1)


def main() -> None:
    """Follow the script on standard input from where the session stopped."""
    flags = dict(flag.removeprefix("--").split("=", 1) for flag in sys.argv[1:])
    prompt = str(hear("say").get("text", ""))
    notes = Notes(flags["notes"], attempt=int(flags["attempt"]))
    tell("started", session=flags["session"], model="script")
    if flags["resume"] == "yes":
        notes.recall()
    try:
        steps = steps_of(prompt, notes.attempt)
    except Trouble as trouble:
        tell("broke", reason="coder_missing", text=str(trouble))
        sys.exit(1)
    *_, KNOWN["answer"] = ["", *map("\n".join, blocks(prompt, "answer"))]
    NOTED.extend(map("\n".join, blocks(prompt, "message")))
    follow(steps, notes)


def follow(steps: list[Step], notes: Notes) -> None:
    """Do the steps in order and record each, so that a resumed session repeats none."""
    for number, step in enumerate(steps):
        if number < notes.done:
            continue
        if step.name in LAST:
            notes.keep(number + 1)
        try:
            STEPS[step.name](*map(filled, step.words))
        except (Trouble, OSError, ValueError) as trouble:
            tell("broke", reason="unknown", text=f"line {step.line}, {step.name}: {trouble}")
            sys.exit(1)
        notes.keep(number + 1)
    finish()


def filled(word: str) -> str:
    for name, value in KNOWN.items():
        word = word.replace(f"{{{{{name}}}}}", value)
    return word


def want(name: str, *given: str) -> None:
    request = f"want-{next(REQUESTS)}"
    paths = list(given[:1]) if name in FILE_STEPS else []
    tell("wants", request=request, tool=name, detail=given[0] if given else "", paths=paths)
    word = hear("permit")
    if word.get("allowed"):
        STEPS[name](*given)
    else:
        tell("said", text=f"I may not {name}: {word.get('why') or 'no reason given'}")


def listen() -> None:
    said = NOTED.pop(0) if NOTED else message()
    if said is None:
        raise Trouble("there was no message")
    KNOWN["message"] = said


def write(path: str, text: str) -> None:
    put(path, text, "w")


def append(path: str, text: str) -> None:
    put(path, text, "a")


def put(path: str, text: str, mode: str) -> None:
    change = "modified" if os.path.exists(path) else "added"
    if folder := os.path.dirname(path):
        os.makedirs(folder, exist_ok=True)
    with open(path, mode, encoding="utf-8", newline="") as out:
        out.write(text if text.endswith("\n") else f"{text}\n")
    tell("file", path=path, change=change)


def edit(path: str, old: str, new: str) -> None:
    with open(path, encoding="utf-8", newline="") as file:
        before = file.read()
    if old not in before:
        raise Trouble(f"{path} does not contain {old!r}")
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(before.replace(old, new, 1))
    tell("file", path=path)


def delete(path: str) -> None:
    os.unlink(path)
    tell("file", path=path, change="deleted")


def shell(command: str) -> None:
    tell("tool", name="shell", detail=command)
    code = run("sh", "-c", command)
    tell("tool", name="shell", detail=command, done=True)
    if code:
        raise Trouble(f"exit code {code} from: {command}")


def commit(message: str) -> None:
    tell("tool", name="commit", detail=message)
    run("git", "add", "--all")
    if run("git", "diff", "--cached", "--quiet") == 0:
        tell("said", text="There is nothing to commit.")
    elif code := run("git", *IDENTITY, "-c", "commit.gpgsign=false", "commit", "-qm", message):
        raise Trouble(f"git commit ended with {code}; see stderr.log")
    tell("tool", name="commit", detail=message, done=True)


def run(*argv: str) -> int:
    """Run a program with its output in our log, since our own output is for the fleet."""
    import subprocess  # slow to import, and many scripts do not need it

    return subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=sys.stderr, check=False).returncode


def say(text: str) -> None:
    tell("said", text=text)


def recite(lines: str, per_second: str) -> None:
    began = time.monotonic()
    for number in range(1, int(lines) + 1):
        say(f"line {number} of {lines}")
        time.sleep(max(0.0, began + number / float(per_second) - time.monotonic()))


def usage(*amounts: str) -> None:
    names = {"input": "input_tokens", "output": "output_tokens", "cached": "cached_tokens"}
    given = dict(amount.split("=", 1) for amount in amounts)
    cost = float(given.pop("cost", 0))
    if unknown := given.keys() - names:
        raise Trouble(f"use input, output, cached and cost, not {', '.join(unknown)}")
    tell("usage", **{names[name]: int(count) for name, count in given.items()}, cost_usd=cost)


def context(used: str, size: str) -> None:
    tell("context", used=int(used), size=int(size))


def ask(text: str) -> "NoReturn":
    question, *options = (part.strip() for part in text.split("|"))
    tell("asks", text=question, options=options)
    sys.exit(0)


def ask_in_file(text: str) -> "NoReturn":
    question, *options = (part.strip() for part in text.split("|"))
    listed = "".join(f"- {option}\n" for option in options)
    put(f"{NOTES}/Q&A.md", f"\n## Question\n\n{question}\n\n{listed}", "a")
    finish("The question is in Q&A.md.")


def note(text: str) -> None:
    put(f"{NOTES}/KNOWLEDGE.md", text, "a")


def result(text: str) -> None:
    status, _, summary = text.partition(" ")
    said = lean_json.written({"status": status, "summary": summary})
    put(f"{NOTES}/result.json", text if text.lstrip().startswith("{") else said, "w")


def wait(*how: str) -> None:
    match how:
        case ["until", path]:
            wait_until(path, 60.0)
        case ["until", path, seconds]:
            wait_until(path, float(seconds))
        case [seconds]:
            time.sleep(float(seconds))
        case _:
            raise Trouble("use `wait SECONDS` or `wait until PATH SECONDS`")


def wait_until(path: str, seconds: float) -> None:
    bound = time.monotonic() + seconds
    while not os.path.exists(path):
        if time.monotonic() > bound:
            raise Trouble(f"{path} did not appear within {seconds:g} s")
        time.sleep(LOOK_AGAIN_S)


def limit(text: str) -> "NoReturn":
    seconds, _, words = text.partition(" ")
    tell(
        "limit", text=words or "The usage limit is reached.", resets_at=time.time() + float(seconds)
    )
    sys.exit(1)


def broke(text: str) -> "NoReturn":
    reason, _, words = text.partition(" ")
    tell("broke", reason=reason, text=words)
    sys.exit(1)


def finish(text: str = "") -> "NoReturn":
    words = text.removeprefix("--no-changes")
    end = {"text": words.strip() or "The script is done.", "no_changes": words != text}
    tell("finished", **end)
    while (said := message()) is not None:
        tell("said", text=f"Heard after the end: {said}")
        tell("finished", **end)
    sys.exit(0)


STEPS: "dict[str, Callable[..., None]]" = {
    step.__name__.replace("_", "-"): step
    for step in (
        *(write, append, edit, delete, shell, commit, say, recite, usage, context),
        *(ask, ask_in_file, note, result, want, listen, wait),
        *(limit, broke, finish, crash, hang, spin, ignore, orphan),
    )
}
FILE_STEPS = {"write", "append", "edit", "delete"}
LAST = {"ask", "ask-in-file", "limit", "broke", "finish", "crash"}
