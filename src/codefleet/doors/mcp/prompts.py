"""Prompts that a human picks in the client: plan, review, and what needs me."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer


def plan_this(goal: str) -> str:
    """Plan a goal as tasks for the fleet, and queue them."""
    return f"""Plan this goal as tasks for a fleet of coding agents that work in parallel:

{goal}

1. Call search_backlog and find_similar_tasks first, so that nothing is queued twice.
2. Split the work into tasks that touch different files. Give each a self-contained prompt: what to
   build or change, which files to touch and which not, what must hold at the end. Set scope (globs
   of files), complexity, and checks (commands that prove it).
3. Let a task need another only where it builds on its result; prefer few phases.
4. Show me the plan as a table. When I agree, call create_task once with all of it."""


def review_what_landed() -> str:
    """Review what the fleet completed recently."""
    return """Review what the fleet completed recently.

Call review_completed. For each task read the diff of its run (resource fleet://runs/RUN/diff) and
its evidence. Tell me, most serious first: bugs, missing tests, work that does not do what its
title says, tasks that duplicate each other. Name the task and the file. Propose follow-up tasks,
and queue them with create_task when I agree."""


def what_needs_me() -> str:
    """Everything that waits for a human, with advice."""
    return """What needs me?

Call list_inbox, check_agent_status and detect_conflicts. For every item say in one line what it is,
what waits for it, and what you advise. Ask me to decide one by one, then carry it out with
answer_question, land, reject, retry or cancel."""


def register(server: "MCPServer[Any]") -> None:
    """Offer the prompts."""
    for prompt in (plan_this, review_what_landed, what_needs_me):
        server.prompt()(prompt)
