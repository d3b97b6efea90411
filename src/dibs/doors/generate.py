"""`make generate`: writes the sources that are derived from the declarations of the operations.

Two files: `operations/index.py` (which file declares which operation, so that a command loads only that one) and
`doors/methods.py` (the typed methods of the Python API). A test fails when they are out of date.
"""

from __future__ import annotations

import os
import sys

from dibs.doors import catalogue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.operations.declare import Field, Operation

TYPES = {
    "text": "str", "agent": "str", "choice": "str", "duration": "float | str", "integer": "int", "flag": "bool",
    "words": "Sequence[str]", "process": "int", "resource": "str", "resources": "str",
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

    def _call(self, name: str, request_id: str | None, **given: Any) -> Any:
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
    lines = [f"\n    def {operation.name}(\n        self,\n"]
    star = False
    for field in first:
        if field.kind == "resources":
            lines.append(f"        *{field.name}: str,\n")
            star = True
        else:
            lines.append(f"        {field.name}: {_type(field)},\n")
    if not star:
        lines.append("        *,\n")
    for field in named:
        default = "" if field.required else " = None"
        optional = "" if field.required else " | None"
        lines.append(f"        {field.name}: {_type(field)}{optional}{default},\n")
    lines.append("        request_id: str | None = None,\n")
    claimed = operation.name == "claim"
    lines.append(f"    ) -> {'Claim' if claimed else 'dict[str, Any]'}:\n")
    lines.append(f'        """{operation.help}\n\n        {_answers(operation)}\n        """\n')
    given = "".join(f", {field.name}={_given(field)}" for field in shown)
    kind = "Claim" if claimed else "dict[str, Any]"
    lines.append(f'        answer: {kind} = self._call("{operation.name}", request_id{given})\n')
    lines.append("        return answer\n")
    return "".join(lines)


def _type(field: Field) -> str:
    return TYPES[field.kind]


def _given(field: Field) -> str:
    return f"{field.name} or None" if field.kind == "resources" else field.name


def _answers(operation: Operation) -> str:
    text = f"Answers: {operation.json}."
    if operation.errors:
        text += f"\n        Raises: {', '.join(error.__name__ for error in operation.errors)}."
    return text


def main() -> int:
    """Write both files."""
    import dibs

    top = os.path.dirname(dibs.__file__)
    for name, make in (("operations/index.py", index), ("doors/methods.py", methods)):
        with open(f"{top}/{name}", "w", encoding="utf-8") as file:
            file.write(make())
        sys.stdout.write(f"wrote {name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
