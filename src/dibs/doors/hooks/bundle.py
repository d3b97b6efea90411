"""All modules of the hook path in one file: finding sixty files one by one costs a third of a hook's time.

The file lies beside the byte code that Python itself keeps (`__pycache__`), and like that it is made when it is missing
and made anew when a source changed: each source's size and time of change are in it and looked at before a module is
taken out of it. Where it cannot be written, or anything about it is odd, imports go their usual way.

`entry.py` imports this before anything else, so it uses only what the interpreter has loaded by itself.
"""

from __future__ import annotations

import marshal
import sys
from posix import O_CLOEXEC, O_RDONLY, open, pread, read, stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, ModuleType
    from typing import Any

VERSION = 5
# Modules in C: where they lie is remembered, because looking for each along the path costs as much as loading it.
EXTENSIONS = ("_json", "_sha1", "_sha2", "_sha256", "fcntl", "apsw", "zlib", "select")
# Folders below the package whose modules go in; what a hook never loads would only be made for nothing.
FOLDERS = ("", "doors", "doors/hooks", "facts", "facts/shell", "operations", "stores")
LEFT_OUT = ("doors/generate.py", "doors/methods.py", "doors/python.py", "stores/conformance.py", "stores/memory.py",
            "__main__.py", "doors/hooks/entry.py", "doors/hooks/bundle.py")  # fmt: skip
LONGEST = 1 << 20  # bytes of that table, or it is none
# Who asks for the first module will ask for the others, in this order. What is missing here only costs a little time.
TOGETHER = {
    "dibs.doors.hooks.hook": (
        "dibs", "dibs.doors", "dibs.doors.hooks", "dibs.jsontext", "dibs.doors.hooks.clients",
        "dibs.doors.hooks.journal", "dibs.errors", "dibs.facts", "dibs.facts.workspace",
    ),
    "dibs.doors.hooks.moments": (
        "dibs.operations", "dibs.facts.paths",
        "dibs.operations.resources", "dibs.operations.policy", "dibs.doors.config", "dibs.facts.clock",
        "dibs.facts.processes", "dibs.stores", "dibs.stores.seam", "dibs.operations.call", "dibs.doors.session",
    ),
    "dibs.operations.edits": (
        "dibs.operations.holds", "dibs.operations.ending", "dibs.operations.declare",
        "dibs.operations.claims", "dibs.operations.roles", "dibs.facts.ignored",
    ),
    "dibs.doors.hooks.shells": (
        "dibs.facts.reflog", "dibs.facts.shell", "dibs.facts.shell.globs", "dibs.facts.shell.reading",
        "dibs.facts.shell.words",
    ),
    "dibs.stores.sqlite": ("dibs.stores.sqlite_file", "dibs.stores.gate"),
}  # fmt: skip
HEAD = 8  # bytes: the length of the table that stands before the code


class Bundle:
    """Finds and loads the modules that are in the file."""

    def __init__(self, root: str, fd: int, table: dict[str, tuple[bool, str, int, int, int, int]], start: int) -> None:
        self._root, self._fd, self._table, self._start = root, fd, table, start
        self.places: dict[str, str] = {}
        self.stale = False
        self._found: dict[str, CodeType] = {}  # taken out, and not run yet

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:  # noqa: ARG002 - Python's protocol
        """Python asks: do you have this module? With it come those that it is known to ask for next."""
        if name in self.places:
            return self._extension(name, self.places[name])
        self.put_together(name)
        file = self._file_of(name)
        if not file:
            return None
        package = self._table[name][0]
        spec = sys.modules["_frozen_importlib"].ModuleSpec(name, self, origin=file, is_package=package)
        spec.has_location = True
        if package:
            spec.submodule_search_locations.append(file.rpartition("/")[0])
        return spec

    def _extension(self, name: str, file: str) -> Any:
        """A module in C, from the file where it lay when the bundle was made."""
        try:
            stat(file)
        except OSError:
            self.stale = True
            return None
        loader = sys.modules["_frozen_importlib_external"].ExtensionFileLoader(name, file)
        package = file.rpartition("/")[2].startswith("__init__.")
        spec = sys.modules["_frozen_importlib"].ModuleSpec(name, loader, origin=file, is_package=package)
        spec.has_location = True
        if package:
            spec.submodule_search_locations.append(file.rpartition("/")[0])
        return spec

    def put_together(self, name: str) -> None:
        """Load what a module is known to ask for."""
        for needed in TOGETHER.get(name, ()):
            self._put(needed)

    def _file_of(self, name: str) -> str:
        """A module's source, if the module is here, whole, and its source did not change since."""
        found = self._table.get(name)
        if found is None:
            return ""
        file = f"{self._root}/dibs/{found[1]}"
        try:
            status = stat(file)
        except OSError:
            status = None
        if status is None or status.st_size != found[2] or status.st_mtime_ns != found[3]:
            self.stale = True
            return ""
        try:
            code = marshal.loads(pread(self._fd, found[5], self._start + found[4]))  # noqa: S302 - like a .pyc
        except (OSError, ValueError, TypeError, EOFError, MemoryError):
            code = None
        if not isinstance(code, type(self.exec_module.__code__)):  # damaged: the usual way, and a new file
            self.stale = True
            return ""
        self._found[name] = code
        return file

    def _put(self, name: str) -> None:
        """Load a module without Python's own way of importing, which costs as much again as running its code."""
        if name in sys.modules:
            return
        file = self._file_of(name)
        if not file:
            return
        module = type(sys)(name)
        above, _, last = name.rpartition(".")
        module.__file__ = file
        if self._table[name][0]:
            module.__path__ = [file.rpartition("/")[0]]
            module.__package__ = name
        else:
            module.__package__ = above
        sys.modules[name] = module
        try:
            self.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
        if above:
            setattr(sys.modules[above], last, module)

    def create_module(self, spec: Any) -> None:
        """Python makes the module itself."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the module's code."""
        exec(self._found.pop(module.__name__), module.__dict__)  # noqa: S102 - as Python does


def path_of(root: str) -> str:
    """Where the file of this package and this interpreter lies."""
    return f"{root}/dibs/doors/hooks/__pycache__/bundle.{sys.implementation.cache_tag}.bin"


def use(root: str) -> Bundle | None:
    """Take modules out of the file from now on; None where that cannot be done."""
    try:
        fd = open(path_of(root), O_RDONLY | O_CLOEXEC)
        length = int.from_bytes(read(fd, HEAD), "big")
        if not 0 < length <= LONGEST:
            return None
        version, python, table, places = marshal.loads(read(fd, length))  # noqa: S302 - our own file, like a .pyc
        if version != VERSION or python != sys.version or not isinstance(table, dict):
            return None
    except (OSError, ValueError, TypeError, EOFError, MemoryError):
        return None
    bundle = Bundle(root, fd, table, HEAD + length)
    bundle.places = places
    sys.meta_path.insert(0, bundle)
    return bundle


def make(root: str) -> None:
    """Write the file. Where that cannot be done, the next hook takes the usual way as well."""
    import os

    table: dict[str, tuple[bool, str, int, int, int, int]] = {}
    parts: list[bytes] = []
    place = 0
    try:
        for folder in FOLDERS:
            for name in sorted(os.listdir(f"{root}/dibs/{folder}")):
                file = f"{folder}/{name}" if folder else name
                if not name.endswith(".py") or file in LEFT_OUT:
                    continue
                with os.fdopen(os.open(f"{root}/dibs/{file}", O_RDONLY), "rb") as source:
                    status = os.fstat(source.fileno())
                    text = source.read()
                code = marshal.dumps(_slim(text, f"{root}/dibs/{file}"))
                package = name == "__init__.py"
                dotted = f"dibs/{folder}" if package else f"dibs/{file.removesuffix('.py')}"
                dotted = dotted.rstrip("/").replace("/", ".")
                table[dotted] = (package, file, status.st_size, status.st_mtime_ns, place, len(code))
                parts.append(code)
                place += len(code)
        head = marshal.dumps((VERSION, sys.version, table, _places()))
        making = f"{path_of(root)}.{os.getpid()}"
        os.makedirs(os.path.dirname(making), exist_ok=True)
        with os.fdopen(os.open(making, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "wb") as written:
            written.write(len(head).to_bytes(HEAD, "big") + head + b"".join(parts))
        os.replace(making, path_of(root))
    except (OSError, ValueError, SyntaxError):
        return


def _places() -> dict[str, str]:
    """Where the modules in C lie that hooks load, as far as they are files at all."""
    from importlib.machinery import EXTENSION_SUFFIXES, PathFinder

    found: dict[str, str] = {}
    for name in EXTENSIONS:
        spec = None if name in sys.builtin_module_names else PathFinder.find_spec(name)
        if spec is not None and spec.origin and spec.origin.endswith(tuple(EXTENSION_SUFFIXES)):
            found[name] = spec.origin
    return found


def _slim(text: bytes, path: str) -> CodeType:
    """A module's code without what nobody asks for while a hook runs: words about functions, types, line numbers.

    That halves what has to be read. Assertions stay, and so do the words about classes: an error's text may be those.
    """
    import ast

    tree = ast.parse(text, path)
    for node in ast.walk(tree):
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
    return _unlined(compile(tree, path, "exec", dont_inherit=True, optimize=0))


def _unlined(code: CodeType) -> CodeType:
    inner = tuple([_unlined(part) if isinstance(part, type(code)) else part for part in code.co_consts])
    return code.replace(co_consts=inner, co_linetable=b"")
