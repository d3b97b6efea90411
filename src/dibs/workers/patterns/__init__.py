"""Patterns of work for a fleet, as library functions. They add the tasks; workers do them.

    with dibs.open(agent="planner") as ws:
        work = dibs.patterns.map_reduce(ws, ["a.txt", "b.txt"], map="count", reduce="sum")
        total = work.wait(600).result()

All tasks of a pattern are added in one transaction (or in batches of a thousand), as a run of their own or
as a part of an active one (`run=`).
A worker gets `{"step": …, "item": …}` as payload and the results of its dependencies as inputs: `dibs worker --exec`,
`dibs worker --plan`, or in Python `dibs.work(ws, handler)`. `dibs run start FILE` has the same patterns for a file.
"""

from __future__ import annotations

from dibs.machine import clock
from dibs.operations.tasks import batches
from dibs.workers.patterns import specs
from dibs.workers.patterns.handles import ALL, FIRST, ONE, Poll, Work, perform
from dibs.workers.patterns.specs import Step, step_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.interfaces.python.workspace import Workspace
    from dibs.operations.tasks.additions import TaskSpec
    from dibs.stores.seam import Json

__all__ = ["Poll", "Step", "Work", "map_reduce", "pipeline", "plan", "scatter_gather", "vote"]

VOTE_TIMEOUT_S = 600.0  # how long a vote is open


def map_reduce(
    ws: Workspace,
    items: Sequence[Json],
    *,
    map: Step | str,
    reduce: Step | str,
    fan_in: int = 0,
    run: str | None = None,
    name: str = "map_reduce",
) -> Work:
    """A task of the step `map` for each item, and one of the step `reduce` that gets all their results as inputs.

    `fan_in` makes layers: each `reduce` gets at most this many results, the last one gets theirs. The result is that
    of the last `reduce`.

    >>> work = map_reduce(ws, ["to be", "or not to be"], map="count", reduce="sum")
    >>> work_them_off({"count": lambda item, _: len(item.split()), "sum": lambda _, inputs: sum(inputs)})
    >>> work.wait(60).result()
    6
    """
    prefix = _prefix(name, run)
    made, last = specs.map_reduce(prefix, items, step_of(map), step_of(reduce), fan_in)
    return _start(ws, prefix, run, name, made, last, ONE)


def pipeline(
    ws: Workspace,
    items: Sequence[Json],
    stages: Sequence[Step | str],
    *,
    run: str | None = None,
    name: str = "pipeline",
) -> Work:
    """A task for each item and stage; it gets the result of the stage before as its input.

    Items move on independently of each other. A stage with `Step(…, gather=True)` is one task that waits for all of
    the stage before. The result is the list of the last stage's results, in the order of the items.

    >>> work = pipeline(ws, ["a", "b"], ["double", "shout"])
    >>> work_them_off({"double": lambda item, _: item * 2, "shout": lambda _, inputs: inputs[0].upper()})
    >>> work.wait(60).result()
    ['AA', 'BB']
    """
    prefix = _prefix(name, run)
    made, last = specs.pipeline(prefix, items, [step_of(stage) for stage in stages])
    return _start(ws, prefix, run, name, made, last, ALL)


def scatter_gather(
    ws: Workspace,
    title: str,
    candidates: int | Sequence[Json],
    *,
    step: Step | str = "try",
    require: Sequence[str] = (),
    run: str | None = None,
    name: str = "scatter_gather",
) -> Work:
    """The same question several times; the first valid result wins, the others are cancelled, late results refused.

    `candidates` is how many, or a list with one item for each. Valid is what has all names in `require`; the worker
    may hold it to more. The result is the winner's.

    >>> work = scatter_gather(ws, "a way home", ["by sea", "by land"], step="search", require=["way"])
    >>> work_them_off({"search": lambda item, _: {"way": item}}, limit=1)
    >>> work.wait(60).result()
    {'way': 'by sea'}
    >>> work.outlook()["states"]
    {'complete': 1, 'cancelled': 1}
    """
    from dataclasses import replace

    prefix = _prefix(name, run)
    one = replace(step_of(step), require=[*step_of(step).require, *require])
    items = list(range(1, candidates + 1)) if isinstance(candidates, int) else specs.check_items(candidates)
    made, last = specs.scatter_gather(prefix, title, [(one, item) for item in items])
    return _start(ws, prefix, run, name, made, last, FIRST)


def plan(
    ws: Workspace,
    title: str,
    *,
    step: Step | str = "plan",
    item: Json = None,
    run: str | None = None,
    name: str = "plan",
) -> Work:
    """One task whose worker breaks it down (`task split`); when its children are complete it comes back to be finished.

    The second time its worker finds their results in its inputs. Children may be broken down themselves. The result is
    that of the task itself.

    >>> work = plan(ws, "paint the house", item=["walls", "doors"])
    >>> work_them_off({
    ...     "plan": lambda item, inputs: sorted(inputs) or {"tasks": [
    ...         {"title": f"paint {part}", "payload": {"step": "paint", "item": part}} for part in item]},
    ...     "paint": lambda item, _: f"{item} painted"})
    >>> work.wait(60).result()
    ['doors painted', 'walls painted']
    """
    prefix = _prefix(name, run)
    made, last = specs.plan(prefix, title, step_of(step), item)
    return _start(ws, prefix, run, name, made, last, ONE)


def vote(
    ws: Workspace,
    title: str,
    electorate: Sequence[str],
    *,
    options: Sequence[str] = ("yes", "no"),
    deadline: float | str = VOTE_TIMEOUT_S,
    step: Step | str | None = None,
    run: str | None = None,
    name: str = "vote",
) -> Poll:
    """A proposal that a majority of the named electorate decides, once, before a deadline.

    The electors are told by message and vote with `dibs vote cast`. With a `step`, each of them also has a task, which
    only an agent with the capability `ballot:ELECTOR` can take. The result is the option that has the majority.

    >>> poll = vote(ws, "ship on Friday?", ["ann", "bob", "cid"])
    >>> for elector, choice in (("ann", "no"), ("cid", "no")):
    ...     _ = dibs.open(ws.root, agent=elector).vote_cast(poll.vote, choice)
    >>> poll.wait(60).result()
    'no'
    """
    prefix = _prefix(name, run)
    made = [] if step is None else specs.vote(prefix, title, electorate, step_of(step), prefix)[0]
    ws.vote_open(title, electorate=electorate, options=options, deadline=deadline, id=prefix, key=prefix)
    if not made:
        return Poll(ws, run or "", [], prefix, own=False)
    started = _start(ws, prefix, run, name, made, [], ALL)
    return Poll(ws, started.run, started.tasks, prefix, own=not run)


def _prefix(name: str, run: str | None) -> str:
    """The prefix of the ids of a pattern's tasks; also the id of its run, if it starts one."""
    fresh = f"{name}-{clock.random_id()}"
    return f"{run}/{fresh}" if run else fresh


def _start(
    ws: Workspace,
    prefix: str,
    run: str | None,
    name: str,
    made: Sequence[TaskSpec],
    last: Sequence[str],
    how: str,
) -> Work:
    """Add the tasks: to an active run, or with a run of their own."""
    parts = [list(made[start : start + batches.MAX_TASKS]) for start in range(0, len(made), batches.MAX_TASKS)]
    if not run:
        perform(ws, ws.session.operation("run start"), prefix, name=name, id=prefix, tasks=parts.pop(0))
    for part in parts:
        perform(ws, batches.ADD, tasks=part, run=run or prefix)
    return Work(ws, run or prefix, [spec["id"] for spec in made], last, how, own=not run)
