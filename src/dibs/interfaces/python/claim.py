"""A claim as Python programs hold it: `with ws.claim("src/api.py") as claim: …`.

In a `with` the claim is renewed until the end of the block (renewal.py), and released there. Nothing is decided here:
each step is one operation.
"""

from __future__ import annotations

from itertools import filterfalse

from dibs.errors import DibsError
from dibs.machine import clock
from dibs.operations.claims.resources import is_pool, pool_of
from dibs.workspace.paths import of_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from types import TracebackType
    from typing import Any, Self

    from dibs.interfaces.python.workspace import Workspace
    from dibs.operations.claims.answers import ClaimAnswer, Mode

    OnLost = Callable[["Claim", DibsError], None]


def is_of_pool(text: str) -> bool:
    """Is it a unit of a pool, as an answer names it?"""
    return bool(pool_of(("name", text)))


MAX_INTERRUPTS = 8  # while an interrupted release is repeated; a person does not press more often


class Claim:
    """A claim that was granted. In a `with`, it is released at the end, and a loss in between is raised there.

    Claiming inside what one holds already gives the same token; such an inner claim is not released at its end.
    `on_lost` is called in the renewing thread when the claim was lost; without it the loss is logged.
    """

    __slots__ = (
        "_asked", "_auto_renew", "_workspace", "answer", "expires_at", "id", "lost", "mode", "on_lost", "released",
        "resources", "token", "units", "until",
    )  # fmt: skip

    def __init__(self, workspace: Workspace, answer: ClaimAnswer, asked: list[Any], *, auto_renew: bool) -> None:
        self._workspace = workspace
        self._asked = asked  # canonical already (workspace/paths.py made them), so doors pass them on
        self._auto_renew = auto_renew
        self.answer = answer
        self.id: str = answer["claim"]
        self.token: int = answer["token"]
        self.resources: list[str] = answer["resources"]
        self.units: list[str] = answer.get("units", [])  # the own names of the units of pools among them
        if any(map(is_pool, asked)):  # what is renewed and released is what was given, not any unit of the pool
            self._asked = [*filterfalse(is_pool, asked), *map(of_name, filter(is_of_pool, self.resources))]
        self.mode: Mode = answer["mode"]
        self.keep(answer["expires_at"])
        self.lost: DibsError | None = None  # why it is no longer ours, as far as it is known
        self.released = answer.get("used_up") == self.resources  # a token of a rate: there is nothing to release
        self.on_lost: OnLost | None = None

    @property
    def unit(self) -> str:
        """The one unit of a pool that it has: "3100" of `pool:port`. Raises Invalid if it has none, or several."""
        if len(self.units) != 1:
            from dibs.errors import Invalid

            raise Invalid(f"the claim on {', '.join(self.resources)} has {len(self.units)} units of pools, not one")
        return self.units[0]

    @property
    def expires(self) -> datetime:
        """When it ends unless it is renewed, with its time zone (UTC); `expires_at` is the same as text."""
        from datetime import datetime

        return datetime.fromisoformat(self.expires_at)

    @property
    def remaining(self) -> float:
        """Seconds until it ends unless it is renewed; 0 if it has ended."""
        return max(0, self.until - clock.since_boot()) / 1000 if self._is_ours() else 0.0

    @property
    def live(self) -> bool:
        """Is it ours, as far as is known without asking the store? `check` asks."""
        return self.remaining > 0

    def _is_ours(self) -> bool:
        return self.lost is None and not self.released

    def check(self) -> None:
        """Raise Fenced unless the token is still live for every resource. Call it right before you write."""
        from dibs.errors import Fenced

        if isinstance(self.lost, Fenced):
            raise self.lost
        for resource in self._asked:
            self._workspace.confirm(resource, token=self.token)

    def renew(self) -> None:
        """Ask for a new deadline."""
        answer = self._workspace.renew(*self._asked)
        self.keep(answer["renewed"][0]["expires_at"])

    def renew_all(self) -> None:
        """The same for the thread that renews: an inner claim is renewed as the claim that it lies within."""
        paths = self._workspace.session.paths
        inner = self.answer.get("renewed")
        wanted: list[Any] = [paths.canonical(one, paths.root) for one in self.resources] if inner else self._asked
        from dibs.errors import Fenced

        try:
            self.keep(self._workspace.renew(*wanted)["renewed"][0]["expires_at"])
        except Fenced:
            if not inner:
                raise
            for resource in self._asked:  # what it lies within may have become another claim
                self.keep(self._workspace.confirm(resource, token=self.token)["expires_at"])

    def keep(self, expires_at: str) -> None:
        """It has a new deadline."""
        self.expires_at: str = expires_at
        self.until: int = self._workspace.session.deadline(expires_at)  # the same on this machine's clock since boot

    def release(self, *, commit: str = "", to: str = "") -> None:
        """Give it back, or hand it over. Raises Fenced if it was lost meanwhile."""
        self._workspace.release(*self._asked, token=self.token, commit=commit or None, to=to or None)
        self.released = True

    def __enter__(self) -> Self:
        if not self._is_ours():  # the block would run without it, and nothing would say so
            self.check()
        try:
            if self._auto_renew:
                self._workspace.renewals.add(self)
        except BaseException:  # the block does not begin, so nothing else would release it
            self._leave()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._workspace.renewals.remove(self)
            if not self.answer.get("renewed") and not self.released:
                self.release()
        except DibsError:
            if kind is None:  # else the error on its way matters more than that the claim is gone already
                raise
        except BaseException:  # interrupted: the block is over, and the claim must not stay
            self._leave()
            raise

    def _leave(self) -> None:
        """Release it, also if that is interrupted: each further attempt finds what the last one left."""
        for _ in range(MAX_INTERRUPTS):
            try:
                self._workspace.renewals.remove(self)
                if not self.answer.get("renewed") and not self.released:
                    self.release()
            except DibsError:  # the interrupted attempt has released it
                return
            except BaseException:  # noqa: BLE001, S112 - the interrupt on its way is raised
                continue
            return

    def __repr__(self) -> str:
        """What it is, for the debugger."""
        state = "released" if self.released else "lost" if self.lost is not None else f"{self.remaining:.0f} s left"
        return f"<Claim {self.id} on {', '.join(self.resources)} ({self.mode}), token {self.token}, {state}>"
