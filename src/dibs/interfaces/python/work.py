"""`dibs.work(ws, handler)`: a function for each task, with the worker that `dibs worker` has, too.

A handler that raises counts as a bug: its traceback is logged (to stderr unless logging is configured),
and the task's record says what was raised, and where.
"""

from __future__ import annotations

from dibs.workers.worker import Permanent, Stopped, Worker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType
    from typing import Any

    from dibs.interfaces.python.workspace import Workspace
    from dibs.workers.heartbeat import Job

    Handler = Callable[[Any, Any, dict[str, Any], Callable[..., None]], Any]

MAX_FRAMES = 3  # places that a task's record names, the innermost last


class HandlerError(Exception):
    """What a handler raised, in the words of the task's record."""


def work(  # noqa: PLR0913 - one for each option of `dibs worker`
    ws: Workspace,
    handler: Handler,
    *,
    type: str = "",
    can: Sequence[str] = (),
    run: str = "",
    drain: bool = False,
    limit: int = 0,
    idle: float | str | None = None,
    tell: Callable[[dict[str, Any]], None] | None = None,
) -> dict[str, int]:
    """Take tasks and call `handler(task, payload, inputs, progress)` for each; what it returns is the task's result.

    An exception is a failure that is tried again, `dibs.Permanent` one that is not. Its traceback is logged.
    `progress(percent, note)` says how far it is, and raises Fenced when the task is lost.

    `type` and `can` say which tasks this agent may take, `run` only those of one run. It ends when nothing is left
    that could come (`drain`), after so many tasks (`limit`), or after so long without one (`idle`, in seconds or as a
    text such as "30s"). `tell` is called with what happens. Gives how many were done, failed and so on.
    """
    from dibs.machine import durations
    from dibs.operations.core.declare import Field

    _check_signature(handler)
    for field, value in (
        (Field("type", "text", ""), type), (Field("can", "words", ""), can), (Field("run", "text", ""), run),
        (Field("drain", "flag", ""), drain), (Field("limit", "integer", ""), limit),
    ):  # fmt: skip
        field.check(value)
    pause = None if idle is None else durations.read(idle, "idle")
    worker = Worker(
        ws, lambda job: _call(handler, job), type=type, can=can, run=run, drain=drain, limit=limit, idle=pause,
        tell=tell,
    )  # fmt: skip
    return worker.run()


def _check_signature(handler: Handler) -> None:
    """A function that cannot be called with four values would fail every task there is."""
    from inspect import signature

    try:
        found = signature(handler)
    except (TypeError, ValueError):  # a function in C may not tell
        return
    try:
        found.bind(None, None, None, None)
    except TypeError as error:
        message = f"a handler is called as handler(task, payload, inputs, progress): {error}"
        raise TypeError(message) from None


def _call(handler: Handler, job: Job) -> Any:
    try:
        return handler(job.task, job.payload, job.inputs, job.progress)
    except (Permanent, Stopped):
        raise
    except Exception as error:
        if job.lost is not None:  # what it raised says no more than that
            raise
        import logging

        logging.getLogger("dibs.work").exception("task %s failed (%s)", job.id, job.task["title"])
        why = _said(error)
        if isinstance(error, TypeError) and _is_of_the_call(error.__traceback__):
            raise Permanent(why) from error
        raise HandlerError(why) from error


def _is_of_the_call(trace: TracebackType | None) -> bool:
    """Was it raised by calling the handler, not by anything inside? Then each further attempt would end like this."""
    return trace is not None and trace.tb_next is None


def _said(error: Exception) -> str:
    """What was raised and where, in one line: the last places of the traceback, without the lines of source."""
    from os.path import basename
    from traceback import extract_tb

    places = extract_tb(error.__traceback__)[1:][-MAX_FRAMES:]
    where = ", ".join(f"{basename(place.filename)}:{place.lineno} in {place.name}" for place in places)
    kind, text = error.__class__.__name__, str(error)
    what = f"{kind}: {text}" if text else kind
    return f"{what} ({where})" if where else what
