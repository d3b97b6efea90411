"""A light `os` for a hook's process: importing the real one takes a sixth of a bare interpreter's start.

Nearly all of that is `_collections_abc`, which `os` loads for the class of `os.environ`. The replacement has what
`posix` has, `os.path`, and the few other things that hooks use. Any other attribute (`os.walk`, `os.PathLike`, what
`subprocess` wants) loads the real module, and from then on the replacement has all of its contents.

Only the bundle puts it in place, before any other module of a hook is loaded; everything else has the real `os`.
Nothing on the hook path writes to `os.environ`: the dictionary here would not pass that on to the process.
"""

import posix
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

ENCODING, ERRORS = sys.getfilesystemencoding(), sys.getfilesystemencodeerrors()


def fsdecode(name: "str | bytes") -> str:
    """Like `os.fsdecode`."""
    name = posix.fspath(name)
    return name.decode(ENCODING, ERRORS) if isinstance(name, bytes) else name


def fsencode(name: "str | bytes") -> bytes:
    """Like `os.fsencode`."""
    name = posix.fspath(name)
    return name.encode(ENCODING, ERRORS) if isinstance(name, str) else name


def put_in_place() -> None:
    """From now on `import os` gives the replacement."""
    if "os" in sys.modules:
        return
    light = type(sys)("os")
    names = light.__dict__
    names.update(posix.__dict__)
    names.update(
        __name__="os", name="posix", curdir=".", pardir="..", sep="/", extsep=".", altsep=None, pathsep=":",
        defpath="/bin:/usr/bin", devnull="/dev/null", linesep="\n", SEEK_SET=0, SEEK_CUR=1, SEEK_END=2,
        fsdecode=fsdecode, fsencode=fsencode, environ={fsdecode(k): fsdecode(v) for k, v in posix.environ.items()},
    )  # fmt: skip

    def load_real(name: str) -> object:
        if name.startswith("__"):  # the import system asks every module for these
            raise AttributeError(name)
        del names["__getattr__"]
        del sys.modules["os"]
        import os

        sys.modules["os"] = light
        names.update({key: value for key, value in os.__dict__.items() if not key.startswith("__")})
        return getattr(os, name)

    names["__getattr__"] = load_real
    sys.modules["os"] = light
    names["path"] = sys.modules["os.path"] = _posixpath()


def _posixpath() -> "ModuleType":
    """Import `posixpath`, by the interpreter's own functions: Python's import takes as long again.

    `_stat` has all that it needs of `stat`, which would be one more module to run.
    """
    implement = sys.modules["_imp"]
    lends = "stat" not in sys.modules and "_stat" in sys.builtin_module_names
    if lends:
        lent = implement.create_builtin(sys.modules["_frozen_importlib"].ModuleSpec("_stat", None))
        implement.exec_builtin(lent)
        sys.modules["stat"] = lent
    for name in ("genericpath", "posixpath"):
        if name not in sys.modules and implement.is_frozen(name):
            implement.init_frozen(name)
    import posixpath

    if lends:
        del sys.modules["stat"]
    return posixpath


put_in_place()
