"""What a home-made `.agent` folder says and what the record says, side by side, for `dibs check`. Changes nothing.

The record decides, and the files follow at the next script. So a file that is behind is worth a word; a file that names
another holder than the record is an accident that waits to happen.
"""

from __future__ import annotations

import os

from dibs.agent_folder.files import CLAIMED, Registry, is_ours, task_id
from dibs.agent_folder.scripts import NOBODY, TASK_FOLDERS, is_stale, unclear
from dibs.operations.core.call import Call
from dibs.operations.tasks import registries
from dibs.operations.tasks.lifecycle import EXECUTING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.agent_folder.files import Mark
    from dibs.client.session import Session
    from dibs.operations.tasks.registries import RegistryLook, TaskStanding

APART, ALONE, BEHIND, UNKNOWN, UNCLEAR = "apart", "alone", "behind", "unknown", "unclear"


class Difference:
    """One task whose file and record differ.

    `apart`: two agents for one task; `alone`: an agent that only the file knows; `behind`: the file is old.
    """

    __slots__ = ("agent", "kind", "task", "text")

    def __init__(self, kind: str, task: str, text: str, agent: str = "") -> None:
        self.kind, self.task, self.text, self.agent = kind, task, text, agent


class Compared:
    """A registry next to the record."""

    def __init__(self, folder: str, tasks: int, differences: list[Difference], *, taken_over: bool) -> None:
        self.folder, self.tasks, self.differences, self.taken_over = folder, tasks, differences, taken_over


def compared(session: Session) -> Compared | None:
    """The registry of this working tree, compared; None if there is none."""
    agent = os.path.join(session.place.top, ".agent")
    registry = Registry(agent, os.path.join(session.place.local, "registry"))
    if not os.path.isdir(registry.folder):
        return None
    places = {task: states for task, states in registry.places().items() if set(states) & set(TASK_FOLDERS)}
    known = _known(session, list(places))
    ours = is_ours(os.path.join(registry.tools, "claim_task.sh"))
    differences = []
    for task, states in places.items():
        one = _difference(registry, task, states, known[task])
        if one is not None:
            differences.append(one)
    return Compared(agent, len(places), differences, taken_over=ours)


def _known(session: Session, names: list[str]) -> dict[str, TaskStanding]:
    standings: dict[str, TaskStanding] = {}
    for start in range(0, len(names), registries.MAX_TASKS_READ):
        some = names[start : start + registries.MAX_TASKS_READ]
        asked = {"ids": [task_id(name) for name in some]}
        answer: RegistryLook = session.run(registries.LOOK, Call(session.config.policy), asked)
        standings.update({name: answer["tasks"].get(task_id(name), NOBODY) for name in some})
    return standings


def _difference(registry: Registry, task: str, states: list[str], standing: TaskStanding) -> Difference | None:
    problem = unclear(task, states)
    if problem:
        return Difference(UNCLEAR, task, f"{task}: {problem}")
    (state,) = [one for one in states if one in TASK_FOLDERS]
    mark = registry.mark(task) if state == CLAIMED else registry.mark_at_work(task) if state == EXECUTING else None
    if standing["holder"]:
        return _held(task, state, mark, standing)
    if mark is not None and not is_stale(mark) and not registry.known(task, mark):
        text = f"the file of {task} says that {mark.agent} has it, and the queue has no such claim"
        return Difference(ALONE, task, text, mark.agent)
    if mark is not None:
        text = f"the file of {task} says that {mark.agent} has it, but its claim ended"
        return Difference(BEHIND, task, text, mark.agent)
    if not standing["state"]:
        return Difference(UNKNOWN, task, f"{task} ({state}) is not in the queue")
    if standing["state"] not in {state, EXECUTING}:
        return Difference(BEHIND, task, f"{task} is {standing['state']} in the queue, and its file is in {state}/")
    return None


def _held(task: str, state: str, mark: Mark | None, standing: TaskStanding) -> Difference | None:
    holder = standing["known_as"]
    if mark is None:
        where = f"its file is in {state}/" if state != EXECUTING else ""
        return Difference(BEHIND, task, f"{holder} has {task} in the queue, and {where}", holder) if where else None
    if mark.agent in {holder, standing["holder"]}:
        return None
    text = f"two agents for {task}: {mark.agent} by its file, {holder} in the queue"
    return Difference(APART, task, text, mark.agent)
