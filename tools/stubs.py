"""The types of what binds declarations at run time, as stubs for type checkers and editors.

`interfaces/python/methods.pyi` has the methods of the Python API, `aio_methods.pyi` those for asyncio,
`workers/calls.pyi` the ones that a worker needs, as a protocol: a program below the doors knows no door. They are
committed, so that an editor finds them in a checkout and a review sees each change of the API; `make generate` writes
them.
"""

from __future__ import annotations

from dibs.client import catalogue
from dibs.interfaces.python import binder
from dibs.interfaces.python.aio_methods import AsyncMethods
from dibs.interfaces.python.methods import Methods

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.operations.core.declare import Field, Operation

COLUMNS = 120  # of a line, as the formatter has it

METHODS = '''"""The types of {module}.py. Made by `make generate` from the declarations in operations/."""

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

{handle}
from dibs.operations.core.answers import (
{answers})

{choices}
class {name}:
    """{text}"""

{methods}'''
PLAIN = """from dibs.interfaces.python.binder import Path
from dibs.interfaces.python.claim import Claim"""
COROUTINES = """from dibs.interfaces.python.aio import ClaimRequest
from dibs.interfaces.python.binder import Path"""

# The operations that workers and their heartbeats call.
WORKERS = (
    "boot", "confirm", "renew", "sweep", "task fail", "task inputs", "task progress", "task release", "task show",
    "task split",
)  # fmt: skip

CALLS = '''"""What a worker needs of the way into its workspace: a protocol that the Python API's `Workspace` satisfies.

The programs of this folder stand below the doors; a door hands them the agent's calls. Types alone: there is no module
calls.py. Made by `make generate` from the declarations in operations/.
"""

from collections.abc import Sequence
from os import PathLike
from typing import Any, Literal, Protocol, TypeAlias

from dibs.client.session import Session
from dibs.operations.core.answers import (
{answers})
from dibs.operations.core.call import Call

Path: TypeAlias = str | PathLike[str]

class Calls(Protocol):
    """One agent's calls to one workspace."""

    @property
    def root(self) -> str:
        """The folder whose `.dibs/` this is."""

    @property
    def session(self) -> Session:
        """What they go through."""

    def caller(self, request_id: str = "") -> Call:
        """Who calls."""

{methods}'''


def methods() -> str:
    """The text of interfaces/python/methods.pyi."""
    return _class(Methods, PLAIN, "Claim", is_async=False)


def aio_methods() -> str:
    """The text of interfaces/python/aio_methods.pyi."""
    return _class(AsyncMethods, COROUTINES, "ClaimRequest", is_async=True)


def _class(owner: type, imports: str, handle: str, *, is_async: bool) -> str:
    every = sorted([*catalogue.every(), *catalogue.queries()], key=lambda operation: operation.name)
    named = {
        binder.choice_name(field): field
        for operation in every
        for field in operation.fields
        if field.kind == "choice" and len(field.choices) > binder.FEW
    }
    return METHODS.format(
        module=owner.__module__.rpartition(".")[2], name=owner.__name__, text=owner.__doc__, handle=imports,
        answers=_imports(operation for operation in every if operation.name != binder.HANDLED),
        choices="".join(_alias(name, field) for name, field in sorted(named.items())),
        methods="\n".join(_method(operation, handle, is_async=is_async) for operation in every),
    )  # fmt: skip


def calls() -> str:
    """The text of workers/calls.pyi."""
    used = [catalogue.operation(name) for name in WORKERS]
    return CALLS.format(answers=_imports(used), methods="".join(_method(operation, "") for operation in used))


def _imports(operations: Iterable[Operation]) -> str:
    names = sorted({operation.answer for operation in operations})
    return "".join(f"    {name},\n" for name in names)


def _alias(name: str, field: Field) -> str:
    words = "".join(f'    "{word}",\n' for word in field.choices)
    return f"{name}: TypeAlias = Literal[\n{words}]\n"


def _method(operation: Operation, handle: str, *, is_async: bool = False) -> str:
    """A method, in one line or with a line for each parameter; in a protocol, which has no handle, without its text."""
    async_ = "async " if is_async and operation.name != binder.HANDLED else ""
    define = f"    {async_}def {binder.method_name(operation.name)}"
    parameters = ["self", *[_parameter(*parameter) for parameter in binder.parameters(operation)]]
    returned = f" -> {binder.answer_of(operation, handle)}:{'' if handle else ' ...'}"
    head = f"{define}({', '.join(parameters)}){returned}"
    if len(head) > COLUMNS:
        lines = "".join(f"        {parameter},\n" for parameter in parameters)
        head = f"{define}(\n{lines}    ){returned}"
    if not handle:
        return f"{head}\n"
    text = "\n".join(f"        {line}".rstrip() for line in binder.documentation(operation).splitlines())
    return f'{head}\n        """{text.lstrip()}\n        """\n'


def _parameter(name: str, type_: str, default: str) -> str:
    return f"{name}: {type_} = {default}" if default else f"{name}: {type_}" if type_ else name
