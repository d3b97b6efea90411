"""The declaration is the contract: what a field may be, what is filled in, who may say it, and what a call does."""

from __future__ import annotations

import contextlib
import io
from typing import TYPE_CHECKING, Any

import pytest

import dibs
from dibs.canonical import Canonical
from dibs.client import catalogue, read_fields
from dibs.errors import DibsError, Invalid
from dibs.interfaces.cli.main import main
from dibs.operations.core.call import Call
from dibs.operations.core.declare import COMMON, MAX_JSON_CHARS, MAX_TEXT, Field, Operation
from dibs.operations.core.entry import perform
from dibs.operations.core.policy import Policy
from dibs.testing.memory import MemoryStore
from tests.operations.fleet import Fleet

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILE = Canonical(("file", "a.py"))


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[dibs.Workspace]:
    with contextlib.redirect_stdout(io.StringIO()):
        assert main(["init", str(tmp_path), "--clients", "none"]) == 0
    with contextlib.closing(dibs.open(str(tmp_path), "ann")) as opened:
        yield opened


def ask(name: str, /, **fields: Any) -> Any:
    """One call of a new agent in an empty store, as no door would make it."""
    store = MemoryStore()
    operation = catalogue.operation(name)
    verb = store.run if operation.writes else store.look
    return verb(lambda tx: perform(tx, Call(Policy(), agent="ann"), operation, fields))


@pytest.mark.parametrize(
    ("name", "fields", "wrong"),
    [
        ("claim", {"resources": [["file", "a.py"]]}, "resources"),
        ("claim", {"resources": [FILE], "reason": "x" * (MAX_TEXT + 1)}, "reason"),
        ("claim", {"resources": [FILE], "reason": "a\x07b"}, "reason"),
        ("claim", {"resources": [FILE], "mode": "own"}, "mode"),
        ("claim", {"resources": [FILE], "wait": 10**12}, "wait"),
        ("claim", {"resources": [FILE], "keep": 1}, "keep"),
        ("confirm", {"resource": FILE, "token": 2.7}, "token"),
        ("confirm", {"resource": FILE, "token": True}, "token"),
        ("confirm", {"resource": FILE}, "token"),
        ("task add", {"title": "t", "priority": 10**9}, "priority"),
        ("task add", {"title": "t", "payload": "x" * MAX_JSON_CHARS}, "payload"),
        ("task add", {"title": "t", "payload": {"a": {1, 2}}}, "payload"),
        ("task add", {"title": "t", "needs": ["a", 1]}, "needs"),
        ("task add", {"title": "t", "state": "complete"}, "state"),
        ("task progress", {"id": "t", "percent": 101}, "percent"),
        ("task turn", {"take": 101}, "take"),
        ("task turn", {"done": [{"id": "t"}]}, "token"),
        ("task turn", {"done": [{"id": "t", "token": True}]}, "token"),
        ("task split", {"id": "t", "children": []}, "children"),
        ("task split", {"id": "t", "children": [{"title": "t", "colour": "red"}]}, "colour"),
        ("run start", {"name": "r", "tasks": [{"after": ["x"]}]}, "title"),
        ("run start", {"name": "r", "tasks": [{"title": "t", "payload": float("nan")}]}, "payload"),
        ("run start", {"name": "r", "tasks": [{"title": "t"}] * 1001}, "tasks"),
        ("state list", {"limit": 0}, "limit"),
        ("status", {"limit": 1001}, "limit"),
        ("vote open", {"title": "t", "electorate": ["a"], "deadline": 10}, "deadline"),
    ],
)
def test_an_operation_holds_its_request_to_the_declaration_whatever_the_door(
    name: str, fields: dict[str, Any], wrong: str
) -> None:
    with pytest.raises(Invalid) as refused:
        ask(name, **fields)
    assert refused.value.fields["field"] == wrong


def test_a_nested_object_is_named_by_its_place() -> None:
    with pytest.raises(Invalid, match=r"children: item 2: priority: a whole number, not 'high'"):
        ask("task split", id="t", children=[{"title": "a"}, {"title": "b", "priority": "high"}])


def test_the_declared_default_is_what_a_body_gets() -> None:
    seen: dict[str, Any] = {}

    def body(_tx: Any, _call: Any, request: dict[str, Any]) -> dict[str, Any]:
        seen.update(request)
        return {}

    fields = (Field("size", "integer", "how large", default=7, most=9), Field("name", "text", "what", default="x"))
    probe = Operation("probe", body, "For this test.", fields=fields, writes=False)
    MemoryStore().look(lambda tx: perform(tx, Call(Policy(), agent="ann"), probe, {"name": None}))
    assert seen == {"size": 7, "name": "x"}


def test_a_request_from_within_has_the_declared_defaults_and_no_other_field() -> None:
    fields = (Field("size", "integer", "how large", required=True), Field("name", "text", "what", default="x"))
    probe = Operation("probe", lambda _tx, _call, _request: None, "For this test.", fields=fields)
    assert probe.request(size=7) == {"size": 7, "name": "x"}
    for wrong in ({}, {"size": 7, "nme": "y"}):
        with pytest.raises(AssertionError, match="probe"):
            probe.request(**wrong)


def test_what_is_internal_cannot_be_said_from_outside(workspace: dibs.Workspace) -> None:
    every = [(one, field) for one in catalogue.every() for field in one.fields if field.internal]
    assert {"by", "tree", "interest", "waiter", "wake", "saved", "verified", "used", "facts", "files"} <= {
        field.name for _, field in every
    }
    for operation, field in every:
        with pytest.raises(Invalid, match=f"there is no field '{field.name}'"):
            read_fields.request(workspace.session, operation, {field.name: "x"}, typed=True)
        with pytest.raises(Invalid):
            workspace.ask_for(operation.name, None, {field.name: "x"})


def test_fields_that_need_the_callers_machine_say_so() -> None:
    found = {field.name for one in catalogue.every() for field in one.fields if field.local}
    assert {"resources", "resource", "pid", "commit", "run"} <= found
    assert not {"title", "reason", "token", "wait"} & found
    assert [field.name for field in COMMON] == ["as", "workspace", "request_id", "timeout"]


def test_a_retry_may_differ_in_what_only_a_door_says() -> None:
    fleet = Fleet()
    first = fleet.call("ann", "boot", request="r1", files={"a": "1"}, believed=["t1"])
    again = fleet.call("ann", "boot", request="r1", files={"a": "2"}, believed=[])
    assert again == first
    with pytest.raises(Invalid, match="used for another request"):
        fleet.call("ann", "boot", request="r1", type="builder")


# A request for each idempotent operation that writes, after the same beginning.
TWICE: dict[str, dict[str, Any]] = {
    "alerts ack": {"id": "all", "why": "seen"},
    "task edit": {"id": "t", "priority": 3, "title": "another"},
    "check settle": {"what": "alerting:no-sink", "why": "a trial"},
    "claim": {"resources": ["a.py"]},
    "land": {"branch": "feature", "commit": "c1"},
    "landings cancel": {"landing": "queued"},
    "leave": {},
    "renew": {"resources": ["held.py"]},
    "revive": {"agent": "bob"},
    "rules": {"ack": True},
    "scratch": {},
    "subscribe": {"what": "build.*"},
    "subscriptions": {},
    "task cancel": {"id": "t"},
    "token revoke": {"id": "000000000001"},  # the first id that a fleet gives
}


def _begun() -> Fleet:
    fleet = Fleet()
    fleet.rules = "r1"
    fleet.call("ann", "token new", agent="bob", hash="0" * 64)
    fleet.call("ann", "boot")
    fleet.call("bob", "boot")
    fleet.call("ann", "claim", resources=["held.py"])
    fleet.call("ann", "land", branch="queued")
    fleet.call("ann", "task add", title="t", id="t")
    fleet.call("ann", "task add", title="p", id="poison", attempts=1)
    token = fleet.call("bob", "task claim", id="poison")["token"]
    why: dict[str, Any] = {"class": "transient", "why": "no luck"}
    fleet.call("bob", "task fail", id="poison", token=token, **why)  # an alert
    return fleet


def _state(fleet: Fleet) -> Any:
    """Every record that is kept, without the log."""
    return fleet.store.look(lambda tx: tx.fetch([("", "\U0010ffff")], 10_000).rows)


@pytest.mark.parametrize("operation", [one for one in catalogue.every() if one.idempotent and one.writes],
                         ids=lambda one: one.name)  # fmt: skip
def test_an_idempotent_operation_leaves_the_same_state_the_second_time(operation: Operation) -> None:
    assert operation.name in TWICE, "an idempotent operation needs a request here"
    fleet = _begun()
    fleet.call("ann", operation.name, **TWICE[operation.name])
    once = _state(fleet)
    with contextlib.suppress(DibsError):
        fleet.call("ann", operation.name, **TWICE[operation.name])
    assert _state(fleet) == once


@pytest.mark.parametrize("operation", [one for one in catalogue.every() if not one.writes], ids=lambda one: one.name)
def test_what_only_reads_is_idempotent_and_destroys_nothing(operation: Operation) -> None:
    assert operation.idempotent
    assert not operation.destructive


def test_what_takes_away_for_good_says_so() -> None:
    said = {one.name for one in catalogue.every() if one.destructive}
    assert said == {"handover", "kill", "prune", "release", "run end", "run purge", "state delete", "task cancel",
                    "token revoke"}  # fmt: skip


def test_the_queries_answer_as_they_declare(workspace: dibs.Workspace) -> None:
    workspace.claim("src/a.py")
    workspace.claim("src/b.py").release()
    found = workspace.log("src/a.py")
    assert [event["kind"] for event in found["events"]] == ["claim.granted"]
    assert workspace.log(limit=1)["earlier"] is True
    assert workspace.log(after=0, limit=2)["more"] is True
    checked = workspace.verify()
    assert (checked["found"], checked["live"]) == (0, 1)
    with pytest.raises(Invalid):
        workspace.verify(head="nonsense")
    audited = workspace.check()
    assert audited["wrong"] == []
    assert "log" in {one["check"] for one in audited["checks"]}
    assert {one["check"] for one in audited["checks"] if not one["ok"]} == set(audited["failed"])
    examined = workspace.doctor()
    assert examined["failed"] == []
    assert {"workspace", "space", "record"} <= {one["check"] for one in examined["checks"]}
    workspace.run_start("r", id="r1")
    assert workspace.run_report("r1")["run"]["id"] == "r1"
    assert workspace.run_report("r1", format="md")["text"].startswith("# ")
    with pytest.raises(Invalid):
        workspace.log(limit=-1)
    assert all(query.answer and query.group and query.help for query in catalogue.queries())


def test_a_call_from_a_credential_asks_neither_the_environment_nor_the_processes(workspace: dibs.Workspace) -> None:
    session = workspace.session
    call = Call(session.config.policy, agent="remote", identified_by="credential")
    answer = session.answer(
        session.operation("claim"), call, {"resources": [session.paths.canonical("x", session.cwd)]}
    )
    assert answer["agent"] == "remote"
    assert session.answer(session.operation("whoami"), call, {})["agent"] == "remote"
