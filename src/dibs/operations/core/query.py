"""How a query is declared: like an operation (declare.py), for what is asked of the log and of the whole record."""

from __future__ import annotations

from dibs.operations.core.declare import Operation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.errors import DibsError
    from dibs.operations.core.declare import Field
    from dibs.stores.seam import Json


HERE = "here"  # in what a query wants


class Query(Operation):
    """A question about more than one transaction sees: the log, the whole record, what a run did. It changes nothing.

    Declared like an operation (name, fields, answer, help, group), next to its body in audit/queries.py: operations
    do not read the log. `body(session, call, request)` answers; `Session.answer` runs it. `here`: it is about the
    caller's machine, so a caller of a server elsewhere answers it itself.
    """

    __slots__ = ()

    def __init__(
        self,
        name: str,
        body: Callable[..., Json],
        help: str,
        *,
        fields: tuple[Field, ...] = (),
        errors: tuple[type[DibsError], ...] = (),
        answer: str = "",
        group: str = "",
        refuses: str = "",
        here: bool = False,
    ) -> None:
        super().__init__(
            name, body, help, fields=fields, errors=errors, answer=answer, group=group, refuses=refuses, writes=False,
            is_query=True, wants=(HERE,) if here else (),
        )  # fmt: skip
