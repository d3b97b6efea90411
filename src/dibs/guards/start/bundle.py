"""All modules of the hook path in one file: finding sixty files one by one takes a third of a hook's time.

The file lies next to the byte code that Python itself keeps (`__pycache__`). Like that it is made when it is missing,
and again when a source changed: it has each source's size and time of change, which are checked before a module is
taken from it. If it cannot be written, or anything about it is odd, imports go their usual way.

`entry.py` runs this before anything else, so it uses only what the interpreter has loaded by itself; not even
`__future__`, which is a file to be found and read. build.py makes the file.
"""

import gc
import marshal
import sys
from posix import O_CLOEXEC, O_RDONLY, open, pread, read, stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, ModuleType
    from typing import Any, NoReturn

    Entry = tuple[bool, int, int, int, int]  # is it a package; its source's size and time of change; place and length

VERSION = 16
MAX_TABLE_BYTES = 1 << 20  # a longer table is invalid
HEAD_BYTES = 8  # the length of the table in front of the code


class Bundle:
    """Finds and loads the modules in the file."""

    def __init__(self, root: str, fd: int, table: "dict[str, Entry]", start: int) -> None:
        self._root, self._fd, self._table, self._start = root, fd, table, start
        self.places: dict[str, str] = {}
        self.groups: dict[str, tuple[int, int, list[str], list[str]]] = {}
        self.rare: tuple[int, int] | None = None  # where the rest of the table is, for the modules that few hooks load
        self.stale = False
        self._found: dict[str, CodeType] = {}  # read, and not run yet

    def find_spec(self, name: str, path: "Any" = None, target: "Any" = None) -> "Any":  # noqa: ARG002 - Python's protocol
        """Python asks for a module. Modules that it is known to need next are loaded with it."""
        if name in self.places:
            return self._extension(name, self.places[name])
        if name[:5] != "dibs." and name != "dibs":
            return None
        package = self._is_package(name)
        if not package:
            self._put_together(name)
        file = self._take(name)
        if not file:
            return None
        spec = sys.modules["_frozen_importlib"].ModuleSpec(name, self, origin=file, is_package=package)
        spec.has_location = True
        if package:
            spec.submodule_search_locations.append(file.rpartition("/")[0])
        return spec

    def _extension(self, name: str, file: str) -> "Any":
        """A module in C, from its file at the time of the bundle."""
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

    def _entry(self, name: str) -> "Entry | None":
        """What the table says of a module; most are in its first part."""
        found = self._table.get(name)
        if found is None and self.rare is not None:
            rest, self.rare = self._code(*self.rare, dict), None
            self._table.update(rest or {})
            found = self._table.get(name)
        return found

    def _is_package(self, name: str) -> bool:
        found = self._entry(name)
        return found is not None and found[0]

    def _put_together(self, name: str) -> None:
        """Load the modules that a module needs next; their code is read at once, and its own with them."""
        group = self.groups.pop(name, None)
        if group is None:
            return
        place, length, names, own = group
        wanted = [one for one in own if one not in sys.modules]
        if 2 * len(wanted) > len(own):
            codes = self._code(place, length, tuple) if all(map(self._file_of, wanted)) else None
            if codes is not None and len(codes) == len(own):
                self._found.update([pair for pair in zip(own, codes, strict=True) if pair[0] in wanted])
        for needed in names:
            self.put(needed)

    def _path(self, name: str, package: bool) -> str:
        return f"{self._root}/{name.replace('.', '/')}{'/__init__' if package else ''}.py"

    def _file_of(self, name: str) -> str:
        """A module's source, if the module is in the bundle and its source did not change since."""
        found = self._entry(name)
        if found is None:
            return ""
        file = self._path(name, found[0])
        try:
            status = stat(file)
        except OSError:
            status = None
        if status is None or status.st_size != found[1] or status.st_mtime_ns != found[2]:
            self.stale = True
            return ""
        return file

    def _code(self, place: int, length: int, kind: type) -> "Any":
        """The code at that place; None if it is damaged: then the usual import, and a new file."""
        try:
            code = marshal.loads(pread(self._fd, length, self._start + place))  # noqa: S302 - our own, like a .pyc
        except (OSError, ValueError, TypeError, EOFError, MemoryError):
            code = None
        if not isinstance(code, kind):
            self.stale = True
            return None
        return code

    def _take(self, name: str) -> str:
        """Read a module's code; returns its source, "" if the bundle does not have it."""
        if name in self._found:  # read with others, whose sources were checked together
            return self._path(name, self._is_package(name))
        file = self._file_of(name)
        if file:
            code = self._code(self._table[name][3], self._table[name][4], type(_of_code.__code__))
            if code is None:
                return ""
            self._found[name] = code
        return file

    def put(self, name: str) -> None:
        """Load a module without Python's own import, which costs as much again as running its code."""
        if name in sys.modules:
            return
        if name in self.places:
            self._put_extension(name, self.places[name])
            return
        above, _, last = name.rpartition(".")
        package = self._is_package(name)
        if not package:
            self._put_together(name)
        if above:
            self.put(above)
        file = self._take(name) if not above or above in sys.modules else ""
        if not file:
            return
        module = type(sys)(name)
        module.__file__ = file
        if package:
            module.__path__ = [file.rpartition("/")[0]]
            module.__package__ = name
        else:
            module.__package__ = above
        sys.modules[name] = module
        try:
            if package:  # its modules ask for it first
                self._put_together(name)
            self.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
        if above:
            setattr(sys.modules[above], last, module)

    def _put_extension(self, name: str, file: str) -> None:
        """The same for a module in C. If that fails, the usual import finds it later."""
        implement = sys.modules["_imp"]
        try:
            module = implement.create_dynamic(sys.modules["_frozen_importlib"].ModuleSpec(name, None, origin=file))
            implement.exec_dynamic(module)
        except (ImportError, OSError):
            return
        sys.modules[name] = module

    def create_module(self, spec: "Any") -> None:
        """Python makes the module itself."""

    def exec_module(self, module: "ModuleType") -> None:
        """Run the module's code."""
        exec(self._found.pop(module.__name__), module.__dict__)  # noqa: S102 - as Python does


def _of_code() -> None:
    """The type of all code objects."""


def start(entry: str, data: bytes) -> "NoReturn":
    """All of a hook's process; `data` is the byte code of this module, if it was loaded from that."""
    gc.disable()  # a hook lasts milliseconds, of which the collector would take two
    root = entry.rpartition("/dibs/guards/")[0]
    # Without `site` only the standard library is on the path. -S leaves sys.prefix at the base installation, so the
    # interpreter's own place tells where the virtual environment is.
    own = sys.executable.rpartition("/bin/")[0]
    sys.path[0] = root
    sys.path.append(f"{own}/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages")
    bundled = None
    try:
        bundled = use(root) if _is_current(f"{root}/dibs/guards/start/bundle.py", data) else None
        if bundled is not None:
            bundled.put("dibs.guards.hook")
            if len(sys.argv) > 1:  # the client that the hook is for
                bundled.put(f"dibs.interfaces.agents.{sys.argv[1]}.hook")
        from dibs.guards.hook import leave, main
    except Exception:  # noqa: BLE001 - a bundle that is missing or damaged: the usual way
        sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not bundled]
        for name in [name for name in sys.modules if name.split(".")[0] == "dibs"]:
            del sys.modules[name]
        bundled = None
        from dibs.guards.hook import leave, main

    code = main(sys.argv[1:])
    if bundled is None or bundled.stale:
        try:
            from dibs.guards.start import build

            build.make(root)
        except Exception:  # noqa: BLE001, S110 - the answer counts, whatever the next hook has to do without
            pass
    leave(code)


def _is_current(source: str, data: bytes) -> bool:
    """Does this byte code belong to the present source?"""
    if data[4:8] != b"\0\0\0\0":
        return False
    status = stat(source)
    stamp = (int(status.st_mtime) & 0xFFFFFFFF) | (status.st_size & 0xFFFFFFFF) << 32
    return data[8:16] == stamp.to_bytes(8, "little")


def path_of(root: str) -> str:
    """The path of the bundle for this package and this interpreter."""
    return f"{root}/dibs/guards/start/__pycache__/bundle.{sys.implementation.cache_tag}.bin"


def use(root: str) -> "Bundle | None":
    """Take modules from the file from now on; None if that fails."""
    try:
        fd = open(path_of(root), O_RDONLY | O_CLOEXEC)
        length = int.from_bytes(read(fd, HEAD_BYTES), "big")
        if not 0 < length <= MAX_TABLE_BYTES:
            return None
        version, python, table, groups, places, rare = marshal.loads(read(fd, length))  # noqa: S302 - our own file, like a .pyc
        if version != VERSION or python != sys.version or not isinstance(table, dict):
            return None
    except (OSError, ValueError, TypeError, EOFError, MemoryError):
        return None
    bundle = Bundle(root, fd, table, HEAD_BYTES + length)
    bundle.places, bundle.groups, bundle.rare = places, groups, rare
    sys.meta_path.insert(0, bundle)
    return bundle
