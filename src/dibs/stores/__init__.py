"""Stores: what a workspace is remembered in. One seam (seam.py), one folder for each engine, one table that names them.

`opening.py` opens the store of a workspace by the pinned URL, `engines.py` says what an engine offers besides.
"""

from __future__ import annotations

DEFAULT_URL = "sqlite:"
# How a store's URL begins → the folder of its engine. Every hook reads this table; an engine is loaded when it is used.
ENGINES = {
    DEFAULT_URL: "sqlite",
    "redis://": "redis",
    "rediss://": "redis",
    "unix://": "redis",
    "redis+sentinel://": "redis",
    "https://": "far",
    "http://": "far",
}
FAR = ("https://", "http://")  # a server of dibs has the store and decides: operations are sent to it
