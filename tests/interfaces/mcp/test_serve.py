"""`/mcp` in a real `dibs serve`, and what else of dibs loads the SDK: nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from dibs.server.host import Host
from dibs.server.remote_endpoint import RemoteEndpoint
from dibs.workspace import location
from tests.interfaces.mcp.sdk_clients import DIBS, ERAS, NEW, PATIENCE, ask, connected, play
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.scratch import Shell


@pytest.fixture
def served(shell: Shell) -> Iterator[tuple[str, str]]:
    """A served workspace: its URL, and the token of the local user."""
    done = subprocess.run([DIBS, "serve", "--detach", "--json"], cwd=shell.folder, stdout=subprocess.PIPE, check=True)
    about = json.loads(done.stdout)
    yield about["url"], Path(about["token_file"]).read_text().strip()
    subprocess.run([DIBS, "serve", "--stop"], cwd=shell.folder, stdout=subprocess.DEVNULL, check=True)


@pytest.mark.parametrize("era", ERAS)
def test_a_server_has_the_tools_behind_its_own_credentials(served: tuple[str, str], shell: Shell, era: str) -> None:
    url, token = served

    async def story() -> None:
        async with connected(f"{url}/mcp", token, era) as client:
            assert (await ask(client, "claim", "thread-1", resources=["a"]))["ok"]
            refused = await ask(client, "claim", "thread-2", resources=["a"])
            assert refused["error"]["code"] == "held"

    play(story())
    assert [claim["agent"] for claim in shell.json("status")["claims"]] == ["thread-1"]


def test_every_method_and_every_route_is_refused_as_soon_as_the_credential_is_revoked(
    served: tuple[str, str], shell: Shell
) -> None:
    url, _ = served
    (shell.folder / "STATE.md").write_text("the plan\n")
    with (shell.folder / ".dibs/config.toml").open("a") as config:
        config.write('[files]\nstate = "STATE.md"\n')
    made = shell.json("token", "new", "--agent", "gone", exit=0)
    meta = {"io.modelcontextprotocol/protocolVersion": NEW, "io.modelcontextprotocol/clientCapabilities": {}}
    files = {"uri": "dibs://files/state"}
    asked: dict[str, dict[str, Any]] = {
        "tools/list": {}, "resources/list": {}, "resources/templates/list": {}, "resources/read": files,
        "tools/call": {"name": "status", "arguments": {}}, "ping": {}, "no/such": {},
    }  # fmt: skip

    def statuses() -> list[int]:
        found = []
        for method, params in asked.items():
            head = {"Authorization": f"Bearer {made['token']}", "Accept": "application/json, text/event-stream",
                    "Mcp-Protocol-Version": NEW, "Mcp-Method": method,
                    "Mcp-Name": params.get("name") or params.get("uri") or ""}  # fmt: skip
            body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
            found.append(httpx2.post(f"{url}/mcp", json=body, headers=head, timeout=PATIENCE).status_code)
        return found

    assert 401 not in statuses()
    shell.json("token", "revoke", made["credential"]["id"], exit=0)
    assert set(statuses()) == {401}
    host = Host(location.find(str(shell.folder), None))
    routes = {path: method for path, (method, _) in RemoteEndpoint(host).routes().items()}
    routes |= {"/session/code": "POST", "/metrics": "GET", "/events": "GET", "/readyz": "GET", "/v1/status": "POST"}
    head = {"Authorization": f"Bearer {made['token']}"}
    found = {
        path: httpx2.request(method, f"{url}{path}", headers=head, json={} if method == "POST" else None).status_code
        for path, method in routes.items()
    }
    assert found == dict.fromkeys(routes, 401)


def test_the_server_s_own_checks_stand_before_it(served: tuple[str, str]) -> None:
    url, token = served
    mine = {"Authorization": f"Bearer {token}"}
    assert httpx2.post(f"{url}/mcp", json={}).status_code == 401
    assert httpx2.post(f"{url}/mcp", json={}, headers={**mine, "Host": "evil.example"}).status_code == 421
    assert httpx2.post(f"{url}/mcp", json={}, headers={**mine, "Origin": "http://evil.example"}).status_code == 403
    form = httpx2.post(f"{url}/mcp", content="{}", headers={**mine, "Content-Type": "text/plain"})
    large = httpx2.post(f"{url}/mcp", json={"x": "y" * (2 << 20)}, headers=mine)
    for reply, status in ((form, 415), (large, 413)):
        assert (reply.status_code, reply.json()["error"]["code"]) == (status, "invalid")


def test_a_server_that_ends_answers_the_calls_that_wait_and_ends_its_streams(
    served: tuple[str, str], shell: Shell
) -> None:
    url, token = served
    meta = {"io.modelcontextprotocol/protocolVersion": NEW, "io.modelcontextprotocol/clientCapabilities": {}}

    def post(method: str, **params: Any) -> httpx2.Response:
        head = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream",
                "Mcp-Protocol-Version": NEW, "Mcp-Method": method, "Mcp-Name": params.get("name", "")}  # fmt: skip
        asked = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
        return httpx2.post(f"{url}/mcp", json=asked, headers=head, timeout=PATIENCE)

    shell.json("claim", "a", "--as", "ann", exit=0)
    with ThreadPoolExecutor(2) as pool:
        wait = pool.submit(post, "tools/call", name="claim", arguments={"resources": ["a"], "wait": "50s"})
        listens = pool.submit(post, "subscriptions/listen", notifications={"resourceSubscriptions": ["dibs://status"]})
        until(lambda: shell.json("status")["waiting"])
        shell.json("serve", "--stop", exit=0)
        assert wait.result().status_code == 503
        assert wait.result().json()["error"]["ending"]
        assert listens.result().status_code == 200, "and its end is there: nothing was cut"
    assert shell.json("status")["waiting"] == []
    assert (shell.folder / ".dibs/local/serve.log").read_text() == ""


@pytest.mark.parametrize("words", [["status"], ["version"], ["init", "--dry-run"], ["help"]])
def test_no_other_command_loads_the_sdk(shell: Shell, words: list[str]) -> None:
    code = (
        "import sys\nfrom dibs.interfaces.cli.main import main\n"
        f"main({words!r})\n"
        "sys.stderr.write(' '.join(name for name in ('mcp', 'mcp_types', 'pydantic') if name in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=shell.folder, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stderr == ""
