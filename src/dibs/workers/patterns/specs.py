"""The tasks of a pattern, as the objects that `task add` takes. Pure: nothing is read or added here.

Every task carries `{"step": NAME, "item": …}`: a worker looks up the step's command by its name, on its own machine. No
command ever goes through the store. The ids are `PREFIX/STEP/NUMBER`, so that a second start with the same prefix
cannot add the same work twice.
"""

from __future__ import annotations

from dataclasses import dataclass

from dibs.errors import Invalid
from dibs.machine import durations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.operations.tasks.additions import TaskSpec
    from dibs.stores.seam import Json

MAX_TITLE_CHARS = 120  # of an item, in a task's title
MAX_STEP_NAME_CHARS = 40  # it is part of a task's id
NAME_SIGNS = frozenset("._-")  # in addition to letters and digits
MIN_FAN_IN = 2


@dataclass(frozen=True)
class Step:
    """One kind of work in a pattern: its name, and its demands on an agent."""

    name: str
    type: str = ""  # only agents of this type
    needs: Sequence[str] = ()  # capabilities
    attempts: int = 0  # failed or lost attempts before quarantine; 0: as the config says
    expect: float | str = 0  # seconds, or a text such as "30m"
    priority: int = 0
    require: Sequence[str] = ()  # keys that the result must have
    gather: bool = False  # in a pipeline: one task for all results of the stage before

    def __post_init__(self) -> None:
        """Refuse names that would not fit into a task's id."""
        fine = all(letter.isalnum() or letter in NAME_SIGNS for letter in self.name)
        if not self.name or len(self.name) > MAX_STEP_NAME_CHARS or not fine:
            signs = "".join(sorted(NAME_SIGNS))
            text = f"a step's name: 1 to {MAX_STEP_NAME_CHARS} letters, digits or {signs}, not {self.name!r}"
            raise Invalid(text, field="step")

    def spec(
        self, identifier: str, item: Json, *, title: str = "", after: Sequence[str] = (), race: str = "",
        needs: Sequence[str] | None = None, ballot: dict[str, str] | None = None,
    ) -> TaskSpec:  # fmt: skip
        """One task of this step."""
        payload: dict[str, Json] = {"step": self.name, **({} if item is None else {"item": item}), **(ballot or {})}
        return _without_defaults({
            "id": identifier, "payload": payload,
            "title": title or (self.name if item is None else f"{self.name}: {_short(item)}"),
            "for": self.type, "needs": list(self.needs if needs is None else needs), "attempts": self.attempts,
            "priority": self.priority, "expect": durations.read(self.expect, "expect"),
            "require": list(self.require), "after": after, "race": race,
        })  # fmt: skip


def _without_defaults(spec: TaskSpec) -> TaskSpec:
    """Only what a task demands: the empty values are the defaults."""
    demands: Json = {name: value for name, value in spec.items() if value}
    described: TaskSpec = demands
    return described


def step_of(given: Step | str) -> Step:
    """A step, given as itself or by its name."""
    return Step(given) if isinstance(given, str) else given


def _short(item: Json) -> str:
    """An item in one line, for people."""
    words = " ".join(str(item).split())
    kept = "".join(letter if letter.isprintable() else "·" for letter in words)
    return kept if len(kept) <= MAX_TITLE_CHARS else kept[: MAX_TITLE_CHARS - 1] + "…"


def _numbered(prefix: str, step: Step, count: int) -> list[str]:
    """Ids in sequence, with leading zeros, so that they sort."""
    width = len(str(count))
    return [f"{prefix}/{step.name}/{number:0{width}d}" for number in range(1, count + 1)]


def check_items(items: Sequence[Json]) -> list[Json]:
    """Refuse an empty list, and a text instead of a list: its letters would be the items."""
    if isinstance(items, (str, bytes)) or not items:
        raise Invalid("items: a list of at least one", field="items")
    return list(items)


def check_different(steps: Sequence[Step]) -> None:
    """Two steps of one name would make two tasks of one id."""
    names = [step.name for step in steps]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise Invalid(f"two steps are called {twice[0]}", field="step")


# --- the patterns. Each returns its tasks, and the ids of those whose results are the pattern's result.


def map_reduce(
    prefix: str, items: Sequence[Json], map: Step, reduce: Step, fan_in: int = 0
) -> tuple[list[TaskSpec], list[str]]:
    """A task for each item, and one that gets all their results; with `fan_in`, in layers of at most that many."""
    check_different([map, reduce])
    if fan_in and fan_in < MIN_FAN_IN:
        raise Invalid(f"fan_in: at least {MIN_FAN_IN}, or 0 for all at once", field="fan_in")
    values = check_items(items)
    before = _numbered(prefix, map, len(values))
    specs = [map.spec(name, item) for name, item in zip(before, values, strict=True)]
    layer = 0
    while True:
        layer += 1
        size = fan_in or len(before)
        groups = [before[start : start + size] for start in range(0, len(before), size)]
        last = len(groups) == 1
        stem = prefix if last else f"{prefix}/layer{layer}"
        names = _numbered(stem, reduce, len(groups))
        for name, group in zip(names, groups, strict=True):
            specs.append(reduce.spec(name, None, after=group, title=f"{reduce.name}: {len(group)} results"))
        if last:
            return specs, names
        before = names


def pipeline(prefix: str, items: Sequence[Json], stages: Sequence[Step]) -> tuple[list[TaskSpec], list[str]]:
    """A task for each item and stage. An item's stage waits for its stage before; a gathering one waits for all."""
    if not stages:
        raise Invalid("stages: at least one", field="stages")
    check_different(stages)
    values = check_items(items)
    before: list[list[str]] = [[] for _ in values]
    specs: list[TaskSpec] = []
    names: list[str] = []
    for stage in stages:
        if stage.gather:
            before, values = [[name for names in before for name in names]], [None]
        names = _numbered(prefix, stage, len(values))
        for name, item, after in zip(names, values, before, strict=True):
            title = f"{stage.name}: {len(after)} results" if stage.gather and after else ""
            specs.append(stage.spec(name, item, after=after, title=title))
        before = [[name] for name in names]
    return specs, names


def scatter_gather(
    prefix: str, title: str, candidates: Sequence[tuple[Step, Json]]
) -> tuple[list[TaskSpec], list[str]]:
    """The same question for all of them; the first valid result wins, and the others are cancelled."""
    if not candidates:
        raise Invalid("candidates: at least one", field="candidates")
    counts: dict[str, int] = {}
    for step, _ in candidates:
        counts[step.name] = counts.get(step.name, 0) + 1
    names = {step.name: iter(_numbered(prefix, step, counts[step.name])) for step, _ in candidates}
    specs = []
    for step, item in candidates:
        asks = title if item is None else f"{title}: {_short(item)}"
        specs.append(step.spec(next(names[step.name]), item, race=prefix, title=asks))
    return specs, [spec["id"] for spec in specs]


def plan(prefix: str, title: str, step: Step, item: Json = None) -> tuple[list[TaskSpec], list[str]]:
    """One task, whose worker splits it; it comes back to be finished when its children are complete."""
    name = f"{prefix}/{step.name}/1"
    return [step.spec(name, item, title=title)], [name]


def vote(prefix: str, title: str, electorate: Sequence[str], step: Step, poll: str) -> tuple[list[TaskSpec], list[str]]:
    """A ballot for each elector, which no other agent can take: it needs a capability that only the elector has."""
    names = _numbered(prefix, step, len(electorate))
    specs = []
    for name, elector in zip(names, electorate, strict=True):
        needs = sorted({*step.needs, ballot_of(elector)})
        more = {"vote": poll, "elector": elector}
        specs.append(step.spec(name, None, needs=needs, ballot=more, title=f"{title} ({elector})"))
    return specs, names


def ballot_of(elector: str) -> str:
    """The capability that an elector's ballot needs."""
    if any(sign in elector for sign in " ,|"):
        raise Invalid(f"an elector that has a task is named without blank, comma or |, not {elector!r}", field="step")
    return f"ballot:{elector}"
