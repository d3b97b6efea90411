"""Upkeep by any live process of dibs: a waiter, a worker, a sweep, a server, or an agent's call.

Such a process calls `step`, as often as it likes. A stamp in `.dibs/local/` has the time of this machine's last look
for trouble: a step that comes too early ends there, at the price of one stat. Then it asks, without a write, whether a
sweep would find anything, and sweeps only then. Several processes may look at once; each decides in its transaction.
Nothing is decided here.

Alerts that are to be delivered come last, never from a hook: `dibs sweep` sends them, the others start one that does.
"""

from __future__ import annotations

import os

from dibs import jsontext
from dibs.errors import DibsError
from dibs.machine import clock, processes
from dibs.operations.core.call import Call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.client.session import Session
    from dibs.operations.alerts.answers import Looker

STAMP = "look"  # in .dibs/local/
EVERY_MS = 2_000  # between two looks on one machine: a dead agent is found within 5 s by any process
STORE_EVERY_MS = 60_000  # between two looks at the store itself
MAX_DELIVERED = 4  # alerts that one `dibs sweep` sends at most
MAX_ROUNDS = 16  # sweeps in one step; the next step continues
CALL = "call"  # a command that looks once, because it was asked
HOOK = "hook"
HOUSEKEPT = "housekept"  # in .dibs/local/: when audit/housekeeping.py was run last, once a day
DAY_MS = 86_400_000
LASTING = ("worker", "wait", "sweep", "server")  # processes that look again by themselves
PATIENT = ("worker", "sweep", "server")  # of these, those that may take seconds: nobody waits for their answer

_store_seen: dict[str, int] = {}  # workspace → when this process last looked at its store


def step(session: Session, how: str, agent: str, *, every: int = EVERY_MS, deliver: bool = True) -> bool:
    """Look for trouble if it is time; returns whether this process looked. An error is for the next one to see.

    `how` is the kind of process (LASTING, HOOK, CALL), `agent` the agent that it acts for. `deliver`: it sees to it
    that alerts are sent.
    """
    if not is_due(session.place.local, every):
        return False
    if how != CALL:  # otherwise a single call would hide the process that looks by itself
        _stamp(session.place.local, how)
    try:
        if _look(session, agent, how) or (how == HOOK and is_housekeeping_due(session.place.local)):
            from dibs.client.upkeep import log_upkeep

            if how in PATIENT:
                log_upkeep.by_config(session, Call(session.config.policy, agent=agent))
            else:
                log_upkeep.start(session)
        if deliver:
            from dibs.client.upkeep import alert_delivery

            if how == CALL:
                alert_delivery.deliver(session, agent, MAX_DELIVERED)
            else:
                alert_delivery.start(session, agent)
    except DibsError:
        pass
    return True


def is_due(local: str, every: int) -> bool:
    """Is the last look of this machine that long ago?"""
    return _is_older(f"{local}/{STAMP}", every)


def is_housekeeping_due(local: str) -> bool:
    """Was the housekeeping not done today? In a new workspace the first day counts from its beginning."""
    return _is_older(f"{local}/{HOUSEKEPT}", DAY_MS) and _is_older(f"{local}/store", DAY_MS)


def _is_older(path: str, age: int) -> bool:
    try:
        return clock.wall() - os.stat(path).st_mtime_ns // 1_000_000 >= age
    except OSError:
        return True


def _look(session: Session, agent: str, how: str) -> bool:
    """Sweep what is due; returns whether old events are to leave the store."""
    from dibs.client.upkeep import push_look, removed_trees
    from dibs.operations.upkeep.sweeps import UPKEEP, UPKEEP_DUE

    call = Call(session.config.policy, agent=agent)
    push_look.look(session, call)
    removed_trees.look(session, call)
    fields = {"store": _of_store(session)}
    for _ in range(MAX_ROUNDS):
        found = session.run(UPKEEP_DUE, call, fields)
        if not found["due"]:
            if found.get("turns") and how != HOOK:
                from dibs.client.upkeep import stalls

                stalls.look(session, call, found["turns"])
            return bool(found.get("prune"))  # a server of an earlier version does not say
        call.facts.clear()  # a process that was alive before may be dead by now
        session.run(UPKEEP, call, fields)
    return False


def _of_store(session: Session) -> dict[str, Any] | None:
    """The state of the store as this machine sees it; None if it is elsewhere, or was checked in the last minute."""
    if session.is_far:
        return None
    place, now = session.place.local, clock.since_boot()
    if place in _store_seen and now - _store_seen[place] < STORE_EVERY_MS:
        return None
    _store_seen[place] = now
    from dibs.client import local_details
    from dibs.stores import opening

    fallback = bool(opening.read_pin(place).fallback)
    return {"fallback": fallback, "warnings": [] if fallback else local_details.warnings(session)}


# --- the stamp


def _stamp(local: str, how: str) -> None:
    from dibs.machine import atomic_write

    try:
        atomic_write.replace(f"{local}/{STAMP}", jsontext.encode({"by": how, "process": processes.this()}))
    except OSError:
        pass  # a sandbox, a full disk: it looks again at its next step


def last(local: str) -> Looker | None:
    """The last process of this machine that looked, and whether it looks again by itself. For `alerts` and `check`."""
    try:
        with open(f"{local}/{STAMP}", encoding="utf-8") as file:
            found = jsontext.decode(file.read())
        ago = clock.wall() - os.stat(f"{local}/{STAMP}").st_mtime_ns // 1_000_000
        lasting = found["by"] in LASTING and bool(processes.alive(found["process"]))
        return {"by": found["by"], "pid": found["process"][3], "ago": max(0, ago) / 1000, "lasting": lasting}
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return None
