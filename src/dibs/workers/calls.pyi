"""What a worker needs of the way into its workspace: a protocol that the Python API's `Workspace` satisfies.

The programs of this folder stand below the doors; a door hands them the agent's calls. Types alone: there is no module
calls.py. Made by `make generate` from the declarations in operations/.
"""

from collections.abc import Sequence
from os import PathLike
from typing import Any, Literal, Protocol, TypeAlias

from dibs.client.session import Session
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

Path: TypeAlias = str | PathLike[str]

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

    def boot(
        self,
        *,
        task: str | None = None,
        type: str | None = None,
        can: Sequence[str] | None = None,
        pid: int | None = None,
        request_id: str | None = None,
    ) -> BootAnswer: ...
    def confirm(self, resource: Path, *, token: int, request_id: str | None = None) -> ConfirmAnswer: ...
    def renew(self, *resources: Path, request_id: str | None = None) -> RenewAnswer: ...
    def sweep(self, *, request_id: str | None = None) -> SweepAnswer: ...
    def task_fail(
        self,
        id: str,
        *,
        token: int | None = None,
        class_: Literal["transient", "permanent"],
        why: str,
        request_id: str | None = None,
    ) -> TaskAnswer: ...
    def task_inputs(self, id: str, *, request_id: str | None = None) -> TaskInputsAnswer: ...
    def task_progress(
        self,
        id: str,
        percent: int,
        *,
        token: int | None = None,
        note: str | None = None,
        request_id: str | None = None,
    ) -> TaskProgressAnswer: ...
    def task_release(
        self,
        id: str,
        *,
        token: int | None = None,
        note: str | None = None,
        request_id: str | None = None,
    ) -> TaskAnswer: ...
    def task_show(self, id: str, *, request_id: str | None = None) -> TaskShowAnswer: ...
    def task_split(
        self,
        id: str,
        *,
        token: int | None = None,
        children: Any,
        request_id: str | None = None,
    ) -> TaskSplitAnswer: ...
