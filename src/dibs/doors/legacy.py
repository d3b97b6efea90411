"""Taking over a home-made `.agent` folder: its claims once, and its four scripts from then on.

A task is claimed as `task:ID` in the live record, which alone decides; the files in `.agent/registry` follow it, and
whatever a crash left half done is put right by the next call. A claimed file that dibs did not write is somebody's
claim made by other means: it is taken into the record with what is left of its half hour, before anything is decided.

The scripts say what they always said, on stdout, and exit with 0 or 1: also where dibs cannot decide it is 1, since
that is what their callers know as no.
"""

from __future__ import annotations

import os
import sys

from dibs.doors.legacy_files import CLAIMED, COMPLETE, SCOPED, Mark, Registry, is_task
from dibs.doors.session import Session
from dibs.errors import CANNOT_DECIDE, NO, YES, DibsError, Fenced, Held, Invalid, NotFound
from dibs.facts import clock
from dibs.operations.call import Call
from dibs.stores.gate import Gate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Self

LIFE = 1800  # seconds: what the scripts always took for stale, counted from the time in the claimed file
GATE = 30.0  # seconds to wait for another script: twenty at once need some two on a busy machine
WHY = "taken over from .agent/registry"
ROUND = 1000  # ms: a new deadline may be that much short of a full life, and is full all the same


class Desk:
    """The live record and the files of one `.agent` folder, side by side."""

    def __init__(self, agent: str, given: str | None = None, timeout: float | None = None) -> None:
        """Open the workspace that the folder belongs to; raises Invalid where there is none or no registry."""
        if os.path.basename(agent) != ".agent":
            agent = os.path.join(agent, ".agent")
        if not os.path.isdir(os.path.join(agent, "registry")):
            raise Invalid(f"{agent} has no registry/ to take over", path=agent)
        top = os.path.dirname(agent)
        self.session = Session(top, os.path.abspath(given) if given else None, timeout=timeout, short_lived=True)
        local = self.session.place.local
        self.registry = Registry(agent, os.path.join(local, "registry"))
        self._gate = Gate(os.path.join(local, "registry.gate"), GATE)

    def __enter__(self) -> Self:
        """One script at a time moves files: what it sees between two steps is then its own doing."""
        self._gate.enter()
        return self

    def __exit__(self, *_: object) -> None:
        self._gate.leave()
        self._gate.close()
        self.session.close()

    def run(self, operation: str, call: Call, **fields: Any) -> Any:
        """One operation."""
        return self.session.run(self.session.operation(operation), call, fields)

    def resource(self, task: str) -> list[str]:
        """`task:ID` as a resource. Read from where no file of that name can be: it is a name, always."""
        return list(self.session.paths.resource(f"task:{task}", self.session.place.local))

    def holder(self, task: str) -> str:
        """Who holds the task by the live record; "" for nobody."""
        call = Call(self.session.config.policy)
        claims = self.run("status", call, resources=[self.resource(task)])["claims"]
        return next((claim["agent"] for claim in claims if claim["mode"] != "watch"), "")

    def standing(self, task: str) -> str:
        """The same, after a claim that was made with files alone was taken into the record."""
        holder = self.holder(task)
        mark = None if holder else self.registry.mark(task)
        if mark is None or is_stale(mark) or self.registry.known(task, mark):
            return holder
        try:
            self.adopt(task, mark)
        except DibsError as error:  # no id that anybody could have, or an agent that was killed
            if error.exit == CANNOT_DECIDE:
                raise
            return self.holder(task)
        return mark.agent

    def adopt(self, task: str, mark: Mark) -> dict[str, Any]:
        """A claim for whom the file names, for what is left of its life; tied to no process, since none is known."""
        if not mark.agent:
            raise Invalid(f"{self.registry.path(CLAIMED, task)} names no agent", task=task)
        call = Call(self.session.config.policy, agent=mark.agent)
        ttl = min(max(1000, LIFE * 1000 - _age_ms(mark)), self.full(task))
        wanted = {"resources": [self.resource(task)], "ttl": ttl, "reason": WHY, "task": task}
        answer: dict[str, Any] = self.run("claim", call, **wanted)
        self.registry.remember(task, mark)
        return answer

    def claim(self, task: str, agent: str) -> dict[str, Any]:
        """Claim it for the agent, or give what it holds a full life. One taken over had only the rest of one."""
        wanted: dict[str, Any] = {"resources": [self.resource(task)], "task": task}
        answer: dict[str, Any] = self.run("claim", self.session.identify(agent), **wanted)
        if answer.get("renewed") and _ms_until(answer["expires_at"]) < self.full(task) - ROUND:
            wanted["ttl"] = self.full(task)
            answer = self.run("claim", self.session.identify(agent), **wanted)
        return answer

    def full(self, task: str) -> int:
        """How long a claim on the task lasts here, in milliseconds."""
        return self.session.config.policy.lifetime([self.resource(task)], None)[0]

    def show(self, task: str, agent: str) -> bool:
        """The files say what the record says. That they cannot be written is said, and changes nobody's claim."""
        try:
            return self.registry.mirror(task, agent, clock.wall())
        except OSError as error:
            sys.stderr.write(f"dibs: {agent} holds {task}, but {error.filename} says otherwise: {error.strerror}\n")
            return True


def is_stale(mark: Mark) -> bool:
    """Would check_stale.sh have released it?"""
    return age(mark) > LIFE


def age(mark: Mark) -> int:
    """Whole seconds since the mark was made."""
    return clock.wall() // 1000 - mark.at // 1000


def _age_ms(mark: Mark) -> int:
    return max(0, clock.wall() - mark.at)


def _ms_until(at: str) -> int:
    import calendar
    import time

    return calendar.timegm(time.strptime(at[:19], "%Y-%m-%dT%H:%M:%S")) * 1000 - clock.wall()


# --- taking over


def take_over(desk: Desk, *, dry: bool) -> dict[str, list[dict[str, Any]]]:
    """Every claimed file once: into the record, or back to scoped, or named as a conflict."""
    report: dict[str, list[dict[str, Any]]] = {"claims": [], "stale": [], "repaired": [], "conflicts": []}
    for task in desk.registry.tasks(CLAIMED):
        mark = desk.registry.mark(task)
        if mark is None:
            continue
        holder = desk.holder(task)
        said: dict[str, Any] = {"task": task, "agent": mark.agent}
        ours = desk.registry.known(task, mark)
        if holder and holder == mark.agent:
            if not ours and not dry:
                desk.registry.remember(task, mark)
        elif holder and not (ours or is_stale(mark)):
            message = f"{holder} holds it by the live record; nothing was changed"
            report["conflicts"].append({**said, "code": "held", "message": message, "holder": holder})
        elif holder:
            report["repaired"].append({**said, "holder": holder})
            if not dry:
                desk.show(task, holder)
        elif ours or is_stale(mark):
            report["stale"].append({**said, "age": age(mark)})
            if not dry:
                desk.registry.back(task)
        else:
            _adopt(desk, task, mark, said, report, dry=dry)
    return report


def _adopt(desk: Desk, task: str, mark: Mark, said: dict[str, Any], report: dict[str, Any], *, dry: bool) -> None:
    try:
        answer = {"token": None, "expires_at": None} if dry else desk.adopt(task, mark)
    except DibsError as error:
        if error.exit == CANNOT_DECIDE:
            raise
        report["conflicts"].append({**said, "code": error.code, "message": error.message})
    else:
        report["claims"].append({**said, "token": answer["token"], "expires_at": answer["expires_at"]})


# --- the scripts


def script(name: str, called: str, agent: str, words: list[str]) -> int:
    """Do what one of the scripts did, with its words."""
    try:
        if name in USAGE and not all([*words, "", ""][:2]):
            _say(f"Usage: {called} {USAGE[name]}")
            return NO
        with Desk(os.path.realpath(agent), os.environ.get("DIBS_WORKSPACE")) as desk:
            return SCRIPTS[name](desk, words)
    except DibsError as error:
        _say(f"{'❌ FATAL' if name == 'boot' else 'ERROR'}: {error.message}")
    except OSError as error:
        _say(f"ERROR: {error.filename or agent}: {error.strerror}")
    return NO


def claim_task(desk: Desk, words: list[str]) -> int:
    """`claim_task.sh TASK AGENT`."""
    task, agent = words[:2]
    if not desk.registry.state(task):
        _say(f"ERROR: Task {task} not found in scoped registry.")
        return NO
    desk.standing(task)
    try:
        answer = desk.claim(task, agent)
    except Held as held:
        others = [blocker for blocker in held.blockers if not blocker.get("waiting")]
        if others:
            desk.show(task, others[0]["agent"])
        _say(f"ERROR: Task {task} is already claimed by another agent ({[*others, *held.blockers][0]['agent']}).")
        return NO
    shown = desk.show(task, agent)
    if answer.get("renewed"):
        _say(f"INFO: Task {task} already claimed by this agent ({agent}). Refreshing claim.")
        return YES
    if not shown:  # somebody moved the file with other means, in this very moment
        desk.run("release", desk.session.identify(agent), resources=[desk.resource(task)], token=answer["token"])
        _say(f"ERROR: Failed to claim task {task}. It might have been claimed by another agent simultaneously.")
        return NO
    _say(f"SUCCESS: Task {task} claimed by agent {agent}.")
    return YES


def release_task(desk: Desk, words: list[str]) -> int:
    """`release_task.sh TASK AGENT [STATE]`: back to scoped, or on to complete."""
    task, agent, state = [*words, ""][:3]
    state = state.lower() or SCOPED
    if state not in {SCOPED, COMPLETE}:
        _say(f"ERROR: Task {task} can be released to {SCOPED} or {COMPLETE}, not to {state}.")
        return NO
    if not is_task(task):
        _say(f"ERROR: Task {task} is not claimed.")
        return NO
    holder = desk.standing(task)
    try:
        desk.run("release", desk.session.identify(agent), resources=[desk.resource(task)])
    except (Fenced, NotFound) as refusal:
        if isinstance(refusal, Fenced) and "resource" not in refusal.fields:
            raise  # not this claim, but the process that asks, is no longer the agent's
        if holder and holder != agent:
            _say(f"ERROR: Task {task} is claimed by another agent ({holder}).")
        else:
            _say(f"ERROR: Task {task} is not claimed.")
        return NO
    following = desk.holder(task)  # somebody who waited for it, or one of the same family
    if following and state == SCOPED:
        desk.show(task, following)
    else:
        desk.registry.back(task, state)
    _say(f"SUCCESS: Task {task} {'completed' if state == COMPLETE else 'released'} by agent {agent}.")
    return YES


def check_stale(desk: Desk, _words: list[str]) -> int:
    """`check_stale.sh`: what nobody holds any more goes back to scoped, and the files follow the record."""
    for task in desk.registry.tasks(CLAIMED):
        holder, mark = desk.standing(task), desk.registry.mark(task)
        if mark is None:
            continue
        if not holder:
            _say(f"STALE: Task {task} claimed by {mark.agent} is stale (age: {age(mark)} seconds). Releasing.")
            desk.registry.back(task)
        elif holder != mark.agent:
            desk.show(task, holder)
    for task in desk.registry.tasks(SCOPED):
        holder = desk.holder(task)
        if holder:
            desk.show(task, holder)
    return YES


def boot(desk: Desk, _words: list[str]) -> int:
    """`boot.sh`: CURRENT_TASK_ID and AGENT_ID against the live record. Never takes what is not held."""
    task, agent = os.environ.get("CURRENT_TASK_ID", ""), os.environ.get("AGENT_ID", "")
    _say("Verifying task state...")
    if task:
        _say(f"Agent believes it is working on task: {task}")
        if desk.registry.state(task):
            desk.standing(task)
    result = desk.run("boot", desk.session.identify(agent or None), task=task)
    _brief(desk, result)
    if task:
        held = result["task"]
        if held is None or held["id"] != task:
            other = next((loss["holder"] for loss in result["lost"] if f"task:{task}" in loss["resources"]), None)
            _say(_fatal(task, other))
            return NO
        desk.show(task, result["agent"])
        _say(f"✅ Confirmed: This agent ({result['agent']}) still holds the claim for task {task}.")
    else:
        _say("ℹ️ No current task ID set. Agent is starting fresh.")  # noqa: RUF001 - the sign that people know
    _say("✅ Initiation complete. Agent is ready.")
    return YES


def _fatal(task: str, other: str | None) -> str:
    if other:
        return f"❌ FATAL: Task {task} was claimed by another agent ({other}). Aborting."
    return (
        f"❌ FATAL: This agent was supposed to be working on {task}, but the claim lock is missing. "
        "The task may have been released or become stale. Aborting."
    )


def _brief(desk: Desk, result: dict[str, Any]) -> None:
    """The briefing, beside what the script prints: what was lost, messages and rules count as told from now on."""
    import contextlib

    from dibs.doors.cli.run import answer

    with contextlib.redirect_stdout(sys.stderr):
        answer("boot", desk.session.finish("boot", result), as_json=False)


def _say(text: str) -> None:
    """One line, in UTF-8 whatever the locale says."""
    sys.stdout.flush()
    sys.stdout.buffer.write(f"{text}\n".encode("utf-8", "surrogateescape"))
    sys.stdout.buffer.flush()


SCRIPTS = {"claim_task": claim_task, "release_task": release_task, "check_stale": check_stale, "boot": boot}
USAGE = {"claim_task": "<task_id> <agent_id>", "release_task": "<task_id> <agent_id> [state]"}
