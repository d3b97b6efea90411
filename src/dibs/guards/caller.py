"""The caller of a hook, its workspace, and the note that a call begins: every guard starts with these."""

from __future__ import annotations

from dibs.machine import caller, clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.client.session import Session
    from dibs.guards.payload import Event
    from dibs.ledger.working_tree import Tree
    from dibs.operations.core.call import Answer, Call, Fields
    from dibs.operations.core.declare import Operation
    from dibs.stores.seam import Json
    from dibs.workspace.location import Place

STORE_TIMEOUT_S = 3.0  # well under the time limit that `init` gives the hooks
SHELLS = frozenset(
    {"sh", "dash", "bash", "zsh", "ksh", "fish", "busybox", "env", "timeout", "nice", "nohup", "uv", "direnv"}
)


def open_session(place: Place) -> Session:
    """The workspace, for one hook call."""
    other = caller.other()
    if other is not None:
        found: Session = other.session(place)
        return found
    from dibs.client.session import Session

    return Session(place.top, place.root, timeout=STORE_TIMEOUT_S, short_lived=True, place=place, missing="refuse")


def identify(session: Session, event: Event) -> Call:
    """The caller and its client process: that started this hook, so it is the nearest process that is no shell."""
    client = next((process for process, name in session.chain() if name not in SHELLS), None)
    return session.identify(event.agent, client=client)


class Queued(BaseException):
    """A decision has a place in line. What the call took for the moment goes back, and it begins again at its turn."""

    def __init__(self, session: Session, operation: Operation, call: Call, fields: Fields, place: str) -> None:
        super().__init__(place)
        self.session, self.operation, self.call, self.fields, self.place = session, operation, call, fields, place
        self.look: Callable[[Answer], None] = _nothing  # at each poll
        self.granted: Callable[[Answer], None] = _nothing  # at its turn


def _nothing(_: Answer) -> None:
    """A claim that a file's guard waited for is the agent's, and is found there."""


def run_or_queue(session: Session, operation: Operation, call: Call, fields: Fields) -> Json:
    """The answer of an operation that may have to wait; raises `Queued` if it has to."""
    from dibs.operations.core.call import Wait

    outcome = session.run(operation, call, fields)
    if isinstance(outcome, Wait):
        raise Queued(session, operation, call, fields, outcome.waiter)
    return outcome


def patience(session: Session, event: Event) -> int:
    """How long a hook may still wait for files, in ms: where the config says so, and the client holds its call."""
    return allowed(event, session.config.policy.guards["wait"])


def allowed(event: Event, wait: int) -> int:
    """How much of this time the event's client lets its hook wait, in ms, as far as that is known yet."""
    if not wait or not event.dialect.HOLDS:
        return 0
    return min(wait, max(0, event.until - clock.since_boot())) if event.until else wait


def begin(tree: Tree, event: Event, *, is_open: bool, left: bool = False, diary: int = -1,
          claims: list[str] | None = None) -> None:  # fmt: skip
    """Write into the ledger that the call begins, before the paths that it names."""
    tree.open_call(event.key, event.agent, is_open=is_open, left=left, diary=diary, claims=claims or [])
    tree.write()
    if is_open:  # a program may have ended since the look, and its hook did not know of this call yet
        tree.look_if_behind(event.agent)
    tree.shorten()
