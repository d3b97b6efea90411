"""`make generate`: writes the sources that are derived from the declarations of the operations.

Five files: `operations/core/index.py` (which file declares which operation, so that a command loads only that one),
`doors/cli/index.py` (the same for commands), `doors/methods.py` (the typed methods of the Python API), `docs/CLI.md`
and `docs/ROLES.md` (who may what). A test fails
when they are out of date.
"""

from __future__ import annotations

import importlib
import sys
from keyword import iskeyword
from pathlib import Path

from dibs.operations.core import index as index_
from dibs.operations.core.authority import ACTS
from dibs.operations.core.declare import RANKS
from dibs.session import catalogue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.operations.core.declare import Field, Operation

TYPES = {
    "text": "str", "agent": "str", "choice": "str", "duration": "float | str", "integer": "int", "flag": "bool",
    "words": "Sequence[str]", "process": "int", "resource": "str", "resources": "str", "number": "int", "json": "Any",
    "commit": "str",
}  # fmt: skip

HEAD = '''"""The typed methods of the Python API. Made by `make generate` from the declarations in operations/."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dibs.doors.python import Claim


class Methods:
    """One method for each declared operation; durations are seconds or texts such as "30m"."""

    def _call(self, name: str, request_id: str | None, /, **given: Any) -> Any:
        raise NotImplementedError
'''


ROLES = """# Who may do what

Every operation declares who may call it; `operations/core/authority.py` decides. Each rank may also do what the ranks
to its left may.

| rank | who has it |
| --- | --- |
| viewer, worker, agent, orchestrator | agents with such a role in `.dibs/config.toml` ([GUARDS.md](GUARDS.md#roles)) |
| agent | agents with a role of your own, unless its `may` says otherwise |
| agent | every agent that has no role: its calls come from a client's hooks or shell |
| person | a caller without a role and with no client above its process: a person at a terminal, a script, CI |

The config alone gives roles; no caller can take one. `[roles] default` is for agents: a person has a role only if
`[roles.assign]` names that person. An agent's shell, and whatever it starts, never counts as a person.

A refusal is `forbidden`. It names the rank that is needed, the agents and persons known to have it, and the owner of
the thing; the log has it as `call.refused`.

"in part": see the note below the table.

"""


def declared() -> dict[str, str]:
    """Which module below operations/ declares which operation, by loading all of them. `index` caches this."""
    import dibs.operations

    top = Path(dibs.operations.__file__ or "").parent
    found: dict[str, str] = {}
    for path in sorted(top.rglob("*.py")):
        name = ".".join(path.relative_to(top).with_suffix("").parts)
        if path.stem not in {"__init__", "index"}:
            module = importlib.import_module(f"dibs.operations.{name}")
            found |= {one.name: name for one in getattr(module, "OPERATIONS", ())}
    return found


def roles() -> str:
    """The text of docs/ROLES.md."""
    ranks = list(RANKS)
    lines = [f"| operation | {' | '.join(ranks)} |\n", f"| --- |{' --- |' * len(ranks)}\n"]
    notes = []
    for operation in catalogue.every():
        cells = []
        for rank in ranks:
            whole = RANKS[rank] >= RANKS[operation.others or operation.may]
            cells.append("yes" if whole else "in part" if RANKS[rank] >= RANKS[operation.may] else "")
        lines.append(f"| `{operation.name}` | {' | '.join(cells)} |\n".replace("|  |", "| |").replace("|  |", "| |"))
        if operation.asks is not None:
            said = " ".join((operation.asks.__doc__ or "").split())
            notes.append(f"- `{operation.name}`: {said[:1].lower()}{said[1:]}\n")
    others = [(act, RANKS[least]) for act, least in sorted(ACTS.items()) if act not in index_.FILES]
    acts = [f"| `{act}` |{' |' * least}{' yes |' * (len(ranks) - least)}\n" for act, least in others]
    return f"{ROLES}{''.join([*lines, *acts])}\n{''.join(notes)}"


def index() -> str:
    """The text of operations/core/index.py."""
    lines = "".join(f'    "{name}": "{file}",\n' for name, file in sorted(declared().items()))
    return (
        '"""Which file declares which operation. Made by `make generate`; a test fails when it is out of date."""\n\n'
        f"FILES = {{\n{lines}}}\n"
    )


def methods() -> str:
    """The text of doors/methods.py."""
    return HEAD + "".join(_method(operation) for operation in catalogue.every())


def _method(operation: Operation) -> str:
    shown = [field for field in operation.fields if not field.hidden]
    first = [field for field in shown if field.positional]
    named = [field for field in shown if not field.positional]
    lines = [f"\n    def {operation.name.replace(' ', '_')}(\n        self,\n"]
    star = False
    for field in first:
        if field.kind == "resources":
            lines.append(f"        *{field.name}: str,\n")
            star = True
        else:
            lines.append(f"        {_parameter(field)}: {_type(field)}{'' if field.required else ' | None = None'},\n")
    if not star:
        lines.append("        *,\n")
    for field in named:
        default = "" if field.required else " = None"
        optional = "" if field.required else " | None"
        lines.append(f"        {_parameter(field)}: {_type(field)}{optional}{default},\n")
    lines.append("        request_id: str | None = None,\n")
    claimed = operation.name == "claim"
    lines.append(f"    ) -> {'Claim' if claimed else 'dict[str, Any]'}:\n")
    lines.append(f'        """{operation.help}\n\n        {_answers(operation)}\n        """\n')
    given = "".join(f"            {_argument(field)},\n" for field in shown)
    kind = "Claim" if claimed else "dict[str, Any]"
    lines.append(
        f"        answer: {kind} = self._call(\n"
        f'            "{operation.name}",\n            request_id,\n{given}        )\n'
    )
    lines.append("        return answer\n")
    return "".join(lines)


def _type(field: Field) -> str:
    return TYPES[field.kind]


def _parameter(field: Field) -> str:
    """A word of Python's own gets a `_` behind it: `for_`."""
    return f"{field.name}_" if iskeyword(field.name) else field.name


def _argument(field: Field) -> str:
    if iskeyword(field.name):
        return f'**{{"{field.name}": {_parameter(field)}}}'
    return f"{field.name}={field.name} or None" if field.kind == "resources" else f"{field.name}={field.name}"


def _answers(operation: Operation) -> str:
    text = f"Answers: {operation.json}."
    if operation.errors:
        text += f"\n        Raises: {', '.join(error.__name__ for error in operation.errors)}."
    return text


PAGE_WIDTH = 100  # columns of a help text in the document


def commands() -> str:
    """The text of doors/cli/index.py."""
    found: dict[str, str] = {}
    hidden = []
    import dibs.doors.cli.commands

    for file in sorted(Path(dibs.doors.cli.commands.__file__ or "").parent.glob("[!_]*.py")):
        module = __import__(f"dibs.doors.cli.commands.{file.stem}", fromlist=["COMMAND"])
        found[module.COMMAND.name] = file.stem
        hidden += [module.COMMAND.name] if module.COMMAND.hidden else []
    lines = "".join(f'    "{name}": "{file}",\n' for name, file in sorted(found.items()))
    listed = ", ".join(f'"{name}"' for name in sorted(hidden))
    return (
        '"""Which file of commands/ declares which command. Made by `make generate`; a test fails when it is out of '
        f'date."""\n\nCOMMANDS = {{\n{lines}}}\nHIDDEN = frozenset(({listed}))  # help does not list these\n'
    )


def page() -> str:
    """The text of docs/CLI.md: every command's help."""
    from dibs.doors.cli import command
    from dibs.doors.cli import help as helps

    parts = [
        "# Commands\n\nMade from the declarations by `make generate`; `dibs help COMMAND` prints the same.\n\n"
        "Every command takes these, before or after its name:\n\n| | |\n| --- | --- |\n"
        + "".join(f"| `{left}` | {text} |\n" for left, text in helps.COMMON)
        + f"\n{helps.EXITS}.\n\n{helps.OK} Where there is no `error`, the answer itself says what is wrong: `lost` of "
        "`boot`, `failed` of `run gates`, `check` and `doctor`, `findings` of `verify`.\n"
    ]
    left_out = {*helps.common_lines(PAGE_WIDTH), *helps.exit_lines(PAGE_WIDTH)}
    for group, names in helps.grouped().items():
        parts.append(f"\n## {helps.GROUPS[group]}\n")
        for name in names:
            found = command.find(name)
            lines = [str(line) for line in helps.page(found, PAGE_WIDTH) if str(line) not in left_out]
            body = "\n".join(lines[len(helps.wrapped(found.help, PAGE_WIDTH)) :]).replace("\n\n\n", "\n\n").strip()
            parts.append(f"\n### dibs {name}\n\n{found.help}\n\n```text\n{body}\n```\n")
    return "".join(parts)


def files() -> dict[str, str]:
    """Every generated file under the project's top, with its text."""
    from dibs.doors.cli import index as cli_index
    from dibs.operations.core import index as known

    known.FILES.clear()  # the help pages are found through it, and an operation may have moved
    known.FILES.update(declared())
    made = commands()
    scope: dict[str, Any] = {}
    exec(made, scope)  # noqa: S102 - our own text: a command may be new
    cli_index.COMMANDS.clear()
    cli_index.COMMANDS.update(scope["COMMANDS"])
    cli_index.HIDDEN = scope["HIDDEN"]
    return {
        "src/dibs/doors/cli/index.py": made,
        "src/dibs/operations/core/index.py": index(),
        "src/dibs/doors/methods.py": methods(),
        "docs/CLI.md": page(),
        "docs/ROLES.md": roles(),
    }


def main() -> int:
    """Write them all."""
    top = Path(__file__).resolve().parent.parent
    for name, text in files().items():
        (top / name).write_text(text, encoding="utf-8")
        sys.stdout.write(f"wrote {name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
