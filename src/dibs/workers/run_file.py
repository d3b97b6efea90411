"""The file of `dibs run start FILE`: a pattern, what it works on, and the commands of its steps. Read and checked here.

    name = "word-count"
    pattern = "map_reduce"
    items_from = "texts/*.txt"

    [[steps]]
    name = "count"
    exec = "python3 count.py"

    [[steps]]
    name = "sum"
    exec = "python3 sum.py"

Commands come from this file alone. A task names its step; a worker looks the command up in its own copy of the file, so
no text from the store is ever run. Everything is checked before anything is started. The settings
are listed in docs/guides/patterns.md.
"""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import dataclass, field
from hashlib import sha256

from dibs.errors import Invalid
from dibs.machine import durations
from dibs.operations.runs.runs import PHASES
from dibs.workers.patterns import specs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TypedDict

    from dibs.operations.tasks.additions import TaskSpec
    from dibs.stores.seam import Json

    Table = dict[str, Json]  # of TOML, before it is checked

    class PatternSettings(TypedDict, total=False):
        """The settings that only some patterns take, as `Plan` has them."""

        items: tuple[Json, ...] | None
        items_from: str
        item: Json
        fan_in: int
        electorate: tuple[str, ...]
        options: tuple[str, ...]
        deadline: int


# The agent type of a run's workers, so that no other agent takes a task whose command it does not have.
WORKER_TYPE = "worker"
DEFAULT_WORKERS, MAX_WORKERS = 2, 64
MAX_TASKS = 10_000  # at the start of a run
MAX_FILE_BYTES = 1024 * 1024  # of the file, and of a list of items
REFUSED = 65  # EX_DATAERR: a permanent failure to a worker

# Each pattern's settings in addition to the common ones: for the file, for a step, and the number of steps.
PATTERNS: dict[str, tuple[tuple[str, ...], tuple[str, ...], int, int]] = {
    "pipeline": (("items", "items_from"), ("gather",), 1, 100),
    "map_reduce": (("items", "items_from", "fan_in"), (), 2, 2),
    "scatter_gather": (("title", "items", "items_from"), ("copies",), 1, 100),
    "plan": (("title", "item"), ("finish",), 1, 100),
    "vote": (("title", "electorate", "options", "deadline"), (), 1, 1),
}
COMMON = ("name", "pattern", "workers", "within", "folder", "steps")
OF_STEP = ("name", "exec", "accept", "type", "needs", "attempts", "expect", "priority", "require", "phase")
VOTE_DEADLINE_MS = 600_000  # how long a vote is open


@dataclass(frozen=True)
class PlanStep:
    """One step: the requirements of its tasks, and their command."""

    step: specs.Step
    exec: str  # "" if other agents do it
    finish: str = ""  # instead of `exec`, when a task's subtasks are complete
    accept: str = ""  # gets the result on stdin; its exit code says whether it is valid
    copies: int = 1
    phase: str = "execution"


@dataclass(frozen=True)
class WorkerPool:
    """A kind of worker: their number, their type, and their names if these are given."""

    count: int
    type: str
    can: tuple[str, ...]
    agent: str = ""


@dataclass(frozen=True)
class Plan:
    """The file's content."""

    path: str
    folder: str  # where the commands run
    digest: str
    name: str
    pattern: str
    title: str
    workers: int
    within: int | None
    steps: tuple[PlanStep, ...]
    items: tuple[Json, ...] | None = None
    items_from: str = ""
    item: Json = None
    fan_in: int = 0
    electorate: tuple[str, ...] = ()
    options: tuple[str, ...] = ("yes", "no")
    deadline: int = VOTE_DEADLINE_MS
    by_name: dict[str, PlanStep] = field(default_factory=dict)

    def tasks(self, prefix: str) -> list[TaskSpec]:
        """The tasks, with ids that begin with the run's."""
        made = _MAKERS[self.pattern](self, prefix)
        if len(made) > MAX_TASKS:
            raise Invalid(f"{self.path}: {len(made)} tasks; a run starts with at most {MAX_TASKS}", path=self.path)
        return made

    def command_for(self, task: dict[str, Any]) -> str | None:
        """The command for a task, for `sh -c`; None if other agents do that step."""
        payload = task.get("payload")
        named = payload.get("step") if isinstance(payload, dict) else None
        step = self.by_name.get(named) if isinstance(named, str) else None
        if step is None:
            why = f"{os.path.basename(self.path)} has no step {named!r}, which the task's payload names"
            return f"echo {shlex.quote(why)} >&2; exit {REFUSED}"
        if not step.exec:
            return None
        command = step.finish if step.finish and task.get("children") else step.exec
        lines = [f"cd {shlex.quote(self.folder)} || exit", f"export DIBS_STEP={shlex.quote(step.step.name)}"]
        if self.pattern == "vote":
            poll = shlex.quote(str(payload.get("vote") if isinstance(payload, dict) else ""))
            caster = f"{shlex.quote(sys.executable)} -P -m dibs.workers.cast_ballot"
            lines += [f"export DIBS_VOTE={poll}", _kept(command), f'exec {caster} "$DIBS_VOTE" "$dibs_kept"']
        elif step.accept:
            lines += [_kept(command), _accepted(step.accept), "printf '%s\\n' \"$dibs_kept\""]
        else:
            lines.append(command)
        return "\n".join(lines)

    def crews(self, workers: int | None = None) -> list[WorkerPool]:
        """The workers to start: distributed over the types that steps ask for; in a vote, one for each elector."""
        if self.electorate:
            return [WorkerPool(1, WORKER_TYPE, (specs.ballot_of(elector),), elector) for elector in self.electorate]
        count = workers or self.workers
        types = list(dict.fromkeys(step.step.type for step in self.steps if step.exec))
        if not types:  # other agents do all of it
            return []
        if count < len(types):
            text = f"{self.path}: workers: at least {len(types)}, one for each type of step ({', '.join(types)})"
            raise Invalid(text, field="workers", path=self.path)
        can = tuple(sorted({need for step in self.steps if step.exec for need in step.step.needs}))
        shares = [count // len(types) + (place < count % len(types)) for place in range(len(types))]
        return [WorkerPool(share, kind, can) for share, kind in zip(shares, types, strict=True)]


def _kept(command: str) -> str:
    """Keep a command's output; its failure is the step's failure."""
    return f'dibs_kept="$(\n{command}\n)" || exit'


def _accepted(accept: str) -> str:
    """Pass a result to the `accept` command; a refused one is a permanent failure."""
    refused = f"echo 'the result was not accepted' >&2; exit {REFUSED}"
    return f"printf '%s\\n' \"$dibs_kept\" | (\n{accept}\n) >&2 || {{ {refused}; }}"


# --- the tasks of each pattern


def _pipeline(plan: Plan, prefix: str) -> list[TaskSpec]:
    return specs.pipeline(prefix, items_of(plan), [step.step for step in plan.steps])[0]


def _map_reduce(plan: Plan, prefix: str) -> list[TaskSpec]:
    return specs.map_reduce(prefix, items_of(plan), plan.steps[0].step, plan.steps[1].step, plan.fan_in)[0]


def _scatter_gather(plan: Plan, prefix: str) -> list[TaskSpec]:
    items = items_of(plan) if plan.items is not None or plan.items_from else [None]
    asked = [(step.step, item) for step in plan.steps for item in items for _ in range(step.copies)]
    return specs.scatter_gather(prefix, plan.title, asked)[0]


def _plan(plan: Plan, prefix: str) -> list[TaskSpec]:
    return specs.plan(prefix, plan.title, plan.steps[0].step, plan.item)[0]


def _vote(plan: Plan, prefix: str) -> list[TaskSpec]:
    return specs.vote(prefix, plan.title, plan.electorate, plan.steps[0].step, vote_of(prefix))[0]


_MAKERS: dict[str, Callable[[Plan, str], list[TaskSpec]]] = {
    "pipeline": _pipeline, "map_reduce": _map_reduce, "scatter_gather": _scatter_gather, "plan": _plan, "vote": _vote,
}  # fmt: skip


def vote_of(run: str) -> str:
    """The id of a run's vote."""
    return f"{run}.vote"


def items_of(plan: Plan) -> list[Json]:
    """The pattern's items: the list itself, the files that match a glob, or the lines of a file."""
    if plan.items is not None:
        return list(plan.items)
    source = plan.items_from
    if source.startswith("@"):
        text = _read(os.path.join(plan.folder, source[1:])).decode("utf-8", "replace")
        found = [line.strip() for line in text.splitlines() if line.strip()]
    else:
        import glob

        found = sorted(path for path in glob.glob(source, root_dir=plan.folder, recursive=True) if path)
    if not found:
        raise Invalid(f"{plan.path}: items_from: {source!r} matches nothing in {plan.folder}", field="items_from")
    return found


# --- reading


def load(path: str) -> Plan:
    """Read and check the whole file; the error names the first wrong setting."""
    import tomllib

    content = _read(path)
    try:
        text = tomllib.loads(content.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Invalid(f"{path} is not valid TOML: {error}", path=path) from None
    return RunFileReader(os.path.abspath(path), text).plan(sha256(content).hexdigest())


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise Invalid(f"{path} cannot be read: {error.strerror}", path=path) from None
    if len(content) > MAX_FILE_BYTES:
        raise Invalid(f"{path} is larger than {MAX_FILE_BYTES // 1024} KiB", path=path)
    return content


class RunFileReader:
    """Reads settings from a table and reports wrong ones."""

    def __init__(self, path: str, text: Table) -> None:
        self.path, self.text = path, text

    def wrong(self, name: str, what: str) -> Invalid:
        return Invalid(f"{self.path}: {name}: {what}", field=name, path=self.path)

    def plan(self, digest: str) -> Plan:
        text = self.text
        pattern = text.get("pattern")
        if pattern not in PATTERNS:
            raise self.wrong("pattern", f"one of {', '.join(PATTERNS)}, not {pattern!r}")
        extra, of_step, fewest, most = PATTERNS[pattern]
        self.known(text, (*COMMON, *extra), "")
        steps = self.steps((*OF_STEP, *of_step), fewest, most, pattern)
        folder = os.path.join(os.path.dirname(self.path), self.word(text, "folder", "."))
        if not os.path.isdir(folder):
            raise self.wrong("folder", f"there is no folder {folder}")
        name = self.word(text, "name", os.path.basename(self.path).removesuffix(".toml"))
        within = self.duration(text, "within", "within", 0)
        plan = Plan(
            path=self.path, folder=os.path.normpath(folder), digest=digest, name=name, pattern=pattern,
            title=self.word(text, "title", name),
            workers=self.whole(text, "workers", "workers", DEFAULT_WORKERS, MAX_WORKERS),
            within=within or None, steps=tuple(steps), by_name={step.step.name: step for step in steps},
            **self.of_pattern(pattern),
        )  # fmt: skip
        plan.crews()
        return plan

    def of_pattern(self, pattern: str) -> PatternSettings:
        """The settings that only this pattern takes."""
        text = self.text
        settings: PatternSettings = {}
        if "items_from" in PATTERNS[pattern][0]:
            settings = self.items(pattern)
        if pattern == "map_reduce":
            settings["fan_in"] = self.whole(text, "fan_in", "fan_in", 0, MAX_TASKS, least=0)
        if pattern == "plan":
            settings["item"] = _plain(text.get("item"))
        if pattern in {"plan", "vote"} and not text.get("title"):
            raise self.wrong("title", "say what is to be done" if pattern == "plan" else "say what is voted on")
        if pattern == "vote":
            settings["electorate"] = tuple(self.words(text, "electorate", "electorate"))
            if not settings["electorate"]:
                raise self.wrong("electorate", "the agents who vote")
            settings["options"] = tuple(self.words(text, "options", "options")) or ("yes", "no")
            settings["deadline"] = self.duration(text, "deadline", "deadline", VOTE_DEADLINE_MS)
        return settings

    def items(self, pattern: str) -> PatternSettings:
        items, source = self.text.get("items"), self.word(self.text, "items_from", "")
        if items is not None and source:
            raise self.wrong("items_from", "either items or items_from")
        if items is None and not source and pattern != "scatter_gather":
            raise self.wrong("items", 'what it works on: a list, or items_from = "GLOB" or "@FILE"')
        if items is not None and (not isinstance(items, list) or not items):
            raise self.wrong("items", "a list of at least one")
        return {"items": None if items is None else tuple(_plain(item) for item in items), "items_from": source}

    def steps(self, known: Sequence[str], fewest: int, most: int, pattern: str) -> list[PlanStep]:
        listed = self.text.get("steps")
        if not isinstance(listed, list) or not all(isinstance(entry, dict) for entry in listed) or not listed:
            raise self.wrong("steps", "tables, `[[steps]]`, each with a name and a command")
        if not fewest <= len(listed) <= most:
            count = str(fewest) if fewest == most else f"{fewest} to {most}"
            raise self.wrong("steps", f"{pattern} has {count}, not {len(listed)}")
        steps = [self.step(entry, f"steps[{place}]", known, pattern) for place, entry in enumerate(listed, 1)]
        try:
            specs.check_different([step.step for step in steps])
        except Invalid as error:
            raise self.wrong("steps", error.message) from None
        return steps

    def step(self, entry: Table, where: str, known: Sequence[str], pattern: str) -> PlanStep:
        self.known(entry, known, f"{where}.")
        command = self.word(entry, "exec", "", f"{where}.exec")
        kind, needs = self.word(entry, "type", "", f"{where}.type"), self.words(entry, "needs", f"{where}.needs")
        if not command and not kind and not needs:
            raise self.wrong(f"{where}.exec", "the command; or a type or needs, if other agents do this step")
        name = self.word(entry, "name", "", f"{where}.name")
        usual = name if name in PHASES else "execution"
        phase = self.word(entry, "phase", usual, f"{where}.phase")
        if phase not in PHASES:
            raise self.wrong(f"{where}.phase", f"one of {', '.join(PHASES)}, not {phase!r}")
        if pattern == "vote" and (not command or entry.get("accept")):
            raise self.wrong(f"{where}.exec", "a command that prints one of the options, and no `accept`")
        gather = entry.get("gather", False)
        if not isinstance(gather, bool):
            raise self.wrong(f"{where}.gather", "true or false")
        try:
            step = specs.Step(
                name, kind or (WORKER_TYPE if command else ""), tuple(needs),
                attempts=self.whole(entry, "attempts", f"{where}.attempts", 0, 1000),
                expect=self.duration(entry, "expect", f"{where}.expect", 0) / 1000,
                priority=self.whole(entry, "priority", f"{where}.priority", 0, 1_000_000, least=-1_000_000),
                require=tuple(self.words(entry, "require", f"{where}.require")), gather=gather,
            )  # fmt: skip
        except Invalid as error:
            raise error if "path" in error.fields else self.wrong(f"{where}.name", error.message) from None
        return PlanStep(
            step, command, self.word(entry, "finish", "", f"{where}.finish"),
            self.word(entry, "accept", "", f"{where}.accept"),
            self.whole(entry, "copies", f"{where}.copies", 1, 1000), phase,
        )  # fmt: skip

    def known(self, table: Table, names: Sequence[str], where: str) -> None:
        for name in table:
            if name not in names:  # a misspelt setting would silently be ignored
                raise self.wrong(f"{where}{name}", f"there is no such setting; there are {', '.join(names)}")

    def word(self, table: Table, name: str, default: str, where: str = "") -> str:
        value = table.get(name, default)
        if not isinstance(value, str) or "\0" in value or (name in table and not value.strip()):
            raise self.wrong(where or name, "a text that is not empty")
        return value

    def words(self, table: Table, name: str, where: str) -> list[str]:
        value = table.get(name, [])
        fine = isinstance(value, list) and all(isinstance(word, str) and word for word in value)
        if not fine or any(sign in word for word in value for sign in " ,|") or len(set(value)) != len(value):
            raise self.wrong(where, "a list of different words, without blanks, commas or bars")
        return list(value)

    def whole(self, table: Table, name: str, where: str, default: int, most: int, least: int = 1) -> int:
        value = table.get(name, default)
        if name in table and (not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most):
            raise self.wrong(where, f"a whole number from {least} to {most}")
        return int(value)

    def duration(self, table: Table, name: str, where: str, default: int) -> int:
        value = table.get(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            raise self.wrong(where, "a duration such as 90s, 30m, 2h, or seconds")
        return durations.parse(str(value), f"{self.path}: {where}")


def _plain(value: Json) -> Json:
    """A value of TOML as JSON: dates and times become texts."""
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return value if value is None or isinstance(value, (str, int, float, bool)) else str(value)
