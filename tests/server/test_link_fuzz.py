"""Any operation, any values, any kind of caller at the link: answered or refused, and nothing of others is changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from dibs.client import catalogue
from dibs.machine import processes
from dibs.operations.core import index
from dibs.operations.upkeep.records import get_archives
from tests.operations.field_values import PROCESS, values
from tests.server.link import ELSEWHERE, Link, process

NAMES = sorted([*index.FILES, *index.INTERNAL, *index.QUERIES])
ODD: tuple[Any, ...] = (
    None, True, -1, 2**70, 2.5, "", "x", "\udcff", "a\tb", "\x1a", "\x00", "\x1b[2J", "../../x", "/etc/passwd",
    ".git/x", "$(touch x)", "x" * 5_000, [], [None], [[]], [["x"]], {}, {"x": 1}, [["file", "../x"]],
    [["file", ".git/x"]], "bob", "me", "ann",
)  # fmt: skip
AGENTS = ("", "ann", "bob", "mallory", "mallory/sub", "eve", "kim", "me", "dibs", "all", "a b", "\udcff", "x" * 300)
HOSTS = (ELSEWHERE, ["third", "b", "n"], processes.here(), ["", "", ""], ["a\tb", "b", "n"], ["x" * 300, "", ""])
PROCESSES: tuple[Any, ...] = (process(1), process(1, ["third", "b", "n"]), processes.this(), [], ["x"], None)


FACTS = ("another-host:boot:ns:1:7", "third:b:n:1:7", "x")
TENTH = some.integers(0, 9).map(lambda number: number == 9)
CALLS = some.fixed_dictionaries(
    {"agent": some.sampled_from(AGENTS)},
    optional={
        "fallback": some.sampled_from(AGENTS), "session": some.sampled_from(AGENTS), "typed": some.booleans(),
        "how": some.sampled_from(("user", "--as", "")), "request": some.sampled_from(("r1", "r2")),
        "here": some.sampled_from(HOSTS), "pid": some.sampled_from((0, 1, -1, "x")),
        "client": some.sampled_from(PROCESSES), "ancestors": some.lists(some.sampled_from(PROCESSES), max_size=2),
        "facts": some.dictionaries(some.sampled_from(FACTS), some.sampled_from((True, False, None))),
    },
)  # fmt: skip


@some.composite
def requests(draw: some.DrawFn) -> tuple[str, dict[str, Any], dict[str, Any] | None]:
    """An operation with values of its fields' kinds, now and then of no kind at all; a hostile call, or None."""
    name = draw(some.sampled_from(NAMES))
    fields = {}
    for field in catalogue.operation(name).fields:
        if field.required or draw(TENTH):
            odd = field.kind == "file" or draw(TENTH)
            fields[field.name] = draw(some.sampled_from(ODD) if odd else values(field))
    return name, fields, draw(CALLS) if draw(TENTH) else None


class Victim:
    """What must stay as it is, whatever a machine's or an agent's credential sends."""

    def __init__(self, link: Link) -> None:
        self.link = link
        link.web.workspace.claim("victim.py", auto_renew=False)
        link.add("bob", agent="bob", role="orchestrator")
        link.got("bob", "claim", {"resources": [["file", "bob.py"]]})
        link.got("person", "boot", agent="ann")
        (Path(link.web.folder) / "victim.py").write_text("mine")
        self.before = self.look()

    def look(self) -> Any:
        store, folder = self.link.web.host.store, Path(self.link.web.folder)
        holds = store.look(lambda tx: tx.fetch([("r", "s")], 10_000).rows)
        held = {record["agent"]: record["token"] for _, record in holds if record.get("agent") in {"me", "bob"}}
        keys = ["a\tme", "a\tbob", "a\tann", "nm\tbob", "nm\tme", "nm\tann"]
        agents = {
            key: None if record is None else [record.get(name) for name in ("same", "killed", "left", "process")]
            for key, record in store.look(lambda tx: tx.get_many(keys)).items()
        }
        files = {
            str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(folder.rglob("*"))
            if path.is_file() and ".dibs/local" not in str(path)
        }
        archives = store.look(lambda tx: get_archives(tx)[0])
        return held, agents, files, archives, len(store.look(lambda tx: tx.fetch([("cr\t", "cr\n")], 99).rows))


@pytest.fixture(scope="module")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Victim]:
    link = Link(tmp_path_factory.mktemp("served"))
    yield Victim(link)
    link.close()


@pytest.mark.parametrize(("who", "agent"), [("machine", "eve"), ("agent", "mallory"), ("person", "kim")])
@settings(max_examples=700, deadline=None, suppress_health_check=list(HealthCheck))
@given(request=requests(), other_route=TENTH)
def test_every_request_is_answered_or_refused_and_changes_nothing_of_others(
    victim: Victim, who: str, agent: str, request: tuple[str, dict[str, Any], dict[str, Any] | None], other_route: bool
) -> None:
    name, fields, hostile = request
    call = {"agent": agent, "here": PROCESS[:3]} if hostile is None else hostile
    body = json.dumps({"op": name, "call": call, "fields": fields})
    route = "answer" if (name in index.QUERIES) is not other_route else "run"
    reply = victim.link.web.call("POST", f"/link/{route}", body, token=victim.link.tokens[who])
    assert reply.status < 500 or (reply.status == 503 and not reply.json["error"].get("internal")), reply.body
    assert b"Traceback" not in reply.body
    found = reply.json
    if "refused" in found:
        assert not found["refused"][2].get("internal"), found
    if who != "person":  # a person may do all that a person may
        assert victim.look() == victim.before


def test_the_log_of_all_that_holds_together(victim: Victim) -> None:
    assert victim.link.web.workspace.verify()["found"] == 0
