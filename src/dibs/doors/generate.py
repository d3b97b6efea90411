"""`make generate`: writes the sources that are derived from the declarations of the operations.

Three files: `operations/index.py` (which file declares which operation, so that a command loads only that one),
`doors/methods.py` (the typed methods of the Python API) and `docs/CLI.md`. A test fails when they are out of date.
"""

from __future__ import annotations

import os
import sys
from keyword import iskeyword

from dibs.doors import catalogue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.operations.declare import Field, Operation

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


def index() -> str:
    """The text of operations/index.py."""
    lines = "".join(f'    "{name}": "{file}",\n' for name, file in sorted(catalogue.declared().items()))
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


def page() -> str:
    """The text of docs/CLI.md: every command's help."""
    import contextlib
    import io

    from dibs.doors.cli import help as helps

    parts = [
        "# Commands\n\nMade from the declarations by `make generate`; `dibs help COMMAND` prints the same.\n\n"
        "Every command takes these:\n\n| | |\n| --- | --- |\n"
        + "".join(f"| `{left}` | {text} |\n" for left, text in helps.COMMON)
        + f"\n{helps.EXITS}.\n"
    ]
    for title, names in helps.GROUPS:
        parts.append(f"\n## {title}\n")
        for name in names:
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                helps.of_name(name)
            common = {left for left, _ in helps.COMMON}
            lines = [
                line
                for line in said.getvalue().splitlines()
                if line.strip().partition("  ")[0] not in common and line != helps.EXITS
            ]
            body = "\n".join(lines[2:]).strip()
            parts.append(f"\n### dibs {name}\n\n{lines[0]}\n\n```text\n{body}\n```\n")
    return "".join(parts)


def files() -> dict[str, str]:
    """Every generated file under the project's top, with its text."""
    from dibs.operations import index as known

    known.FILES.clear()  # the help pages are found through it, and an operation may have moved
    known.FILES.update(catalogue.declared())
    return {
        "src/dibs/operations/index.py": index(),
        "src/dibs/doors/methods.py": methods(),
        "docs/CLI.md": page(),
    }


def main() -> int:
    """Write them all."""
    import dibs

    top = os.path.dirname(os.path.dirname(os.path.dirname(dibs.__file__)))
    for name, text in files().items():
        with open(f"{top}/{name}", "w", encoding="utf-8") as file:
            file.write(text)
        sys.stdout.write(f"wrote {name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
