"""The environment of an agent's working tree, at its session start and its prompts: where its commands see it.

A session start never fails for it: what cannot be had is said, with the next step.
"""

from __future__ import annotations

from dibs.client import env_file, tree_env
from dibs.errors import DibsError, counted
from dibs.machine import caller

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.client.session import Session
    from dibs.client.tree_env import TreeEnv
    from dibs.operations.core.call import Call

CLIENT_FILE = "CLAUDE_ENV_FILE"  # of Claude Code, for hooks of a session's start
MAX_SHOWN = 12  # variables in the briefing


def at_start(session: Session, call: Call) -> list[str]:
    """Take the environment, write it, and tell the agent."""
    try:
        found = tree_env.take(session, call)
    except DibsError as error:
        return [f"This working tree has no environment of its own now: {error.message} `dibs env` tries again."]
    lines = [f"Note: {warning}." for warning in found.warnings]
    path = caller.environ().get(CLIENT_FILE)
    if path:
        env_file.export(path, found.values)
    try:
        env_file.write(session.place, found.values)
    except DibsError as error:
        lines.append(f"Note: {error.message}.")
    return [_told(found), *lines]


def used(session: Session, call: Call) -> str:
    """The tree is used: renew what it has, if that is due. If it had lost it meanwhile, the agent is told."""
    if not tree_env.is_due(session):
        return ""
    try:
        found = tree_env.take(session, call)
        env_file.write(session.place, found.values)
    except DibsError:
        return ""  # the next session start says so
    return f"dibs: {_told(found)}" if found.answer["new"] else ""


def _told(found: TreeEnv) -> str:
    shown = [f"{name}={env_file.quoted(value)}" for name, value in [*found.values.items()][:MAX_SHOWN]]
    more = len(found.values) - len(shown)
    if more:
        shown.append(f"and {counted(more, 'more variable')}")
    run = "`dibs env --run CMD` runs a command with them"
    return f"This working tree has its own {', '.join(shown)} (in {env_file.NAME}); {run}."
