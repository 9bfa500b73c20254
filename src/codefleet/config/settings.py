"""Every setting there is, and where it may be set."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, PrivateAttr
from typing_extensions import TypedDict

from codefleet.domain.noun import Noun
from codefleet.domain.policy import Rule
from codefleet.domain.prices import Price
from codefleet.domain.routing import Route
from codefleet.domain.words import Landing


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
    answer_s: float = Field(
        3600.0,
        gt=0,
        description="How long an agent waits in its turn for an answer, before it ends its turn "
        "and the next run gets it.",
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
        True,
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
    *("coders", "permission_s", "answer_s", "environment", "run_budget_usd", "run_budget_tokens"),
    *("repo_day_budget_usd", "repo_day_budget_tokens", "most_agents", "spawn_depth"),
    "agent_tools",
}
