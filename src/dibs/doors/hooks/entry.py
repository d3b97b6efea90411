"""Started by the launcher `.dibs/hook` with `python -I -S`. It is compiled at each start, and so it is short."""

import gc
import marshal
import sys
from posix import stat

if __name__ == "__main__":
    gc.disable()  # a hook is over in milliseconds, of which the collector would take two
    root = __file__.rpartition("/dibs/doors/hooks/")[0]
    # Without `site` only the standard library is on the path. -S leaves sys.prefix at the base installation, so the
    # interpreter's own place tells where the virtual environment is.
    own = sys.executable.rpartition("/bin/")[0]
    sys.path[0] = root
    sys.path.append(f"{own}/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages")
    bundled = None
    try:
        # bundle.py, from Python's own byte code if that is up to date: to import it would cost half a millisecond more
        here = f"{root}/dibs/doors/hooks"
        with open(f"{here}/__pycache__/bundle.{sys.implementation.cache_tag}.pyc", "rb", buffering=0) as file:
            data = file.read()
        source = stat(f"{here}/bundle.py")
        header = sys.modules["_frozen_importlib_external"].MAGIC_NUMBER + b"\0\0\0\0"
        stamp = (int(source.st_mtime) & 0xFFFFFFFF) | (source.st_size & 0xFFFFFFFF) << 32
        if data[:16] == header + stamp.to_bytes(8, "little"):
            names = {"__name__": "bundle"}
            exec(marshal.loads(data[16:]), names)  # noqa: S102, S302 - as Python itself does
            bundled = names["use"](root)  # type: ignore[operator]
            bundled.put("dibs.doors.hooks.hook")
        from dibs.doors.hooks.hook import leave, main
    except Exception:  # noqa: BLE001 - a bundle that is missing or damaged: the usual way
        sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not bundled]
        for name in [name for name in sys.modules if name.split(".")[0] == "dibs"]:
            del sys.modules[name]
        bundled = None
        from dibs.doors.hooks.hook import leave, main

    code = main(sys.argv[1:])
    if bundled is None or bundled.stale:
        from dibs.doors.hooks import bundling

        bundling.make(root)
    leave(code)
