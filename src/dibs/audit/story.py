"""A run's story, from the log: each agent's work with its outcome, its claims, and its waits.

The log may begin late (it was pruned) and may hold events of other runs: unknown tasks and claims are left out. Times
are milliseconds of the store's clock.
"""

from __future__ import annotations

from dibs.audit.fold import CLAIMS, LOST, TASKS, UNKNOWN, WAITS, Contention, Listener, contested, named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.audit.fold import ClaimSpan, TaskSpan
    from dibs.stores.seam import LogEvent


class Story(Listener):
    """Keeps the spans of a run's tasks, and all claims and contention meanwhile."""

    kinds = CLAIMS | WAITS | TASKS | {"claim.refused", "agent.killed", "agent.left"}

    def __init__(self, tasks: set[str]) -> None:
        self._tasks = tasks
        self.attempts: list[TaskSpan] = []
        self.claims: list[ClaimSpan] = []
        self.marks: list[tuple[int, str, str, str]] = []  # time, agent, kind, text
        self.contention: dict[str, Contention] = {}

    def attempt_began(self, span: TaskSpan) -> None:
        """An agent takes up a task."""
        if span.id in self._tasks:
            self.attempts.append(span)

    attempt_passed = attempt_began

    def attempt_ended(self, span: TaskSpan) -> None:
        """A loss and a failure are marked."""
        if span.id not in self._tasks or span.start == UNKNOWN:
            return
        if span.is_lost:
            self.marks.append((span.end, span.agent, "lost", f"{span.id} was lost ({span.why})"))
        elif span.outcome in {"failed", "quarantined"}:
            self.marks.append((span.end, span.agent, "failed", f"{span.id} {span.outcome}: {span.why}"))

    def claim_began(self, span: ClaimSpan) -> None:
        """An agent holds a claim."""
        if not span.is_of_task:
            self.claims.append(span)

    claim_passed = claim_began

    def claim_ended(self, span: ClaimSpan) -> None:
        """A loss is marked; that of a task is marked there."""
        if span.why in LOST and not span.is_of_task:
            text = f"{', '.join(named(span.held)[:3])} was lost ({span.why})"
            self.marks.append((span.end, span.agent, "lost", text))

    def wait_ended(self, span: ClaimSpan) -> None:
        """How long it was waited for each resource."""
        for name in named(span.resources):
            self._of(name).add_wait(span)

    def claim_refused(self, event: LogEvent) -> None:
        """What the refused agent met another at."""
        for name in named(contested(event["data"])):
            self._of(name).refusals += 1

    def _of(self, name: str) -> Contention:
        return self.contention.setdefault(name, Contention())

    def agent_stopped(self, agent: str, event: LogEvent, how: str) -> None:
        """The end of an agent is marked."""
        texts = {
            "killed": f"killed: {event['data'].get('why', '')}", "left": f"{agent} left",
            "gone": f"the process of {agent} was gone",
        }  # fmt: skip
        self.marks.append((event["now"], agent, how, texts[how]))
