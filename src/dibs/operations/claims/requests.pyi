"""The requests of this room. Made by `make generate` from its declarations."""

from collections.abc import Sequence
from typing import Any, Literal, TypedDict

class AskRequest(TypedDict):
    """The request of `ask`."""

    resource: Sequence[str]
    text: str

class ClaimRequest(TypedDict):
    """The request of `claim`."""

    resources: Sequence[Sequence[str]]
    mode: Literal["write", "read", "watch"]
    ttl: int | None
    wait: int
    reason: str
    task: str
    expect: int
    units: int
    keep: bool
    unusable: Sequence[str]
    pressure: Any
    machine: str
    tree: str
    by: Literal["hand", "deploy", "edit", "shell"]
    interest: bool
    waiter: str
    wake: str

class ConfirmRequest(TypedDict):
    """The request of `confirm`."""

    resource: Sequence[str]
    token: int

class HeldRequest(TypedDict):
    """The request of `held`."""

    resources: Sequence[Sequence[str]]

class RecallRequest(TypedDict):
    """The request of `recall`."""

    connection: str
    number: int
    waiter: str
    kept: bool

class ReleaseRequest(TypedDict):
    """The request of `release`."""

    resources: Sequence[Sequence[str]]
    all: bool
    commit: str
    to: str
    token: int
    force: bool
    why: str
    saved: Sequence[tuple[str, str, str, str]]

class RenewRequest(TypedDict):
    """The request of `renew`."""

    resources: Sequence[Sequence[str]]

class StatusRequest(TypedDict):
    """The request of `status`."""

    resources: Sequence[Sequence[str]]
    limit: int
    after: str

class WithdrawRequest(TypedDict):
    """The request of `withdraw`."""

    waiter: str
    claims: Sequence[str]
