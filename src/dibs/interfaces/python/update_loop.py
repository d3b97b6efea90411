"""Read, change, write, and again if another agent wrote in between: the loop around a document's compare-and-set.

Nobody's change is lost: a write names the version that was read, so the later of two writers is refused, reads what is
there now and makes its change to that. The pause between two attempts is outside every transaction and grows.
"""

from __future__ import annotations

from dibs import jsontext
from dibs.errors import Conflict, Invalid, NotFound
from dibs.machine import clock
from dibs.operations.core import json_values
from dibs.operations.core.declare import MAX_JSON_CHARS, Field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dibs.interfaces.python.methods import Methods
    from dibs.operations.documents.answers import StateSetAnswer

ATTEMPTS = Field("attempts", "integer", "how often to try")
FIRST, LONGEST = 0.002, 0.1  # seconds: about as long as a commit takes; what a hundred writers need to get by


def update(
    workspace: Methods, key: str, change: Callable[[Any], Any], default: object = None, attempts: int = 100
) -> StateSetAnswer:
    """Set a document to what `change` makes of its value; gives the answer of the write that counted."""
    if ATTEMPTS.check(attempts) < 1:
        raise Invalid(f"attempts: at least one, not {attempts}", field="attempts")
    if not callable(change):
        raise Invalid(f"change: a function of the value that gives the new one, not {change!r:.100}", field="change")
    text = jsontext.encode(json_values.check(default, "default", MAX_JSON_CHARS))
    for attempt in range(1, attempts + 1):
        try:
            found = workspace.state_get(key)
            value, version = found["value"], found["version"]
        except NotFound:  # a copy: `change` may do with it as it likes, and is called again
            value, version = jsontext.decode(text), 0
        changed = change(value)
        if changed is None:  # of a function that changes its argument in place and forgets to return it
            raise Invalid("the function gave None; it returns the new value (`state_set` writes null)", key=key)
        try:
            return workspace.state_set(key, changed, version=version)
        except Conflict:
            if attempt == attempts:
                raise
        share = int(clock.random_id(), 16) / 16**12  # to get out of step with the others
        clock.sleep(share * min(LONGEST, FIRST * 2 ** min(attempt, 10)))
    raise AssertionError  # the last attempt returned or raised
