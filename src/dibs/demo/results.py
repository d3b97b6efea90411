"""The results of the demo, as types: what `dibs demo --json` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from dibs.stores.seam import Json


class RoundCounts(TypedDict):
    """A round, counted from its files and journals."""

    edits: int
    in_files: int
    lost: int
    lost_edits: list[str]
    twice: int
    not_in_journals: int
    counters: int  # the sum of those in the files
    killed: str  # the agent
    paused: str  # the agent
    paused_seconds: float
    overwritten_by_paused: int
    seconds: float


class RefusalSample(TypedDict):
    """A refusal, as its agent read it."""

    agent: str
    file: str
    message: str


class StaleWrite(RefusalSample):
    """A write with a stale token, which was refused."""

    token: int
    holder: str


class GuardFindings(TypedDict):
    """Further results of the round with dibs."""

    refusals: int
    refusals_explained: int
    refusals_in_log: int
    samples: list[RefusalSample]
    stale_tokens_refused: int
    stale: list[StaleWrite]
    busy: int
    dead_holder: Json  # who had the dead agent's file next, and when; None: its claim was not taken from it
    verify: Json  # as `dibs verify` says it


class RoundResult(RoundCounts):
    """A round and its commit."""

    commit: str


class GuardedResult(RoundResult, GuardFindings):
    """The round with dibs."""


_With = TypedDict("_With", {"with": GuardedResult})


class DemoResult(_With):
    """Both rounds."""

    ok: bool
    failed: list[str]  # broken promises
    agents: int
    edits_each: int
    seed: int
    seconds: float
    scratch: str | None  # the folder, if it is kept
    hosts: int
    without: RoundResult


class SuiteRun(TypedDict):
    """One suite of `dibs demo --machine`; seconds from the start of its round."""

    agent: str
    asked: float  # for a slot, or to begin
    began: float
    ended: float
    passed: bool


class SuiteRound(TypedDict):
    """All suites, without slots or with them."""

    passed: int
    failed: int
    seconds: float  # until the last one was over
    runs: list[SuiteRun]


MachineResult = TypedDict(
    "MachineResult",
    {
        "ok": bool,  # none failed with slots
        "agents": int,
        "processors": int,
        "slots": int,
        "alone": float,  # seconds of one suite that nothing else runs next to
        "limit": float,  # seconds after which a suite fails
        "without": SuiteRound,
        "with": SuiteRound,
        "seconds": float,
    },
)
