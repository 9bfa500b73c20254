"""Who asks, and who may do what: one table.

The local human may do everything, and so may a runner, which acts for its human. The owner is the
same human over a network, and may do almost everything. The holder of a token may do what its role
may, within its team: it sees nothing else. A run's agent may do only what is listed for agents, and
only as far as its reach. Listing and reading the tasks of one's own team is free. What is not in
the table, only the local human may do.

No right lets anybody complete a task: git and the checks decide that. Claims on files belong to
`TALK`, and whoever may `LAND` and `REJECT` resolves conflicts.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from codefleet.domain.errors import Forbidden
from codefleet.domain.model import RunId, TokenId
from codefleet.domain.noun import Noun
from codefleet.domain.team import member_id
from codefleet.domain.words import Role


class Human(Noun):
    """Whoever sits at the machine that the fleet's home is on."""

    def __str__(self) -> str:
        return "human"


class Owner(Noun):
    """Whoever has the owner's token, which is in a file of the home."""

    def __str__(self) -> str:
        return "owner"


NO_TOKEN = TokenId("")
"""That of the local human who acts as a member: it can neither expire nor be revoked."""


class Holder(Noun):
    """The holder of a token: a member of a team, with a role."""

    token: TokenId
    handle: str
    team: str
    role: Role

    def __str__(self) -> str:
        return member_id(self.team, self.handle)


class AgentOf(Noun):
    """The agent of a run."""

    run: RunId

    def __str__(self) -> str:
        return f"run {self.run}"


class RunnerOn(Noun):
    """A runner on some machine."""

    host: str

    def __str__(self) -> str:
        return f"runner {self.host}"


Actor = Human | Owner | Holder | AgentOf | RunnerOn
HUMAN = Human()
OWNER = Owner()


class Right(StrEnum):
    """What can be permitted or refused, in words that complete "may not ..."."""

    READ_STATUS = "see the status"
    READ_OUTPUT = "read the output of others"
    ADD = "add tasks"
    SPAWN = "spawn workers"
    SWARM = "manage swarms"
    TALK = "talk to other agents"
    LISTEN = "read what agents tell each other"
    COMMIT = "commit a worktree"
    PUSH = "push a branch"
    START = "start a workflow"
    ASSIGN = "assign"
    EDIT = "edit"
    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"
    RETRY = "retry"
    RETRY_WORKFLOW = "retry a workflow"
    CLEAN_UP = "clean up"
    ANSWER = "answer"
    LAND = "land"
    REJECT = "reject"
    SEND = "send messages"
    BROADCAST = "send messages to all"
    ALERT = "raise an alert"
    NOTIFY = "notify"
    MOVE_TASK = "choose the team of a task"
    MANAGE_TEAMS = "manage teams"
    PAUSE_FLEET = "pause or resume the whole fleet"
    MEASURE = "read the numbers of the whole fleet"
    WAKE = "wake an account"
    COLLECT = "remove what is old"
    ADD_REPO = "add a repository"
    MOVE_REPO = "move a repository"
    ARCHIVE = "archive events"
    EXPORT = "export a fleet"
    SHARE_REPO = "share a repository"
    RUN_AGENTS = "run agents"
    IMPORT = "import a fleet"
    RESET = "move or reset a fleet"
    ROTATE = "rotate the keys of tokens"
    SET_UP = "set up a fleet"
    CHANGE_SETTINGS = "change settings"


class Reach(StrEnum):
    """Which tasks an agent may use a right on."""

    NEW = "new"
    BELOW = "below"
    """Those that it created, and those that they created in turn."""
    RELATED = "related"
    """Its own, those that it needs, and those below."""
    ALL = "all"


class Allowed(NamedTuple):
    """The roles that have a right, how far it reaches for an agent, and if the owner has it."""

    roles: frozenset[Role] = frozenset()
    agents: Reach | None = None
    owner: bool = True


PLANNERS = frozenset({Role.TEAM_LEAD, Role.COORDINATOR})
WORKERS = PLANNERS | {Role.WORKER}
MERGERS = PLANNERS | {Role.MERGER}
OBSERVERS = PLANNERS | {Role.MONITOR}
OF_THE_FLEET = Allowed()
"""What concerns more than one team is for its owner."""

TABLE: Mapping[Right, Allowed] = {
    Right.READ_STATUS: Allowed(OBSERVERS | {Role.NOTIFIER}, Reach.ALL),
    Right.READ_OUTPUT: Allowed(OBSERVERS, Reach.RELATED),
    Right.ADD: Allowed(PLANNERS, Reach.NEW),
    Right.SPAWN: Allowed(PLANNERS, Reach.NEW),
    Right.SWARM: Allowed(PLANNERS),
    Right.TALK: Allowed(WORKERS, Reach.NEW),
    Right.LISTEN: Allowed(WORKERS | {Role.MONITOR}, Reach.ALL),
    Right.COMMIT: Allowed(WORKERS, Reach.NEW),
    Right.PUSH: Allowed(MERGERS),
    Right.START: Allowed(PLANNERS, Reach.NEW),
    Right.ASSIGN: Allowed(PLANNERS, Reach.BELOW),
    Right.EDIT: Allowed(PLANNERS),
    Right.PAUSE: Allowed(PLANNERS),
    Right.RESUME: Allowed(PLANNERS),
    Right.CANCEL: Allowed(PLANNERS, Reach.BELOW),
    Right.RETRY: Allowed(PLANNERS, Reach.BELOW),
    Right.RETRY_WORKFLOW: Allowed(PLANNERS),
    Right.CLEAN_UP: Allowed(PLANNERS, Reach.BELOW),
    Right.ANSWER: Allowed(PLANNERS),
    Right.LAND: Allowed(MERGERS),
    Right.REJECT: Allowed(MERGERS),
    Right.SEND: Allowed(WORKERS),
    Right.BROADCAST: Allowed(PLANNERS),
    Right.ALERT: Allowed(frozenset({Role.MONITOR})),
    Right.NOTIFY: Allowed(frozenset({Role.NOTIFIER})),
    Right.MOVE_TASK: OF_THE_FLEET,
    Right.MANAGE_TEAMS: OF_THE_FLEET,
    Right.PAUSE_FLEET: OF_THE_FLEET,
    Right.MEASURE: OF_THE_FLEET,
    Right.WAKE: OF_THE_FLEET,
    Right.COLLECT: OF_THE_FLEET,
    Right.ADD_REPO: OF_THE_FLEET,
    Right.MOVE_REPO: OF_THE_FLEET,
    Right.ARCHIVE: OF_THE_FLEET,
    Right.EXPORT: OF_THE_FLEET,
    Right.CHANGE_SETTINGS: OF_THE_FLEET,
}
LOCAL_HUMAN_ONLY = Allowed(owner=False)


def allowed(right: Right) -> Allowed:
    """Who has this right."""
    return TABLE.get(right, LOCAL_HUMAN_ONLY)


def refuse(actor: Actor, right: Right) -> None:
    """Refuse what this actor may never do, to whatever task."""
    who = allowed(right)
    match actor:
        case AgentOf() if who.agents is None:
            raise Forbidden(
                f"an agent of the fleet may not {right}: that is for a human to decide",
                hint="ask with ask_human; if you are the human, use a shell that no agent started",
            )
        case Owner() if not who.owner:
            raise Forbidden(
                f"the owner's token may not {right}", hint="do it on the machine of the fleet"
            )
        case Holder() if actor.role not in who.roles:
            may = ", ".join(role for role in Role if role in who.roles)
            raise Forbidden(
                f"{actor} may not {right}: the role of this token is {actor.role}",
                hint=f"use a token with the role {may}" if may else "only the fleet's owner may",
            )


def refuse_impersonation(actor: Actor, other: Actor) -> None:
    """Refuse an agent, or the holder of a token, that wants to act for anyone but itself."""
    if isinstance(actor, AgentOf | Holder) and actor != other:
        raise Forbidden(f"{_called(actor)} may not act as {other}", hint="use your own token")


def _called(actor: AgentOf | Holder) -> str:
    return f"the agent of {actor.run}" if isinstance(actor, AgentOf) else str(actor)


def refuse_members(actor: Actor) -> None:
    """Refuse members of teams, and agents, what is about the machine itself."""
    if isinstance(actor, Holder | AgentOf):
        raise Forbidden(
            "the state of the machine is for the fleet's owner", hint="use the owner's token"
        )
