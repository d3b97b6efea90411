"""Sessions of the page: how they begin, what they may, how they end. A row of the access matrix for cookies."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from dibs.interfaces.http import sessions
from dibs.machine import clock
from tests.interfaces.http.web import PORT, Reply, Web

OWN = [("origin", f"http://127.0.0.1:{PORT}"), ("sec-fetch-site", "same-origin"), ("x-dibs-page", "1")]


class Browser:
    """A browser that has signed in: its session and its cookie."""

    def __init__(self, web: Web, reply: Reply) -> None:
        assert reply.status == 200, reply.body
        self.web, self.id = web, reply.json["session"]
        self.set = reply.headers["set-cookie"]
        self.cookie = self.set.partition(";")[0]

    def call(self, method: str, path: str, body: Any = None, *, headers: Any = OWN, cookie: str | None = None) -> Reply:
        sent = [*headers, ("cookie", self.cookie if cookie is None else cookie)]
        return self.web.call(method, f"/s/{self.id}{path}", {} if body is None else body, headers=sent)

    def post(self, name: str, body: Any = None, **given: Any) -> Reply:
        return self.call("POST", f"/v1/{name}", body, **given)


def signed_in(web: Web, token: str = "", **fields: Any) -> Browser:
    return Browser(
        web, web.call("POST", "/session", {}, token=token or web.token(**(fields or {"person": "ann"})), headers=OWN)
    )


def test_a_token_begins_a_session_whose_cookie_no_script_reads_and_no_other_path_gets(shared: Web) -> None:
    one = signed_in(shared)
    assert re.fullmatch(rf"dibs=[0-9a-f]{{64}}; Path=/s/{one.id}; Max-Age=\d+; HttpOnly; SameSite=Strict", one.set)
    assert one.post("status").status == 200
    about = one.call("GET", "/session").json
    assert (about["agent"], about["role"], about["may"]["kill"]) == ("ann", "person", True)


def test_a_code_counts_once_and_for_a_minute(shared: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    token = shared.token(person="ann")
    code = shared.call("POST", "/session/code", {}, token=token).json["code"]
    assert Browser(shared, shared.call("POST", "/session", {"code": code}, headers=OWN)).post("status").status == 200
    assert shared.call("POST", "/session", {"code": code}, headers=OWN).code == "unauthorized"
    late = shared.call("POST", "/session/code", {}, token=token).json["code"]
    real = clock.since_boot
    monkeypatch.setattr(clock, "since_boot", lambda: real() + sessions.CODE_LIFE_MS)
    assert shared.call("POST", "/session", {"code": late}, headers=OWN).code == "unauthorized"
    shared.app.asgi._failures._left.clear()


@pytest.mark.parametrize("body", [{}, {"code": ""}, {"code": 5}, {"code": "x" * 500}, {"code": "0" * 64}])
def test_nothing_but_a_live_code_or_a_token_signs_in(shared: Web, body: dict[str, Any]) -> None:
    assert shared.call("POST", "/session", body, headers=OWN).code == "unauthorized"
    assert shared.call("POST", "/session", body, headers=OWN, token="dibs_x_y").code == "unauthorized"
    assert shared.call("POST", "/session/code", body).code == "unauthorized"
    shared.app.asgi._failures._left.clear()


def test_a_code_is_not_given_to_a_session_and_signing_in_needs_the_own_page(shared: Web) -> None:
    one = signed_in(shared)
    assert one.call("POST", "/session/code").status == 404
    token = shared.token(person="ann")
    for headers in ([], OWN[:1], OWN[2:]):
        assert shared.call("POST", "/session", {}, token=token, headers=headers).code == "forbidden"


@pytest.mark.parametrize("missing", ["origin", "x-dibs-page"])
def test_a_change_by_cookie_needs_the_own_origin_and_the_header(shared: Web, missing: str) -> None:
    one = signed_in(shared)
    before = shared.workspace.log(limit=1)["cursor"]
    headers = [(name, value) for name, value in OWN if name != missing]
    for name in ("claim", "status"):
        assert one.post(name, {"resources": ["x"]}, headers=headers).code == "forbidden"
    foreign = [("origin", "http://evil.example"), ("x-dibs-page", "1")]
    assert one.post("claim", {"resources": ["x"]}, headers=foreign).code == "forbidden"
    assert one.call("POST", "/session", headers=headers).code == "forbidden"
    assert shared.workspace.log(limit=1)["cursor"] == before
    assert one.post("status").status == 200


def test_a_cookie_counts_nowhere_but_below_its_own_session(shared: Web) -> None:
    one, two = signed_in(shared), signed_in(shared)
    for path in ("/v1/status", "/metrics", "/events", "/openapi.json", "/readyz", "/session/code"):
        method = "POST" if path.startswith(("/v1", "/session")) else "GET"
        reply = shared.call(method, path, {}, headers=[*OWN, ("cookie", one.cookie)])
        assert (reply.status, reply.code) == (401, "unauthorized"), path
    for path in (
        "/link/hello",
        "/mcp",
        "/metrics",
        "/openapi.json",
        "/",
        "/page/app.js",
        "/session/code",
        "/s/x/session",
    ):
        assert one.call("GET", path).status == 404, path
    assert one.post("status", cookie=two.cookie).code == "unauthorized"
    assert one.post("status", cookie="").code == "unauthorized"
    assert one.post("status", cookie="dibs=\\0; ;;=").code == "unauthorized"
    shared.app.asgi._failures._left.clear()


@pytest.mark.parametrize(("role", "may"), [("viewer", False), ("agent", True)])
def test_a_session_has_the_rights_of_its_credential(shared: Web, role: str, may: bool) -> None:
    one = signed_in(shared, agent=f"page-{role}", role=role)
    assert one.post("status").status == 200
    reply = one.post("claim", {"resources": [f"by-{role}"]})
    assert (reply.status == 200) is may
    about = one.call("GET", "/session").json
    assert (about["role"], about["may"]["claim"], about["may"]["kill"], about["may"]["status"]) == (
        role,
        may,
        may,
        True,
    )
    if not may:
        assert (reply.status, reply.json["error"]["role"]) == (403, "viewer")
    assert one.post("claim", {"resources": ["y"], "as": "another"}).status == 403


def test_a_session_ends_with_its_credential_at_once(shared: Web) -> None:
    made = shared.made(person="ann")
    one = signed_in(shared, made["token"])
    shared.workspace.token_revoke(made["credential"]["id"])
    for reply in (one.post("status"), one.call("GET", "/session"), one.call("GET", "/events"), one.post("no/such")):
        assert (reply.status, reply.code) == (401, "unauthorized")
    shared.app.asgi._failures._left.clear()


def test_signing_out_ends_the_session_and_takes_the_cookie_away(shared: Web) -> None:
    one = signed_in(shared)
    reply = one.call("POST", "/session")
    assert reply.status == 200
    assert reply.headers["set-cookie"].startswith(f"dibs=; Path=/s/{one.id}; Max-Age=0")
    assert one.post("status").code == "unauthorized"


def test_a_session_ends_after_a_week(shared: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    one = signed_in(shared)
    real = clock.wall
    monkeypatch.setattr(clock, "wall", lambda: real() + sessions.LIFE_MS)
    assert one.post("status").code == "unauthorized"


def test_sessions_outlive_the_server_and_their_file_has_no_secret(tmp_path: Path) -> None:
    web = Web(tmp_path)
    token = web.token(person="ann")
    one = signed_in(web, token)
    web.close()
    file = tmp_path / ".dibs" / "local" / sessions.FILE
    assert file.stat().st_mode & 0o777 == 0o600
    text = file.read_text(encoding="utf-8")
    assert one.cookie.partition("=")[2] not in text
    assert token.rpartition("_")[2] not in text
    for content in (None, "{", "[]", '{"x": 1}', '{"x": [1, 2]}'):
        if content is not None:
            file.write_text(content, encoding="utf-8")
        again = Web(tmp_path)
        one.web = again
        assert (one.post("status").status == 200) is (content is None), content
        again.close()


def test_at_most_so_many_sessions_live_and_the_oldest_makes_way(shared: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "MOST", 2)
    one, two, three = (signed_in(shared) for _ in range(3))
    assert [browser.post("status").status for browser in (one, two, three)] == [401, 200, 200]


def test_wrong_cookies_of_one_address_are_limited(web: Web) -> None:
    one = signed_in(web)
    seen = [one.post("status", cookie="dibs=wrong").status for _ in range(80)]
    assert seen.count(429) > 0
    assert set(seen) == {401, 429}
    assert one.post("status").status == 200  # who has a session is not locked out by another on the same machine
