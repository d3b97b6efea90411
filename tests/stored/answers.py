"""All that the present version answers about a thawed workspace: every operation and report that only reads.

`asked` lists the questions; the test fails if one is missing. The answers of a frozen version are in its answers.json,
for both engines: they are the same but for the numbers of commits, which a server begins elsewhere.
"""

from __future__ import annotations

import importlib
import json
import re
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dibs.client import catalogue
from dibs.errors import DibsError
from dibs.ledger import compaction, ledger_files
from dibs.ledger.state import State
from dibs.operations.core import index
from tests.operations.fleet import TREE, resource
from tests.stored import frozen
from tests.stored.stage import PERSON

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.operations.core.declare import Operation
    from tests.stored.stage import Stage

ALL: dict[str, Any] = {"limit": 1000}
REFUSED = "(refused)"  # the name of a refusal among the fields of an answer
AGENTS = {"ann": 10, "bob": 11, "cid": 12, "dan": 13}  # with the processes of their clients
LAST = ("log", "explain", "map", "restore", "run report", "stats", "verify", "check", "doctor")  # some look for trouble
COMMITS = range(10**15, 2**53)  # the numbers of commits on a server; no other number is among them

# A version may say these in other words, or they differ from engine to engine; `dibs verify` checks links and digests.
WORDS = {"sentence", "message", "remedy", "left", "risk", "now", "ago"}
HASHES = {"link", "digest", "sha256", "size", "file", "dropped", "head"}
PROSE = {
    "alerts": {"text", "why"}, "status": {"text"}, "oversight read": {"text"}, "check": {"text", "result", "title"},
    "oversight gates": {"why"}, "run gates": {"why", "name"}, "run read": {"why", "name"},
    "run report": {"why", "name", "text"},
}  # fmt: skip
NOT_COMPARED = {"doctor", "verify", "check"}  # they tell of the machine and of the engine


def operations() -> list[Operation]:
    """Every operation and report that only reads, whoever may call it; reports that look for trouble come last."""
    found = [one for one in map(catalogue.operation, index.FILES) if not one.writes]
    for name, module in index.INTERNAL.items():
        values = vars(importlib.import_module(f"dibs.{module}")).values()
        found += [one for one in values if getattr(one, "name", "") == name and not one.writes]
    found += [catalogue.operation(name) for name in index.QUERIES]
    return sorted(found, key=lambda one: LAST.index(one.name) if one.name in LAST else -1)


def questions(stage: Stage) -> dict[str, list[dict[str, Any]]]:
    """The name of an operation → the fields of each question."""
    tasks = [task["id"] for task in stage.call(PERSON, "task list", **ALL)["tasks"]]
    token = next(
        one["token"] for one in stage.call(PERSON, "status", **ALL)["claims"] if "src/a.py" in one["resources"]
    )
    paths = [resource("src/a.py"), resource("db:main")]
    return {
        "agents": [{"all": True, "usage": False, **ALL}],
        "alerts": [{"state": "all", **ALL}],
        "confirm": [{"resource": resource("src/a.py"), "token": token}],
        "landings": [ALL, {"queue": True}],
        "radar": [ALL],
        "run gates": [{"run": "r1", "at": at} for at in ("during", "cleanup")],
        "run list": [ALL],
        "run progress": [{"run": "r1"}],
        "run show": [{"run": "r1"}, {"run": "r2"}],
        "state get": [{"key": "plan"}],
        "state list": [ALL],
        "status": [ALL, {"resources": paths}],
        "task inputs": [{"id": "blocked"}, {"id": "follows"}],
        "task list": [ALL, {"run": "r1"}, {"agent": "bob"}],
        "task show": [{"id": one} for one in tasks],
        "token list": [{"all": True, **ALL}],
        "vote list": [ALL],
        "vote show": [{"id": "v1"}, {"id": "v2"}],
        "whoami": [{}],
        "check": [{}],
        "doctor": [{}],
        "brief": [{"agent": "bob"}],
        "work-of": [{"agent": "bob"}],
        "diff": [{"agent": "bob", "paths": [], "stat": True}],
        "timeline": [{"what": "ann", "limit": 5}],
        "env-list": [{}],
        "units-in-use": [{"resources": paths}],
        "explain": [
            {"what": what, "archives": True} for what in ("src/a.py", "task:working", "ann", "deploy:prod", "200")
        ],
        "log": [{"limit": 0}],
        "map": [{**ALL, "since": "1"}],
        "restore": [{"list": True, **ALL}],
        "run report": [{"run": "r1"}],
        "stats": [{"since": "1", **ALL}],
        "verify": [{}],
        "alert-delivery-due": [{}],
        "archives": [{}],
        "batch outlook": [{"run": "r1"}, {"tasks": ["working"]}],
        "check settled": [{}],
        "found": [{"word": word} for word in ("bob", "agent-77", "working", "r1")],
        "at-work": [{"resources": paths, "tree": TREE, "of": ["ann"]}],
        "client-process": [{"agent": "bob"}],
        "held": [{"resources": paths}],
        "known": [{}],
        "known changes": [{"ids": ["v000000000001", "v000000000003"]}],
        "land-targets": [{}],
        "land-turn": [{}],
        "may": [{"act": "kill"}],
        "mine": [{}],
        "named": [{"words": ["bob", "agent-77"]}],
        "named files": [{"names": ["0000000005"], "folder": "jsonl"}],
        "names": [{"agents": ["ann", "bob"]}],
        "others": [{"tree": TREE}],
        "outlook": [{"agent": "bob"}],
        "oversight gates": [{}],
        "oversight read": [{}],
        "peers": [{"agents": ["ann", "bob"]}],
        "prune plan": [{}],
        "registry look": [{"ids": ["imported", "working"]}],
        "restorable": [{"tree": TREE, **ALL}],
        "run chosen": [{"run": "r1"}],
        "run read": [{"run": "r1"}],
        "run tasks": [{"run": "r1"}],
        "stopped": [{}],
        "upkeep-due": [{}],
        "who": [{"agent": "bob"}],
    }


def answer(stage: Stage, operation: Operation, fields: dict[str, Any]) -> Any:
    """One answer; a report reads through the session, an operation by itself."""
    if operation.name in index.QUERIES or operation.around:
        return stage.ask(operation.name, **fields)
    if operation.name in {"token list", "may", "client-process"}:
        return stage.internal(PERSON, operation, **fields)
    return stage.internal("ann", operation, process=10, **fields)


def ledger(stage: Stage) -> dict[str, Any]:
    """What the ledger of the working tree says."""
    folder = stage.session.place.private
    state = State(ledger_files.load(folder)[0])
    return {
        "heads": {path: [head.content, head.owners, head.authors, head.author, head.named, head.looked, head.signature,
                         head.is_carried, head.change.id if head.change else ""] for path, head in state.heads.items()},
        "calls": {call.id: compaction.call_lines(call) for call in state.calls.values()},
        "changes": [change.line() for change in state.changes],
        "untold": {name: [change.line(), change.was_owned] for name, change in state.untold.items()},
        "agents": [state.began, state.ended, sorted(state.formats), sorted(state.told)],
        "looks": [state.full, state.cost, state.moves, state.looks],
        "watched": state.watched(ledger_files.now()[0]),
        "past": ledger_files.past(folder),
        "seen": [_seen(folder, agent) for agent in ("ann", "bob")],
    }  # fmt: skip


def _seen(folder: str, agent: str) -> list[Any]:
    """What an agent knows of files, by each way to read it."""
    seen = ledger_files.Seen(folder, agent)
    files = seen.files()
    return [files, {path: [seen.last(path), sorted(seen.contents(path))] for path in files}]


def every(stage: Stage) -> dict[str, Any]:
    """All answers by question, as answers.json has them; a refusal by its code."""
    asked = questions(stage)
    found: dict[str, Any] = {"ledger": ledger(stage)}
    for operation in operations():
        left_out = WORDS | HASHES | PROSE.get(operation.name, set())
        for fields in asked[operation.name]:
            words = ", ".join(f"{name}={value}" for name, value in fields.items() if name != "token")
            try:
                said = answer(stage, operation, fields)
            except DibsError as error:
                said = {REFUSED: error.code}
            compares = operation.name not in NOT_COMPARED or REFUSED in said
            found[f"{operation.name}({words})"] = shown(said, left_out, stage) if compares else {}
    for agent, client in AGENTS.items():  # these note what was shown, so they come last
        for name in ("boot", "inbox", "subscriptions"):
            said = stage.call(agent, name, client=client, **({} if name == "boot" else ALL))
            found[f"{name}, {agent}"] = shown(said, WORDS - {"message"} | HASHES | {"news"}, stage)
    return json.loads(json.dumps(found))  # type: ignore[no-any-return]


def shown(value: Any, left_out: set[str], stage: Stage) -> Any:
    """A value as it is on every engine and in every folder, without what is left out."""
    if isinstance(value, dict):
        skip = left_out | {"data"} if value.get("kind") == "store.epoch" else left_out
        return {str(name): shown(one, left_out, stage) for name, one in value.items() if name not in skip}
    if isinstance(value, (list, tuple)):
        return [shown(one, left_out, stage) for one in value]
    if isinstance(value, int) and value in COMMITS:
        return value - stage.first_commit
    if isinstance(value, str):
        if value.startswith("{"):  # a record as it is stored
            return shown(json.loads(value), left_out, stage)
        text = value.replace(str(stage.folder), "FOLDER")
        return re.sub(r"(?<=token )\d{16}", lambda number: str(int(number[0]) - stage.first_commit), text)
    return value


def differences(before: Any, now: Any, where: str = "") -> Iterator[str]:
    """What of an earlier answer is not in the present one; what is new is no difference."""
    if isinstance(before, dict) and isinstance(now, dict):
        for name, value in before.items():
            if name not in now:
                yield f"{where}.{name} is gone; it was {value!r}"
            else:
                yield from differences(value, now[name], f"{where}.{name}")
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for place, pair in enumerate(zip(before, now, strict=True)):
            yield from differences(*pair, f"{where}[{place}]")
    elif before != now:
        yield f"{where} was {before!r} and is {now!r}"


def lost(before: Any, now: Any, where: str) -> Iterator[str]:
    """Values of an earlier answer that the present one does not have anywhere, whatever their names are now."""
    left = Counter(leaves(before))
    left.subtract(Counter(leaves(now)))
    yield from (f"{where} has no longer {value}" for value, count in left.items() if count > 0)


def leaves(value: Any) -> Iterator[str]:
    """The texts and numbers in a value."""
    if isinstance(value, (dict, list)):
        for one in value.values() if isinstance(value, dict) else value:
            yield from leaves(one)
    elif value not in (None, "", 0, False, True):
        yield repr(value)


def compared(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """What is no longer answered as it was. Of an internal answer the values count, not their names."""
    found: list[str] = []
    for question, value in before.items():
        name = question.partition("(")[0]
        if question not in now:
            found.append(f"{question} is not asked any more")
        elif name in NOT_COMPARED:
            found += [f"{question} was refused"] if REFUSED in now[question] else []
        elif name in index.INTERNAL or name == "ledger":
            found += lost(value, now[question], question)
        else:
            found += differences(value, now[question], question)
    return found


def kept(folder: Path) -> dict[str, Any]:
    """The answers of a frozen version."""
    found: dict[str, Any] = json.loads((folder / "answers.json").read_text())
    return found


def freeze(folder: Path, where: Path | None = None) -> None:
    """Write what the present version answers about a folder that it has just made; one question a line."""
    with tempfile.TemporaryDirectory(dir=where) as place, pytest.MonkeyPatch.context() as patch:
        stage = frozen.thaw(folder, "sqlite", Path(place), patch)
        found = every(stage)
        stage.close()
    refused = [question for question, value in found.items() if REFUSED in value]
    assert not refused, refused
    lines = [f"{json.dumps(question)}: {json.dumps(value)}" for question, value in found.items()]
    (folder / "answers.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
