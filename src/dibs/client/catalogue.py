"""The declared operations, found by name. Only the file that declares one is loaded for it."""

from __future__ import annotations

from dibs.operations.core import index

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.operations.core.declare import Operation


_loaded: dict[str, Operation] = {}  # by name, for programs that call often


def operation(name: str) -> Operation:
    """The operation or query of that name, also one that only guards and doors run; KeyError if there is none."""
    if name not in _loaded:
        if name in index.FILES:
            module = __import__(f"dibs.operations.{index.FILES[name]}", fromlist=["OPERATIONS"])
            _loaded.update((one.name, one) for one in module.OPERATIONS)
        elif name in index.INTERNAL:
            module = __import__(f"dibs.{index.INTERNAL[name]}", fromlist=["INTERNAL"])
            _loaded.update((one.name, one) for one in module.INTERNAL)
        else:
            module = __import__(f"dibs.{index.QUERIES[name]}", fromlist=["QUERIES"])
            _loaded.update((one.name, one) for one in module.QUERIES)
    return _loaded[name]


def queries() -> list[Operation]:
    """All declared queries, by name."""
    return [operation(name) for name in sorted(index.QUERIES)]


def internal() -> list[Operation]:
    """All operations that only guards and other doors run, by name. No command, method or route is made from them."""
    return [operation(name) for name in sorted(index.INTERNAL)]


def every() -> list[Operation]:
    """All declared operations, by name. For help, generation and tests."""
    return [operation(name) for name in sorted(index.FILES)]
