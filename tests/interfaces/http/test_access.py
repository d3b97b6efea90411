"""The access matrix: every route with no, a wrong, an expired, a revoked and another's credential, and each role."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dibs.client import catalogue
from dibs.errors import ERRORS, Unauthorized
from dibs.interfaces.http import bearers, openapi
from dibs.machine import clock
from dibs.operations.core.declare import RANKS
from tests.interfaces.http.web import PORT, Web
from tests.interfaces.overwritten_file import AFTER, BEFORE, overwritten

EVERY = [*catalogue.every(), *catalogue.queries()]
PUBLIC = ("/healthz", "/")  # the page's files tell nothing; tests/interfaces/page has its sessions
PATHS = [path for path in openapi.description()["paths"] if path not in PUBLIC]
LEAST: dict[str, Any] = {  # fields without which a request is invalid before anybody's rights are looked at
    "claim": {"resources": ["x"]}, "confirm": {"resource": "x", "token": 1}, "ask": {"resource": "x", "text": "t"},
    "kill": {"agent": "q", "why": "w"}, "revive": {"agent": "q"}, "emit": {"kind": "k"},
    "send": {"to": "q", "text": "t"}, "task split": {"children": [{"title": "t"}]},
}  # fmt: skip


def method_of(path: str) -> str:
    return "POST" if path.startswith("/v1/") else "GET"


@pytest.fixture(scope="module")
def wrong(shared: Web) -> dict[str, str]:
    """Credentials that do not count."""
    good = shared.made(person="ann")
    revoked = shared.made(person="ann")
    shared.workspace.token_revoke(revoked["credential"]["id"])
    used = shared.made(person="ann")  # known to the server, then revoked
    assert shared.post("status", token=used["token"]).status == 200
    shared.workspace.token_revoke(used["credential"]["id"])
    head, secret = good["token"].rsplit("_", 1)
    return {
        "none": "", "garbage": "xyz", "unknown": f"dibs_0123456789ab_{secret}", "secret": f"{head}_{'0' * 64}",
        "revoked": revoked["token"], "used": used["token"], "long": f"dibs_{'a' * 5_000}_{secret}",
    }  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_no_route_but_healthz_answers_without_a_credential_that_counts(
    shared: Web, wrong: dict[str, str], path: str
) -> None:
    for name, token in wrong.items():
        reply = shared.call(method_of(path), path, {}, token=token)
        assert (reply.status, reply.code) == (401, "unauthorized"), name
        assert reply.headers["www-authenticate"].startswith("Bearer")
        assert b"Traceback" not in reply.body
    shared.app.asgi._failures._left.clear()  # their limit has a test of its own


def test_a_revocation_counts_for_a_request_that_is_refused_before_any_transaction(shared: Web) -> None:
    made = shared.made(person="ann")
    assert shared.post("claim", {"nonsense": 1}, token=made["token"]).status == 422
    shared.workspace.token_revoke(made["credential"]["id"])
    assert shared.post("claim", {"nonsense": 1}, token=made["token"]).status == 401


def test_an_expired_credential_is_refused_everywhere(shared: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    token = shared.token(person="ann", expires="1m")
    assert shared.post("status", token=token).status == 200
    real = clock.since_boot
    monkeypatch.setattr(clock, "since_boot", lambda: real() + 61_000)
    for path in ("/v1/status", "/v1/claim", "/v1/log", "/metrics", "/events", "/readyz"):
        reply = shared.call(method_of(path), path, {"resources": ["x"]} if path == "/v1/claim" else {}, token=token)
        assert (reply.status, reply.json["error"]["why"]) == (401, "expired"), path


def test_health_needs_no_credential_and_tells_nothing(shared: Web) -> None:
    reply = shared.call("GET", "/healthz")
    assert (reply.status, reply.json) == (200, {"ok": True})


@pytest.mark.parametrize("path", [*PATHS, *PUBLIC])
def test_a_foreign_host_and_a_foreign_origin_are_refused_before_the_credential_is_read(shared: Web, path: str) -> None:
    token = shared.token(person="ann")
    for host in ("evil.example", f"evil.example:{PORT}", "127.0.0.1:1", "", f"127.0.0.1.evil.example:{PORT}"):
        reply = shared.call(method_of(path), path, {}, token=token, host=host)
        assert (reply.status, reply.code) == (421, "invalid"), host
    twice = shared.call(method_of(path), path, {}, token=token, headers=[("host", "evil.example")])
    assert twice.status == 421
    for origin in ("http://evil.example", "null", f"https://127.0.0.1:{PORT}", f"http://127.0.0.1:{PORT}.evil.example"):
        reply = shared.call(method_of(path), path, {}, token=token, headers=[("origin", origin)])
        assert (reply.status, reply.code) == (403, "forbidden"), origin
    cross = shared.call(method_of(path), path, {}, token=token, headers=[("sec-fetch-site", "cross-site")])
    assert cross.status == 403


def test_its_own_names_and_its_own_pages_are_not_refused(shared: Web) -> None:
    token = shared.token(person="ann")
    for host in (f"127.0.0.1:{PORT}", f"localhost:{PORT}", "localhost", f"LOCALHOST:{PORT}"):
        assert shared.call("GET", "/", token=token, host=host).status == 200
    own = [("origin", f"http://127.0.0.1:{PORT}"), ("sec-fetch-site", "same-origin")]
    assert shared.post("status", token=token, headers=own).status == 200


@pytest.mark.parametrize("operation", EVERY, ids=lambda one: one.name)
def test_an_operation_has_no_effect_by_any_method_but_post(shared: Web, operation: Any) -> None:
    token, path = shared.token(person="ann"), f"/v1/{operation.name.replace(' ', '/')}"
    before = shared.workspace.log(limit=1)["cursor"]
    for method in ("GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
        reply = shared.call(method, path, {}, token=token)
        assert (reply.status, reply.headers["allow"]) == (405, "POST"), method
    assert shared.workspace.log(limit=1)["cursor"] == before


@pytest.mark.parametrize("path", [path for path in [*PATHS, *PUBLIC] if method_of(path) == "GET"])
def test_what_only_reads_takes_no_other_method(shared: Web, path: str) -> None:
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        reply = shared.call(method, path, {}, token=shared.token(person="ann"))
        assert (reply.status, reply.code, reply.headers["allow"]) == (405, "invalid", "GET, HEAD")


@pytest.mark.parametrize("kind", ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data",
                                  "application/json; charset=latin-1", "application/jsonp"])  # fmt: skip
def test_anything_but_json_is_refused(shared: Web, kind: str) -> None:
    reply = shared.post("status", token=shared.token(person="ann"), kind=kind)
    assert (reply.status, reply.code) == (415, "invalid")
    assert shared.post("status", token=shared.token(person="ann"), kind="application/json; charset=UTF-8").status == 200


@pytest.mark.parametrize("role", RANKS)
@pytest.mark.parametrize("operation", EVERY, ids=lambda one: one.name)
def test_a_role_may_call_what_the_declaration_gives_it_and_nothing_else(shared: Web, operation: Any, role: str) -> None:
    if not shared.workspace.run_list()["runs"]:
        shared.workspace.run_start("operation", id="r")
    token = shared.token(agent=f"the-{role}", role=role)
    fields = {field.name: _value(field) for field in operation.fields if field.required}
    reply = shared.post(operation.name.replace(" ", "/"), {**fields, **LEAST.get(operation.name, {})}, token=token)
    may = RANKS[role] >= RANKS[operation.rank]
    refused = reply.status == 403 and "needs" in reply.json["error"]
    assert reply.status < 500
    if not may:
        assert refused, reply.json
        assert reply.json["error"]["needs"] in RANKS
        assert reply.json["error"]["role"] == role
    elif not operation.max_rank:
        assert not refused, reply.json


def _value(field: Any) -> Any:
    """Something of the field's kind."""
    plain = {"integer": 1, "number": 1, "flag": True, "resources": ["x"], "words": ["w"], "duration": "1m"}
    if field.kind == "choice":
        return field.choices[0]
    return plain.get(field.kind, "x")


def test_an_agents_credential_is_no_way_to_speak_for_another_by_body_header_or_query(shared: Web) -> None:
    bob = shared.token(agent="bob")
    reply = shared.post("claim", {"resources": ["bob.py"], "as": "ann"}, token=bob)
    assert (reply.status, reply.code) == (403, "forbidden")
    forged = [
        ("x-dibs-agent", "ann"),
        ("dibs-agent", "ann"),
        ("x-forwarded-user", "ann"),
        ("x-forwarded-for", "9.9.9.9"),
    ]
    reply = shared.call("POST", "/v1/claim", {"resources": ["bob.py"]}, token=bob, headers=forged)
    assert reply.json["agent"] == "bob"
    reply = shared.call("POST", "/v1/claim?as=ann&agent=ann", {"resources": ["bob.py"]}, token=bob, headers=forged)
    assert (reply.status, reply.code) == (422, "invalid"), "what it says is not ignored without a word"
    for field in ("agent", "credential", "role", "by", "tree", "waiter", "hash", "workspace", "timeout"):
        assert shared.post("claim", {"resources": ["b2.py"], field: "ann"}, token=bob).status == 422, field
    last = shared.workspace.log(agent="bob")["events"]
    assert {event["agent"] for event in last if event["kind"] in {"call.refused", "claim.granted"}} == {"bob"}


def test_a_machine_speaks_for_its_own_agents_alone(shared: Web) -> None:
    one, two = shared.token(machine="one"), shared.token(machine="two")
    assert shared.post("claim", {"resources": ["m1"], "as": "m1-agent"}, token=one).status == 200
    assert shared.post("release", {"all": True, "as": "m1-agent"}, token=two).status == 403
    assert shared.post("whoami", {"as": "m1-agent"}, token=two).status == 403
    assert shared.post("log", {"as": "m1-agent"}, token=two).status == 403
    assert shared.post("release", {"all": True, "as": "m1-agent"}, token=one).status == 200


def test_wrong_credentials_of_one_address_are_limited_and_good_ones_still_pass(web: Web) -> None:
    good = web.token(person="ann")
    assert web.post("status", token=good).status == 200
    seen = [web.post("status", token=f"dibs_x_{number}").status for number in range(100)]
    assert 50 <= seen.count(401) < 100
    # on a busy machine an attempt or two are given back meanwhile
    last = next(reply for _ in range(100) if (reply := web.post("status", token="dibs_x_y")).status != 401)
    assert (last.status, last.code) == (429, "quota")
    assert int(last.headers["retry-after"]) >= 1
    assert web.post("status", token=good).status == 200


def test_a_new_credential_passes_however_many_wrong_ones_come_from_its_address(web: Web) -> None:
    made = web.made(agent="new")
    head, _ = made["token"].rsplit("_", 1)
    wrong = [f"dibs_x_{number}" for number in range(60)] + [f"{head}_{number}" for number in range(20)]
    assert {web.post("status", token=token).status for token in wrong} == {401, 429}
    assert web.post("status", token=made["token"]).status == 200
    code = web.call("POST", "/session/code", {}, token=web.token(person="ann"))
    assert code.status in {200, 404}, "the page's routes are another part's"


def test_strangers_share_their_looks_into_the_store_and_a_new_credential_its_own(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[int] = []
    real = bearers.Bearers._all

    def counted(self: bearers.Bearers) -> Any:
        looks.append(1)
        return real(self)

    monkeypatch.setattr(bearers.Bearers, "_all", counted)

    async def story() -> None:
        known = bearers.Bearers(web.host, web.app.pool)
        strangers = [known.identity(f"dibs_x_{number}") for number in range(500)]
        found = await asyncio.gather(*strangers, return_exceptions=True)
        assert {type(one) for one in found} == {Unauthorized}
        assert len(looks) <= 2
        assert (await known.identity(web.token(agent="new"))).agent == "new"

    asyncio.run(story())


def test_a_credential_that_calls_too_often_is_slowed_and_another_is_not(tmp_path: Any) -> None:
    web = Web(tmp_path, rate=5.0)
    try:
        eager, calm = web.token(agent="eager"), web.token(agent="calm")
        seen = [web.post("status", token=eager).status for _ in range(30)]
        assert 429 in seen
        assert seen[:10] == [200] * 10
        assert web.post("claim", {"resources": ["x"]}, token=calm).status == 200
    finally:
        web.close()


def test_every_status_of_an_error_is_that_of_its_class() -> None:
    assert {error.status for error in ERRORS.values()} <= {401, 403, 404, 409, 422, 429, 503}


def test_answers_carry_the_headers_that_keep_other_sites_out_and_no_permission_for_them(shared: Web) -> None:
    for path, token in (("/", shared.token(person="ann")), ("/healthz", ""), ("/nowhere", "")):
        headers = shared.call("GET", path, token=token).headers
        assert headers["cache-control"] == ("no-cache" if path == "/" else "no-store")  # files that tell nothing
        assert headers["x-content-type-options"] == "nosniff"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert not [name for name in headers if name.startswith("access-control")]
        assert "server" not in headers


@pytest.mark.parametrize("role", RANKS)
def test_no_answer_and_no_refusal_tells_where_on_the_server_s_machine_the_workspace_is(web: Web, role: str) -> None:
    token, place = web.token(agent=f"the-{role}", role=role), str(web.folder).encode()
    doctor = web.post("doctor", token=token)
    assert doctor.status == 200
    assert [check["check"] for check in doctor.json["checks"]][:1] == ["workspace"]
    assert web.folder.name in doctor.json["checks"][0]["message"]
    outside = web.post("claim", {"resources": ["../x"]}, token=token)
    filtered = web.call("GET", "/events?resource=../x", token=token)
    assert (outside.status, filtered.status) == (422, 422)
    for reply in (doctor, outside, filtered):
        assert place not in reply.body
    web.workspace.run_start("operation", id="r")
    ended = web.post("run/end", {"run": "r", "archive": True}, token=token)
    assert ended.status == (200 if RANKS[role] >= RANKS["orchestrator"] else 403)
    assert place not in ended.body


@pytest.mark.parametrize(
    ("who", "status"),
    [({"person": "pia"}, 200), ({"person": "pia", "role": "orchestrator"}, 409), ({"agent": "cid"}, 409),
     ({"machine": "m1"}, 409)],
)  # fmt: skip
def test_only_a_persons_own_credential_restores_past_the_holder(web: Web, who: dict[str, str], status: int) -> None:
    path, change = overwritten(web.folder, "a.py")
    headers = [("x-dibs-agent", "dan")] if "machine" in who else []
    reply = web.call("POST", "/v1/restore", {"what": change}, token=web.token(**who), headers=headers)
    assert reply.status == status, reply.json
    assert path.read_bytes() == (BEFORE if status == 200 else AFTER)
    assert [claim["agent"] for claim in web.workspace.status()["claims"]] == ["ann"]
