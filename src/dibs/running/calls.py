"""What a worker needs of the way into its workspace: a protocol, which the Python API's `Workspace` satisfies.

The programs of this folder stand below the doors; a door hands them the agent's calls. Only types are here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Literal

    from dibs.operations.core.answers import (
        BootAnswer,
        ConfirmAnswer,
        RenewAnswer,
        SweepAnswer,
        TaskAnswer,
        TaskInputsAnswer,
        TaskProgressAnswer,
        TaskShowAnswer,
        TaskSplitAnswer,
    )
    from dibs.operations.core.call import Call
    from dibs.session.session import Session


class Calls(Protocol):
    """One agent's calls to one workspace."""

    @property
    def root(self) -> str:
        """The folder whose `.dibs/` this is."""

    @property
    def session(self) -> Session:
        """What they go through."""

    def caller(self, request_id: str = "") -> Call:
        """Who calls."""

    def boot(self, *, type: str | None = None, can: Sequence[str] | None = None) -> BootAnswer:
        """See the operation of that name; so for all below."""

    def confirm(self, resource: str, *, token: int) -> ConfirmAnswer: ...

    def renew(self, *resources: str) -> RenewAnswer: ...

    def sweep(self) -> SweepAnswer: ...

    def task_fail(
        self,
        id: str,
        *,
        token: int | None = None,
        class_: Literal["transient", "permanent"],
        why: str,
    ) -> TaskAnswer: ...

    def task_inputs(self, id: str) -> TaskInputsAnswer: ...

    def task_progress(
        self,
        id: str,
        percent: int,
        *,
        token: int | None = None,
        note: str | None = None,
    ) -> TaskProgressAnswer: ...

    def task_release(
        self,
        id: str,
        *,
        token: int | None = None,
        note: str | None = None,
    ) -> TaskAnswer: ...

    def task_show(self, id: str) -> TaskShowAnswer: ...

    def task_split(
        self,
        id: str,
        *,
        token: int | None = None,
        children: Any,
        request_id: str | None = None,
    ) -> TaskSplitAnswer: ...
