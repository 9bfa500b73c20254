"""Every setting, what it means, and where it may be set."""

import ast
import inspect
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal, get_type_hints

import msgspec
from msgspec import Meta, field

from codefleet.domain.noun import MOST, Amount, Count, Days, Duration, Natural, Noun, Positive, Text
from codefleet.domain.permissions import Rule
from codefleet.domain.prices import Price
from codefleet.domain.routing import Route
from codefleet.domain.words import AgentTools, LandingMode


class CoderOptions(msgspec.Struct):
    """The format of the options that coders share; each coder may have more of its own."""

    argv: Annotated[list[str], Meta(min_length=1)] | None = None
    args: list[str] | None = None
    env: dict[str, str] | None = None
    program: Text | None = None
    account: Text | None = None
    most_agents: Count | None = None
    model: Text | None = None


class Coders(msgspec.Struct):
    """The tables of coders, as far as they can be checked."""

    coders: dict[str, CoderOptions]


class Config(Noun):
    """Every setting of a fleet. The text below each is its description, shown to users too."""

    store: str = ""
    """Address of the store; empty means a file in the home."""

    store_direct: str = ""
    """Address of the PostgreSQL server itself if `store` leads to a pgbouncer; used to receive
    notifications."""

    durability: Literal["full", "normal"] = "full"
    """What survives a power cut: `full`, everything acknowledged; `normal`, everything but the last
    moments, and writes are several times faster."""

    host: str = ""
    """The name of this machine in the fleet; empty means its hostname."""

    agents: Annotated[int, Meta(ge=1, le=256)] = 3
    """How many agents `fleet run` runs at once."""

    most_agents: Count | None = None
    """The most agents at work in the whole fleet; for one repo or coder, set it in their table."""

    most_agents_per_machine: Count | None = None
    """The most agents at work on one machine."""

    coder: Text = "scripted"
    """The coder for tasks that name none."""

    model: str | None = None
    """The model for tasks that name none."""

    fallback: Text | None = None
    """The coder that takes over a task, once, while the account of its own rests."""

    route: tuple[Route, ...] = ()
    """Rules `[[route]]` that choose coder and model for tasks that name none; the first match
    wins."""

    attempts: Count = 3
    """How often a task is tried before it fails."""

    rest_s: Amount = 2.0
    """Rest after the first failed attempt, in seconds; it doubles with each further one."""

    longest_rest_s: Amount = 300.0
    """The longest rest between attempts."""

    lease_s: Annotated[float, Meta(ge=2, le=MOST)] = 30.0
    """How long a runner may be silent before its work is given to another."""

    timeout_s: Positive = 3600.0
    """The longest time that one run may take."""

    quiet_s: Positive = 120.0
    """Time without output after which an agent is shown as quiet."""

    stuck_s: Positive = 600.0
    """Time without output, processor use or file changes after which an agent counts as stuck."""

    tool_s: Positive = 3600.0
    """The same while the agent waits for a tool, which may take long."""

    context_share: Annotated[float, Meta(gt=0, le=1)] = 0.9
    """Share of the context window that an agent may fill before a fresh run continues."""

    restarts: Natural = 2
    """How often a stuck agent is restarted before its task fails."""

    limit_rest_s: Positive = 4.0
    """Rest of a task after a rate limit without a reset time; it doubles each time."""

    longest_limit_rest_s: Positive = 60.0
    """The longest rest after such a limit."""

    quota_rest_s: Positive = 300.0
    """Rest of an account after a usage limit without a reset time; it doubles if repeated."""

    longest_quota_rest_s: Positive = 3600.0
    """The longest such rest of an account."""

    grace_s: Amount = 10.0
    """Time between asking an agent to stop and killing it."""

    check_timeout_s: Positive = 900.0
    """The longest time that one check command may take."""

    radar_s: Annotated[float, Meta(ge=0.1, le=MOST)] = 3.0
    """How often agents at work are checked for conflicting changes."""

    memory_reserve_mb: Natural = 512
    """Memory that must stay free when another agent is started, in MB."""

    landing: LandingMode = LandingMode.QUEUE
    """How finished work reaches the trunk: `queue` automatically, `review` after a human's
    approval, `branch` not at all."""

    trunk: str | None = None
    """The branch that work starts from and lands on; detected if not set."""

    checks: tuple[str, ...] = ()
    """Commands that must succeed before work lands, besides the task's own."""

    setup: str | None = None
    """A command that prepares a fresh worktree; it runs without a shell."""

    keep: tuple[str, ...] = ()
    """Globs of ignored files, such as caches, to keep between runs."""

    policy: tuple[Rule, ...] = ()
    """Rules `[[policy]]` that allow, deny or ask when an agent wants to use a tool; the rules of
    all places count, and a repo's own file cannot allow."""

    permission_s: Positive = 86400.0
    """How long a request to use a tool may wait before it is denied."""

    answer_s: Positive = 3600.0
    """How long an agent waits in its turn for an answer; then it ends its turn, and the next run
    gets the answer."""

    environment: tuple[str, ...] = ()
    """Names of environment variables that agents may see besides the basic ones."""

    run_budget_usd: Positive | None = None
    """The most that one run may cost, in US dollars."""

    run_budget_tokens: Count | None = None
    """The most tokens that one run may use."""

    repo_day_budget_usd: Positive | None = None
    """The most that one repo may cost in a day, in US dollars."""

    repo_day_budget_tokens: Count | None = None
    """The most tokens that one repo may use in a day."""

    day_budget_usd: Positive | None = None
    """The most that the whole fleet may cost in a day, in US dollars."""

    day_budget_tokens: Count | None = None
    """The most tokens that the whole fleet may use in a day."""

    prices: dict[str, Price] = field(default_factory=dict)
    """A table `[prices."MODEL"]` per model: US dollars per million `input`, `output` and
    `cached` input tokens; it overrides the prices that come with codefleet."""

    windows: dict[str, Count] = field(default_factory=dict)
    """A table `[windows]` of context windows in tokens, by model; it overrides those that come with
    codefleet. A coder's name stands for its runs with an unknown model."""

    idle_s: Amount = 900.0
    """How long a background runner stays without work before it ends."""

    allowed_repos: tuple[str, ...] = ()
    """Folders whose repositories the fleet may work on; empty means all."""

    spawn_depth: Natural = 2
    """How many levels of tasks agents may create below a human's task."""

    spawn_tasks: Natural = 100
    """How many tasks agents may create below one human's task, all levels together."""

    spawn_coders: tuple[Text, ...] = ()
    """Coders that agents may choose for tasks they create, besides their own."""

    spawn_models: tuple[Text, ...] = ()
    """Models that agents may choose for tasks they create, besides their own."""

    spawn_checks: tuple[Text, ...] = ()
    """Globs of check commands that agents may give to tasks they create, such as `pytest *`,
    besides those of their own task and of your settings."""

    token_ttl: Duration = "24h"
    """How long a new token of a member is valid: `30m`, `24h`, `7d`."""

    agent_tools: AgentTools = AgentTools.HTTP
    """How agents get the fleet's tools (ask, report, note, create tasks): `http` from one address
    of their runner, if their program takes that; `stdio` from a process per agent; or `off`."""

    keep_runs_days: Days = 14.0
    """Age after which `fleet gc` removes the files of an ended run."""

    coders: dict[str, dict[str, Any]] = field(default_factory=dict)
    """A table `[coders.NAME]` per coder: its options."""

    repos: dict[str, dict[str, Any]] = field(default_factory=dict)
    """A table `[repos.NAME]` per repo, in the home's file: its settings."""

    sources: dict[str, str] = field(default_factory=dict)

    def source(self, key: str) -> str:
        """Where the value of `key` came from, as shown to users."""
        return self.sources.get(key, "default")

    def for_repo(self, name: str) -> "Config":
        """The settings with the home's table for this repo applied; its own file is not read."""
        table = self.repos.get(name, {})
        weaker = ("default", "home:")  # weaker than that table, unlike a variable or a flag
        stronger = {k: v for k, v in table.items() if self.source(k).startswith(weaker)}
        meant = msgspec.convert(stronger, Config)
        return self.evolve(**{key: getattr(meant, key) for key in stronger})


KEYS = tuple(name for name in Config.__struct_fields__ if name != "sources")
DEFAULT = Config()
FLEET_WIDE = frozenset(
    {
        *("store", "durability", "host", "agents", "lease_s", "radar_s", "memory_reserve_mb"),
        *("most_agents_per_machine", "store_direct"),
        *("keep_runs_days", "repos", "day_budget_usd", "day_budget_tokens", "prices"),
        "windows",
        *("idle_s", "allowed_repos", "token_ttl"),
    }
)
NOT_IN_A_REPO = FLEET_WIDE | {  # not trusted with permissions, secrets or money
    *("coders", "permission_s", "answer_s", "environment", "run_budget_usd", "run_budget_tokens"),
    *("repo_day_budget_usd", "repo_day_budget_tokens", "most_agents"),
    *("spawn_depth", "spawn_tasks", "spawn_coders", "spawn_models", "spawn_checks"),
    "agent_tools",
}


@cache
def meanings(kind: type[Noun] = Config) -> Mapping[str, str]:
    """The meaning of each field of a kind of settings: the text below it."""
    (found,) = ast.parse(inspect.getsource(kind)).body
    assert isinstance(found, ast.ClassDef)
    said: dict[str, str] = {}
    for one, text in zip(found.body, found.body[1:], strict=False):
        match one, text:
            case ast.AnnAssign(target=ast.Name(name)), ast.Expr(value=ast.Constant(str(meaning))):
                said[name] = " ".join(meaning.split())
    return said


@cache
def types() -> Mapping[str, Any]:
    """The type of each setting."""
    return get_type_hints(Config)
