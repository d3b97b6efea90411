"""Every operation, every field, every kind of caller: who may send what to the link of a server, and nothing more."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dibs
from dibs.client import catalogue
from dibs.operations.core import index
from dibs.operations.core.declare import ANYWHERE, HOSTS, NEAR, SENDERS, Field, Operation
from tests.operations.field_values import PROCESS, usual, usual_request
from tests.server.link import Link

TOP = Path(dibs.__file__).parent
FAR = ("machine", "agent", "person")
# What a far caller may not send, written down once more: a change of a declaration has to be meant.
HERE_ALONE = {
    "alert-delivery-due", "alert-report", "alert-take", "archive drop", "end-idle", "go on", "known changes",
    "log prune",
    "log prune rest", "named files", "prune plan", "recovered", "store fallback", "store move", "store moved",
    "test record", "units-in-use", "void",
}  # fmt: skip
NOT_BY_ONE_AGENT = {
    "client-process", "land-back", "land-batch", "land-confirm", "land-done", "land-leave", "land-move", "land-refuse",
    "land-stop",
    "land-take", "radar-report", "registry adopt", "registry move", "registry settle", "same",
    "stalled", "tree-removed", "tree-returned",
}  # fmt: skip
FIELDS_HERE_ALONE = {("prune", "archive"), ("upkeep", "store"), ("upkeep-due", "store"), ("diff", "at"),
                     *[("restore", name) for name in ("tree", "at", "to", "overwrite", "merge")]}  # fmt: skip
FIELDS_OF_PERSONS = {("token new", "hash")}
INTERNAL_FIELDS = {  # each internal field of a public operation that far callers send
    "boot": {"also", "believed", "client_type", "files", "tree"},
    "claim": {"by", "interest", "machine", "pressure", "tree", "unusable", "waiter", "wake"},
    "handover": {"files"}, "inbox": {"waiter", "wake"}, "land": {"home"}, "release": {"saved"}, "run gates": {"facts"},
    "task claim": {"waiter", "wake"}, "task done": {"left", "used", "verified"}, "task fail": {"used"},
    "task next": {"waiter", "wake"},
}  # fmt: skip
SPEAKER = {"machine": "eve", "agent": "mallory", "person": "kim"}
EVERY = [*catalogue.every(), *catalogue.internal()]


def _may(operation: Operation, field: str, sender: str) -> bool:
    """Whether a sender may send this, by the tables above alone."""
    name = operation.name
    if sender in NEAR:
        return True
    if name in HERE_ALONE or (name in NOT_BY_ONE_AGENT and sender == "agent"):
        return False
    if (name, field) in FIELDS_HERE_ALONE:
        return False
    return (name, field) not in FIELDS_OF_PERSONS or sender == "person"


def test_every_operation_and_internal_field_says_in_its_declaration_who_may_send_it() -> None:
    silent = []
    for path in TOP.rglob("*.py"):
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args):
                continue
            said = {word.arg for word in node.keywords}
            name = node.args[0].value if isinstance(node.args[0], ast.Constant) else ""
            inner = node.func.id == "Operation" and (name in index.INTERNAL or name in {"bearer", "serve token"})
            hidden = node.func.id == "Field" and "internal" in said
            if (inner or hidden) and "sent_by" not in said:
                silent.append((path.name, name))
    assert silent == []


def _fields(fields: tuple[Field, ...]) -> Iterator[Field]:
    for field in fields:
        yield field
        yield from _fields(field.items)


def test_a_working_tree_is_declared_as_one_so_that_it_is_bound_to_its_caller() -> None:
    for operation in catalogue.internal():
        for field in _fields(operation.fields):
            assert (field.kind == "tree") is (field.name == "tree"), (operation.name, field.name)


def test_what_guards_and_landings_tell_is_told_in_the_reporter_s_name_and_kept_by_one_function() -> None:
    for path in sorted(TOP.rglob("operations/**/*.py")):
        text = path.read_text()
        if path.parts[-2:] != ("guards", "records.py"):
            assert "tx.put(kept_key(" not in text, path
        if path.parent.name in {"guards", "landing"}:
            told = [line for line in text.splitlines() if "mailbox.post(" in line and '"dibs"' in line]
            assert all("call.agent," in line for line in told), (path, told)  # the caller itself may be told by dibs


def test_what_declares_nothing_is_for_this_machine_alone() -> None:
    silent = Operation("new", lambda: None, "A new one.", fields=(Field("x", "text", "a field"),))
    public = Operation("open", lambda: None, "For all.", group="claims", fields=(
        Field("x", "text", "a field"), Field("y", "text", "of a door", internal=True),
    ))  # fmt: skip
    for sender in SENDERS:
        assert (silent.unsendable(sender, {"x": ""}) == "") is (sender in NEAR), sender
        assert public.unsendable(sender, {"x": ""}) == ""
        assert (public.unsendable(sender, {"y": ""}) == "") is (sender in NEAR), sender
        assert public.unsendable(sender, {"y": None}) == ""  # not said


@pytest.mark.parametrize("sender", SENDERS)
def test_the_declarations_are_what_is_written_down_here(sender: str) -> None:
    for operation in EVERY:
        assert operation.sent_by in (NEAR, HOSTS, ANYWHERE), operation.name
        for field in operation.fields:
            sent = operation.unsendable(sender, {field.name: "x"}) == ""
            assert sent is _may(operation, field.name, sender), (operation.name, field.name)
        assert (operation.unsendable(sender, {}) == "") is _may(operation, "", sender), operation.name
    known = {one.name: {field.name for field in one.fields if field.internal} for one in catalogue.every()}
    alone = {name: {field for where, field in FIELDS_HERE_ALONE | FIELDS_OF_PERSONS if where == name} for name in known}
    assert {name: left for name in known if (left := known[name] - alone[name])} == INTERNAL_FIELDS


@pytest.fixture(scope="module")
def link(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Link]:
    made = Link(tmp_path_factory.mktemp("served"))
    yield made
    made.close()


@pytest.mark.parametrize("sender", FAR)
def test_a_server_refuses_each_operation_and_field_that_is_not_this_caller_s_and_changes_nothing(
    link: Link, sender: str
) -> None:
    store = link.web.host.store
    barred = 0
    for operation in EVERY:
        usual_one = usual_request(operation)
        for field in (None, *operation.fields):
            fields: dict[str, Any] = usual_one if field is None else {**usual_one, field.name: usual(field)}
            if all(_may(operation, name, sender) for name in ("", *fields)):
                continue
            before = store.head().seq
            answer = link.ask(sender, operation.name, fields, agent=SPEAKER[sender], here=PROCESS[:3])
            assert answer["refused"][0] == "forbidden", (operation.name, field, answer)
            assert answer["refused"][2]["sender"] == sender
            events = [one.body for one in store.events(before, 10)]
            assert len(events) == int(operation.writes), (operation.name, events)
            assert all('"call.refused"' in one for one in events)
            barred += 1
    assert barred > (60 if sender == "agent" else 30)
