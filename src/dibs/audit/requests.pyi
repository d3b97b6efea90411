"""The requests of this room. Made by `make generate` from its declarations."""

from collections.abc import Sequence
from typing import Literal, TypedDict

class BriefRequest(TypedDict):
    """The request of `brief`."""

    agent: str

class CheckRequest(TypedDict):
    """The request of `check`."""

    check: str
    since: int

class ExplainRequest(TypedDict):
    """The request of `explain`."""

    what: str
    since: str
    limit: int
    after: int | None
    archives: bool

class LogRequest(TypedDict):
    """The request of `log`."""

    path: Sequence[Sequence[str]]
    limit: int
    agent: str
    kind: str
    since: str
    text: str
    after: int | None
    before: int
    sentences: bool

class MapRequest(TypedDict):
    """The request of `map`."""

    path: Sequence[Sequence[str]]
    since: str
    depth: int
    rows: int
    limit: int
    after: str

class RunReadRequest(TypedDict):
    """The request of `run read`."""

    run: str
    facts: dict[str, str] | None

class RunReportRequest(TypedDict):
    """The request of `run report`."""

    run: str
    format: Literal["json", "md", "html"]
    out: str

class StatsRequest(TypedDict):
    """The request of `stats`."""

    since: str
    buckets: int
    limit: int
    after: str

class VerifyRequest(TypedDict):
    """The request of `verify`."""

    head: str
    live: bool
