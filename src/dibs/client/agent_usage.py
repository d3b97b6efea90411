"""What the agents of this machine use: cpu and memory of their client processes, with all below them. A moment's look.

An agent whose process is on another machine, in another container, or gone has no figures. Loads psutil: asked for with
an option only.
"""

from __future__ import annotations

from dibs.machine import clock, processes, usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.operations.agents.answers import AgentsAnswer

SAMPLE_S = 0.1  # between the two looks from which the load follows
MAX_MEASURED = 200  # agents


def complete(result: AgentsAnswer) -> AgentsAnswer:
    """The listing with `cpu` and `memory` where they can be measured here."""
    result["usage"] = usage.CAN_METER
    if not usage.CAN_METER:
        return result
    mine = [
        (one, one["pid"])
        for one in result["agents"]
        if one["state"] == "alive" and one["host"] == processes.host() and one["pid"] is not None
    ]
    found = usage.of_trees({pid for _, pid in mine[:MAX_MEASURED]}, lambda: clock.sleep(SAMPLE_S))
    for agent, pid in mine[:MAX_MEASURED]:
        agent["cpu"], agent["memory"] = found[pid]["cpu"], found[pid]["memory"]
    return result
