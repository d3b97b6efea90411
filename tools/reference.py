"""The pages of docs/reference that are made from the declarations: config, Python, HTTP, MCP.

`make generate` writes them (generate.py). A key of the config is declared in three places that tests hold together: the
commented template, which has its meaning; the parser, which has its default; and the settings, which have its type.
"""

from __future__ import annotations

import inspect
import json
import re
import tomllib
from typing import NamedTuple

import dibs
from dibs.client import catalogue
from dibs.errors import as_written
from dibs.interfaces.http import openapi
from dibs.interfaces.mcp import tools
from dibs.interfaces.python import binder
from dibs.interfaces.python.claim import Claim
from dibs.interfaces.python.workspace import Workspace
from dibs.operations.core.answer_keys import KEYS
from dibs.operations.core.policy import Policy
from dibs.workspace import config

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


MADE = "Made from the declarations by `make generate`."
HEADER = re.compile(r"(?:# )?\[\[?([\w.]+)\]?\]\s*(?:#\s*(.*))?$")
ENTRY = re.compile(r'(?:# )?([a-z_]+|"[^"]+") = (.+?)(?:\s+# ?(.*))?$')
MORE = re.compile(r"#\s+# (.*)$")
CLAIM = ("unit", "expires", "remaining", "live", "check", "renew", "release")
WORKSPACE = (
    "root",
    "update",
    "undo",
    "close",
)  # what its own code has for callers; the rest is for other parts of dibs
COLUMNS = 100  # of a signature
EXAMPLES = {"roles.worker": "roles.NAME", "roles.reviewer": "roles.NAME", "deploy.targets.prod": "deploy.targets.NAME"}


class Setting(NamedTuple):
    """One key of the template."""

    table: str
    key: str
    value: str  # as the template has it: the default, or an example
    meaning: str


LISTS = ("claims.patterns", "pools.use")  # tables of which the config may have several


def settings() -> list[Setting]:
    """The keys of the config's template, in its order; comments that continue on the next line are joined."""
    found: list[Setting] = []
    table = ""
    for line in config.TEMPLATE.format(id="…").splitlines():
        head, entry, more = HEADER.match(line), ENTRY.match(line), MORE.match(line)
        if head:
            table = EXAMPLES.get(head[1], head[1])
        elif entry:
            found.append(Setting(table, entry[1], entry[2], entry[3] or ""))
        elif more and found:
            found[-1] = found[-1]._replace(meaning=f"{found[-1].meaning} {more[1]}")
    return found


def defaults() -> dict[str, dict[str, Any]]:
    """What holds without a config, by table."""
    read = config.parse("/dev/null")
    policy = Policy(**read["policy"])
    guards: dict[str, Any] = dict(policy.guards)
    work: dict[str, Any] = dict(policy.work)
    claims = {"ttl": policy.ttl, "max_ttl": policy.max_ttl, "max_life": policy.max_life, "expected": policy.expected}
    return {
        "": {"id": "", "store": read["store"]},
        "claims": {**claims, "ordering": policy.ordering},
        "guards": {name: guards[name] for name in ("on_doubt", "free", "across_worktrees", "keep", "strict")},
        "deploy": guards["deploy"],
        **work,
        "server": dict(read["server"]),
    }


def default_of(setting: Setting) -> str:
    """A key's default as it is written in the file; "" if there is none."""
    known = defaults().get(setting.table, {})
    if setting.key not in known:
        return ""
    value = known[setting.key]
    given = tomllib.loads(f"x = {setting.value}")["x"] if setting.value != '"…"' else ""
    if isinstance(value, int) and not isinstance(value, bool) and isinstance(given, str):
        return f'"{as_written(value)}"'
    if setting.key in {"strict", "commands"}:
        return "see [Guards](../guides/guards.md#paths)" if setting.key == "strict" else "those that dibs knows"
    return json.dumps(value, ensure_ascii=False) if value or value == 0 else ""


def config_page() -> str:
    """The text of docs/reference/config.md."""
    opening = (
        "# Config\n\n`.dibs/config.toml` holds the settings of a workspace; `dibs init` writes it with every key as a "
        f"comment.\n{MADE}\n\nA key that is not there has its default. A key that dibs does not know is an error. "
        'While the file is not valid, what\nit said before stays in force. Durations are texts such as `"90s"`, '
        '`"30m"`, `"8h"`, `"7d"`. Commit the file: it names no machine.\n'
    )
    parts, table = [opening], None
    for setting in settings():
        if setting.table != table:
            table = setting.table
            title = f"`[[{table}]]`" if table in LISTS else f"`[{table}]`" if table else "The top"
            parts.append(f"\n## {title}\n\n| key | default | example | meaning |\n| --- | --- | --- | --- |\n")
        default = default_of(setting)
        shown = f"`{default}`" if default and not default.startswith(("see", "those")) else default
        example = "" if setting.value in {default, '"…"', "[]"} else f"`{setting.value}`"
        parts.append(f"| `{setting.key}` | {shown} | {example} | {setting.meaning} |\n")
    return _tidy("".join(parts))


def _tidy(text: str) -> str:
    return text.replace("  |", " |").replace("|  |", "| |").replace("|  |", "| |")


def _signature(name: str, shown: list[str], answer: str) -> str:
    """A function as it is called, in one line or with a line for each parameter."""
    line = f"{name}({', '.join(shown)}) -> {answer}"
    return line if len(line) <= COLUMNS else f"{name}(\n" + "".join(f"    {one},\n" for one in shown) + f") -> {answer}"


def _parameter(name: str, type_: str, default: str) -> str:
    return f"{name}: {type_} = {default}" if default else f"{name}: {type_}" if type_ else name


def _functions() -> list[str]:
    """The functions of the package and of `dibs.patterns`."""
    named = {"dibs.open": dibs.open, "dibs.init": dibs.init, "dibs.work": dibs.work}
    named |= {f"dibs.patterns.{name}": getattr(dibs.patterns, name) for name in dibs.patterns.__all__}
    return [_entry(name, function) for name, function in named.items() if callable(function)]


def _members(owner: type, name: str, only: tuple[str, ...] = ()) -> list[str]:
    """The public methods and properties of a class that are its own."""
    own = [(key, value) for key, value in vars(owner).items() if not key.startswith("_") and (not only or key in only)]
    found = [
        (key, value.fget if isinstance(value, property) else value, isinstance(value, property)) for key, value in own
    ]
    return [_entry(f"{name}.{key}", value, bare=bare) for key, value, bare in found if callable(value)]


def _entry(name: str, function: Any, *, bare: bool = False) -> str:
    """A function or a property: its name, what its docstring says, and its signature."""
    parts = (inspect.getdoc(function) or "").split("\n\n")
    said = "\n\n".join(f"```text\n{part}\n```" if part.startswith(">>>") else part for part in parts)
    signature = inspect.signature(function)
    answer = str(signature.return_annotation)
    shown: list[str] = []
    for key, one in signature.parameters.items():
        if one.kind is one.KEYWORD_ONLY and "*" not in shown:
            shown.append("*")
        default = "" if one.default is one.empty else repr(one.default)
        shown += [] if key == "self" else [_parameter(key, str(one.annotation), default)]
    call = f"{name}: {answer}" if bare else _signature(name, shown, answer)
    return f"\n### {name}\n\n{said}\n\n```text\n{call}\n```\n"


def python_page() -> str:
    """The text of docs/reference/python.md."""
    opening = (
        "# Python API\n\nEvery method of `dibs.open()` and, as coroutines, of `dibs.aio.open()`. "
        f"{MADE}\n[Python](../guides/python.md) shows how to use them. An answer is a plain dict with these keys "
        "(a TypedDict, for editors);\na refusal is raised: `dibs.Held`, `dibs.Fenced` and the others of "
        "[Troubleshooting](../start/troubleshooting.md#refusals).\n"
    )
    parts = [opening, "\n## The way in\n", *_functions()]
    parts += [
        "\n## A claim\n\nWhat `ws.claim` gives, for a `with` statement or by itself.\n",
        *_members(Claim, "claim", CLAIM),
    ]
    parts += [
        "\n## A workspace\n\nBesides the operations below.\n",
        *_members(Workspace, "ws", WORKSPACE),
        "\n## Operations\n",
    ]
    every = sorted([*catalogue.every(), *catalogue.queries()], key=lambda operation: operation.name)
    for operation in every:
        name = binder.method_name(operation.name)
        shown = [_parameter(*one) for one in binder.parameters(operation)]
        head = _signature(f"ws.{name}", shown, binder.answer_of(operation, "Claim"))
        keys = KEYS[operation.answer]
        fields = [f for f in operation.fields if not f.internal]
        rows = "".join(f"| `{field.name}` | {field.help} |\n" for field in fields if field.help)
        table = f"\n| parameter | |\n| --- | --- |\n{rows}" if rows else ""
        answer = f"\nAnswer: {keys}.\n" if keys else ""
        parts.append(f"\n### ws.{name}\n\n{operation.help}\n\n```text\n{head}\n```\n{table}{answer}")
    return "".join(parts)


def http_page() -> str:
    """The text of docs/reference/http.md."""
    described = openapi.description()
    rows = []
    for path, methods in sorted(described["paths"].items()):
        for method, route in sorted(methods.items()):
            body = _body(described, route)
            rows.append(f"| `{method.upper()} {path}` | {route.get('summary', '').rstrip('.')} | {body} |\n")
    return _tidy(
        f"# HTTP\n\nEvery route of `dibs serve`, with the fields of its body; those in bold are required. {MADE}\n"
        "`GET /openapi.json` has the same with types. [Server](../guides/server.md) has credentials, status codes and "
        "limits.\n\n| route | what | fields |\n| --- | --- | --- |\n" + "".join(rows)
    )


def _body(described: dict[str, Any], route: dict[str, Any]) -> str:
    content = route.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    if "$ref" in content:
        content = described["components"]["schemas"][content["$ref"].rpartition("/")[2]]
    required = content.get("required", [])
    own = [name for name in content.get("properties", {}) if name not in {"as", "request_id"}]
    return ", ".join(f"**`{name}`**" if name in required else f"`{name}`" for name in own)


def mcp_page() -> str:
    """The text of docs/reference/mcp.md."""
    opening = (
        f"# MCP tools\n\nEvery tool that `dibs mcp` shows to a model; `dibs mcp --all` shows the rest. {MADE}\n"
        "[MCP](../guides/mcp.md) has how they are connected, and what a refusal looks like.\n"
    )
    parts = [opening]
    definitions: dict[str, Any] = {}
    for name in tools.TEXTS:
        tool = tools.Tool(catalogue.operation(name), definitions)
        required = tool.input_schema.get("required", [])
        rows = [
            f"| `{field}`{' (required)' if field in required else ''} | {said.get('description', '')} |\n"
            for field, said in tool.input_schema.get("properties", {}).items()
        ]
        table = f"\n| argument | |\n| --- | --- |\n{''.join(rows)}" if rows else ""
        parts.append(f"\n## {tool.name}\n\n{tool.description}\n{table}")
    return "".join(parts)
