"""The four scripts of a home-made `.agent` folder, and the `Registrar` that they share with `dibs import`.

Each file of the registry is a task of the queue (operations/tasks/registries.py), and the live record alone decides;
the files follow it, and the next call repairs what a crash left half done. Two changes that people make with files
alone are taken into the record first: a claimed file that dibs did not write is a claim of its agent, with the rest of
its half hour; a file that was moved from one state to another while the record did not change is a move of the task.

The scripts print their original texts on stdout and exit with 0 or 1: also 1 if dibs cannot decide, since their callers
know 1 as no.
"""

from __future__ import annotations

import os
import sys

from dibs.agent_folder.files import CLAIMED, COMPLETE, SCOPED, Mark, Registry, is_stamp, is_task, task_id, title_of
from dibs.client.session import Session
from dibs.errors import CANNOT_DECIDE, NO, YES, Conflict, DibsError, Held, Invalid, NotFound, Quota
from dibs.machine import clock
from dibs.operations.agents.aliases import SAME, WHO
from dibs.operations.core.call import Call
from dibs.operations.tasks import registries
from dibs.operations.tasks.lifecycle import EXECUTING, FINAL_STATES
from dibs.stores.sqlite.gate import Gate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Self

    from dibs.operations.agents.answers import BootAnswer
    from dibs.operations.core.declare import Operation
    from dibs.operations.tasks.additions import TaskSpec
    from dibs.operations.tasks.answers import TaskTakeAnswer
    from dibs.operations.tasks.registries import RegistryLook, TaskStanding
    from dibs.stores.seam import Json

STALE_AFTER_S = 1800  # the scripts' own limit, counted from the time in the claimed file
GATE_TIMEOUT_S = 30.0  # for another script: twenty at once need some two seconds on a busy machine
MAX_ID_LETTERS = 120  # of a task's id
TASK_FOLDERS = (
    *registries.MANUAL_STATES,
    EXECUTING,
    COMPLETE,
    CLAIMED,
)  # folders whose files are tasks; others are left alone
TASKS_PER_TRANSACTION = 200  # when files become tasks
NOBODY: TaskStanding = {"state": "", "holder": "", "known_as": "", "since": None, "origin": ""}


class Registrar:
    """The live record and the files of one `.agent` folder. A task has the name of its file here."""

    def __init__(self, agent: str, given: str | None = None, timeout: float | None = None) -> None:
        """Open the workspace that the folder belongs to; raises Invalid if there is none or no registry."""
        if os.path.basename(agent) != ".agent":
            agent = os.path.join(agent, ".agent")
        if not os.path.isdir(os.path.join(agent, "registry")):
            raise Invalid(f"{agent} has no registry/ to take over", path=agent)
        top = os.path.dirname(agent)
        self.session = Session(top, os.path.abspath(given) if given else None, timeout=timeout, short_lived=True)
        local = self.session.place.local
        self.registry = Registry(agent, os.path.join(local, "registry"))
        self._gate = Gate(os.path.join(local, "registry.gate"), GATE_TIMEOUT_S)

    def __enter__(self) -> Self:
        """A lock: one script at a time moves files."""
        self._gate.enter()
        return self

    def __exit__(self, *_: object) -> None:
        self._gate.leave()
        self._gate.close()
        self.session.close()

    # --- the record

    def run(self, operation: Operation | str, call: Call, **fields: object) -> Json:
        """One operation, declared or by its name."""
        declared = self.session.operation(operation) if isinstance(operation, str) else operation
        return self.session.run(declared, call, fields)

    def caller(self) -> Call:
        """A call of the script's own user, for what belongs to no agent."""
        return self.session.identify(None)

    def speak_as(self, agent: str) -> Call:
        """A call of the agent that a script names. In an agent's shell the name is an alias of that agent."""
        if agent:
            own = self.run(WHO, self.caller())["shell"]
            if own and own != agent and not agent.startswith(f"{own}/"):
                self.run(SAME, self.session.identify(own), alias=agent)
        return self.session.identify(agent or None)

    def look(self, tasks: Iterable[str]) -> dict[str, TaskStanding]:
        """The state and the holder of each of these tasks, by the record."""
        names = list(tasks)
        standings: dict[str, TaskStanding] = {}
        for start in range(0, len(names), registries.MAX_TASKS_READ):
            some = names[start : start + registries.MAX_TASKS_READ]
            ids = [task_id(name) for name in some]
            answer: RegistryLook = self.run(registries.LOOK, Call(self.session.config.policy), ids=ids)
            standings.update({name: answer["tasks"].get(task_id(name), NOBODY) for name in some})
        return standings

    def look_at(self, task: str) -> TaskStanding:
        """The same for one task."""
        return self.look([task])[task]

    def spec(self, task: str) -> TaskSpec:
        """A task as its file describes it. A file claimed by an old script holds only its mark."""
        state = self.registry.state(task)
        text = self.registry.text(task, state)
        stamped = is_stamp(text.strip().rpartition(":")[2]) and len(text.split()) == 1
        if stamped or self.registry.is_mark(task, text):
            text = ""
        state = SCOPED if state in {"", CLAIMED} else "planned" if state == EXECUTING else state
        spec: TaskSpec = {"id": task_id(task), "title": title_of(task, text), "state": state}
        if text.strip():
            spec["payload"] = {"text": text.replace("\x1a", " ")}
        return spec

    def bring_in(self, tasks: Iterable[str]) -> list[str]:
        """Turn new files into tasks; returns these."""
        specs = [self.spec(task) for task in tasks]
        made: list[str] = []
        for start in range(0, len(specs), TASKS_PER_TRANSACTION):
            some = specs[start : start + TASKS_PER_TRANSACTION]
            made += self.run(registries.IMPORT, self.caller(), tasks=some)["tasks"]
        return made

    def recorded(self, task: str) -> TaskStanding:
        """The task's state, after a claim made with files alone was taken into the record."""
        standing = self.look_at(task)
        mark = None if standing["holder"] else self.registry.mark(task)
        if mark is None or is_stale(mark) or self.registry.known(task, mark):
            return standing
        try:
            self.adopt(task, mark)
        except DibsError as error:  # not a valid agent id, or a killed agent
            if error.exit == CANNOT_DECIDE:
                raise
        return self.look_at(task)

    def adopt(self, task: str, mark: Mark) -> TaskTakeAnswer:
        """Give the task to the agent that the file names, for the rest of its life.

        Bound to no process, since none is known.
        """
        if not mark.agent:
            raise Invalid(f"{self.registry.path(CLAIMED, task)} names no agent", task=task)
        call = Call(self.session.config.policy, agent=mark.agent)
        held = min(max(0, clock.wall() - mark.at), STALE_AFTER_S * 1000)
        left = max(1000, STALE_AFTER_S * 1000 - held)
        answer: TaskTakeAnswer = self.run(registries.ADOPT, call, spec=self.spec(task), left=left, held=held)
        self.registry.remember(task, mark)
        return answer

    # --- the files

    def show(self, task: str, agent: str, *, make: bool = False) -> bool:
        """Make the files follow the record. A failed write is reported and changes no claim."""
        try:
            shown = self.registry.mirror(task, agent, clock.wall(), make=make)
            self.registry.agree({task: CLAIMED})
        except OSError as error:
            sys.stderr.write(f"dibs: {agent} holds {task}, but {error.filename} says otherwise: {error.strerror}\n")
            return True
        return shown

    def follow(self, task: str, standing: TaskStanding) -> bool:
        """Move the file to the task's state in the record; returns whether it was elsewhere."""
        state = self.registry.state(task)
        if standing["holder"]:
            mark = self.registry.mark(task)
            if state == CLAIMED and mark is not None and mark.agent in {standing["known_as"], standing["holder"]}:
                self.registry.agree({task: CLAIMED})
                return False
            return bool(state) and self.show(task, standing["known_as"])
        if not state or standing["state"] in {"", EXECUTING}:
            return False
        self.registry.back(task, standing["state"])
        self.registry.agree({task: standing["state"]})
        return state != standing["state"]

    def moved_by_hand(self, task: str, standing: TaskStanding) -> TaskStanding:
        """Move the task if its file was moved and the record did not change since both agreed."""
        here, there = self.registry.state(task), CLAIMED if standing["holder"] else standing["state"]
        if here in {"", there} or self.registry.last().get(task) != there:
            return standing
        identifier = task_id(task)
        if here == COMPLETE and standing["holder"] and standing["state"] == EXECUTING:
            holder = Call(self.session.config.policy, agent=standing["holder"])
            self.run(registries.GIVE_BACK, holder, id=identifier, state=COMPLETE)
        elif here in registries.MANUAL_STATES and there in registries.MANUAL_STATES:
            self.run(registries.MOVE, self.caller(), id=identifier, state=here)
        else:
            return standing
        return self.look_at(task)

    def settle(self, task: str, standing: TaskStanding) -> TaskStanding:
        """Return a task without a holder to its earlier state."""
        ended = standing["state"] == EXECUTING and not standing["holder"]
        if not ended and not (standing["origin"] and standing["state"] == "planned"):
            return standing
        self.run(registries.SETTLE, self.caller(), ids=[task_id(task)])
        return self.look_at(task)


def is_stale(mark: Mark) -> bool:
    """Would check_stale.sh have released it?"""
    return age(mark) > STALE_AFTER_S


def age(mark: Mark) -> int:
    """The mark's age in whole seconds."""
    return clock.wall() // 1000 - mark.at // 1000


def unclear(task: str, states: list[str]) -> str:
    """Why a file's task or state is ambiguous; "" if it is clear."""
    taken = [state for state in states if state in TASK_FOLDERS]
    if len(taken) != 1:
        return f"its files lie in {' and '.join(states)}; remove those that are not true"
    return f"its name is longer than {MAX_ID_LETTERS} letters" if len(task_id(task)) > MAX_ID_LETTERS else ""


# --- the scripts


def script(name: str, called: str, agent: str, words: list[str], brief: Callable[[BootAnswer], None]) -> int:
    """Do what one of the scripts did, with its arguments. `brief` prints the briefing of a boot for people."""
    try:
        if name in USAGE and not all([*words, "", ""][:2]):
            say(f"Usage: {called} {USAGE[name]}")
            return NO
        if name == "boot":
            from dibs.agent_folder import boot_script

            return boot_script.run(os.path.realpath(agent), words, brief)
        with Registrar(os.path.realpath(agent), os.environ.get("DIBS_WORKSPACE")) as desk:
            return SCRIPTS[name](desk, words)
    except DibsError as error:
        say(f"{'❌ FATAL' if name == 'boot' else 'ERROR'}: {error.message}")
    except OSError as error:
        say(f"ERROR: {error.filename or agent}: {error.strerror}")
    return NO


def claim_task(desk: Registrar, words: list[str]) -> int:
    """`claim_task.sh TASK AGENT`."""
    task, agent = words[:2]
    state = desk.registry.state(task)
    if not is_task(task) or not (state or desk.look_at(task)["state"]):
        say(f"ERROR: Task {task} not found in scoped registry.")
        return NO
    call = desk.speak_as(agent)
    standing = desk.moved_by_hand(task, desk.recorded(task))
    try:
        spec = desk.spec(task)  # a task without a file has the state of its record
        if state not in {"", CLAIMED}:
            spec["state"] = state
        answer = desk.run(registries.TAKE, call, spec=spec)
    except Held as held:
        others = [blocker for blocker in held.blockers if not blocker.get("waiting")]
        holder = desk.look_at(task)["known_as"] or [*others, *held.blockers][0]["agent"]
        if others:
            desk.show(task, holder)
        say(f"ERROR: Task {task} is already claimed by another agent ({holder}).")
        return NO
    except Quota as quota:
        mine = ", ".join(one["id"] for one in quota.fields.get("tasks", ()))
        say(f"ERROR: Agent {agent} already works on task {mine}. Release it before you claim task {task}.")
        return NO
    except (Conflict, NotFound) as refusal:
        return _not_now(desk, task, standing, refusal)
    shown = desk.show(task, agent, make=not state)
    if answer.get("renewed"):
        say(f"INFO: Task {task} already claimed by this agent ({agent}). Refreshing claim.")
        return YES
    if not shown:  # another program moved the file at this moment
        desk.run(registries.GIVE_BACK, call, id=task_id(task), state=SCOPED)
        say(f"ERROR: Failed to claim task {task}. It might have been claimed by another agent simultaneously.")
        return NO
    say(f"SUCCESS: Task {task} claimed by agent {agent}.")
    return YES


def _not_now(desk: Registrar, task: str, standing: TaskStanding, refusal: DibsError) -> int:
    """It exists and cannot be claimed: not yet scoped, or finished."""
    here = desk.registry.state(task)
    desk.follow(task, desk.look_at(task))
    if standing["state"] in FINAL_STATES and here in {SCOPED, CLAIMED}:
        say(f"ERROR: Task {task} is {standing['state']} already.")
    elif isinstance(refusal, NotFound) or standing["state"] in {*FINAL_STATES, "discovery"}:
        say(f"ERROR: Task {task} not found in scoped registry.")
    else:
        say(f"ERROR: {refusal.message}")
    return NO


def release_task(desk: Registrar, words: list[str]) -> int:
    """`release_task.sh TASK AGENT [STATE]`: back to scoped, or on to complete."""
    task, agent, state = [*words, ""][:3]
    state = state.lower() or SCOPED
    if state not in {SCOPED, COMPLETE}:
        say(f"ERROR: Task {task} can be released to {SCOPED} or {COMPLETE}, not to {state}.")
        return NO
    standing = desk.recorded(task) if is_task(task) else NOBODY
    if not standing["holder"]:
        say(f"ERROR: Task {task} is not claimed.")
        return NO
    call = desk.speak_as(agent)
    if not standing["state"]:  # a claim on the name, from before this was a task
        desk.bring_in([task])
    answer = desk.run(registries.GIVE_BACK, call, id=task_id(task), state=state)
    now = desk.look_at(task)
    if not answer["done"]:
        other = now["known_as"]
        say(f"ERROR: Task {task} is {f'claimed by another agent ({other})' if other else 'not claimed'}.")
        return NO
    desk.follow(task, now)
    say(f"SUCCESS: Task {task} {'completed' if state == COMPLETE else 'released'} by agent {agent}.")
    return YES


def check_stale(desk: Registrar, _words: list[str]) -> int:
    """`check_stale.sh`: tasks without a holder go back to scoped, and the files follow the record."""
    for task in desk.registry.tasks(CLAIMED):
        standing, mark = desk.recorded(task), desk.registry.mark(task)
        if mark is None:
            continue
        standing = desk.settle(task, standing)
        if not standing["holder"] and standing["state"] not in FINAL_STATES:
            say(f"STALE: Task {task} claimed by {mark.agent} is stale (age: {age(mark)} seconds). Releasing.")
            desk.registry.back(task, standing["state"] or SCOPED)
    places = desk.registry.places()
    everything = desk.look(places)
    new = [task for task, standing in everything.items() if not standing["state"] and not unclear(task, places[task])]
    if new:
        desk.bring_in(new)
        everything.update(desk.look(new))
    for task, standing in everything.items():
        desk.follow(task, desk.moved_by_hand(task, standing))
    return YES


def say(text: str) -> None:
    """Print one line, in UTF-8 regardless of the locale."""
    sys.stdout.flush()
    sys.stdout.buffer.write(f"{text}\n".encode("utf-8", "surrogateescape"))
    sys.stdout.buffer.flush()


SCRIPTS = {"claim_task": claim_task, "release_task": release_task, "check_stale": check_stale}
NAMES = (*SCRIPTS, "boot")
USAGE = {"claim_task": "<task_id> <agent_id>", "release_task": "<task_id> <agent_id> [state]"}
