"""The answer of `verify`, as types. operations/core/answers.py says how they are used."""

from __future__ import annotations

from typing import TypedDict


class FindingView(TypedDict):
    """Something wrong with the record."""

    seq: int
    code: str
    message: str


class VerifyAnswer(TypedDict):
    """Of `verify`."""

    found: int  # how many; `findings` has the first of them
    events: int
    granted: int
    live: int
    token: int
    first: int
    last: int
    link: str
    archives: int  # files with earlier events, which were read first
    elsewhere: int  # of these on other machines: not read
    settled: int  # that cannot be read, and that a person settled (`check settle`)
    findings: list[FindingView]
