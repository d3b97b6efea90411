"""Started by the launcher `.dibs/hook` with `python -I -S`. It is compiled at each start, so it is short."""

import sys
from marshal import loads

if __name__ == "__main__":
    data = b""
    names = {"__name__": "bundle"}
    try:  # bundle.py from Python's own byte code: to import it would cost half a millisecond more
        with open(f"{__file__[:-8]}__pycache__/bundle.{sys.implementation.cache_tag}.pyc", "rb", 0) as file:
            data = file.read()
        if data[:4] == sys.modules["_frozen_importlib_external"].MAGIC_NUMBER:
            exec(loads(data[16:]), names)  # noqa: S102, S302 - as Python itself does
        start = names["start"]
    except Exception:  # noqa: BLE001 - there is none, or it is damaged or another version's
        with open(f"{__file__[:-8]}bundle.py", "rb") as file:
            exec(file.read(), names)  # noqa: S102 - our own
        start, data = names["start"], b""
    start(__file__, data)  # type: ignore[operator]
