"""The events of alerts, as types of their data. operations/core/events.py says how to add one."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from dibs.operations.alerts.answers import AlertKind, Severity


class AlertRaised(TypedDict):
    """alert.raised: An alert was raised: something needs attention.

    The event's agent is the one that it is about. Subject: alert id.
    """

    what: AlertKind  # its kind; docs/guides/alerts.md explains them
    severity: Severity
    about: str  # its subject
    resources: list[str]
    expected: NotRequired[int]  # ms
    actual: NotRequired[int]  # ms


class AlertAcknowledged(TypedDict):
    """alert.acknowledged: An agent or a person acknowledged an alert. Subject: alert id."""

    what: AlertKind
    why: str


class AlertCleared(TypedDict):
    """alert.cleared: The cause of an alert is gone. Subject: alert id."""

    what: AlertKind
    why: str
