"""Three ways to look for a factor, and a check that tells a right one from a wrong one; for scatter_gather.toml."""

# ruff: noqa: INP001, T201 - a script that prints its result

from __future__ import annotations

import json
import math
import sys
import time

NUMBER = 1_000_036_000_099  # 1,000,003 times 1,000,033
SLOW = 0.001  # seconds after every hundred tries: upwards takes some ten seconds
PAGE = 100


def upwards() -> int:
    """Try them from below."""
    for start in range(2, math.isqrt(NUMBER), PAGE):
        for candidate in range(start, start + PAGE):
            if NUMBER % candidate == 0:
                return candidate
        time.sleep(SLOW)
    return NUMBER


def downwards() -> int:
    """Try them from the square root down."""
    return next(candidate for candidate in range(math.isqrt(NUMBER), 1, -1) if NUMBER % candidate == 0)


def check() -> int:
    """Is what somebody found a factor? Exit code 0 or 1."""
    factor = json.load(sys.stdin)["factor"]
    return 0 if 1 < factor < NUMBER and NUMBER % factor == 0 else 1


if __name__ == "__main__":
    how = sys.argv[1]
    if how == "check":
        sys.exit(check())
    print(json.dumps({"factor": {"upwards": upwards, "downwards": downwards, "guess": lambda: 7}[how](), "how": how}))
