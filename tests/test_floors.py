"""Traffic goes down the floors and comes back up: who may import whom, and what the hot path may load.

The sources are read, not imported, so that an import inside a function or below `if TYPE_CHECKING` counts like any
other: a type from the floor above is knowledge of the floor above.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dibs.guards.start import build
from dibs.operations.core import index
from dibs.stores import ENGINES

if TYPE_CHECKING:
    from collections.abc import Iterator

SRC = Path(__file__).resolve().parent.parent / "src"

COMMON = ("dibs.canonical", "dibs.error_subtypes", "dibs.errors", "dibs.jsontext")  # what every floor may say and write

# Room (a folder or a file below src/dibs; the longest name counts) → what it may import of dibs. What is not named here
# is not allowed, so a new room has to be given its place.
MACHINE = ("dibs.machine", *COMMON)
WORDS = ("dibs.shell", "dibs.git", "dibs.workspace.location", *MACHINE)  # a shell runs git, and git runs a shell
WORKSPACE = ("dibs.workspace", "dibs.operations", "dibs.stores", "dibs.git", *MACHINE)
CLIENT = ("dibs.client", "dibs.ledger", "dibs.states", *WORKSPACE)
MAY_IMPORT = {
    "error_subtypes": COMMON,
    "errors": (
        *COMMON,
        *[f"dibs.operations.{room}.answers" for room in ("claims", "runs", "tasks", "votes")],
    ),  # types
    "canonical": (),
    "jsontext": COMMON,
    "machine": MACHINE,
    "stores": ("dibs.stores", *MACHINE),
    "testing": ("dibs.testing", "dibs.stores", *MACHINE),
    "ledger.state": ("dibs.ledger.attribution", "dibs.operations.core.call", *COMMON),  # pure, as operations are
    "ledger.attribution": ("dibs.ledger.state", "dibs.operations.core.call", *COMMON),  # the same
    "operations": ("dibs.operations", "dibs.ledger.state", "dibs.stores.seam", *COMMON),
    "verify": ("dibs.verify", "dibs.stores", *MACHINE),
    "shell": WORDS,
    "git": WORDS,
    "workspace": WORKSPACE,
    "ledger": ("dibs.ledger", "dibs.operations.core.call", "dibs.git", "dibs.workspace", *MACHINE),
    "states": ("dibs.states", "dibs.ledger", *WORKSPACE),
    "client": CLIENT,
    "agent_folder": ("dibs.agent_folder", *CLIENT),
    "audit": ("dibs.audit", "dibs.agent_folder", "dibs.verify", *CLIENT),  # `check` compares an `.agent` folder's files
    "workers": ("dibs.workers", "dibs.audit", *CLIENT),
    "workers.patterns": ("dibs.workers", "dibs.interfaces.python", *CLIENT),  # they arrange work through the Python API
    "undo": ("dibs.undo", "dibs.audit", *CLIENT),
    "deploy": ("dibs.deploy", "dibs.workers", *CLIENT),
    "land": ("dibs.land", "dibs.workers", *CLIENT),
    "guards": ("dibs.guards", "dibs.deploy", "dibs.interfaces.agents", "dibs.shell", *CLIENT),  # each client's own half
    # What the guards would have decided: their operations, on the engine that simulations run on.
    "lookback": (
        "dibs.lookback",
        "dibs.testing.memory",
        "dibs.guards",
        "dibs.interfaces.agents",
        "dibs.shell",
        "dibs.audit",
        *CLIENT,
    ),
    "server": ("dibs.server", "dibs.guards", "dibs.land", "dibs.audit", *CLIENT),  # it answers hooks by their own code
    "interfaces": ("dibs",),
    "demo": ("dibs",),
    "aio": ("dibs.interfaces.python",),
    "patterns": ("dibs.workers.patterns",),
    "__init__": ("dibs",),
    "__main__": ("dibs.interfaces",),
}
PURE = (
    "operations",
    "ledger.state",
    "ledger.attribution",
)  # functions of their arguments: no clock, no file, no chance

# For the tests of engines: no other room imports it, whatever it may import otherwise. But the memory engine is what
# simulations run on, and `dibs lookback` is one.
TESTING = "dibs.testing"

COMPUTED = "dibs.(a name made at run time)"  # nobody can tell which, so only a door may, the catalogue, and a table

# What goes up all the same: (module, what it imports). Each is a debt.
UPWARD = {
    ("dibs.client.catalogue", COMPUTED),
    ("dibs.stores.opening", COMPUTED),  # of the table of engines: tests/stores/test_new_engine.py opens each
    ("dibs.stores.engines", COMPUTED),  # the same
    ("dibs.shell.programs", COMPUTED),  # of its own folder: tests/shell/test_programs.py calls them all
}

# Modules by which the world gets in: an operation is a function of its transaction and its request alone.
# fmt: off
WORLD = frozenset((
    "_random", "_time", "datetime", "random", "secrets", "time", "uuid",  # time and chance
    "_io", "apsw", "glob", "io", "mmap", "pathlib", "shutil", "sqlite3", "tempfile",  # files
    "builtins", "ctypes", "fcntl", "getpass", "importlib", "logging",  # the machine
    "os", "platform", "posix", "pwd", "signal", "sys",  # the same
    "_socket", "_thread", "asyncio", "concurrent", "http", "multiprocessing",  # others
    "select", "selectors", "socket", "subprocess", "threading", "urllib",  # the same
))
# fmt: on
WORLD_CALLS = frozenset(("__import__", "breakpoint", "eval", "exec", "input", "open", "print"))

# What a hook call cannot afford to load: each of these costs several milliseconds, most of them because of `re`.
# fmt: off
TOO_DEAR = (
    "argparse", "click", "collections", "contextlib", "dataclasses", "datetime", "enum", "functools", "hashlib",
    "inspect", "json", "pathlib", "re", "rich", "subprocess", "tomllib", "typing",
)
# fmt: on


def imports(source: str, module: str, *, package: bool = False, types: bool = True) -> Iterator[tuple[int, str]]:
    """Every import in a source as (line, dotted name); `from a import b` is `a.b`, whatever b is."""
    tree = ast.parse(source)
    if not types:
        tree.body = [one for one in tree.body if not (isinstance(one, ast.If) and _name(one.test) == "TYPE_CHECKING")]
    calls = "__import__" in source or "import_module" in source
    for node in ast.walk(tree) if calls else build.statements(tree.body):  # expressions are nine of ten nodes
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = module.split(".")
                above = parts[: len(parts) - node.level + package]
                base = ".".join([*above, base] if base else above)
            for alias in node.names:
                yield node.lineno, f"{base}.{alias.name}"
        elif isinstance(node, ast.Call) and _name(node.func) in {"__import__", "import_module"}:
            first = node.args[0] if node.args else None
            known = isinstance(first, ast.Constant) and isinstance(first.value, str)
            yield node.lineno, str(ast.literal_eval(first)) if first and known else COMPUTED


def room_of(module: str) -> str:
    """The room that a module belongs to: the longest one of the table that it is below."""
    below = module.removeprefix("dibs").removeprefix(".") or "__init__"
    return max((room for room in MAY_IMPORT if f"{below}.".startswith(f"{room}.")), key=len, default=below)


def strays(source: str, module: str, *, package: bool = False) -> list[str]:
    """What a source imports or calls although its floor may not."""
    room = room_of(module)
    found = []
    for line, name in imports(source, module, package=package):
        root = name.split(".", maxsplit=1)[0]
        if f"{name}.".startswith(f"{TESTING}.") and room not in {"testing", "lookback"}:
            found.append(f"{module}:{line} imports {name}")
        elif root == "dibs":
            if (module, name) not in UPWARD and not any(
                name == allowed or name.startswith(f"{allowed}.") for allowed in MAY_IMPORT[room]
            ):
                found.append(f"{module}:{line} imports {name}")
        elif room in PURE and root in WORLD:
            found.append(f"{module}:{line} imports {name}")
    if room in PURE and any(f"{name}(" in source for name in WORLD_CALLS):
        found += [
            f"{module}:{node.lineno} calls {node.func.id}"
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in WORLD_CALLS
        ]
    return found


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _sources() -> Iterator[tuple[Path, str, bool]]:
    for path in sorted([*SRC.rglob("*.py"), *SRC.rglob("*.pyi")]):
        parts = path.relative_to(SRC).with_suffix("").parts
        package = parts[-1] == "__init__"
        yield path, ".".join(parts[:-1] if package else parts), package


def test_every_room_has_its_place_on_the_floors() -> None:
    rooms = {path.stem for path in (SRC / "dibs").iterdir() if path.suffix == ".py" or list(path.glob("*.py"))}
    assert rooms - set(MAY_IMPORT) == set(), "say in MAY_IMPORT what the new room may import"
    assert {"interfaces", "operations", "stores", "machine", "verify"} <= rooms


def test_imports_go_down_the_floors_only() -> None:
    found = [line for path, module, package in _sources() for line in strays(path.read_text(), module, package=package)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("dibs.stores.sqlite.store", "from dibs.operations import claims"),
        ("dibs.stores.sqlite.store", "from dibs import operations"),
        ("dibs.stores.sqlite.store", "from ...operations.claims import claim"),
        ("dibs.stores.sqlite.store", "import dibs"),
        ("dibs.stores.sqlite.store", "def late():\n    import dibs.interfaces.cli"),
        ("dibs.stores.sqlite.store", "TYPE_CHECKING = False\nif TYPE_CHECKING:\n    from dibs.verify import checker"),
        ("dibs.stores.sqlite.store", "__import__('dibs.interfaces')"),
        ("dibs.stores.sqlite.store", "import importlib\nimportlib.import_module(name)"),
        ("dibs.machine.clock", "from dibs.stores import seam"),
        ("dibs.ledger.state", "import os"),
        ("dibs.ledger.attribution", "from dibs.ledger import ledger_files"),
        ("dibs.operations.claims.grants", "from dibs.machine.clock import iso"),
        ("dibs.operations.claims.grants", "from dibs.stores import sqlite"),
        ("dibs.operations.claims.grants", "from dibs.stores import *"),
        ("dibs.operations.claims.grants", "import os.path"),
        ("dibs.operations.claims.grants", "from time import time"),
        ("dibs.operations.claims.grants", "text = open('x').read()"),
        ("dibs.verify.checker", "from dibs.operations.claims.grants import overlap"),
        ("dibs.jsontext", "from dibs.machine import clock"),
        ("dibs.interfaces.cli", "from dibs.testing.memory import MemoryStore"),
        ("dibs.interfaces.cli", "from dibs import testing"),
        ("dibs.stores.sqlite.store", "from ...testing import conformance"),
        ("dibs.testing.memory", "from dibs.operations.claims import grants"),
    ],
)
def test_a_stray_import_is_found(module: str, source: str) -> None:
    assert strays(source, module)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("dibs.stores.sqlite.store", "import os\nimport apsw\nfrom dibs.machine import clock\nfrom .seam import Head"),
        (
            "dibs.operations.claims.grants",
            "from dibs.stores import seam\nfrom dibs.stores.seam import Json\nimport bisect",
        ),
        ("dibs.operations.claims.grants", "from dibs import errors, jsontext\nfrom dibs.operations import overlap"),
        ("dibs.verify.checker", "from dibs.stores.seam import link_of"),
        ("dibs.testing.memory", "from dibs.stores.seam import BaseStore\nfrom dibs.testing import conformance"),
        ("dibs.interfaces.cli", "from dibs import __version__\nfrom dibs.operations import claims\nprint()"),
    ],
)
def test_an_import_that_goes_down_is_allowed(module: str, source: str) -> None:
    assert strays(source, module) == []


BELOW = (
    "stores",
    "testing",
    "machine",
    "errors",
    "jsontext",
    "demo",
)  # rooms that are not above the seam, or play with an engine
BORROWED = {
    "dibs.agent_folder.scripts": ("dibs.stores.sqlite.gate.Gate",),  # its file lock, for a file of its own
    # It sends operations to the server that has the store: the half of that engine that is above the seam.
    "dibs.client.far_link": ("dibs.stores.far.connection.Lost", "dibs.stores.far.store.FarStore"),
}
QUESTIONS = frozenset(("SqliteStore", "RedisStore"))


def engine_questions(source: str, module: str) -> list[str]:
    """Where a source above the seam names an engine, or asks which one it talks to."""
    if module.split(".")[1:2] == [] or module.split(".")[1] in BELOW:
        return []
    found = []
    for line, name in imports(source, module):
        engine = any(f"{name}.".startswith(f"dibs.stores.{folder}.") for folder in ENGINES.values())
        if engine and name not in BORROWED.get(module, ()):
            found.append(f"{module}:{line} imports {name}")
    asked = any(word in source for word in ("getattr(", "hasattr(", "isinstance(")) and "store" in source
    if not asked and not any(word in source for word in (*QUESTIONS, "engine")):
        return found
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Name, ast.Attribute)):
            said = node.id if isinstance(node, ast.Name) else node.attr
            if said in QUESTIONS:
                found.append(f"{module}:{node.lineno} says {said}")
        if (
            isinstance(node, ast.Call)
            and _name(node.func) in {"getattr", "hasattr", "isinstance"}
            and node.args
            and _name(node.args[0]) in {"store", "_store"}
            and _name(node.args[1]) != "str"  # what a config says
        ):
            found.append(f"{module}:{node.lineno} asks what a store is")
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value == "engine":
            found.append(f"{module}:{node.lineno} asks for the engine's name")
    return found


def test_nothing_above_the_seam_asks_which_engine_it_talks_to() -> None:
    found = [line for path, module, _ in _sources() for line in engine_questions(path.read_text(), module)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "source",
    [
        "from dibs.stores.redis.store import RedisStore",
        "def late():\n    from dibs.stores import sqlite",
        "from dibs.stores.redis.wire import open_wire",
        "def late():\n    from dibs.stores.redis import local_server",
        "assert isinstance(session.store, object)",
        "seconds = getattr(store, 'follow', 0.2)",
        "if store.describe()['engine'] == 'sqlite': pass",
    ],
)
def test_a_question_about_the_engine_is_found(source: str) -> None:
    assert engine_questions(source, "dibs.client.session")
    assert engine_questions(source, "dibs.stores.opening") == []


# Rooms that run operations for others: they go by what an operation declares, never by its name.
NAMELESS = ("audit", "client", "deploy", "guards", "interfaces", "land", "undo", "workers")


def name_questions(source: str, module: str) -> list[str]:
    """Where a source asks which operation it has: compares something with an operation's name."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            said = [
                part for side in sides for part in (side.elts if isinstance(side, (ast.Set, ast.Tuple)) else [side])
            ]
            words = [part.value for part in said if isinstance(part, ast.Constant)]
            asked = [word for word in words if word in {*index.FILES, *index.QUERIES}]
            if asked and any(_name(side) in {"name", "operation", "command"} for side in sides):
                found.append(f"{module}:{node.lineno} asks for {asked[0]!r}")
        if isinstance(node, ast.Call) and _name(node.func) in {"startswith", "endswith"}:
            owner = node.func.value if isinstance(node.func, ast.Attribute) else None
            if isinstance(owner, ast.Attribute) and owner.attr == "name" and _name(owner.value) == "operation":
                found.append(f"{module}:{node.lineno} asks how an operation's name begins or ends")
    return found


def test_no_door_and_no_session_asks_for_an_operation_by_its_name() -> None:
    rooms = [(path, module) for path, module, _ in _sources() if module.split(".")[1:2][:1] != []]
    found = [
        line
        for path, module in rooms
        if module.split(".")[1] in NAMELESS
        for line in name_questions(path.read_text(), module)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "source",
    [
        "if operation.name == 'boot': pass",
        "if name in {'run end', 'run gates'}: pass",
        "code = 1 if 'claim' != operation.name else 0",
        "wanted = operation.name.startswith('run ')",
        "if command.name == 'log': pass",
    ],
)
def test_a_question_for_a_name_is_found(source: str) -> None:
    assert name_questions(source, "dibs.client.session")


def test_only_one_module_makes_canonical_resources() -> None:
    made = [
        f"{module}:{node.lineno}"
        for path, module, _ in _sources()
        if "Canonical(" in path.read_text()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and _name(node.func) == "Canonical"
    ]
    assert made, "workspace/paths.py makes them"
    assert [place for place in made if not place.startswith("dibs.workspace.paths:")] == []


def test_the_hot_path_loads_nothing_dear() -> None:
    code = (
        "import sys\n"
        f"sys.path.insert(0, {str(SRC)!r})\n"
        "import dibs.interfaces.cli\n"
        f"print(*[name for name in {TOO_DEAR!r} if name in sys.modules])"
    )
    fresh = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert fresh.returncode == 0, fresh.stderr
    assert fresh.stdout.split() == [], "`python -X importtime -c 'import dibs.interfaces.cli'` shows who asked for it"


def test_no_operation_imports_another_in_a_circle() -> None:
    """Imports inside functions count: they are there to save time, never to hide a circle. Types do not count."""
    graph = {
        module: {
            name if name in known else name.rpartition(".")[0]
            for _, name in imports(path.read_text(), module, package=package, types=False)
        }
        for known in [{module for _, module, _ in _sources()}]
        for path, module, package in _sources()
        if module.startswith("dibs.operations.")
    }
    while graph:
        leaves = {module for module, used in graph.items() if not (used - {module}) & graph.keys()}
        assert leaves, f"these import each other in a circle, or stand above one: {sorted(graph)}"
        graph = {module: used for module, used in graph.items() if module not in leaves}
