"""Settings: `fleet.toml` files, FLEET_* variables and flags -> one frozen Config.

The Config knows where each value came from. From weakest to strongest: the default, the home's
file, its table for the repo, the repo's own file, a FLEET_* variable, a flag.
"""

import json
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_origin

from pydantic import Field, PrivateAttr, ValidationError

from codefleet.domain.errors import BadConfig, FleetError
from codefleet.domain.model import Landing, Noun

FILE = "fleet.toml"


class Config(Noun):
    """Every setting of a fleet, each with its meaning."""

    store: str = Field("", description="Address of the store; empty means a file in the home.")
    durability: Literal["full", "normal"] = Field(
        "full",
        description="What survives a power cut: `full`, all that was acknowledged; `normal`, all "
        "but the last moments, and writing is several times faster.",
    )
    agents: int = Field(3, ge=1, le=256, description="How many agents `fleet run` seats.")
    coder: str = Field(
        "scripted", min_length=1, description="The agent program for tasks that name none."
    )
    model: str | None = Field(None, description="The model for tasks that name none.")
    attempts: int = Field(3, ge=1, description="How often a task is tried before it fails.")
    rest_s: float = Field(
        2.0,
        ge=0,
        description="Rest after a first failed attempt; it doubles with each further one.",
    )
    longest_rest_s: float = Field(300.0, ge=0, description="The longest rest between attempts.")
    lease_s: float = Field(
        30.0, gt=0, description="How long a runner may be silent before its work is given away."
    )
    timeout_s: float = Field(3600.0, gt=0, description="The longest that one run may take.")
    quiet_s: float = Field(
        120.0, gt=0, description="Silence after which an agent is shown as quiet."
    )
    stuck_s: float = Field(
        600.0, gt=0, description="Silence of output, processor and files that counts as stuck."
    )
    grace_s: float = Field(
        10.0, ge=0, description="Time between asking an agent to stop and killing it."
    )
    check_timeout_s: float = Field(
        900.0, gt=0, description="The longest that one check command may take."
    )
    radar_s: float = Field(
        3.0, gt=0, description="How often agents at work are probed for colliding changes."
    )
    landing: Landing = Field(
        Landing.QUEUE,
        description="How finished work reaches the trunk: `queue` by itself, `review` after a "
        "human's approval, `branch` not at all.",
    )
    trunk: str | None = Field(
        None, description="The branch that work starts from and lands on; found by itself."
    )
    checks: tuple[str, ...] = Field(
        (), description="Commands that must succeed before work lands, besides the task's own."
    )
    setup: str | None = Field(
        None, description="A command that prepares a fresh worktree; it runs without a shell."
    )
    keep: tuple[str, ...] = Field(
        (), description="Globs of ignored files, such as caches, that survive between runs."
    )
    environment: tuple[str, ...] = Field(
        (), description="Names of variables that agents may see besides the basic ones."
    )
    keep_runs_days: float = Field(
        14.0, ge=0, description="Age after which `fleet gc` removes the files of an ended run."
    )
    coders: dict[str, dict[str, Any]] = Field(
        {}, description="A table `[coders.NAME]` per agent program: options handed to it."
    )
    repos: dict[str, dict[str, Any]] = Field(
        {}, description="A table `[repos.NAME]` per repo, in the home's file: settings for it."
    )

    _sources: dict[str, str] = PrivateAttr(default_factory=dict)

    def source(self, key: str) -> str:
        """Where the value of `key` came from, as one would tell a user."""
        return self._sources.get(key, "default")


KEYS = tuple(Config.model_fields)
FLEET_WIDE = frozenset(
    {"store", "durability", "agents", "lease_s", "radar_s", "keep_runs_days", "repos"}
)
NOT_IN_A_REPO = FLEET_WIDE | {"environment"}  # a repo may be anybody's: it may not ask for secrets


class Layer(NamedTuple):
    """Settings that came from one place."""

    source: str
    values: Mapping[str, Any]
    file: Path | None = None
    text: str = ""
    table: str = ""
    forbidden: frozenset[str] = frozenset()

    def place(self, key: str) -> str:
        """Where a human finds this key: a file and its line, a variable or a flag."""
        if not self.file:
            return f"--{key}" if self.source == "flag" else self.source
        line = line_of(key, self.table, self.text)
        return f"{self.file}, line {line}" if line else str(self.file)


def fleet_home(env: Mapping[str, str]) -> Path:
    """The fleet's own folder: $FLEET_HOME, or ~/.fleet."""
    named = env.get("FLEET_HOME")
    return Path(named).expanduser().absolute() if named else Path.home() / ".fleet"


def load(
    home: Path,
    *,
    repo: Path | None = None,
    repo_name: str | None = None,
    env: Mapping[str, str],
    flags: Mapping[str, object] | None = None,
) -> Config:
    """Read all settings that hold here; refuse the first that cannot be used, and say where."""
    layers = [*_home_layers(home, repo_name)]
    if repo:
        layers.append(_file_layer(repo / FILE, in_repo=True))
    layers += _env_layers(env)
    layers.append(Layer("flag", {k: v for k, v in (flags or {}).items() if v is not None}))
    merged: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for layer in layers:
        _check(layer)
        for key, value in layer.values.items():
            merged[key] = _joined(merged.get(key, {}), value) if key == "coders" else value
            sources[key] = layer.source
    config = Config.model_validate(merged)
    config._sources.update(sources)
    return config


class Live:
    """The settings of a running fleet: read again when a file changes, kept when it turns bad."""

    def __init__(self, load: Callable[[], Config], files: Sequence[Path]) -> None:
        self._load = load
        self._files = files
        self._stamps = self._look()
        self.config = load()

    def refresh(self) -> Literal["changed"] | FleetError | None:
        """Take over changed files; a mistake is returned once, and the last good settings stay."""
        stamps = self._look()
        if stamps == self._stamps:
            return None
        self._stamps = stamps
        try:
            config = self._load()
        except FleetError as mistake:
            return mistake
        same = config == self.config
        self.config = config
        return None if same else "changed"

    def _look(self) -> list[tuple[int, int, int] | None]:
        return [_stamp(file) for file in self._files]


def set_value(path: Path, key: str, text: str, *, in_repo: bool = False) -> None:
    """Set one key in a file, its comments kept; an empty text takes the key out again."""
    import tomlkit  # here, because only this verb writes

    _file_layer(path, in_repo=in_repo)  # a file that is broken already is not made worse
    document = tomlkit.parse(_read(path))
    *tables, name = _split(key)
    table: Any = document
    for part in tables:
        table = table.setdefault(part, tomlkit.table(is_super_table=part in ("coders", "repos")))
    if text:
        table[name] = value_of(key, text)
    else:
        table.pop(name, None)
    written = tomlkit.dumps(document)
    layer = _file_layer(path, in_repo=in_repo, text=written)
    _check(layer)
    for each in _repo_tables(layer):
        _check(each)
    _replace(path, written)


def value_of(key: str, text: str) -> Any:
    """A value as a human types it: a list may be TOML or separated by commas."""
    if key.startswith("repos."):
        return value_of(_split(key)[2], text)
    if key.startswith("coders."):
        return _toml_or_text(text)
    kind = Config.model_fields[key].annotation
    if get_origin(kind) is tuple:
        listed = text.lstrip().startswith("[")
        return _toml_or_text(text) if listed else [item.strip() for item in text.split(",")]
    return _toml_or_text(text) if kind in (int, float) else text


def sample() -> str:
    """A file of commented defaults, for a new home."""
    lines = ["# The settings of this fleet. Take away a `#` to change one.", ""]
    for key, field in Config.model_fields.items():
        if get_origin(field.annotation) is not dict:
            value = "..." if field.default is None else toml(field.default)
            lines += [f"# {field.description}", f"# {key} = {value}", ""]
    return "\n".join(lines)


def toml(value: object) -> str:
    """A plain value as TOML writes it, which for numbers, texts and lists is how JSON does."""
    return json.dumps(value, ensure_ascii=False, default=list)


def nearest(word: str, known: Sequence[str]) -> str | None:
    """The known word that was probably meant."""
    from difflib import get_close_matches  # here, because only a mistake needs it

    return next(iter(get_close_matches(word, known, n=1)), None)


def line_of(key: str, table: str, text: str) -> int | None:
    """The number of the line that sets `key` in `table`, as far as simple lines tell."""
    here = ""
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.strip()
        if words.startswith("["):
            here = words.strip("[]").replace('"', "")
            if not table and here.split(".")[0] == key:
                return number
        elif here == table and words.split("=")[0].strip() == key:
            return number
    return None


def _home_layers(home: Path, repo_name: str | None) -> Iterator[Layer]:
    main = _file_layer(home / FILE)
    yield main
    for table in _repo_tables(main):
        _check(table)  # also those of other repos: a mistake shows at once, not some day
        if table.table == f"repos.{repo_name}":
            yield table


def _repo_tables(main: Layer) -> Iterator[Layer]:
    tables = main.values.get("repos", {})
    for name, values in tables.items() if isinstance(tables, dict) else ():
        if isinstance(values, dict):
            table = f"repos.{name}"
            source = f"{main.source} [{table}]"
            yield Layer(source, values, main.file, main.text, table, FLEET_WIDE)


def _env_layers(env: Mapping[str, str]) -> Iterator[Layer]:
    for key, field in Config.model_fields.items():
        name = f"FLEET_{key.upper()}"
        if env.get(name) and get_origin(field.annotation) is not dict:
            yield Layer(name, {key: value_of(key, env[name])})


def _file_layer(path: Path, *, in_repo: bool = False, text: str | None = None) -> Layer:
    text = _read(path) if text is None else text
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as wrong:
        raise BadConfig(f"{path} is not TOML: {wrong}", hint="mend that line") from None
    if in_repo:
        return Layer(f"repo: {path}", values, path, text, forbidden=NOT_IN_A_REPO)
    return Layer(f"home: {path}", values, path, text)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except (OSError, UnicodeDecodeError) as wrong:
        raise BadConfig(f"cannot read {path}: {wrong}", hint="mend or remove that file") from wrong


def _check(layer: Layer) -> None:
    for key in layer.forbidden & layer.values.keys():
        raise BadConfig(
            f"{layer.place(key)}: {key} cannot be set here",
            hint=f"set it for the whole fleet: `fleet config set {key} VALUE`",
        )
    try:
        Config.model_validate(layer.values)
    except ValidationError as wrong:
        raise _explained(layer, wrong) from None


def _explained(layer: Layer, wrong: ValidationError) -> BadConfig:
    first = wrong.errors(include_url=False)[0]
    key = str(first["loc"][0])
    if first["type"] == "extra_forbidden":
        return unknown(key, layer.place(key))
    said = first["msg"].removeprefix("Input ")
    name = ".".join(str(part) for part in first["loc"])
    return BadConfig(
        f"{layer.place(key)}: {name} {said}, not {toml(first['input'])[:80]}",
        hint=f"{key}: {Config.model_fields[key].description}",
    )


def unknown(key: str, place: str = "") -> BadConfig:
    """What to say of a setting that does not exist."""
    meant = nearest(key, KEYS)
    return BadConfig(
        f"{place}: there is no setting {key!r}" if place else f"there is no setting {key!r}",
        hint=f"did you mean {meant}?" if meant else "`fleet config show` lists every setting",
    )


def _split(key: str) -> list[str]:
    """A dotted key as its parts; only the tables of coders and repos have parts."""
    parts = key.split(".")
    if parts[0] not in KEYS:
        raise unknown(parts[0])
    kind = Config.model_fields[parts[0]].annotation
    if len(parts) != (3 if get_origin(kind) is dict else 1) or not all(parts):
        raise BadConfig(
            f"{key!r} is not the name of one setting",
            hint="settings are like agents, coders.command.argv or repos.shop.landing",
        )
    if parts[0] == "repos" and parts[2] not in KEYS:
        raise unknown(parts[2])
    return parts


def _joined(weak: Mapping[str, Any], strong: Mapping[str, Any]) -> dict[str, Any]:
    """Options of coders: those of the stronger place win one by one."""
    return {**weak, **{name: {**weak.get(name, {}), **its} for name, its in strong.items()}}


def _toml_or_text(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _stamp(file: Path) -> tuple[int, int, int] | None:
    try:
        seen = file.stat()
    except OSError:
        return None
    return seen.st_mtime_ns, seen.st_size, seen.st_ino


def _replace(path: Path, text: str) -> None:
    """All of the new file or all of the old one, also when the power goes."""
    target = path.resolve()  # a link stays a link
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f".{target.name}.{os.getpid()}")
        with draft.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(target)
    except OSError as wrong:
        raise BadConfig(f"cannot write {path}: {wrong}", hint="may you write there?") from wrong
