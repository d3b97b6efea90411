"""Takes over a home-made `.agent` folder: each file of its registry goes into the record or is named as a conflict.

Nothing is guessed: a task with files in two states, or whose claimed file names no agent, is reported and left. Running
it twice changes nothing; after a crash, running it again finishes the work.
"""

from __future__ import annotations

from dibs.agent_folder.files import CLAIMED, SCOPED, task_id
from dibs.agent_folder.scripts import TASK_FOLDERS, age, is_stale, unclear
from dibs.errors import CANNOT_DECIDE, DibsError
from dibs.operations.tasks.lifecycle import EXECUTING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NotRequired, TypedDict

    from dibs.agent_folder.files import Mark
    from dibs.agent_folder.scripts import Registrar
    from dibs.operations.tasks.registries import TaskStanding

    class ClaimedTask(TypedDict):
        """A task, and the agent that its claimed file names."""

        task: str
        agent: str

    class TakenOver(ClaimedTask):
        """A claim that is in the record now."""

        token: int | None  # None: it would be taken over
        expires_at: str | None

    class Stale(ClaimedTask):
        """A claim that is too old, and is released."""

        age: int  # seconds

    class Repaired(ClaimedTask):
        """A claimed file that named another agent than the record."""

        holder: str

    class ConflictView(ClaimedTask):
        """A file that was left as it is, and why."""

        code: str
        message: str
        holder: NotRequired[str]

    class QueuedTask(TypedDict):
        """A task that is in the queue now."""

        task: str
        id: str
        state: str

    class Report(TypedDict):
        """What became of the files of a registry."""

        claims: list[TakenOver]
        tasks: list[QueuedTask]
        stale: list[Stale]
        repaired: list[Repaired]
        conflicts: list[ConflictView]


def take_over(desk: Registrar, *, dry: bool) -> Report:
    """Claims, then all other files, then the files where the record has them elsewhere."""
    report: Report = {"claims": [], "tasks": [], "stale": [], "repaired": [], "conflicts": []}
    places = {task: states for task, states in desk.registry.places().items() if set(states) & set(TASK_FOLDERS)}
    known = desk.look(places)
    for task in [task for task, states in places.items() if CLAIMED in states]:
        _claimed(desk, task, known[task], report, dry=dry)
    for task in [task for task, states in places.items() if states == [EXECUTING] and not known[task]["state"]]:
        mark = desk.registry.mark_at_work(task)
        if mark is not None and not is_stale(mark):
            _adopt(desk, task, mark, report, dry=dry)
    decided = {entry["task"] for name in ("claims", "stale", "repaired", "conflicts") for entry in report[name]}
    new = [task for task in places if not known[task]["state"] and task not in decided]
    fine = [task for task in new if _is_clear(places[task], task, report)]
    if not dry and fine:
        desk.bring_in(fine)
    report["tasks"] = [{"task": task, "id": task_id(task), "state": desk.spec(task)["state"]} for task in fine]
    if not dry:
        stale = {entry["task"] for entry in report["stale"]}
        desk.bring_in([task for task in stale if not known[task]["state"]])
        doubtful = {entry["task"] for entry in report["conflicts"]}
        for task, found in desk.look([task for task in places if task not in doubtful]).items():
            if found["state"] or found["holder"]:
                desk.follow(task, desk.moved_by_hand(task, found))
    return report


def _is_clear(states: list[str], task: str, report: Report) -> bool:
    """Is this task's state clear?"""
    message = unclear(task, states)
    if message:
        report["conflicts"].append({"task": task, "agent": "nobody", "code": "conflict", "message": message})
    return not message


def _claimed(desk: Registrar, task: str, found: TaskStanding, report: Report, *, dry: bool) -> None:
    """One claimed file: into the record, or back to scoped, or named as a conflict."""
    mark = desk.registry.mark(task)
    if mark is None:
        return
    claimed: ClaimedTask = {"task": task, "agent": mark.agent}
    ours = desk.registry.known(task, mark)
    holder = found["holder"]
    if holder and mark.agent in {holder, found["known_as"]}:
        if not dry:
            desk.bring_in([task] if not found["state"] else [])
            if not ours:
                desk.registry.remember(task, mark)
    elif holder and not (ours or is_stale(mark)):
        message = f"{holder} holds it in the live record; nothing was changed"
        report["conflicts"].append({**claimed, "code": "held", "message": message, "holder": holder})
    elif holder:
        report["repaired"].append({**claimed, "holder": holder})
        if not dry:
            desk.show(task, found["known_as"])
    elif ours or is_stale(mark):
        report["stale"].append({**claimed, "age": age(mark)})
        if not dry:
            found = desk.settle(task, found)
            desk.registry.back(task, found["state"] if found["state"] not in {"", EXECUTING} else SCOPED)
    else:
        _adopt(desk, task, mark, report, dry=dry)


def _adopt(desk: Registrar, task: str, mark: Mark, report: Report, *, dry: bool) -> None:
    try:
        answer = {"token": None, "expires_at": None} if dry else desk.adopt(task, mark)
    except DibsError as error:
        if error.exit == CANNOT_DECIDE:
            raise
        report["conflicts"].append({"task": task, "agent": mark.agent, "code": error.code, "message": error.message})
    else:
        report["claims"].append(
            {"task": task, "agent": mark.agent, "token": answer["token"], "expires_at": answer["expires_at"]}
        )
