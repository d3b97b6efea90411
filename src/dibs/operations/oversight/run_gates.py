"""The gates of execution of all active runs, for `check`: those that fail, each with its reason. It only reads."""

from __future__ import annotations

from dibs.operations.core.declare import ANYWHERE, Operation
from dibs.operations.runs import quality_gates, records, run_views

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from dibs.operations.core.call import Call
    from dibs.stores.seam import Transaction

    class FailedGate(TypedDict):
        """A gate that a run fails."""

        name: str
        why: str

    class RunGates(TypedDict):
        """An active run, and the gates that it fails."""

        run: str
        phase: str
        progress: int  # percent
        failed: list[FailedGate]

    class Gates(TypedDict):
        """The active runs that were looked at."""

        runs: list[RunGates]
        more: int  # runs that were not


MAX_RUNS = 20  # that are looked at, the newest ones: each reads all its tasks


def _gates(tx: Transaction, call: Call) -> Gates:
    active = records.active_runs(tx)
    runs: list[RunGates] = []
    for run in active[-MAX_RUNS:]:
        counted = run_views.Count()
        for task in run_views.tasks(tx, run["run"]):
            counted.add(task)
        gates = quality_gates.check(tx, call, run, (quality_gates.DURING,), {})
        runs.append(
            {
                "run": run["run"], "phase": run["phase"], "progress": counted.progress,
                "failed": [{"name": gate["name"], "why": gate["why"]} for gate in gates if not gate["passed"]],
            }
        )  # fmt: skip
    return {"runs": runs, "more": max(0, len(active) - MAX_RUNS)}


GATES = Operation("oversight gates", _gates, "Which gates do active runs fail?", sent_by=ANYWHERE, writes=False)

INTERNAL = (GATES,)
