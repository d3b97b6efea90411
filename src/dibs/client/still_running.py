"""What the clients of agents that were just killed still run: commands that they started before.

dibs ends what runs under one of its own claims (`dibs worker`, `lead`, `deploy`); these it does not know one by one,
and the client's own servers are among them. So the answer names them, and a person ends what should end.
"""

from __future__ import annotations

from dibs.machine import processes
from dibs.workspace.known_clients import SESSION_VARIABLES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.operations.agents.answers import KillAnswer, RunningView

MAX_NAMED = 50  # processes in the answer


def complete(result: KillAnswer) -> KillAnswer:
    """The answer of `kill`, with the processes of this machine."""
    host = processes.host()
    for agent in result["agents"]:
        if agent["host"] == host and agent["health"] != "dead" and agent["pid"] is not None:
            left = processes.started_by(agent["pid"], SESSION_VARIABLES, agent["agent"])
            found: list[RunningView] = [
                {"agent": agent["agent"], "name": agent["name"], "pid": pid, "command": text} for pid, text in left
            ]
            result["running"] = [*result["running"], *found][:MAX_NAMED]
    return result
