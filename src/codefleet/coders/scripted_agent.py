"""The scripted agent: follows the script in its prompt, and reports each step.

The script is a fenced block in the prompt, marked `fleet`, with one step per line:

    ```fleet
    say Looking around
    write src/hello.py <<END
    print("hello")
    END
    edit src/hello.py "hello" "good morning"
    commit Greet politely
    ask Which port? | 8080 | 9090
    append settings.ini "port = {{answer}}"
    finish The greeting is polite now
    on attempt 2
    shell python src/hello.py
    ```

Quote words with spaces as in a shell. Any text can also be given as `<<NAME`: it is then the lines
that follow, up to one that is just NAME. Lines that begin with # are comments.

    write PATH TEXT              create or replace a file, with its folders
    append PATH TEXT             add to the end of a file
    edit PATH OLD NEW            replace the first OLD in a file; fails if there is none
    delete PATH                  remove a file
    shell COMMAND                run `sh -c COMMAND`; fails if it does
    commit MESSAGE               commit everything that has changed
    say TEXT                     print a message
    recite LINES PER_SECOND      print numbered lines at that pace
    usage input=N output=N cached=N cost=USD
    context USED SIZE            report the context used, in tokens
    ask QUESTION | OPTION | ...  end the turn; when resumed, {{answer}} is the answer
    ask-in-file QUESTION | ...   the same, through Q&A.md
    note TEXT                    add to KNOWLEDGE.md, for the next agent on the task
    result STATUS SUMMARY        write result.json; or give its whole text instead
    want STEP                    ask permission for a step (`want shell make`), then do it
    listen                       wait for a human's message; {{message}} is its text
    wait SECONDS                 do nothing for a while
    wait until PATH [SECONDS]    wait for a file, at most that long (default 60)
    limit SECONDS [TEXT]         report that the provider refuses work for that long; end
    broke REASON TEXT            report that it cannot continue; end
    finish [--no-changes] TEXT   report success; end (the last step in any case)
    crash [CODE or SIGNAL]       end without output
    hang                         print nothing and do nothing, forever
    spin                         print nothing and keep a processor busy, forever
    ignore SIGNAL                ignore that signal from here on
    orphan [SECONDS]             leave a process behind in its own session (default 600)

`on attempt N` begins the steps from the Nth run of the task on; they replace the steps before it.
A session that ended its turn with `ask`, `ask-in-file` or `limit` continues with the step after it.
Standard input has one JSON object per line: the prompt, then messages and permissions as they come.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any, NoReturn

if __name__ == "__main__":  # run as a program
    sys.path.append(str(Path(__file__).parents[2]))

from codefleet.coders.script_text import Step, Trouble, blocks, steps_of

IDENTITY = ("-c", "user.name=scripted agent", "-c", "user.email=scripted@codefleet.invalid")
LOOK_AGAIN_S = 0.01
NOTES = os.environ.get("FLEET_NOTES", ".codefleet")
KNOWN = {"answer": "", "message": ""}
NOTED: list[str] = []
EARLY: list[dict[str, Any]] = []
REQUESTS = count(1)


def main() -> None:
    """Follow the script on standard input from where the session stopped."""
    flags = dict(flag.removeprefix("--").split("=", 1) for flag in sys.argv[1:])
    prompt = str(hear("say").get("text", ""))
    notes = Notes(Path(flags["notes"]), attempt=int(flags["attempt"]))
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


def follow(steps: list[Step], notes: "Notes") -> None:
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


class Notes:
    """The progress of a session, stored outside the worktree for the run that resumes it."""

    def __init__(self, file: Path, attempt: int) -> None:
        self.file = file
        self.attempt = attempt
        self.done = 0

    def recall(self) -> None:
        try:
            kept = json.loads(self.file.read_text())
        except OSError:
            tell("said", text="The notes of this session are gone; starting from the beginning.")
            return
        self.attempt, self.done = kept["attempt"], kept["done"]

    def keep(self, done: int) -> None:
        self.done = done
        draft = self.file.with_name(f"{self.file.name}.draft")
        draft.write_text(json.dumps({"attempt": self.attempt, "done": done}))
        draft.rename(self.file)


def tell(kind: str, **fields: Any) -> None:
    print(json.dumps({"type": kind, **fields}), flush=True)


def hear(kind: str) -> dict[str, Any]:
    """The next line of this kind from the fleet; empty if no more is coming."""
    for word in EARLY:
        if word["type"] == kind:
            EARLY.remove(word)
            return word
    for line in sys.stdin.buffer:
        EARLY.append(json.loads(line))
        if EARLY[-1]["type"] == kind:
            return EARLY.pop()
    return {}


def message() -> str | None:
    """The next message from a human; None if no more are coming."""
    word = hear("say")
    *_, said = [word.get("text"), *map("\n".join, blocks(word.get("text", ""), "message"))]
    return said


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
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open(mode, encoding="utf-8", newline="") as out:
        out.write(text if text.endswith("\n") else f"{text}\n")
    tell("file", path=path)


def edit(path: str, old: str, new: str) -> None:
    file = Path(path)
    before = file.read_bytes().decode()
    if old not in before:
        raise Trouble(f"{path} does not contain {old!r}")
    file.write_bytes(before.replace(old, new, 1).encode())
    tell("file", path=path)


def delete(path: str) -> None:
    Path(path).unlink()
    tell("file", path=path)


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


def ask(text: str) -> NoReturn:
    question, *options = (part.strip() for part in text.split("|"))
    tell("asks", text=question, options=options)
    sys.exit(0)


def ask_in_file(text: str) -> NoReturn:
    question, *options = (part.strip() for part in text.split("|"))
    listed = "".join(f"- {option}\n" for option in options)
    put(f"{NOTES}/Q&A.md", f"\n## Question\n\n{question}\n\n{listed}", "a")
    finish("The question is in Q&A.md.")


def note(text: str) -> None:
    put(f"{NOTES}/KNOWLEDGE.md", text, "a")


def result(text: str) -> None:
    status, _, summary = text.partition(" ")
    said = json.dumps({"status": status, "summary": summary})
    put(f"{NOTES}/result.json", text if text.lstrip().startswith("{") else said, "w")


def wait(*how: str) -> None:
    match how:
        case ["until", path]:
            wait_until(Path(path), 60.0)
        case ["until", path, seconds]:
            wait_until(Path(path), float(seconds))
        case [seconds]:
            time.sleep(float(seconds))
        case _:
            raise Trouble("use `wait SECONDS` or `wait until PATH SECONDS`")


def wait_until(path: Path, seconds: float) -> None:
    bound = time.monotonic() + seconds
    while not path.exists():
        if time.monotonic() > bound:
            raise Trouble(f"{path} did not appear within {seconds:g} s")
        time.sleep(LOOK_AGAIN_S)


def limit(text: str) -> NoReturn:
    seconds, _, words = text.partition(" ")
    tell(
        "limit", text=words or "The usage limit is reached.", resets_at=time.time() + float(seconds)
    )
    sys.exit(1)


def broke(text: str) -> NoReturn:
    reason, _, words = text.partition(" ")
    tell("broke", reason=reason, text=words)
    sys.exit(1)


def finish(text: str = "") -> NoReturn:
    words = text.removeprefix("--no-changes")
    end = {"text": words.strip() or "The script is done.", "no_changes": words != text}
    tell("finished", **end)
    while (said := message()) is not None:
        tell("said", text=f"Heard after the end: {said}")
        tell("finished", **end)
    sys.exit(0)


def crash(how: str = "1") -> NoReturn:
    if how.isdecimal():
        os._exit(int(how))
    number = signal_of(how)
    if number is not signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    hang()


def hang() -> NoReturn:
    while True:
        signal.pause()


def spin() -> NoReturn:
    while True:
        pass


def ignore(name: str) -> None:
    signal.signal(signal_of(name), signal.SIG_IGN)


def signal_of(name: str) -> signal.Signals:
    try:
        return signal.Signals[name]
    except KeyError:
        raise Trouble(f"there is no signal {name}; use SIGTERM, for example") from None


def orphan(seconds: str = "600") -> None:
    pid = os.posix_spawnp("sleep", ["sleep", seconds], os.environ, setsid=True)
    tell("said", text=f"Left process {pid} behind.")


STEPS: dict[str, Callable[..., None]] = {
    step.__name__.replace("_", "-"): step
    for step in (
        *(write, append, edit, delete, shell, commit, say, recite, usage, context),
        *(ask, ask_in_file, note, result, want, listen, wait),
        *(limit, broke, finish, crash, hang, spin, ignore, orphan),
    )
}
FILE_STEPS = {"write", "append", "edit", "delete"}
LAST = {"ask", "ask-in-file", "limit", "broke", "finish", "crash"}

if __name__ == "__main__":
    main()
