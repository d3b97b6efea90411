"""Makes the bundle of the hook path's modules: see bundle.py, which uses it."""

from __future__ import annotations
import __future__

import ast
import marshal
import os
import sys
from importlib.machinery import EXTENSION_SUFFIXES, PathFinder

from dibs.guards.start.bundle import HEAD_BYTES, VERSION, path_of
from dibs.stores import ENGINES
from dibs.workspace.known_clients import NAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import CodeType

    from dibs.guards.start.bundle import Entry

# Modules in C: their files are remembered, because a search for each along the path costs as much as loading it.
EXTENSIONS = (
    "_json", "_sha1", "_sha2", "_sha256", "fcntl", "apsw", "zlib", "select", "_socket", "hiredis.hiredis",
    "tree_sitter._binding", "tree_sitter_bash._binding",
)  # fmt: skip
# Folders below the package whose modules go in; modules that no hook loads are left out.
FOLDERS = (
    "", "client", "client/upkeep", "deploy", "git", "guards", "interfaces", "interfaces/agents",
    *[f"interfaces/agents/{name}" for name in NAMES], "ledger", "machine", "shell", "operations", "operations/agents",
    "operations/claims", "operations/core", "operations/documents", "operations/guards", "operations/handovers",
    "operations/messages", "operations/runs", "operations/tasks", "operations/upkeep", "operations/votes", "stores",
    "stores/move", *[f"stores/{folder}" for folder in sorted({*ENGINES.values()})], "workers", "workspace",
)  # fmt: skip
LEFT_OUT = ("__main__.py", "interfaces/agents/make_index.py", "operations/core/answer_keys.py", "shell/rows.py")
TYPES = "answers.py"  # in each room: types alone
SESSION = (
    "dibs.operations.claims", "dibs.workspace.paths", "dibs.operations.claims.resources",
    "dibs.operations.core.policy", "dibs.operations.agents", "dibs.operations.agents.records",
    "dibs.operations.core.entry",
    "dibs.workspace.known_clients", "dibs.client.identity",
    "dibs.workspace.config", "dibs.client.driver", "dibs.machine.processes",
)  # fmt: skip
# The first module of a row needs the others next; the code of all is read at once, but for those that have a row of
# their own. A missing entry only costs a little time.
BUNDLED_MODULES = {
    "dibs.guards.hook": (
        "dibs", "dibs.interfaces", "dibs.guards", "dibs.guards.light_os", "dibs.jsontext",
        "dibs.interfaces.agents", "dibs.guards.payload", "dibs.machine", "dibs.machine.caller", "dibs.machine.clock",
        "dibs.ledger", "dibs.ledger.contents", "dibs.ledger.ledger_files", "dibs.machine.links", "dibs.errors",
        "dibs.workspace", "dibs.workspace.location",
        "_json", "_sha1", "fcntl",
    ),
    "dibs.guards.tool_call": (
        "dibs.guards.caller", "dibs.operations", "dibs.operations.core", "dibs.operations.guards", "dibs.stores",
        "dibs.stores.seam", "dibs.canonical",
        "dibs.operations.core.declare", "dibs.operations.core.call", "dibs.ledger.state",
        "dibs.client", "dibs.ledger.working_tree", "dibs.guards.audit", *SESSION, "dibs.client.session",
        "_sha256", "_sha2",
    ),
    "dibs.client.session": SESSION,
    "dibs.guards.edit_call": (
        "dibs.stores", "dibs.stores.opening", "dibs.stores.sqlite",
        "dibs.operations.guards.edit_guard", "dibs.operations.core.nested",
        "dibs.operations.claims.records", "dibs.operations.claims.endings", "dibs.operations.claims.grants",
        "dibs.operations.agents.marks", "dibs.operations.agents.roles", "dibs.git",
        "dibs.git.ignored",
    ),
    "dibs.guards.shell_call": (
        "dibs.git", "dibs.git.reflog", "dibs.shell",
    ),
    "dibs.shell": (
        "dibs.shell.globs", "dibs.shell.unknown", "dibs.shell.streams", "dibs.shell.findings",
        "dibs.shell.programs", "dibs.shell.options", "dibs.shell.call", "dibs.shell.flows",
        "dibs.shell.commands",
    ),
    "dibs.shell.walk": (
        "dibs.shell.chains", "dibs.shell.parser", "dibs.shell.redirects",
        "dibs.shell.words", "dibs.shell.parameters", "dibs.shell.text", "dibs.shell.outputs",
    ),
    "dibs.stores.sqlite.store": ("dibs.stores.sqlite.database_file", "dibs.stores.sqlite.gate", "dibs.stores.turns"),
    "dibs.stores.redis.store": (
        "dibs.stores.move.moved_mark", "dibs.stores.redis.scripts", "dibs.stores.redis.wire", "dibs.stores.redis.epoch",
        "dibs.stores.redis.cache", "dibs.stores.redis.clock_pace", "dibs.stores.redis.transaction", "dibs.stores.turns",
        "dibs.stores.urls", "dibs.stores.redis.autostart",
    ),
    # bundle.py asks for the client's own half by the hook's first argument
    **{f"dibs.interfaces.agents.{name}.hook": (f"dibs.interfaces.agents.{name}",) for name in NAMES},
}  # fmt: skip

# modules that many hooks load, in no row
ALONE = ("dibs.machine.filesystems", "dibs.shell.builtin", "dibs.ledger.attribution")


def make(root: str) -> None:
    """Write the file. If that fails, the next hook imports in the usual way.

    Its file is opened first: where that cannot be, nothing is compiled, which takes a second of every hook.
    """
    making = f"{path_of(root)}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(making), exist_ok=True)
        file = os.open(making, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    except OSError:
        return
    try:
        with os.fdopen(file, "wb") as written:
            written.write(_bundle(root))
        os.replace(making, path_of(root))
    except (OSError, ValueError, SyntaxError, KeyError):
        os.unlink(making)


def _bundle(root: str) -> bytes:
    """What goes into the file."""
    table: dict[str, Entry] = {}
    codes: dict[str, CodeType] = {}
    needs: dict[str, list[str]] = {}
    parts: list[bytes] = []
    place = 0
    for folder in FOLDERS:
        for name in sorted(os.listdir(f"{root}/dibs/{folder}")):
            file = f"{folder}/{name}" if folder else name
            if not name.endswith(".py") or name == TYPES or file in LEFT_OUT:
                continue
            with os.fdopen(os.open(f"{root}/dibs/{file}", os.O_RDONLY), "rb") as source:
                status = os.fstat(source.fileno())
                text = source.read()
            tree = ast.parse(text)
            needed = _needs(tree)
            slim = _slim(tree, f"{root}/dibs/{file}")
            code = marshal.dumps(slim)
            package = name == "__init__.py"
            dotted = f"dibs/{folder}" if package else f"dibs/{file.removesuffix('.py')}"
            dotted = dotted.rstrip("/").replace("/", ".")
            table[dotted] = (package, status.st_size, status.st_mtime_ns, place, len(code))
            codes[dotted] = slim
            needs[dotted] = needed
            parts.append(code)
            place += len(code)
    groups = {}
    places = _places()
    usual: set[str] = set()
    for name, together in BUNDLED_MODULES.items():
        names = [one for one in _in_order(together, needs) if one in table or one in places]  # not all Pythons have all
        own = [one for one in names if one not in EXTENSIONS and set(BUNDLED_MODULES.get(one, ())) <= set(together)]
        if not table[name][0]:  # a package's own code runs before its modules are read
            own.append(name)
        code = marshal.dumps(tuple([codes[one] for one in own]))
        groups[name] = (place, len(code), names, own)
        usual.update(own, [name])
        parts.append(code)
        place += len(code)
    usual.update(ALONE)
    rest = marshal.dumps({name: entry for name, entry in table.items() if name not in usual})
    parts.append(rest)
    first = {name: entry for name, entry in table.items() if name in usual}
    head = marshal.dumps((VERSION, sys.version, first, groups, places, (place, len(rest))))
    return len(head).to_bytes(HEAD_BYTES, "big") + head + b"".join(parts)


def _needs(tree: ast.Module) -> list[str]:
    """The modules that a module imports when it is loaded."""
    found = []
    top = [one for one in tree.body if not isinstance(one, ast.FunctionDef | ast.If)]  # `if TYPE_CHECKING`
    for node in statements(top):
        if isinstance(node, ast.Import):
            found += [one.name for one in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += [node.module, *[f"{node.module}.{one.name}" for one in node.names]]
    return found


def statements(body: Iterable[ast.stmt]) -> list[ast.stmt]:
    """All statements below these, in no order. No expression is looked into, which halves the time of `ast.walk`."""
    found = list(body)
    for node in found:  # it grows
        for name in ("body", "orelse", "finalbody"):
            found += getattr(node, name, ())
        for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            found += part.body
    return found


def _in_order(names: Iterable[str], needs: dict[str, list[str]]) -> list[str]:
    """The same names, each after those that it needs: else Python's own import would be asked for them."""
    wanted = dict.fromkeys(names)
    found: dict[str, None] = {}
    begun: set[str] = set()

    def place(name: str) -> None:
        if name not in begun:
            begun.add(name)
            for needed in needs.get(name, ()):
                if needed in wanted:
                    place(needed)
            found[name] = None

    for name in wanted:
        place(name)
    return list(found)


def _places() -> dict[str, str]:
    """The files of the C modules that hooks load, as far as they are files."""
    found: dict[str, str] = {}
    for name in EXTENSIONS:
        above = name.rpartition(".")[0]
        package = PathFinder.find_spec(above) if above else None
        if name in sys.builtin_module_names or (above and package is None):
            continue
        spec = PathFinder.find_spec(name, package.submodule_search_locations if package is not None else None)
        if spec is not None and spec.origin and spec.origin.endswith(tuple(EXTENSION_SUFFIXES)):
            found[name] = spec.origin
    return found


def _slim(tree: ast.Module, path: str) -> CodeType:
    """A module's code without what no hook needs: docstrings of functions, types, line numbers.

    That halves the bytes to be read. Assertions stay, and so do the docstrings of classes: they may be an error's text.
    Annotations stay texts, without the import that says so: `__future__` is a file to be found and read.
    """
    tree.body = [node for node in tree.body if not (isinstance(node, ast.ImportFrom) and node.module == "__future__")]
    for node in (tree, *statements(tree.body)):
        if isinstance(node, ast.ClassDef | ast.Module):
            node.body = _untyped(node.body)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Module):
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                first.value.value = ""
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
            given = node.args
            for argument in [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]:
                if argument is not None:
                    argument.annotation = None
    return _unlined(compile(tree, path, "exec", __future__.annotations.compiler_flag, dont_inherit=True, optimize=0))


def _untyped(body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements of a class or module without its types.

    Annotations would be collected in a dict, and what is below `if TYPE_CHECKING` would be read and never run.
    """
    found: list[ast.stmt] = []
    for node in body:
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            found += node.orelse
        elif not isinstance(node, ast.AnnAssign):
            found.append(node)
        elif node.value is not None:
            found.append(ast.copy_location(ast.Assign([node.target], node.value), node))
    return found or body[:0] + [ast.copy_location(ast.Pass(), one) for one in body[:1]]


def _unlined(code: CodeType) -> CodeType:
    """Code without line numbers, and with short names for methods: every name is a text to be read."""
    inner = tuple([_unlined(part) if isinstance(part, type(code)) else part for part in code.co_consts])
    return code.replace(co_consts=inner, co_linetable=b"", co_qualname=code.co_name)
