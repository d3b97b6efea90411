"""Values of the wrong kind are refused with the field's name, whatever the method: nothing else than a DibsError."""

from __future__ import annotations

import contextlib
import io
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import dibs
from dibs.canonical import Canonical
from dibs.client import catalogue
from dibs.errors import DibsError, Held, Invalid
from dibs.interfaces import cli
from dibs.interfaces.python.methods import Methods
from tests.faults.kit import Dice, size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.operations.core.declare import Field, Operation

HALF = "half an emoji \ud83d"
DEEP: list[Any] = []
for _ in range(100):
    DEEP = [DEEP]

ODD: tuple[Any, ...] = (
    True, False, 0, 1, 7, -1, 2.7, 0.0, -0.5, float("nan"), float("inf"), 1e308, 2**53 + 1, 2**63, 2**70, -(2**70),
    "", " ", "x", "no", "7", "-1", "2.7", "1e400", "9" * 40,
    "9" * 5_000, HALF, "\0", "\x1a", "a\nb", "\x7f", "é" * 3_000,
    "../..", "*", "x/[!", "src/{a,c}*", "a:b", "type:x", "all", "state:k", b"bytes", [], [1], ["a", "b"], [None],
    [HALF], ["file", "src//x", ""], [["file", "a"]], [{"title": 1}], [{"title": "t", "after": "x"}], [{1: 2}], {},
    {"a": 1}, {1: 2}, {"title": HALF}, {"n": float("nan")}, (), (1, 2), set(), object(), len, DEEP, Path("x"),
    Canonical(("file", "x")),
)  # fmt: skip
WAITS: tuple[Any, ...] = (
    True,
    0,
    -1,
    float("nan"),
    0.001,
    "x",
    "",
    [],
    {},
    b"1s",
    2**70,
    object(),
)  # and none that takes its time


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[dibs.Workspace]:
    with contextlib.redirect_stdout(io.StringIO()):
        assert cli.main(["init", str(tmp_path), "--clients", "none"]) == 0
    with contextlib.closing(dibs.open(str(tmp_path), "ann")) as opened:
        yield opened


def method_of(workspace: dibs.Workspace, operation: Operation) -> Any:
    return getattr(workspace, operation.name.replace(" ", "_"))


def odd(dice: Dice, field: Field) -> Any:
    """A value for one field: an odd one, or one of its kind so that the others are looked at, too."""
    if field.name == "wait":
        return dice.choice(WAITS)
    fine = {"text": "t1", "choice": field.choices[0] if field.choices else "", "integer": 1, "number": 1, "flag": True}
    if field.kind in fine and dice.random() < 0.4:
        return fine[field.kind]
    return dice.choice(ODD)


def call_oddly(workspace: dibs.Workspace, operation: Operation, dice: Dice) -> None:
    """One call with odd values for what is required, and for some of the rest."""
    given: list[Any] = []
    named: dict[str, Any] = {}
    for field in operation.fields:
        if field.internal or not (field.required or dice.random() < 0.4):
            continue
        value = odd(dice, field)
        if field.kind == "resources":
            given += [value, dice.choice(ODD)][: dice.choice((1, 2))]
        else:
            name = f"{field.name}_" if field.name in {"for", "class"} else field.name
            named[name] = value
    if dice.random() < 0.2:
        named["request_id"] = dice.choice(ODD)
    try:
        method_of(workspace, operation)(*given, **named)
    except DibsError:
        pass
    except Exception as error:
        raise AssertionError((operation.name, given, named)) from error


def test_every_method_answers_odd_values_with_a_refusal_and_no_other_exception(tmp_path: Path, dice: Dice) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        assert cli.main(["init", str(tmp_path), "--clients", "none"]) == 0
    operations = catalogue.every()
    for number in range(size(6, 150)):
        with contextlib.closing(dibs.open(str(tmp_path), f"agent-{number}")) as opened:
            for operation in operations:
                call_oddly(opened, operation, dice)
    with contextlib.closing(dibs.open(str(tmp_path), "judge")) as opened:
        said = io.StringIO()
        with contextlib.redirect_stdout(said):  # what was let in does not break the plain commands
            for words in (["status"], ["agents"], ["task", "list"], ["log"], ["run", "list"], ["inbox"]):
                assert cli.main([*words, "--workspace", opened.root, "--as", "judge"]) == 0, words
        said.getvalue().encode()


@pytest.fixture
def dice() -> Dice:
    return Dice()


def test_the_methods_beside_the_operations_refuse_odd_values_too(workspace: dibs.Workspace) -> None:
    calls: list[Any] = [
        lambda value: workspace.update(value, lambda found: found, default=1),
        lambda value: workspace.update("k", lambda found: found, default=1, attempts=value),
        lambda value: callable(value) or workspace.update("k", value),  # a function fails in its own way
        workspace.run_report,
        lambda value: workspace.run_report("r", format=value),
        lambda value: workspace.run_report("r", out=value),
        lambda value: dibs.open(workspace.root, value).close(),
    ]
    for number, call in enumerate(calls):
        for value in ODD:
            try:
                call(value)
            except DibsError:
                pass
            except Exception as error:
                raise AssertionError(number, value) from error


@pytest.mark.parametrize(
    ("method", "given", "named", "field"),
    [
        ("claim", ("a",), {"reason": 123}, "reason"),
        ("claim", ("a",), {"keep": "no"}, "keep"),
        ("claim", ("a",), {"mode": ["write"]}, "mode"),
        ("claim", ("a",), {"ttl": True}, "ttl"),
        ("claim", (5,), {}, "resources"),
        ("claim", (["file", "src//same.py", ""],), {}, "resources"),
        ("claim", (["file", "src/../../../etc/passwd"],), {}, "resources"),
        ("confirm", ("a",), {"token": 2.7}, "token"),
        ("confirm", ("a",), {"token": True}, "token"),
        ("confirm", ("a",), {"token": "1_0"}, "token"),
        ("confirm", (["file", "a"],), {"token": 1}, "resource"),
        ("inbox", (), {"new": "no"}, "new"),
        ("task_add", (5,), {}, "title"),
        ("task_add", ("t",), {"needs": [1]}, "needs"),
        ("task_add", ("t",), {"priority": 1.5}, "priority"),
        ("task_add", (HALF,), {}, "title"),
        ("task_show", (1,), {}, "id"),
        ("kill", (7,), {"why": "x"}, "agent"),
        ("boot", (), {"pid": float("inf")}, "pid"),
        ("boot", (), {"pid": True}, "pid"),
        ("run_gates", (), {"run": 1.5}, "run"),
        ("send", ("all", HALF), {}, "text"),
        ("state_set", ("k", {"a": HALF}), {}, "value"),
    ],
)
def test_a_wrong_kind_is_invalid_with_the_fields_name(
    workspace: dibs.Workspace, method: str, given: tuple[Any, ...], named: dict[str, Any], field: str
) -> None:
    before = workspace.store.head().link
    with pytest.raises(Invalid) as refused:
        getattr(workspace, method)(*given, **named)
    assert refused.value.fields["field"] == field
    assert refused.value.message.startswith(f"{field}: ")
    assert workspace.store.head().link == before, "and nothing was changed"


def test_a_list_does_not_pass_for_a_canonical_resource(workspace: dibs.Workspace) -> None:
    workspace.claim("src/same.py")
    with contextlib.closing(dibs.open(workspace.root, "bob")) as other:
        with pytest.raises(Held):
            other.claim("src//same.py")
        with pytest.raises(Invalid):
            other.claim(["file", "src//same.py", ""])  # type: ignore[arg-type]


def test_what_a_claim_was_made_of_can_be_passed_on(workspace: dibs.Workspace) -> None:
    with workspace.claim("src/a.py", "db:x") as claim:
        claim.check()
        claim.renew()
        assert [one["resources"] for one in workspace.status()["claims"]] == [["src/a.py", "db:x"]]


def test_every_declared_kind_of_field_is_checked() -> None:
    for operation in catalogue.every():
        for field in operation.fields:
            if field.kind != "json":
                with pytest.raises(Invalid):
                    field.check(object())


def test_the_methods_are_those_of_the_operations() -> None:
    assert all(hasattr(Methods, operation.name.replace(" ", "_")) for operation in catalogue.every())


@pytest.mark.parametrize("path", [5, None, b".", "\0", "\ud800", [], object(), 1.5, True])
def test_a_workspace_is_not_opened_at_an_odd_path(path: Any) -> None:
    with pytest.raises(DibsError):
        dibs.open(path)


@pytest.mark.parametrize("commit", ["\0", "a\0b", "\ud800", "--all", "x" * 5_000, "\n"])
def test_an_odd_commit_is_refused_in_a_repository(workspace: dibs.Workspace, commit: str) -> None:
    subprocess.run(["git", "init", "-q", workspace.root], check=True)
    with contextlib.closing(dibs.open(workspace.root, "bob")) as opened:
        opened.claim("x.py")
        with pytest.raises(Invalid, match="commit"):
            opened.release("x.py", commit=commit)
        assert opened.status()["claims"]


@pytest.mark.parametrize("number", ["9" * 40, "9" * 190])
def test_a_number_that_no_event_has_is_refused(workspace: dibs.Workspace, number: str) -> None:
    for call in (workspace.stats, workspace.log, workspace.map):
        with pytest.raises(Invalid, match="since"):
            call(since=number)
    for word in (number, f"#{number}", f"event:{number}"):
        with pytest.raises(DibsError):
            workspace.explain(word)
