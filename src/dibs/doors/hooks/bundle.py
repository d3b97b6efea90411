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

VERSION = 3
# Folders below the package whose modules go in; what a hook never loads would only be made for nothing.
FOLDERS = ("", "doors", "doors/hooks", "facts", "operations", "stores")
LEFT_OUT = ("doors/generate.py", "doors/methods.py", "doors/python.py", "stores/conformance.py", "stores/memory.py",
            "__main__.py", "doors/hooks/entry.py", "doors/hooks/bundle.py")  # fmt: skip
LONGEST = 1 << 20  # bytes of that table, or it is none
HEAD = 8  # bytes: the length of the table that stands before the code


class Bundle:
    """Finds and loads the modules that are in the file."""

    def __init__(self, root: str, fd: int, table: dict[str, tuple[bool, str, int, int, int, int]], start: int) -> None:
        self._root, self._fd, self._table, self._start = root, fd, table, start
        self.stale = False

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:  # noqa: ARG002 - Python's protocol
        """Python asks: do you have this module? Not if its source changed since."""
        found = self._table.get(name)
        if found is None:
            return None
        package, file, size, changed, _, _ = found
        file = f"{self._root}/dibs/{file}"
        try:
            status = stat(file)
        except OSError:
            status = None
        if status is None or status.st_size != size or status.st_mtime_ns != changed:
            self.stale = True
            return None
        spec = sys.modules["_frozen_importlib"].ModuleSpec(name, self, origin=file, is_package=package)
        spec.has_location = True
        if package:
            spec.submodule_search_locations.append(file.rpartition("/")[0])
        return spec

    def create_module(self, spec: Any) -> None:
        """Python makes the module itself."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the module's code."""
        *_, place, length = self._table[module.__name__]
        code: CodeType = marshal.loads(pread(self._fd, length, self._start + place))  # noqa: S302 - our own, like a .pyc
        exec(code, module.__dict__)  # noqa: S102 - the same


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
        version, python, table = marshal.loads(read(fd, length))  # noqa: S302 - our own file, like a .pyc
        if version != VERSION or python != sys.version:
            return None
    except (OSError, ValueError, TypeError, EOFError):
        return None
    bundle = Bundle(root, fd, table, HEAD + length)
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
                code = marshal.dumps(compile(text, f"{root}/dibs/{file}", "exec", dont_inherit=True, optimize=0))
                package = name == "__init__.py"
                dotted = f"dibs/{folder}" if package else f"dibs/{file.removesuffix('.py')}"
                dotted = dotted.rstrip("/").replace("/", ".")
                table[dotted] = (package, file, status.st_size, status.st_mtime_ns, place, len(code))
                parts.append(code)
                place += len(code)
        head = marshal.dumps((VERSION, sys.version, table))
        making = f"{path_of(root)}.{os.getpid()}"
        os.makedirs(os.path.dirname(making), exist_ok=True)
        with os.fdopen(os.open(making, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "wb") as written:
            written.write(len(head).to_bytes(HEAD, "big") + head + b"".join(parts))
        os.replace(making, path_of(root))
    except (OSError, ValueError, SyntaxError):
        return
