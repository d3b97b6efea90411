"""Started by the launcher `.dibs/hook` with `python -I -S`. It is compiled at each start, and so it is short."""

import gc
import sys

if __name__ == "__main__":
    gc.disable()  # a hook is over in milliseconds, of which the collector would take two
    root = __file__.rpartition("/dibs/doors/hooks/")[0]
    # Without `site` only the standard library is on the path. -S leaves sys.prefix at the base installation, so the
    # interpreter's own place tells where the virtual environment is.
    own = sys.executable.rpartition("/bin/")[0]
    sys.path[0] = f"{root}/dibs/doors/hooks"
    import bundle  # type: ignore[import-not-found]

    bundled = bundle.use(root)
    sys.path[0] = root
    sys.path.append(f"{own}/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages")
    try:
        if bundled is not None:
            bundled.put_together("dibs.doors.hooks.hook")
        from dibs.doors.hooks.hook import leave, main
    except Exception:  # noqa: BLE001 - a damaged bundle: the usual way
        sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not bundled]
        for name in [name for name in sys.modules if name.split(".")[0] == "dibs"]:
            del sys.modules[name]
        bundled = None
        from dibs.doors.hooks.hook import leave, main

    code = main(sys.argv[1:])
    if bundled is None or bundled.stale:
        bundle.make(root)
    leave(code)
