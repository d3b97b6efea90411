"""What an agent's environment makes it believe: which task it works on, and by which id scripts know it.

Read at a start only (the clients' hooks, `dibs boot`, boot.sh). A value that cannot be a task or an id is no belief.
"""

from __future__ import annotations

from dibs.machine import caller

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.operations.core.call import Call

TASKS = ("CURRENT_TASK_ID", "DIBS_TASK")  # a program that starts an agent for a task names the task in one of these
AGENT = "AGENT_ID"  # the id that scripts of old give an agent
LONGEST = 120  # letters of a task's id


def fields(*, own: bool = True) -> dict[str, Any]:
    """The fields of `boot` that the environment fills in. Not `own`: the caller is named, AGENT_ID is not asked."""
    environ = caller.environ()
    tasks = [value for name in TASKS if _is_word(value := environ.get(name, ""))]
    return {"believed": tasks, "also": known_as() if own else ""}


def known_as() -> str:
    """The agent's id by its environment; "" if there is none."""
    value = caller.environ().get(AGENT, "")
    return value if _is_word(value) else ""


def name(call: Call) -> None:
    """Where nobody else is named, the environment's id is the caller, and not the operating system's user."""
    call.fallback = known_as() or call.fallback


def _is_word(value: str) -> bool:
    return 0 < len(value) <= LONGEST and value.isprintable() and " " not in value
