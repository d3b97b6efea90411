"""The description and the server agree: schemathesis finds no 5xx, and no answer that is not declared."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from dibs.interfaces.http import openapi
from dibs.operations.core import index
from dibs.server import requests
from tests.interfaces.http.web import PORT, Server, Web

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of libraries that it brings
    import schemathesis
    from schemathesis import GenerationMode, checks

if TYPE_CHECKING:
    from pathlib import Path

DESCRIPTION = openapi.description()
PATHS = [path for path in DESCRIPTION["paths"] if path != "/events"]
EXAMPLES = 6  # of each route, in `make test`: 68 routes in some seconds
CHECKS = (
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
    checks.negative_data_rejection,
)


def test_every_operation_and_query_has_a_route_and_no_route_has_none() -> None:
    routes = {path.removeprefix("/v1/").replace("/", " ") for path in DESCRIPTION["paths"] if path.startswith("/v1/")}
    assert routes == {*index.FILES, *index.QUERIES}


def test_a_server_starts_without_its_description() -> None:
    code = "import sys, dibs.interfaces.http.app; assert 'dibs.interfaces.schema' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_every_route_has_a_name_of_its_own_for_programs_that_are_made_from_the_description() -> None:
    names = [route["operationId"] for methods in DESCRIPTION["paths"].values() for route in methods.values()]
    assert len(set(names)) == len(names) == len(DESCRIPTION["paths"])


def test_every_reference_of_the_description_is_there() -> None:
    found: list[str] = []

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            found.extend([value["$ref"]] if isinstance(value.get("$ref"), str) else [])
            for one in value.values():
                walk(one)
        elif isinstance(value, list):
            for one in value:
                walk(one)

    walk(DESCRIPTION)
    names = {f"#/components/schemas/{name}" for name in DESCRIPTION["components"]["schemas"]}
    assert found
    assert set(found) <= names


def test_what_only_the_callers_machine_can_read_is_no_field_of_a_route() -> None:
    boot = DESCRIPTION["paths"]["/v1/boot"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert "pid" not in boot["properties"]
    report = DESCRIPTION["paths"]["/v1/run/report"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert "out" not in report["properties"]


def judge(schema: Any, path: str, headers: dict[str, str], examples: int, **more: Any) -> None:
    """Some requests to a route, good ones and bad ones; each answer is as the description says."""
    operation = schema[path]["post" if path.startswith("/v1/") else "get"]
    modes = [GenerationMode.POSITIVE, *([GenerationMode.NEGATIVE] if path.startswith("/v1/") else [])]
    for mode in modes:

        @settings(
            max_examples=examples, derandomize=True, deadline=None, database=None, phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        @given(case=operation.as_strategy(generation_mode=mode))
        def tried(case: Any) -> None:
            response = case.call(headers=headers, **more)
            case.validate_response(response, checks=list(CHECKS), headers=headers)

        tried()


@pytest.fixture(scope="module")
def described(shared: Web) -> tuple[Any, dict[str, str]]:
    """The description as the application in this process serves it, and the headers of a caller that may everything."""
    headers = {"Authorization": f"Bearer {shared.token(person='ann')}", "Host": f"127.0.0.1:{PORT}"}

    async def only_requests(scope: Any, receive: Any, send: Any) -> None:
        """The client begins and ends a life for each call; the application's is the fixture's."""
        if scope["type"] == "http":
            await shared.app.asgi(scope, receive, send)
            return
        for moment in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{moment}.complete"})

    return schemathesis.openapi.from_asgi("/openapi.json", only_requests, headers=headers), headers


@pytest.mark.parametrize("path", PATHS)
def test_in_process_no_request_gets_a_5xx_or_an_answer_that_is_not_declared(described: Any, path: str) -> None:
    schema, headers = described
    judge(schema, path, headers, EXAMPLES)


@pytest.mark.torture
@pytest.mark.parametrize("path", PATHS)
def test_in_process_many_requests_get_no_5xx_and_no_answer_that_is_not_declared(
    described: Any, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "MAX_WAIT_MS", 50)  # some of them wait, and nothing comes
    schema, headers = described
    judge(schema, path, headers, 200)


def test_over_the_wire_no_request_gets_a_5xx_or_an_answer_that_is_not_declared(tmp_path: Path) -> None:
    web = Web(tmp_path)
    with Server(tmp_path) as server:
        schema = schemathesis.openapi.from_url(f"{server.about['url']}/openapi.json", headers=server.head)
        for path in PATHS[::6]:
            judge(schema, path, server.head, 3)
        assert web.workspace.verify()["found"] == 0
    web.close()
