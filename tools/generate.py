"""`make generate`: writes the sources that are derived from the declarations of the operations.

`operations/core/index.py` (which file declares which operation, so that a command loads only that one),
`interfaces/cli/index.py` (the same for commands), `workspace/known_clients.py` (the clients, and what every call must
know of all of them), `workspace/hook_dialects.py` (what the launcher says to each of them), `plugins/claude` (the hooks
and the manifest of the Claude Code plugin, and the marketplace that has it), `operations/core/answer_keys.py` (the keys
of each answer, for help and docstrings), `interfaces/python/methods.pyi`, `aio_methods.pyi` and `workers/calls.pyi`
(the types of the Python API's methods; stubs.py), `operations/core/event_kinds.py` (the kinds of events, which
`operations/*/events.py` define), each room's `requests.pyi` (the types of what the bodies of its operations get;
requests.py), and the documents of `documents()` below. A test fails when one of them is out of date.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from textwrap import wrap
from typing import get_origin

from dibs.client import catalogue
from dibs.interfaces import schema
from dibs.interfaces.agents import make_index
from dibs.operations.alerts import kinds as alert_table
from dibs.operations.core import index as index_
from dibs.operations.core.answer_keys import KEYS
from dibs.operations.core.authority import ACTS
from dibs.operations.core.declare import RANKS
from tools import claude_plugin, reference, requests, stubs
from tools import troubleshooting as trouble
from tools.event_definitions import events
from tools.key_definitions import keys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


COLUMNS = 120  # of a line, as the formatter has it
TOP = Path(__file__).resolve().parent.parent

ROLES = """# Who may do what

Every operation declares who may call it; `operations/core/authority.py` decides. Each rank may also do what the ranks
to its left may.

| rank | who has it |
| --- | --- |
| viewer, worker, agent, orchestrator | agents with such a role in the config ([Guards](../guides/guards.md#roles)) |
| agent | agents with a role of your own, unless its `may` says otherwise |
| agent | every agent that has no role: its calls come from a client's hooks or shell |
| person | a caller without a role and with no client above its process: a person at a terminal, a script, CI |

The config and a credential (`dibs token new --role`) give roles; no caller can take one. `[roles] default` is for
agents: a person has a role only if `[roles.assign]` names that person. An agent's shell, and whatever it starts, never
counts as a person, whatever credential it uses.

The check of a landing runs the branch's code, so it has the rank of an agent: dibs in it speaks for a subagent of the
branch's agent (`ann/check`), whoever lands. Its environment says so, because no client is above it: a check that
removes its environment (`env -i dibs …`) is the user that lands. That is no accident, and dibs is not a sandbox; a
check of code that you do not trust belongs under another user, or into a container.

What a person does to files that agents hold, it does for them: `restore`, `undo` and, after the agent's turn, `git
commit` act, and the agents are notified ([Undo](../guides/undo.md), [Git](../guides/git.md)). That takes the rank of a
person and a caller that speaks for itself: a caller with `--as`, an orchestrator and an agent's shell are refused, as
any edit of a held file is.

A refusal is `forbidden`. It names the rank that is needed, the agents and people known to have it, and the owner of
the thing; the log has it as `call.refused`.

"in part": see the note below the table.

"""


def declared() -> dict[str, str]:
    """Which module below operations/ declares which operation. `index` caches this."""
    found = _tables("OPERATIONS", "operations")
    return {name: module.removeprefix("operations.") for name, module in found.items()}


def internal() -> dict[str, str]:
    """Which module declares which operation that only guards and other doors run."""
    return _tables("INTERNAL", "operations", "audit")


def asking() -> dict[str, str]:
    """Which module below audit/ and undo/ declares which query."""
    return _tables("QUERIES", "audit", "undo")


def _tables(table: str, *folders: str) -> dict[str, str]:
    """The operations in the modules' tables of that name, by loading all modules below these folders."""
    top = Path(index_.__file__).parent.parent.parent
    found: dict[str, str] = {}
    for path in sorted(path for folder in folders for path in (top / folder).rglob("*.py")):
        name = ".".join(path.relative_to(top).with_suffix("").parts)
        if path.stem not in {"__init__", "index"}:
            module = importlib.import_module(f"dibs.{name}")
            for one in getattr(module, table, ()):
                assert found.setdefault(one.name, name) == name, f"two operations are named {one.name}"
    return found


def roles() -> str:
    """The text of docs/reference/roles.md."""
    ranks = list(RANKS)
    lines = [f"| operation | {' | '.join(ranks)} |\n", f"| --- |{' --- |' * len(ranks)}\n"]
    notes = []
    for operation in catalogue.every():
        cells = []
        for rank in ranks:
            whole = RANKS[rank] >= RANKS[operation.max_rank or operation.rank]
            cells.append("yes" if whole else "in part" if RANKS[rank] >= RANKS[operation.rank] else "")
        lines.append(f"| `{operation.name}` | {' | '.join(cells)} |\n".replace("|  |", "| |").replace("|  |", "| |"))
        if operation.required_rank is not None:
            said = " ".join((operation.required_rank.__doc__ or "").split())
            notes.append(f"- `{operation.name}`: {said[:1].lower()}{said[1:]}\n")
    others = [(act, RANKS[least]) for act, least in sorted(ACTS.items()) if act not in index_.FILES]
    acts = [f"| `{act}` |{' |' * least}{' yes |' * (len(ranks) - least)}\n" for act, least in others]
    return f"{ROLES}{''.join([*lines, *acts])}\n{''.join(notes)}"


def index() -> str:
    """The text of operations/core/index.py."""
    found, inner = declared(), internal()
    assert not inner.keys() & {*found, *asking()}, "a name that is used twice"
    lines = "".join(f'    "{name}": "{file}",\n' for name, file in sorted(found.items()))
    inside = "".join(f'    "{name}": "{file}",\n' for name, file in sorted(inner.items()))
    asked = "".join(f'    "{name}": "{file}",\n' for name, file in sorted(asking().items()))
    return (
        '"""Which file declares which operation. Made by `make generate`; a test fails when it is out of date."""\n\n'
        f"FILES = {{\n{lines}}}\nQUERIES = {{\n{asked}}}  # below dibs: they read more than one transaction sees\n"
        f"INTERNAL = {{\n{inside}}}  # below dibs: for guards, workers and other doors; nobody calls them by hand\n"
    )


def answer_keys() -> dict[str, str]:
    """The keys of each answer that an operation gives."""
    named = {operation.answer for operation in (*catalogue.every(), *catalogue.queries())}
    return {answer: _keys_of(answer) for answer in sorted(named)}


def answer_table(keys: dict[str, str]) -> str:
    """The text of operations/core/answer_keys.py."""
    rows = []
    for answer, text in keys.items():
        row = f'    "{answer}": "{text}",\n'
        if len(row.rstrip()) > COLUMNS:
            lines = [f'        "{line}"\n' for line in wrap(text, COLUMNS - 10, drop_whitespace=False)]
            row = f'    "{answer}": (\n{"".join(lines)}    ),\n'
        rows.append(row)
    return (
        '"""The keys of each answer, for help and docstrings. Made by `make generate` from answers, whose import is '
        f'dear."""\n\nKEYS = {{\n{"".join(rows)}}}\n'
    )


def _keys_of(answer: str) -> str:
    """The keys of an answer in one line, for people: those that are always there, then the others."""
    always: list[str] = []
    sometimes: list[str] = []
    for key, hint in schema.hints_of(answer).items():
        shown = f"{key}[]" if get_origin(schema.plain(hint)) is list else key
        (sometimes if schema.is_sometimes(hint) else always).append(shown)
    return ", ".join(always) + (f"; sometimes {', '.join(sometimes)}" if sometimes else "")


def event_kinds() -> str:
    """The text of operations/core/event_kinds.py."""
    kinds = sorted(event.kind for event in events())
    families = dict.fromkeys(f"{kind.partition('.')[0]}." for kind in kinds)
    return (
        '"""The kinds of dibs\' own events. Made by `make generate` from operations/*/events.py, whose import is '
        f'dear."""\n\n'
        f"KINDS = frozenset((\n{_rows(kinds)}))  # fmt: skip\n"
        f"FAMILIES = (\n{_rows(families)})  # fmt: skip\n"
    )


def _rows(words: Iterable[str]) -> str:
    """Quoted words, as many in a line as fit."""
    lines = wrap(", ".join(f'"{word}"' for word in words), COLUMNS - 5, break_on_hyphens=False)
    return "".join(f"    {line.rstrip(',')},\n" for line in lines)


PAGE_WIDTH = 100  # columns of a help text in the document


def commands() -> str:
    """The text of interfaces/cli/index.py."""
    found: dict[str, str] = {}
    hidden = []
    import dibs.interfaces.cli.commands

    for file in sorted(Path(dibs.interfaces.cli.commands.__file__ or "").parent.glob("[!_]*.py")):
        module = __import__(f"dibs.interfaces.cli.commands.{file.stem}", fromlist=["COMMAND"])
        found[module.COMMAND.name] = file.stem
        hidden += [module.COMMAND.name] if module.COMMAND.hidden else []
    lines = "".join(f'    "{name}": "{file}",\n' for name, file in sorted(found.items()))
    listed = ", ".join(f'"{name}"' for name in sorted(hidden))
    return (
        '"""Which file of commands/ declares which command. Made by `make generate`; a test fails when it is out of '
        f'date."""\n\nCOMMANDS = {{\n{lines}}}\nHIDDEN = frozenset(({listed}))  # help does not list these\n'
    )


def page() -> str:
    """The text of docs/reference/commands.md: every command's help."""
    from dibs.interfaces.cli import command
    from dibs.interfaces.cli import help as helps
    from dibs.interfaces.cli.audiences import HEADINGS

    parts = [
        "# Commands\n\nMade from the declarations by `make generate`; `dibs help COMMAND` prints the same.\n\n"
        "Every command takes these, before or after its name:\n\n| | |\n| --- | --- |\n"
        + "".join(f"| `{left}` | {text} |\n" for left, text in helps.COMMON)
        + f"\n{helps.EXITS}.\n\n{helps.OK} {helps.ANSWERS}\n"
    ]
    left_out = set(helps.topic_lines(PAGE_WIDTH))
    for heading, names in helps.grouped().items():
        parts.append(f"\n## {HEADINGS[heading][1]}\n")
        for name in names:
            found = command.find(name)
            lines = [str(line) for line in helps.page(found, PAGE_WIDTH) if str(line) not in left_out]
            body = "\n".join(lines[len(helps.wrapped(found.help, PAGE_WIDTH)) :]).replace("\n\n\n", "\n\n").strip()
            parts.append(f"\n### dibs {name}\n\n{found.help}\n\n```text\n{body}\n```\n")
    return "".join(parts)


def record_table(page: str) -> str:
    """docs/internals/records.md with its table made anew, between its markers."""
    records = ["| key | record | type | room | index 1 | index 2 |\n| --- | --- | --- | --- | --- | --- |\n"]
    for key in keys():
        entries = [", ".join(f"`{entry}`" for entry in entries) for entries in (key.first, key.second)]
        type_ = f"`{key.type}`" if key.type else ""
        records.append(f"| `{key.form}` | {key.what} | {type_} | {key.room} | {' | '.join(entries)} |\n")
    return with_table(page, "records", records)


def event_table(page: str) -> str:
    """docs/reference/events.md with its table made anew, between its markers."""
    kinds = ["| kind | what happened | subject | data | room |\n| --- | --- | --- | --- | --- |\n"]
    kinds += [
        f"| `{event.kind}` | {event.meaning} | {event.subject} | {event.data} | {event.room} |\n" for event in events()
    ]
    return with_table(page, "events", kinds)


def alert_kinds(page: str) -> str:
    """docs/guides/alerts.md with its table of kinds made anew."""
    lines = ["| kind | raised when | severity | cleared when |\n| --- | --- | --- | --- |\n"]
    for name, kind in alert_table.TABLE.items():
        lines.append(f"| `{name}` | {kind.cause} | {kind.severity} | {kind.end} |\n")
    return with_table(page, "kinds", lines)


def troubleshooting(page: str) -> str:
    """docs/start/troubleshooting.md with its tables of refusals and of doctor's checks made anew."""
    return with_table(with_table(page, "refusals", trouble.refusals()), "doctor", trouble.doctor_rows())


def with_table(page: str, name: str, lines: list[str]) -> str:
    """A document with one of its tables made anew, between its markers."""
    before, begin, rest = page.partition(f"<!-- {name}: made by `make generate` -->\n")
    _, end, after = rest.partition(f"<!-- end of {name} -->\n")
    assert begin, f"there is no place for the table of {name}"
    assert end, f"there is no end of the table of {name}"
    text = "".join(lines).replace("  |", " |").replace("|  |", "| |").replace("|  |", "| |")
    return f"{before}{begin}{text}{end}{after}"


def files() -> dict[str, str]:
    """Every generated file under the project's top, with its text."""
    from dibs.interfaces.cli import index as cli_index
    from dibs.operations.core import index as known

    known.FILES.clear()  # the help pages are found through it, and an operation may have moved
    known.FILES.update(declared())
    known.QUERIES.clear()
    known.QUERIES.update(asking())
    KEYS.clear()  # the same for the keys of answers
    KEYS.update(answer_keys())
    made = commands()
    scope: dict[str, Any] = {}
    exec(made, scope)  # noqa: S102 - our own text: a command may be new
    cli_index.COMMANDS.clear()
    cli_index.COMMANDS.update(scope["COMMANDS"])
    cli_index.HIDDEN = scope["HIDDEN"]
    return {
        "src/dibs/interfaces/cli/index.py": made,
        "src/dibs/operations/core/index.py": index(),
        "src/dibs/operations/core/event_kinds.py": event_kinds(),
        "src/dibs/operations/core/answer_keys.py": answer_table(KEYS),
        "src/dibs/interfaces/python/methods.pyi": stubs.methods(),
        "src/dibs/interfaces/python/aio_methods.pyi": stubs.aio_methods(),
        "src/dibs/workers/calls.pyi": stubs.calls(),
        **requests.files(),
        "src/dibs/workspace/known_clients.py": make_index.text(),
        "src/dibs/workspace/hook_dialects.py": make_index.dialects(),
        **claude_plugin.files(),
        **documents(),
    }


def documents() -> dict[str, str]:
    """The documents that are made, and those that have a table which is."""
    written = {
        "docs/internals/records.md": record_table,
        "docs/reference/events.md": event_table,
        "docs/guides/alerts.md": alert_kinds,
        "docs/start/troubleshooting.md": troubleshooting,
    }
    return {
        "docs/reference/commands.md": page(),
        "docs/reference/roles.md": roles(),
        "docs/reference/config.md": reference.config_page(),
        "docs/reference/python.md": reference.python_page(),
        "docs/reference/http.md": reference.http_page(),
        "docs/reference/mcp.md": reference.mcp_page(),
        **{name: made((TOP / name).read_text(encoding="utf-8")) for name, made in written.items()},
    }


def main() -> int:
    """Write them all."""
    for name, text in files().items():
        (TOP / name).write_text(text, encoding="utf-8")
        sys.stdout.write(f"wrote {name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
