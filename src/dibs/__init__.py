"""dibs: who may change what, when several coding agents share a repository.

`dibs.open()` is the way in from Python. This file is imported by every `dibs` command, so it imports nothing: the names
below are loaded when they are first used.
"""

from __future__ import annotations

__version__ = "0.2.0"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs import aio as aio
    from dibs import patterns as patterns
    from dibs.errors import Busy as Busy
    from dibs.errors import Conflict as Conflict
    from dibs.errors import Deadlock as Deadlock
    from dibs.errors import DibsError as DibsError
    from dibs.errors import Failed as Failed
    from dibs.errors import Fenced as Fenced
    from dibs.errors import Forbidden as Forbidden
    from dibs.errors import Held as Held
    from dibs.errors import Invalid as Invalid
    from dibs.errors import Killed as Killed
    from dibs.errors import NotFound as NotFound
    from dibs.errors import Order as Order
    from dibs.errors import Quota as Quota
    from dibs.errors import Unavailable as Unavailable
    from dibs.interfaces.python.claim import Claim as Claim
    from dibs.interfaces.python.work import work as work
    from dibs.interfaces.python.workspace import Workspace as Workspace
    from dibs.interfaces.python.workspace import init as init
    from dibs.interfaces.python.workspace import open as open
    from dibs.workers.worker import Permanent as Permanent

_WAY_IN = ("Claim", "Workspace", "init", "open")
_MODULES = {"aio": "dibs.aio", "patterns": "dibs.patterns"}
_WORK = ("Permanent", "work")
_ERRORS = (
    "Busy", "Conflict", "Deadlock", "DibsError", "Failed", "Fenced", "Forbidden", "Held", "Invalid", "Killed",
    "NotFound", "Order", "Quota", "Unavailable",
)  # fmt: skip


def __getattr__(name: str) -> object:
    """Load a public name when it is first used."""
    if name in _WAY_IN:
        from dibs.interfaces.python import workspace

        return getattr(workspace, name)
    if name in _WORK:
        from dibs.interfaces.python import work

        return getattr(work, name)
    if name in _ERRORS:
        from dibs import errors

        return getattr(errors, name)
    if name in _MODULES:
        from importlib import import_module

        return import_module(_MODULES[name])
    message = f"module 'dibs' has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    """The public names."""
    return sorted([*_WAY_IN, *_WORK, *_ERRORS, *_MODULES, "__version__"])
