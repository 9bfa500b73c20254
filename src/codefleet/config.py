"""Settings: `fleet.toml` files, FLEET_* variables and flags -> one frozen Config.

The Config knows where each value came from. From weakest to strongest: the default, the home's
file, its table for the repo, the repo's own file, a FLEET_* variable, a flag.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_origin

from pydantic import ConfigDict, Field, PrivateAttr, ValidationError
from typing_extensions import TypedDict

from codefleet.config_names import OLD_HOME, OLD_NAMES
from codefleet.domain import command
from codefleet.domain.errors import BadConfig, Invalid
from codefleet.domain.model import Landing, Noun
from codefleet.domain.policy import Rule, Ruling
from codefleet.domain.prices import Price
from codefleet.domain.routing import Route

FILE = "fleet.toml"


class CoderOptions(TypedDict, total=False):
    """What the options that coders share must look like; each coder may have more of its own."""

    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]  # pydantic reads it here

    argv: Annotated[list[str], Field(min_length=1)]
    args: list[str]
    env: dict[str, str]
    program: Annotated[str, Field(min_length=1)]
    account: Annotated[str, Field(min_length=1)]
    most_agents: Annotated[int, Field(ge=1)]
    model: Annotated[str, Field(min_length=1)]


class Config(Noun):
    """Every setting of a fleet, each with its meaning."""

    store: str = Field("", description="Address of the store; empty means a file in the home.")
    durability: Literal["full", "normal"] = Field(
        "full",
        description="What survives a power cut: `full`, all that was acknowledged; `normal`, all "
        "but the last moments, and writing is several times faster.",
    )
    host: str = Field(
        "", description="The name of this machine in the fleet; empty means the system's own."
    )
    agents: int = Field(3, ge=1, le=256, description="How many agents `fleet run` seats.")
    most_agents: int | None = Field(
        None,
        ge=1,
        description="The most agents at work in the whole fleet; for one repo or coder, say it in "
        "their table.",
    )
    most_agents_per_machine: int | None = Field(
        None, ge=1, description="The most agents at work on one machine."
    )
    coder: str = Field(
        "scripted", min_length=1, description="The agent program for tasks that name none."
    )
    model: str | None = Field(None, description="The model for tasks that name none.")
    fallback: str | None = Field(
        None,
        min_length=1,
        description="The coder that goes on with a task, once, while the account of its own rests.",
    )
    route: tuple[Route, ...] = Field(
        (),
        description="Rules `[[route]]` that choose coder and model for tasks that name none; the "
        "first that fits counts.",
    )
    attempts: int = Field(3, ge=1, description="How often a task is tried before it fails.")
    rest_s: float = Field(
        2.0,
        ge=0,
        description="Rest after a first failed attempt; it doubles with each further one.",
    )
    longest_rest_s: float = Field(300.0, ge=0, description="The longest rest between attempts.")
    lease_s: float = Field(
        30.0, ge=2, description="How long a runner may be silent before its work is given away."
    )
    timeout_s: float = Field(3600.0, gt=0, description="The longest that one run may take.")
    quiet_s: float = Field(
        120.0, gt=0, description="Silence after which an agent is shown as quiet."
    )
    stuck_s: float = Field(
        600.0, gt=0, description="Silence of output, processor and files that counts as stuck."
    )
    tool_s: float = Field(
        3600.0, gt=0, description="The same while the agent waits for a tool, which may take long."
    )
    context_share: float = Field(
        0.9,
        gt=0,
        le=1,
        description="How full an agent's context may get before a fresh run goes on.",
    )
    restarts: int = Field(
        2, ge=0, description="How often a stuck agent is started again before its task fails."
    )
    limit_rest_s: float = Field(
        4.0,
        gt=0,
        description="Rest after a limit that does not say when it ends; it doubles each time.",
    )
    longest_limit_rest_s: float = Field(
        60.0, gt=0, description="The longest rest after such a limit."
    )
    grace_s: float = Field(
        10.0, ge=0, description="Time between asking an agent to stop and killing it."
    )
    check_timeout_s: float = Field(
        900.0, gt=0, description="The longest that one check command may take."
    )
    radar_s: float = Field(
        3.0, ge=0.1, description="How often agents at work are probed for colliding changes."
    )
    memory_reserve_mb: int = Field(
        512, ge=0, description="Memory that must stay free when another agent is started, in MB."
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
    policy: tuple[Rule, ...] = Field(
        (),
        description="Rules `[[policy]]` that allow, deny or ask when an agent wants to use a tool; "
        "those of all places count, and a repo's own file can not allow.",
    )
    permission_s: float = Field(
        86400.0, gt=0, description="How long a request to use a tool waits before it is denied."
    )
    environment: tuple[str, ...] = Field(
        (), description="Names of variables that agents may see besides the basic ones."
    )
    run_budget_usd: float | None = Field(
        None, gt=0, description="The most that one run may cost, in US dollars."
    )
    run_budget_tokens: int | None = Field(
        None, gt=0, description="The most tokens that one run may use."
    )
    repo_day_budget_usd: float | None = Field(
        None, gt=0, description="The most that one repo may cost in a day, in US dollars."
    )
    repo_day_budget_tokens: int | None = Field(
        None, gt=0, description="The most tokens that one repo may use in a day."
    )
    day_budget_usd: float | None = Field(
        None, gt=0, description="The most that the whole fleet may cost in a day, in US dollars."
    )
    day_budget_tokens: int | None = Field(
        None, gt=0, description="The most tokens that the whole fleet may use in a day."
    )
    prices: dict[str, Price] = Field(
        {},
        description='A table `[prices."MODEL"]` per model: US dollars per million tokens of '
        "`input`, `output` and `cached` input; it wins over the prices that come with codefleet.",
    )
    idle_s: float = Field(
        900.0,
        ge=0,
        description="How long a runner in the background stays without work before it ends.",
    )
    allowed_repos: tuple[str, ...] = Field(
        (), description="Folders whose repositories the fleet may work on; none named means all."
    )
    spawn_depth: int = Field(
        2, ge=0, description="How deep tasks that agents create may lie below a human's."
    )
    agent_tools: bool = Field(
        False,
        description="Give agents tools of the fleet over MCP: ask, report, note, create tasks.",
    )
    keep_runs_days: float = Field(
        14.0, ge=0, description="Age after which `fleet gc` removes the files of an ended run."
    )
    coders: dict[str, CoderOptions] = Field(
        {}, description="A table `[coders.NAME]` per agent program: options handed to it."
    )
    repos: dict[str, dict[str, Any]] = Field(
        {}, description="A table `[repos.NAME]` per repo, in the home's file: settings for it."
    )

    _sources: dict[str, str] = PrivateAttr(default_factory=dict)

    def source(self, key: str) -> str:
        """Where the value of `key` came from, as one would tell a user."""
        return self._sources.get(key, "default")

    def for_repo(self, name: str) -> "Config":
        """The settings as the home's table for this repo changes them; its own file is not read."""
        table = self.repos.get(name, {})
        weaker = ("default", "home:")  # than that table; a variable or a flag is stronger
        return self.evolve(**{k: v for k, v in table.items() if self.source(k).startswith(weaker)})


KEYS = tuple(Config.model_fields)
FLEET_WIDE = frozenset(
    {
        *("store", "durability", "host", "agents", "lease_s", "radar_s", "memory_reserve_mb"),
        *("most_agents_per_machine",),
        *("keep_runs_days", "repos", "day_budget_usd", "day_budget_tokens", "prices"),
        *("idle_s", "allowed_repos"),
    }
)
NOT_IN_A_REPO = FLEET_WIDE | {  # a repo may be anybody's: it may not take leave, secrets or money
    *("coders", "permission_s", "environment", "run_budget_usd", "run_budget_tokens"),
    *("repo_day_budget_usd", "repo_day_budget_tokens", "most_agents", "spawn_depth"),
    "agent_tools",
}


def without_password(address: str) -> str:
    """A store's address as it may be shown."""
    without = re.sub(r"(://[^:/?#@]*):.*@", r"\1:***@", address)
    return re.sub(r"(password=)[^&\s]*", r"\1***", without)


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
    """The fleet's own folder: $FLEET_HOME, or its older name, or ~/.fleet."""
    named = env.get("FLEET_HOME") or env.get(OLD_HOME)
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
        layers.append(file_layer(repo / FILE, in_repo=True))
    layers += _env_layers(env)
    layers.append(Layer("flag", {k: v for k, v in (flags or {}).items() if v is not None}))
    merged: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for layer in layers:
        check(layer)
        for key, value in layer.values.items():
            merged[key] = _laid_over(key, merged.get(key), value)
            sources[key] = layer.source
    # Where nothing is set there is nothing to check, and what would check it takes time to build.
    config = Config.model_validate(merged) if merged else Config.model_construct()
    config._sources.update(sources)
    return config


def value_of(key: str, text: str) -> Any:
    """A value as a human types it: a list may be TOML or separated by commas."""
    kind = Config.model_fields[key].annotation
    if get_origin(kind) is tuple:
        if text.lstrip().startswith("["):
            return parsed(text)
        return [item.strip() for item in text.split(",") if item.strip()]
    numbers = (int, float, int | None, float | None)
    return parsed(text) if kind in numbers else text


def toml(value: object) -> str:
    """A plain value as TOML writes it, which for numbers, texts and lists is how JSON does."""
    return json.dumps(value, ensure_ascii=False, default=str)


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
    main = file_layer(home / FILE)
    yield main
    for table in repo_tables(main):
        check(table)  # also those of other repos: a mistake shows at once, not some day
        if table.table == f"repos.{repo_name}":
            yield table


def repo_tables(main: Layer) -> Iterator[Layer]:
    """What the home's file says of single repos."""
    tables = main.values.get("repos", {})
    for name, values in tables.items() if isinstance(tables, dict) else ():
        if isinstance(values, dict):
            table = f"repos.{name}"
            source = f"{main.source} [{table}]"
            yield Layer(source, values, main.file, main.text, table, FLEET_WIDE)


def _env_layers(env: Mapping[str, str]) -> Iterator[Layer]:
    """Older names come first: where both are set, ours is the stronger."""
    for name, (key, *path) in OLD_NAMES.items():
        if env.get(name):
            yield Layer(name, {key: _nested(path, env[name]) if path else value_of(key, env[name])})
    for key, field in Config.model_fields.items():
        name = f"FLEET_{key.upper()}"
        if env.get(name) and get_origin(field.annotation) is not dict:
            yield Layer(name, {key: value_of(key, env[name])})


def _nested(path: Sequence[str], value: str) -> Any:
    return {path[0]: _nested(path[1:], value)} if path else value


def file_layer(path: Path, *, in_repo: bool = False, text: str | None = None) -> Layer:
    """The settings of one file, or of the text that it shall have."""
    text = read(path) if text is None else text
    try:
        values = _toml_values(text)
    except ValueError as wrong:
        raise BadConfig(f"{path} is not TOML: {wrong}", hint="mend that line") from None
    if in_repo:
        return Layer(f"repo: {path}", values, path, text, forbidden=NOT_IN_A_REPO)
    return Layer(f"home: {path}", values, path, text)


def read(path: Path) -> str:
    """The text of a file; one that is not there is empty."""
    try:
        return path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except (OSError, UnicodeDecodeError) as wrong:
        why = wrong.strerror if isinstance(wrong, OSError) else "it is not UTF-8 text"
        raise BadConfig(f"cannot read {path}: {why}", hint="mend or remove that file") from wrong


def check(layer: Layer) -> None:
    """Refuse the first setting that cannot be used, and say where it stands."""
    for key in sorted(layer.forbidden & layer.values.keys()):
        raise BadConfig(
            f"{layer.place(key)}: {key} cannot be set here",
            hint=f"set it for the whole fleet: `fleet config set {key} VALUE`"
            if key in FLEET_WIDE
            else f"put it into the home's fleet.toml; for one repo: [repos.NAME] {key}",
        )
    if not layer.values:
        return
    try:
        policy = Config.model_validate(layer.values).policy
    except ValidationError as wrong:
        raise _explained(layer, wrong) from None
    _check_commands(layer)
    _check_policy(layer, policy)


def _check_commands(layer: Layer) -> None:
    setup = layer.values.get("setup")
    commands = {"checks": layer.values.get("checks", ()), "setup": () if setup is None else [setup]}
    for key, said in commands.items():
        try:
            command.valid(said)
        except Invalid as wrong:
            problem = f"{layer.place(key)}: {key}: {wrong.problem}"
            raise BadConfig(problem, hint=wrong.hint) from None


def _check_policy(layer: Layer, policy: Sequence[Rule]) -> None:
    """A repo may be anybody's: it may forbid its agents more, but not give them leave."""
    allows = any(rule.then is Ruling.ALLOW for rule in policy)
    if allows and layer.forbidden == NOT_IN_A_REPO:
        raise BadConfig(
            f"{layer.place('policy')}: a repo's own file can deny and ask, but not allow",
            hint="put it into the home's fleet.toml; for one repo, under [[repos.NAME.policy]]",
        )


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


def _laid_over(key: str, weak: Any, strong: Any) -> Any:
    """A stronger place replaces a weaker one, but adds to the options of coders and the policy."""
    if key == "coders":
        return _joined(weak or {}, strong)
    return [*(weak or ()), *strong] if key == "policy" else strong


def _joined(weak: Mapping[str, Any], strong: Mapping[str, Any]) -> dict[str, Any]:
    """Options of coders: those of the stronger place win one by one."""
    return {**weak, **{name: {**weak.get(name, {}), **its} for name, its in strong.items()}}


def parsed(text: str) -> Any:
    """A text as TOML reads it as a value; one that is no value stands for itself."""
    try:
        return _toml_values(f"value = {text}")["value"]
    except ValueError:
        return text


def _toml_values(text: str) -> dict[str, Any]:
    """What a text in TOML says; one that is none is a ValueError."""
    if not text:
        return {}
    import tomllib  # here, because most commands find no file to read

    return tomllib.loads(text)
