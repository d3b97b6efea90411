"""What a command of the command line is. One class for all: an operation's is made from its declaration.

A command that is not one operation declares itself in its own file below commands/, as `COMMAND`. So does one that does
more than run its operation (`dibs run start`): it has the operation's name, adds its own options, and takes the rest
from the declaration. `index.py` (generated) says which file declares which command, so that only that one is loaded.
"""

from __future__ import annotations

from dibs.client import catalogue
from dibs.operations.core import index as operations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.operations.core.declare import Field, Operation


class Command:
    """One command: its name, what help says about it, how its arguments are read, and the function that runs it.

    `run(words)` gets the parsed arguments and returns the exit code; a `raw` command gets the arguments as they are.
    """

    __slots__ = (
        "examples", "fields", "group", "help", "hidden", "json", "name", "notes", "old", "operation", "raw", "refusals",
        "rest", "run", "short",
    )  # fmt: skip

    def __init__(  # noqa: PLR0913 - a declaration: each is given by its name
        self,
        name: str,
        help: str = "",
        *,
        run: Callable[..., int] | None = None,
        group: str = "",
        fields: tuple[Field, ...] = (),
        examples: tuple[tuple[str, str], ...] = (),
        notes: tuple[str, ...] = (),
        json: str = "",
        refusals: tuple[str, ...] = (),
        short: dict[str, str] | None = None,
        rest: str = "",
        raw: bool = False,
        hidden: bool = False,
        old: dict[str, str] | None = None,
    ) -> None:
        self.name = name
        self.help = help
        self.run = run
        self.group = group  # what audiences.py lists it under
        self.fields = fields
        self.examples = examples  # (command line, what it does)
        self.notes = notes  # paragraphs of the help text
        self.json = json  # the keys of the answer besides `ok`
        self.refusals = refusals  # the codes of its refusals
        self.short = short or {}  # one-letter options: letter → field
        self.rest = rest  # what follows `--`, as a usage line writes it; "" where nothing may follow
        self.raw = raw
        self.hidden = hidden  # not listed: for scripts of dibs' own
        self.old = old or {}  # options of earlier versions that still work: field → the new command line
        self.operation: Operation | None = None

    @property
    def shown(self) -> tuple[Field, ...]:
        """The fields that help and completion know: neither those that doors set nor those of earlier versions."""
        return tuple([field for field in self.fields if not field.internal and field.name not in self.old])


def names() -> list[str]:
    """The names of all commands that help knows; not the old spellings, which only still work."""
    from dibs.interfaces.cli.dispatch import OLD
    from dibs.interfaces.cli.index import COMMANDS, HIDDEN

    return sorted({*operations.FILES, *COMMANDS} - HIDDEN - OLD.keys())


def find(name: str) -> Command:
    """The command of that name; KeyError if there is none."""
    from dibs.interfaces.cli.index import COMMANDS

    own: Command | None = None
    if name in COMMANDS:
        own = __import__(f"dibs.interfaces.cli.commands.{COMMANDS[name]}", fromlist=["COMMAND"]).COMMAND
    if name not in operations.FILES and name not in operations.QUERIES:
        if own is None:
            raise KeyError(name)
        return own
    return of_operation(catalogue.operation(name), own)


def of_operation(operation: Operation, own: Command | None = None) -> Command:
    """The command of an operation; `own` is what a file of commands/ adds to it."""
    from dibs.interfaces.cli.examples import EXAMPLES

    made = Command(
        operation.name,
        own.help if own and own.help else operation.help,
        run=own.run if own else None,
        group=operation.group,
        fields=(*operation.fields, *(own.fields if own else ())),
        examples=EXAMPLES.get(operation.name, ()) or (own.examples if own else ()),
        notes=own.notes if own else (),
        refusals=tuple([error.code for error in operation.errors]),
        short=own.short if own else None,
        old=own.old if own else None,
    )
    made.operation = operation
    return made


def family_of(word: str) -> list[str]:
    """The commands of two words that begin with this one, such as `task`."""
    return [name for name in names() if name.startswith(f"{word} ")]
