"""The events of the core, and what the definitions of all events share.

Every kind of event that dibs appends to the log is defined once, in the `events.py` of its room: a TypedDict of its
data. The class is named after the kind (`ClaimGranted`), its docstring is `KIND: what happened. Subject: what the
event's subject is.`, and a field that needs explaining has a comment. `make generate` writes the table of
docs/reference/events.md and `event_kinds.py` from these files; the tests hold every append to them, kind, fields and
types. An event without data has a class without fields. Agents' own kinds (`dibs emit`) are the subject of
`event.emitted`.

Nothing imports these files while dibs runs: an operation writes the kind as a plain string.
"""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

Json = Any  # any JSON value
Token = int | str  # the number of the commit that granted a claim; the placeholder stands for the event's own commit


class Requested(TypedDict):
    """What a call with a request id adds to its event."""

    request: NotRequired[list[str]]  # the operation and the request id


class CallRefused(TypedDict):
    """call.refused: An operation refused a call. Subject: operation, resource, `state:KEY` or `vote:ID`."""

    code: str
    needs: NotRequired[str]  # the rank, of `forbidden`
    command: NotRequired[str]  # of `unverified`
    exit: NotRequired[int]  # of `unverified`
    seconds: NotRequired[float]  # of `unverified`
