"""A hook that waits in line: the client holds its call as long as the hook does not answer.

Only where that was seen to work: the client's dialect says so (`HOLDS`), and its settings give our entry the time for
it. A hook with less time would be ended by its client, and most let the call pass then: such a hook refuses at once.

A server does not wait for others: its hook's own process does. The wait leaves nothing behind
when the client ends the hook (SIGTERM), or is gone itself, which no client tells its hooks. A hook that is killed
leaves a place that lapses, and what it is handed meanwhile passes on.
"""

from __future__ import annotations

import os

from dibs import jsontext
from dibs.errors import Held
from dibs.guards.caller import allowed
from dibs.machine import caller, clock, processes

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    from typing import NoReturn

    from dibs.guards.caller import Queued
    from dibs.guards.payload import Event
    from dibs.operations.core.call import Answer, Call, Fields
    from dibs.workspace.location import Place
else:
    import _signal  # `signal` itself imports enum

MARK = ".dibs/hook"  # in every entry of ours in a client's settings
ENDED = "the wait in line was ended by the client. Nothing was taken; run it again."
GONE = "the client is gone."


class Ended(BaseException):
    """The client ends the hook, or is gone."""


def wait(event: Event, place: Place, queued: Queued) -> None:
    """Wait for the turn of a call; from then on it holds what it waited for. Raises the refusal."""
    from dibs.client import wait_loop

    if caller.other() is not None:
        from dibs.machine.other_caller import Declined

        queued.call.waiter, queued.call.decided = queued.place, None
        queued.session.withdraw(queued.call)
        raise Declined
    event.until = event.until or clock.since_boot() + limit(event, place)
    fields = {**_factless(queued.fields), "wait": allowed(event, queued.fields["wait"])}
    parent = os.getppid()

    def check(said: Answer) -> None:
        if os.getppid() != parent or _is_gone(queued.call):
            raise Ended(GONE)
        queued.look(said)

    try:
        for number in (_signal.SIGTERM, _signal.SIGINT, _signal.SIGHUP):
            _signal.signal(number, _end)
        queued.granted(wait_loop.run(queued.session, queued.operation, queued.call, fields, check, queued.place))
    except Ended as ended:
        raise Held(str(ended)) from None
    finally:
        queued.session.close()


def _end(_: int, __: object) -> NoReturn:
    """Leave the line. The client kills the hook soon after that, so nothing interrupts it now."""
    for number in (_signal.SIGTERM, _signal.SIGINT, _signal.SIGHUP):
        _signal.signal(number, _signal.SIG_IGN)
    raise Ended(ENDED)


def _is_gone(call: Call) -> bool:
    return call.client is not None and processes.alive(call.client) is False


def _factless(fields: Fields) -> Fields:
    """The request without the facts that the wait makes old: the call begins again after it, with new ones."""
    found = dict(fields)
    for part in (found, *found.get("more", ())):
        if "targets" in part:
            part["targets"] = [{**target, "facts": None} for target in part["targets"]]
    return found


def limit(event: Event, place: Place) -> int:
    """How long the client holds a call for our hook, in ms, without the time that the hook itself may need."""
    from dibs.interfaces.agents.adapter import HOOK_TIMEOUT_S

    found = [
        timeout * 1000 // a_second
        for folder in dict.fromkeys((place.top, place.root))
        for name, a_second in event.dialect.HOLDS.items()
        for timeout in _timeouts(f"{folder}/{name}", event.name)
    ]
    return max(0, min(found, default=0) - HOOK_TIMEOUT_S * 1000)


def _timeouts(path: str, name: str) -> list[int]:
    """The timeouts of our entries for an event in a client's settings, in its own unit."""
    try:
        with open(path, encoding="utf-8") as file:
            groups = jsontext.decode(file.read().strip())["hooks"][name]
        handlers = [handler for group in groups for handler in group["hooks"] if MARK in handler["command"]]
        return [timeout if isinstance(timeout := handler["timeout"], int) else 0 for handler in handlers]
    except (OSError, ValueError, LookupError, TypeError):
        return []
