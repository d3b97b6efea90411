"""The SQLite engine. Its modules import apsw, and this file imports it first: without `collections` (2 ms).

apsw needs `collections` only to see whether a statement's values are a Mapping; dibs passes tuples. A stub is in place
while apsw is loaded; a later import of `collections` gets the real module.
"""

from __future__ import annotations

import sys

if "collections" not in sys.modules and "apsw" not in sys.modules:
    _abc = sys.modules.get("_collections_abc")
    if _abc is None:
        _abc = type(sys)("collections.abc")
        _abc.__dict__["Mapping"] = dict
    _stub = type(sys)("collections")
    _stub.__dict__["abc"] = _abc
    sys.modules["collections"] = _stub
    sys.modules["collections.abc"] = _abc
    try:
        import apsw  # noqa: F401 - imported for its side effect
    finally:
        del sys.modules["collections"], sys.modules["collections.abc"]
