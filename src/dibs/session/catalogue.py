"""The declared operations, found by name. Only the file that declares one is loaded for it."""

from __future__ import annotations

import os

from dibs.operations.core import index

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.operations.core.declare import Operation


_FOUND: dict[str, Operation] = {}  # a program that calls often need not look for them each time


def operation(name: str) -> Operation:
    """The declared operation of that name; KeyError if there is none."""
    if name not in _FOUND:
        module = __import__(f"dibs.operations.{index.FILES[name]}", fromlist=["OPERATIONS"])
        _FOUND.update((one.name, one) for one in module.OPERATIONS)
    return _FOUND[name]


def every() -> list[Operation]:
    """All declared operations, by name. For help, generation and tests."""
    return [operation(name) for name in sorted(index.FILES)]


def declared() -> dict[str, str]:
    """Which file of operations/ declares which operation, by loading all of them. This is what `index` caches."""
    import dibs.operations

    folder = os.path.dirname(dibs.operations.__file__ or "")
    found: dict[str, str] = {}
    for file in sorted(os.listdir(folder)):
        name = file.removesuffix(".py")
        if file.endswith(".py") and not name.startswith("_") and name != "index":
            module = __import__(f"dibs.operations.{name}", fromlist=["OPERATIONS"])
            for one in getattr(module, "OPERATIONS", ()):
                found[one.name] = name
    return found
