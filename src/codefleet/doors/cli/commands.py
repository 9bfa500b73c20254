"""Every command by its section and name, with the place of its function."""

WORKERS_AND_SWARMS = {
    "workers": "workers:workers",
    "spawn": "workers:spawn",
    "dismiss": "workers:dismiss",
    "output": "workers:output",
    "swarms": "swarms:swarms",
    "swarm-create": "swarms:swarm_create",
    "swarm-kill": "swarms:swarm_kill",
    "blackboard": "swarms:blackboard",
    "blackboard-post": "swarms:blackboard_post",
    "checkpoints": "checkpoints:checkpoints",
    "mail": "mail:mail",
    "mail-send": "mail:mail_send",
    "handoffs": "mail:handoffs",
}
SECTIONS = {
    "Get started": {
        "demo": "demo:demo",
        "init": "home:init",
        "doctor": "doctor:doctor",
        "coders": "coders:coders",
        "config": "settings:config",
        "login": "login:login",
        "completion": "completion:completion",
    },
    "Tasks": {
        "add": "add:add",
        "list": "tasks:list_",
        "ready": "tasks:ready",
        "show": "tasks:show_",
        "edit": "edit:edit",
        "cancel": "moves:cancel",
        "retry": "moves:retry",
        "pause": "moves:pause",
        "resume": "moves:resume",
    },
    "Work": {
        "run": "run:run",
        "watch": "watch:watch",
        "status": "status:status",
        "agents": "agents:agents",
        "cost": "cost:cost",
        "metrics": "metrics:metrics",
        "health": "metrics:health",
        "log": "log:log",
        "diff": "diff:diff",
        "send": "messages:send",
        "mcp": "mcp:mcp",
        "serve": "serve:serve",
        "dashboard": "dashboard:dashboard",
    },
    "Workflows": {"workflow": "workflow:workflow"},
    "Workers and swarms": WORKERS_AND_SWARMS,
    "Decide": {
        "inbox": "inbox:inbox",
        "answer": "inbox:answer",
        "land": "inbox:land",
        "reject": "inbox:reject",
        "comment": "inbox:comment",
    },
    "Teams": {
        "team": "team:team",
        "token": "token:token",
        "teams": "teammates:teams",
        "tasks": "teammates:tasks",
    },
    "Maintain": {
        "gc": "home:gc",
        "archive": "archive:archive",
        "export": "exchange:export",
        "import": "exchange:import_",
        "migrate": "migrate:migrate",
        "reset": "home:reset",
    },
}
AT_A_DISTANCE = {
    *("add", "list", "ready", "show", "edit", "cancel", "retry", "pause", "resume"),
    *("watch", "status", "agents", "cost", "log", "diff", "send", "workflow", "login"),
    *(
        "teams",
        "tasks",
        "inbox",
        "answer",
        "land",
        "reject",
        "comment",
        "gc",
        "archive",
        "export",
        "doctor",
    ),
    *("metrics", "health", "team", "token"),
    *WORKERS_AND_SWARMS,
}
"""The commands that can be asked of a server."""
OF_THIS_MACHINE = {"demo", "init", "coders", "completion", "run", "mcp", "serve", "dashboard"}
"""The commands that can mean nothing else than this machine: a variable that names a server, which
is set for all commands, does not concern them."""
COMMANDS = {name: place for section in SECTIONS.values() for name, place in section.items()}
