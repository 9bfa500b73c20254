"""Git settings that all worktrees of a repository share, protected from agents.

An agent works in a linked worktree, and what it sets there applies to the user's own checkout too.
What starts programs, breaks the checkout, hides work or changes the author of commits is put back,
and a copy is kept aside. Everything else is reported and stays, because it may be the user's: users
add remotes while agents work. The settings are noted when the first of several agents starts, and
compared when any of them ends. The fleet's own git reads the note, not the repository's files.
"""

import json
import os
import shutil
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Sequence,
)
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from codefleet.domain.errors import WorkspaceTrouble
from codefleet.runner.git.config_keys import (
    HARMLESS,
    NEW_REMOTE,
    SPARSE,
    is_put_back,
    starts_programs,
)
from codefleet.runner.git.git import Git
from codefleet.runner.git.layout import common_dir, git_dir
from codefleet.runner.git.locks import held
from codefleet.runner.git.setting_files import (
    CONFIG,
    Texts,
    is_file_put_back,
    is_link,
    is_odd,
    state_of,
    text_of,
    texts_in,
    write_file,
    write_private,
)
from codefleet.runner.git.trusted_view import COPIED, Settings, view_of, write_view

INCLUDE = "include"
MOST_TOLD = 20
LANE = "lane"
"""Checks at landing run agents' code, too."""

Note = dict[str, Any]
"""What is recorded: the active runs, the files as they were, the trusted settings."""


class Changed(NamedTuple):
    """Settings that were changed: those left so, and those put back."""

    left: Sequence[str] = ()
    put_back: Sequence[str] = ()

    def told(self) -> list[str]:
        """The warnings about them, what was put back first."""
        told = []
        for names, what in ((self.put_back, ", and have been put back"), (self.left, "")):
            if names:
                some = ", ".join(names[:MOST_TOLD])
                more = f" and {len(names) - MOST_TOLD} more" if len(names) > MOST_TOLD else ""
                told.append(
                    f"git's settings were changed, by the agent or by a human{what}: {some}{more}"
                )
        return told


class SharedSettings:
    """The shared settings of one repository, and a note in the fleet's home of how they were."""

    def __init__(self, repo: Path, note: Path) -> None:
        self._repo, self._note = repo, note
        self.aside = note.with_suffix("")

    async def begin(self, run: str, live: Callable[[], Awaitable[Collection[str]]]) -> Changed:
        """Note the settings before an agent starts; earlier changes are compared first."""
        async with self._alone():
            known, alive, before = self._read(), {*await live(), LANE}, texts_in(self._folder)
            there = known.get("runs", ())
            others = [each for each in there if each in alive and each != run]
            changed = await self._compare(known) if there else Changed()
            trusted = await self._accepted(known, changed) if others else await self._all(known)
            self._write([*others, run], trusted, read_from=_source(known) if others else before)
        return changed

    async def compare(self) -> Changed:
        """What has changed since; protected settings are put back."""
        async with self._alone():
            known = self._read()
            changed = await self._compare(known)
            if any(changed):  # each change is reported once
                accepted = await self._accepted(known, changed)
                self._write(known.get("runs", ()), accepted)
        return changed

    async def finish(self, run: str) -> None:
        """A run is over and its changes are reported; later changes are the user's."""
        async with self._alone():
            known = self._read()
            if texts_in(self._folder) == known.get("texts") and run in known.get("runs", ()):
                still = [each for each in known["runs"] if each != run]
                self._save({**known, "runs": still})

    async def _all(self, known: Note) -> Settings:
        """Every current setting of the repository, with those of included files."""
        now = texts_in(self._folder)
        includes = INCLUDE in now.get(CONFIG[0], INCLUDE).lower()
        is_plain = not includes and not is_odd(now.get(CONFIG[0], ""))
        if known.get("whole") and known["texts"] == now and is_plain:
            return dict(known["trusted"])  # read from exactly these files
        listed = await Git(self._repo)("config", "--local", "--includes", "--list", "-z")
        return _listed(listed)

    async def _accepted(self, known: Note, changed: Changed) -> Settings:
        """The trusted settings, with the changes that may stay."""
        if not changed.left:
            return dict(known["trusted"])
        now = await self._settings(texts_in(self._folder)) or {}
        kept = {name: its for name, its in known["trusted"].items() if name not in changed.left}
        return {**kept, **{name: now[name] for name in changed.left if name in now}}

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        try:
            async with held(self._note.with_suffix(".lock")):
                yield
        except OSError as trouble:
            raise WorkspaceTrouble(
                f"git's settings in {self._folder} cannot be protected: {trouble.strerror}",
                hint=f"compare them with {self._note}; can you write there?",
            ) from None

    @property
    def _folder(self) -> Path:
        return common_dir(git_dir(self._repo))

    async def _compare(self, known: Note) -> Changed:
        now, was = texts_in(self._folder), known.get("texts")
        is_there = (self._folder / "HEAD").exists()  # its disk may be unplugged
        if was is None or now == was or not is_there:
            return Changed()
        files = ({*was} | {*now}) - {*CONFIG}
        left = sorted(name for name in files if was.get(name) != now.get(name))
        put_back = [name for name in left if is_file_put_back(name, was, now)]
        for name in put_back:
            left.remove(name)
            self._restore(name, was, now)
        if any(was.get(name) != now.get(name) for name in CONFIG):
            keys = await self._compare_config(was, now)
            return Changed([*keys.left, *left], [*keys.put_back, *put_back])
        return Changed(left, put_back)

    async def _compare_config(self, was: Texts, now: Texts) -> Changed:
        """Compare setting by setting; restore whole files that git cannot read."""
        before, after = await self._settings(was), await self._settings(now)
        if before is None:
            return Changed()
        if after is None or await self._is_broken(now):
            for name in CONFIG:
                self._restore(name, was, now)
            return Changed(put_back=[name for name in CONFIG if was.get(name) != now.get(name)])
        changed = [*differences(before, after)]
        put_back = [name for name in changed if is_put_back(name, after.get(name, ()))]
        put_back.sort(key=lambda name: not starts_programs(name))
        await self._set(put_back, before)
        return Changed([name for name in changed if name not in put_back], put_back)

    async def _is_broken(self, now: Texts) -> bool:
        if CONFIG[0] not in now or is_link(now[CONFIG[0]]):
            return True
        return (await Git(self._repo).run("config", "--local", "--list")).code != 0

    async def _set(self, names: Iterable[str], to: Settings) -> None:
        git, files = Git(Path("/")), [str(self._folder / name) for name in CONFIG]
        for name in names:
            for file in filter(os.path.exists, files):
                await git.run("config", "--file", file, "--unset-all", name)
            for value in to.get(name, ()):
                await git.run("config", "--file", files[0], "--add", name, value)

    async def _settings(self, texts: Texts) -> Settings | None:
        """The settings in these files; None if git cannot read them."""
        found: dict[str, list[str]] = {}
        for state in (texts[name] for name in CONFIG if name in texts):
            listed = await settings(text_of(state))
            if listed is None:
                return None
            for name, values in listed.items():
                found.setdefault(name, []).extend(values)
        return found

    def _restore(self, name: str, was: Texts, now: Texts) -> None:
        """Restore one file; its current version is kept aside."""
        file = self._folder / name
        if (name in now and now[name] != was.get(name)) or file.is_symlink():
            self.aside.mkdir(parents=True, exist_ok=True, mode=0o700)
            kept = self.aside / name.replace("/", "-")
            kept.unlink(missing_ok=True)
            shutil.move(file, kept)
            if not kept.is_symlink():
                kept.chmod(0o600)
        if name in was:
            write_file(file, was[name])

    def _read(self) -> Note:
        with suppress(FileNotFoundError, ValueError):
            found = json.loads(self._note.read_text(encoding="utf-8"))
            return found if isinstance(found, dict) and "trusted" in found else {}
        return {}

    def _write(
        self, runs: Sequence[str], trusted: Settings, read_from: Texts | None = None
    ) -> None:
        """Record the current settings, for us and for the fleet's own git.

        They are whole if they were `read_from` files that are still the same, and nothing was left
        out.
        """
        texts = texts_in(self._folder)
        files = {
            name: text_of(texts[name]).encode(errors="surrogateescape")
            for name in COPIED
            if name in texts and not is_odd(texts[name])
        }
        home = self._note.parent.parent
        write_view(view_of(home, self._folder), self._folder, trusted, files)
        self._save({"runs": runs, "texts": texts, "trusted": trusted, "whole": read_from == texts})

    def _save(self, note: Note) -> None:
        draft = self._note.with_suffix(".new")
        write_private(draft, json.dumps(note))
        draft.replace(self._note)


def _source(known: Note) -> Texts | None:
    """The files that the trusted settings were read from, if from nothing else."""
    return known["texts"] if known.get("whole") else None


async def forget_own(worktree: Path) -> Changed:
    """Undo what a run set only for its own worktree, except a sparse checkout."""
    file = git_dir(worktree) / CONFIG[1]
    if not file.is_file() or file.is_symlink():
        file.unlink(missing_ok=True)
        return Changed()
    state = state_of(file)
    found = await settings(text_of(state)) if state else None
    if found is None:
        file.unlink()
        return Changed(put_back=[CONFIG[1]])
    wrong = [name for name in found if not HARMLESS.fullmatch(name) and not SPARSE.fullmatch(name)]
    for name in wrong:
        await Git(Path("/"))("config", "--file", str(file), "--unset-all", name)
    return Changed(put_back=wrong)


async def settings(text: str) -> Settings | None:
    """The settings in a file with this text, without the files it includes."""
    words = ("config", "--no-includes", "--file", "-", "--list", "-z")
    listed = await Git(Path("/")).run(*words, stdin=text)
    return None if listed.code else _listed(listed.out)


def _listed(listing: str) -> Settings:
    found: dict[str, list[str]] = {}
    for entry in filter(None, listing.split("\0")):
        name, has_value, value = entry.partition("\n")
        found.setdefault(name, []).append(value if has_value else "true")
    return found


def differences(before: Settings, after: Settings) -> Iterator[str]:
    """The settings that changed, except harmless ones."""
    for name in sorted({*before, *after}):
        if before.get(name) == after.get(name) or HARMLESS.fullmatch(name):
            continue
        remote = NEW_REMOTE.fullmatch(name)
        is_known = remote and any(known.startswith(remote[1]) for known in before)
        if not remote or is_known or starts_programs(name, after.get(name, ())):
            yield name
