"""The methods are made at run time, and nobody can tell: they are what methods written by hand would be."""

from __future__ import annotations

import asyncio
import inspect
import pickle
import pydoc
import subprocess
import sys
from keyword import iskeyword
from typing import Any
from unittest import mock

import pytest

import dibs
from dibs import aio
from dibs.client import catalogue
from dibs.interfaces.python import binder
from dibs.interfaces.python.aio_methods import AsyncMethods
from dibs.interfaces.python.methods import Methods
from dibs.operations.core import index
from tests.scratch import Shell

OPERATIONS = [*catalogue.every(), *catalogue.queries()]
NAMES = sorted(binder.method_name(operation.name) for operation in OPERATIONS)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_a_method_takes_the_fields_that_are_declared(operation: Any) -> None:
    name = binder.method_name(operation.name)
    plain, coroutine = getattr(Methods, name), getattr(AsyncMethods, name)
    parameters = inspect.signature(plain).parameters
    fields = [field for field in operation.fields if not field.internal]
    assert {f"{field.name}_" if iskeyword(field.name) else field.name for field in fields} == (
        set(parameters) - {"self", "request_id", "auto_renew"}
    )
    assert ("request_id" in parameters) == (not operation.is_query)
    for field in fields:
        parameter = parameters[f"{field.name}_" if iskeyword(field.name) else field.name]
        if parameter.kind is not parameter.VAR_POSITIONAL:
            assert parameter.default is (inspect.Parameter.empty if field.required else None)
    assert inspect.signature(coroutine).parameters == parameters
    assert inspect.iscoroutinefunction(coroutine) == (name != "claim")


@pytest.mark.parametrize("name", NAMES)
def test_a_method_says_what_it_is(name: str) -> None:
    for owner in (Methods, AsyncMethods):
        method = getattr(owner, name)
        assert inspect.isfunction(method)
        assert (method.__name__, method.__qualname__) == (name, f"{owner.__name__}.{name}")
        assert (method.__module__, method.__code__.co_filename) == (owner.__module__, f"<dibs {owner.__name__}.{name}>")
        assert "\n\nAnswers: " in str(method.__doc__)
        assert f"{name}(self" in pydoc.plain(pydoc.render_doc(method))


def test_help_shows_the_parameters_and_the_keys_of_the_answer() -> None:
    text = pydoc.plain(pydoc.render_doc(dibs.Workspace.claim))
    assert 'claim(self, *resources: \'Path\', mode: \'Literal["write", "read", "watch"] | None\' = None' in text
    assert "auto_renew: 'bool' = True, request_id: 'str | None' = None) -> 'Claim'" in text
    assert "In a `with` it is renewed until the end of the block" in text
    assert "Answers: claim, token, resources[], mode, expires_at, agent; sometimes name, ends, units[], unit" in text
    assert "Raises: Held, " in text


class Written:
    """As somebody would write it."""

    def confirm(self, resource: Any, *, token: Any, request_id: Any = None) -> None: ...


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ((), {}),
        (("a",), {}),
        (("a", "b"), {"token": 1}),
        (("a",), {"token": 1, "tokens": 2}),
        (("a",), {"resource": 1}),
    ],
)
def test_wrong_arguments_are_pythons_own_errors(
    given: tuple[str, ...], named: dict[str, int], workspace: dibs.Workspace
) -> None:
    with pytest.raises(TypeError) as wanted:
        Written().confirm(*given, **named)
    with pytest.raises(TypeError) as raised:
        workspace.confirm(*given, **named)  # type: ignore[arg-type]
    assert str(raised.value) == str(wanted.value).replace("Written.", "Methods.")


@pytest.fixture
def workspace(shell: Shell) -> Any:
    with dibs.open(shell.folder, agent="ann") as opened:
        yield opened


def test_dir_lists_all_methods(workspace: dibs.Workspace) -> None:
    assert len(NAMES) > 70
    assert set(NAMES) <= set(dir(workspace))
    assert set(NAMES) <= set(dir(aio.AsyncWorkspace))
    assert not set(dir(Methods)) - set(NAMES) - set(dir(type("Empty", (), {})))


LAZY = """
import sys, types
import dibs
from dibs.interfaces.python import binder, methods
dibs.Workspace
loaded = [name for name in sys.modules if name.startswith("dibs.operations.") and name.count(".") > 2]
assert "dibs.operations.claims.grants" not in loaded, loaded
assert all(type(one) is binder.Method for name, one in vars(methods.Methods).items() if name[0] != "_")
first = dibs.Workspace.whoami
assert type(first) is types.FunctionType
assert vars(methods.Methods)["whoami"] is first is dibs.Workspace.whoami
assert type(vars(methods.Methods)["status"]) is binder.Method
assert "typing" not in sys.modules and "re" not in sys.modules and "inspect" not in sys.modules
"""


def test_a_method_is_made_at_its_first_use_and_stays_in_the_class() -> None:
    subprocess.run([sys.executable, "-c", LAZY], check=True, timeout=60)


def test_a_subclass_calls_the_method_that_it_overrides(shell: Shell) -> None:
    class Careful(dibs.Workspace):
        def status(self, *given: Any, **named: Any) -> Any:
            return {**super().status(*given, **named), "careful": True}

    with Careful(shell.folder, "ann") as ws:
        assert ws.status()["careful"]
        assert ws.status()["claims"] == []


def test_a_method_is_pickled_by_its_name_like_any_function() -> None:
    for method in (dibs.Workspace.task_add, aio.AsyncWorkspace.task_add):
        assert pickle.loads(pickle.dumps(method)) is method  # noqa: S301 - our own


def fresh(*, is_async: bool) -> Any:
    """A class whose methods nobody has used yet."""

    @binder.methods("Handle", is_async=is_async)
    class Fresh:
        pass

    return Fresh


def test_a_mock_refuses_what_a_method_would_refuse() -> None:
    for spec in (dibs.Workspace, fresh(is_async=False)):
        double = mock.create_autospec(spec, instance=True)
        double.confirm("a", token=1)
        with pytest.raises(TypeError, match="token"):
            double.confirm("a")
        with pytest.raises(AttributeError):
            _ = double.nonsense


def test_a_mock_of_a_workspace_for_asyncio_can_be_awaited() -> None:
    double = mock.create_autospec(aio.AsyncWorkspace, instance=True)
    double.status.return_value = {"claims": []}
    assert asyncio.run(double.status()) == {"claims": []}
    second = mock.Mock(spec=fresh(is_async=True)())
    second.status.return_value = 5
    assert asyncio.run(second.status()) == 5


def test_a_method_that_nobody_has_used_is_seen_as_a_coroutine_without_a_use() -> None:
    owner = fresh(is_async=True)
    static: Any = inspect.getattr_static(owner, "status")
    assert inspect.iscoroutinefunction(inspect.unwrap(static))
    assert type(static) is binder.Method
    assert not inspect.iscoroutinefunction(inspect.unwrap(inspect.getattr_static(owner, "claim")))


def test_every_name_of_the_index_is_a_method() -> None:
    assert sorted(name for name in vars(Methods) if not name.startswith("_")) == NAMES
    assert len(NAMES) == len(index.FILES) + len(index.QUERIES)
