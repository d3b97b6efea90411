"""The events of the audit, as types of their data. operations/core/events.py says how to add one."""

from __future__ import annotations

from typing import NotRequired, TypedDict


class AuditSettled(TypedDict):
    """audit.settled: A person accepted a finding of the audit.

    Subject: an event's number, or a finding of `dibs check`.
    """

    why: str


class AuditUnsettled(TypedDict):
    """audit.unsettled: A finding of the audit is not accepted any more.

    Subject: an event's number, or a finding of `dibs check`.
    """

    why: NotRequired[str]


class AuditTested(TypedDict):
    """audit.tested: A test with many agents ended (`dibs demo`). Subject: the test, such as `demo`."""

    agents: int
    edits: int
    lost: int
    clean: bool  # its log holds together
    seconds: float
    version: str
    store: str
