"""Requests over HTTP: the CLI's own answers, bad input, limits, waiting, and what is never done for a caller."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from pathlib import Path
from typing import Any

import pytest

import dibs
from dibs.client import local_details
from dibs.interfaces.http import link_routes
from dibs.operations.claims import waiters
from dibs.server.requests import MAX_WAIT_MS, is_single_decision, operation
from tests.interfaces.http.web import Web
from tests.scratch import Shell
from tests.waiting import LIMIT_S, until, until_async


def test_a_wrong_name_of_a_field_is_answered_with_the_one_that_was_meant(shared: Web) -> None:
    token = shared.token(person="ann")
    reply = shared.post("claim", {"resource": ["x.py"]}, token=token)
    assert reply.json["error"]["message"] == "claim: there is no field 'resource'; did you mean 'resources'?"
    reply = shared.post("claim", {"resources": "x.py"}, token=token)
    assert "resources: a list of paths" in reply.json["error"]["message"]


def test_a_trace_of_operations_gets_the_answers_that_the_command_line_prints(web: Web, tmp_path_factory: Any) -> None:
    other = tmp_path_factory.mktemp("cli")
    dibs.init(str(other))
    shell, token = Shell(other), web.token(person="ann")
    same = dibs.open(str(other), agent="me")  # as the other one has it
    shell.json("token", "new", "--person", "ann")
    trace: list[tuple[str, dict[str, Any], list[str]]] = [
        ("boot", {"type": "coder", "can": ["python"]}, ["--type", "coder", "--can", "python"]),
        ("claim", {"resources": ["src/a.py"], "ttl": "9m", "reason": "r"},
         ["src/a.py", "--ttl", "9m", "--reason", "r"]),
        ("claim", {"resources": ["src/"], "as": "bob"}, ["src/", "--as", "bob"]),
        ("renew", {"resources": ["src/a.py"]}, ["src/a.py"]),
        ("status", {}, []),
        ("task add", {"title": "one", "id": "t1", "priority": 3}, ["one", "--id", "t1", "--priority", "3"]),
        ("task next", {"as": "bob"}, ["--as", "bob"]),
        ("task done", {"id": "t1", "token": 1, "as": "bob"}, ["t1", "--token", "1", "--as", "bob"]),
        ("task list", {}, []),
        ("task show", {"id": "nope"}, ["nope"]),
        ("send", {"to": "bob", "text": "hello"}, ["bob", "hello"]),
        ("inbox", {"as": "bob"}, ["--as", "bob"]),
        ("state set", {"key": "k", "value": {"a": [1, 2]}, "version": 0}, ["k", '{"a": [1, 2]}', "--version", "0"]),
        ("state get", {"key": "k"}, ["k"]),
        ("vote open", {"options": ["x", "y"], "electorate": ["ann", "bob"], "key": "v"}, []),
        ("release", {"all": True}, ["--all"]),
        ("agents", {}, []),
        ("verify", {}, []),
        ("kill", {"agent": "bob", "why": "test"}, ["bob", "--why", "test"]),
        ("claim", {"resources": ["x"], "as": "bob"}, ["x", "--as", "bob"]),
        ("token list", {}, []),
    ]  # fmt: skip
    for name, fields, words in trace:
        if name == "vote open":
            continue
        over = web.post(name.replace(" ", "/"), fields, token=token).json
        said = [] if "--as" in words else ["--as", "ann"]
        typed = shell.json(*name.split(), *words, *said)
        assert shape(over) == shape(typed), name
        assert over["ok"] == typed["ok"], name
    same.close()


def shape(value: Any) -> Any:
    """An answer without what differs from run to run: times, ids, processes."""
    if isinstance(value, dict):
        return {
            key: shape(inner)
            for key, inner in value.items()
            if key not in {"claim", "id", "message_id", "host", "pid", "state", "health", "kind", "events", "head",
                           "fingerprint", "by", "token", "since", "path", "link"}
        }  # fmt: skip
    if isinstance(value, list):
        return [shape(one) for one in value]
    if isinstance(value, str):
        return "" if value[:2] == "20" or "left" in value or re.fullmatch("[a-z]?[0-9a-f]{12}", value) else value
    return value


BAD = [
    b"", b"{", b"[]", b"null", b'"text"', b"{}{}", b'{"a": NaN}', b'{"a": Infinity}', b'{"a": 1e999}',
    b'{"resources": ["a"], "resources": ["b"]}', b"\xff\xfe", b'{"a": "\xff"}', b"[" * 100_000,
    b'{"a":' * 5_000 + b"1" + b"}" * 5_000, b'{"a": ' + b"9" * 10_000 + b"}", b"{'a': 1}", b'\xef\xbb\xbf{"a": 1}',
]  # fmt: skip


@pytest.mark.parametrize("body", BAD, ids=lambda one: repr(one[:20]))
def test_what_is_no_json_object_is_a_400_with_the_error_object(shared: Web, body: bytes) -> None:
    reply = shared.post("claim", body, token=shared.token(person="ann"))
    assert (reply.status, reply.code) == (400, "invalid")
    assert "sys." not in reply.json["error"]["message"]


WRONG: list[dict[str, Any]] = [
    {}, {"resources": "a.py"}, {"resources": [1]}, {"resources": ["a"], "nonsense": 1}, {"resources": ["a"], "ttl": -1},
    {"resources": ["a"], "ttl": "soon"}, {"resources": ["a"], "mode": "shout"}, {"resources": ["a"], "keep": "yes"},
    {"resources": ["a"], "reason": "x" * 5_000}, {"resources": ["a"], "reason": 10**30}, {"resources": ["a"], "as": 5},
    {"resources": ["a"], "reason": "\ud800"}, {"\ud800": 1, "resources": ["a"]}, {"resources": ["a"], "reason": "\x1a"},
    {"resources": ["a"], "request_id": ["r"]}, {"resources": None}, {"resources": ["a"], "waiter": "w"},
    {"resources": ["../../etc/passwd"]}, {"resources": ["/etc/passwd"]}, {"resources": ["a\x00b"]},
    {"resources": ["a"], "as": "a b"}, {"resources": ["a"], "as": "x" * 300}, {"resources": ["a"], "wait": 1e300},
]  # fmt: skip


@pytest.mark.parametrize("fields", WRONG, ids=lambda one: ascii(one)[:40])
def test_a_wrong_field_is_a_422_that_names_it(shared: Web, fields: dict[str, Any]) -> None:
    reply = shared.post("claim", json.dumps(fields), token=shared.token(person="ann"))
    assert (reply.status, reply.code) == (422, "invalid")
    assert len(reply.body) < 2_000


@pytest.mark.parametrize("number", [9_999, 10_001])
def test_a_claim_of_thousands_of_paths_is_refused_at_once_and_no_other_caller_waits_for_it(
    shared: Web, number: int
) -> None:
    many = {"resources": [f"f{n}" for n in range(number)]}
    reply = shared.post("claim", many, token=shared.token(person="ann"))
    assert (reply.status, reply.code) == (422, "invalid")
    claim = operation("claim")
    assert not is_single_decision(claim, many), "an event loop does not look at them"
    assert is_single_decision(claim, {"resources": ["a", "b"], "reason": "x"})


@pytest.mark.parametrize("name", ["authorization", "content-type", "idempotency-key", "origin"])
def test_a_header_that_stands_twice_where_one_counts_is_refused(shared: Web, name: str) -> None:
    token = shared.token(person="ann")
    value = {"authorization": f"Bearer {token}", "content-type": "application/json"}.get(name, "x")
    headers = [(name, value)] * (1 if name in {"authorization", "content-type"} else 2)
    reply = shared.post("whoami", token=token, headers=headers)
    assert (reply.status, reply.code) == (400, "invalid")
    assert shared.post("whoami", token=token, headers=[("accept", "a"), ("accept", "b")]).status == 200


def test_a_body_is_taken_as_it_is_or_refused(shared: Web) -> None:
    token = shared.token(person="ann")
    for header, status in ((("transfer-encoding", "gzip, chunked"), 400), (("content-encoding", "gzip"), 415)):
        reply = shared.post("whoami", token=token, headers=[header])
        assert (reply.status, reply.code) == (status, "invalid")
    assert shared.post("whoami", token=token, headers=[("transfer-encoding", "chunked")]).status == 200


def test_numbers_are_numbers_and_texts_are_texts(shared: Web) -> None:
    token = shared.token(person="ann")
    assert shared.post("status", {"limit": "5"}, token=token).status == 422
    assert shared.post("status", {"limit": True}, token=token).status == 422
    assert shared.post("status", {"limit": 5.0}, token=token).status == 200
    assert shared.post("boot", {"can": "a,b"}, token=token).status == 422


def test_an_unknown_operation_is_a_404_and_so_is_what_only_guards_may_ask(shared: Web) -> None:
    token = shared.token(person="ann")
    for path in (
        "nope",
        "task",
        "task/next/more",
        "edit",
        "withdraw",
        "serve/token",
        "caller",
        "bearer",
        "../claim",
        "task next",  # as a client that wrote `task%20next` is understood
        "",
    ):
        reply = shared.post(path, token=token)
        assert (reply.status, reply.code) == (404, "not_found"), path


def test_a_large_body_is_refused_before_it_is_read(shared: Web) -> None:
    token = shared.token(person="ann")
    large = b'{"text": "' + b"x" * 2_000_000 + b'"}'
    for headers in ([("content-length", str(len(large)))], [("content-length", "9" * 40)], []):
        reply = shared.call("POST", "/v1/send", large, token=token, headers=headers)
        assert (reply.status, reply.code) == (413, "invalid")


def test_nothing_that_a_caller_sends_is_run_opened_or_written(web: Web, tmp_path_factory: Any) -> None:
    token, secret = web.token(person="ann"), tmp_path_factory.mktemp("other") / "secret.json"
    secret.write_text('{"secret": 1}')
    kept = web.post("state/set", {"key": "k", "value": f"@{secret}", "version": 0}, token=token)
    assert kept.status == 200
    assert web.post("state/get", {"key": "k"}, token=token).json["value"] == f"@{secret}"
    web.post("task/add", {"title": "t", "id": "t"}, token=token)
    taken = web.post("task/claim", {"id": "t", "as": "bob"}, token=token).json
    verify = {"verify": f"touch {web.folder}/ran"}
    done = web.post("task/done", {"id": "t", "token": taken["token"], "as": "bob", **verify}, token=token)
    assert (done.status, done.code) == (422, "invalid")
    assert not (web.folder / "ran").exists()
    for name, fields in (("boot", {"pid": 1}), ("run/report", {"out": "x.html"}), ("release", {"commit": "HEAD"}),
                         ("release", {"commit": "--help"})):  # fmt: skip
        assert web.post(name, {**fields, **({"all": True} if name == "release" else {})}, token=token).status == 422
    assert not (web.folder / "x.html").exists()


def test_the_servers_own_environment_is_not_its_callers(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DIBS_AGENT", "DIBS_RUN", "DIBS_TASK", "CLAUDE_CODE_SESSION_ID"):
        monkeypatch.setenv(name, "forged")
    bob = web.token(agent="bob")
    assert web.post("whoami", token=bob).json["agent"] == "bob"
    report = web.post("run/report", token=bob)
    assert report.code == "not_found"
    assert b"forged" not in report.body


def test_a_request_id_gives_the_first_answer_again_by_field_and_by_header(web: Web) -> None:
    token = web.token(agent="bob")
    first = web.post("task/add", {"title": "t", "request_id": "r1"}, token=token).json
    again = web.post("task/add", {"title": "t"}, token=token, headers=[("Idempotency-Key", "r1")]).json
    assert first == again
    other = web.post("task/add", {"title": "u"}, token=token, headers=[("Idempotency-Key", "r1")])
    assert other.status == 422
    both = web.post("task/add", {"title": "t", "request_id": "r2"}, token=token, headers=[("Idempotency-Key", "r3")])
    assert both.status == 422


def test_a_token_made_over_http_is_told_once(web: Web) -> None:
    ann = web.token(person="ann")
    made = web.post("token/new", {"agent": "bob", "request_id": "r"}, token=ann).json
    assert web.post("whoami", token=made["token"]).json["agent"] == "bob"
    again = web.post("token/new", {"agent": "bob", "request_id": "r"}, token=ann).json
    assert "token" not in again
    assert again["credential"] == made["credential"]


def test_a_wait_is_granted_when_its_turn_comes(web: Web) -> None:
    token = web.token(person="ann")
    web.post("claim", {"resources": ["x"], "as": "one"}, token=token)
    answers: list[Any] = []
    waiter = threading.Thread(
        target=lambda: answers.append(web.post("claim", {"resources": ["x"], "as": "two", "wait": 30}, token=token))
    )
    waiter.start()
    until(lambda: web.workspace.status()["waiting"])
    web.post("release", {"all": True, "as": "one"}, token=token)
    waiter.join(LIMIT_S)
    assert (answers[0].status, answers[0].json["agent"]) == (200, "two")


@pytest.mark.parametrize("how", ["gone", "stopped"])
def test_a_wait_whose_caller_goes_or_whose_server_ends_leaves_the_queue_at_once(web: Web, how: str) -> None:
    token = web.token(person="ann")
    web.post("claim", {"resources": ["x"], "as": "one"}, token=token)
    body = json.dumps({"resources": ["x"], "as": "two", "wait": 30}).encode()

    async def play() -> list[Any]:
        left, sent = asyncio.Event(), []
        messages = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> Any:
            if messages:
                return messages.pop()
            await left.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        headers = [(b"host", b"localhost"), (b"authorization", f"Bearer {token}".encode()),
                   (b"content-type", b"application/json")]  # fmt: skip
        scope = {"type": "http", "method": "POST", "path": "/v1/claim", "query_string": b"", "headers": headers,
                 "client": ("127.0.0.1", 1), "root_path": ""}  # fmt: skip
        work = asyncio.ensure_future(web.app.asgi(scope, receive, send))
        await until_async(lambda: web.workspace.status()["waiting"])
        if how == "gone":
            left.set()
        else:
            web.app.stop()
        done, _ = await asyncio.wait([work], timeout=LIMIT_S)
        assert done, "the request waits"
        return sent

    try:
        sent = asyncio.run(play())
    finally:
        web.workspace.release("x", force=True, why="the test is over")  # nothing waits any longer, whatever happened
    assert web.workspace.status()["waiting"] == []
    if how == "stopped":
        assert sent[0]["status"] == 503


def test_a_wait_whose_credential_is_revoked_is_refused_and_leaves_the_queue(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiters, "POLL_MS", 100)
    made = web.made(agent="two")
    web.workspace.claim("x", auto_renew=False)
    answers: list[Any] = []
    body = {"resources": ["x"], "wait": 30}
    waiter = threading.Thread(target=lambda: answers.append(web.post("claim", body, token=made["token"])))
    waiter.start()
    until(lambda: web.workspace.status()["waiting"])
    web.workspace.token_revoke(made["credential"]["id"])
    waiter.join(LIMIT_S)
    assert (answers[0].status, answers[0].code) == (401, "unauthorized")
    assert web.workspace.status()["waiting"] == []


def test_waits_are_limited_in_number_and_length_and_claims_are_answered_meanwhile(tmp_path: Path) -> None:
    web = Web(tmp_path, waits=2)
    token = web.token(person="ann")
    web.post("claim", {"resources": ["x"], "as": "one"}, token=token)
    wait = {"resources": ["x"], "wait": LIMIT_S}
    threads = [
        threading.Thread(target=lambda n=n: web.post("claim", {**wait, "as": f"w{n}"}, token=token)) for n in range(2)
    ]
    for thread in threads:
        thread.start()
    until(lambda: len(web.workspace.status()["waiting"]) == 2)
    try:
        third = web.post("claim", {**wait, "wait": 1, "as": "w9"}, token=token)
        assert (third.status, third.code) == (429, "quota")
        assert web.post("claim", {"resources": ["y"], "as": "two"}, token=token).status == 200
    finally:
        web.post("release", {"all": True, "as": "one"}, token=token)

        def over() -> bool:  # each gets it, and gives it on
            for n in range(2):
                web.post("release", {"all": True, "as": f"w{n}"}, token=token)
            return not any(thread.is_alive() for thread in threads)

        until(over, "the end of both waits")
        web.close()
    assert MAX_WAIT_MS == 600_000


def test_who_waits_at_v1_does_not_keep_far_callers_from_waiting(tmp_path: Path) -> None:
    web = Web(tmp_path, waits=1)
    web.app.add(link_routes.routes(web.app))
    token = web.token(person="ann")
    with web.workspace.claim("x", auto_renew=False):
        body = {"resources": ["x"], "as": "two", "wait": 60}
        waiter = threading.Thread(target=lambda: web.post("claim", body, token=token))
        waiter.start()
        until(lambda: web.workspace.status()["waiting"])
        reply = web.call("POST", "/link/follow", {"after": 0, "timeout": 1}, token=token)
        assert (reply.status, reply.json) == (200, {"grown": True})
        assert waiter.is_alive()
    waiter.join(LIMIT_S)
    web.close()


def test_a_flood_of_messages_meets_quotas_while_claims_are_answered(web: Web) -> None:
    flood, calm = web.token(agent="flood"), web.token(agent="calm")
    web.post("boot", token=web.token(agent="victim"))
    seen = [web.post("send", {"to": "victim", "text": f"<script>{n}</script>"}, token=flood) for n in range(260)]
    assert {reply.status for reply in seen} == {200, 429}
    assert seen[-1].code == "quota"
    assert web.post("claim", {"resources": ["x"]}, token=calm).status == 200
    assert web.post("send", {"to": "victim", "text": "x" * 100_000}, token=flood).status == 422


def test_an_error_that_nobody_foresaw_is_a_500_without_its_details(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    token = web.token(person="ann")

    def broken(*_: Any, **__: Any) -> Any:
        message = "secret detail"
        raise RuntimeError(message)

    monkeypatch.setattr(web.app.requests, "begin", broken)
    reply = web.post("claim", {"resources": ["x"]}, token=token)
    assert (reply.status, reply.code) == (500, "unavailable")
    assert b"secret detail" not in reply.body
    assert b"Traceback" not in reply.body


def test_metrics_count_what_happened_and_bound_their_labels(web: Web) -> None:
    token = web.token(person="ann")
    web.app.feed.start()
    web.post("claim", {"resources": ["x"], "as": "one"}, token=token)
    for number in range(130):
        web.post("claim", {"resources": ["x", f"n{number}"], "as": "two"}, token=token)
    web.post("task/add", {"title": "t"}, token=token)
    last = web.workspace.log(limit=1)["cursor"]
    until(lambda: web.app.feed.last >= last)
    text = web.call("GET", "/metrics", token=token).body.decode()
    assert 'dibs_alerts{severity="error"} 0.0' in text
    figures = {line.partition(" ")[0]: float(line.rpartition(" ")[2]) for line in text.splitlines() if line[0] != "#"}
    assert figures["dibs_decisions_total"] >= figures["dibs_commits_total"] > 0
    assert "dibs_claims_total 1.0" in text
    assert 'dibs_refusals_total{code="held"} 130.0' in text
    assert 'dibs_requests_total{operation="claim:ok"} 1.0' in text
    assert 'dibs_tasks{state="planned"} 1.0' in text or 'dibs_tasks{state="discovery"} 1.0' in text
    assert "dibs_store_seconds_bucket" in text
    assert figures['dibs_store_seconds_count{verb="run"}'] >= 132  # each decision, whichever way it took
    assert text.count("dibs_contention_total{") <= 102


def test_the_files_of_a_claim_are_looked_at_by_a_thread_not_by_the_loop(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = web.token(agent="ann")
    looked: list[tuple[str, str]] = []

    def look(_: Any, answer: dict[str, Any]) -> None:
        looked.append((answer["resources"][0], threading.current_thread().name))

    monkeypatch.setattr(local_details, "note_claim", look)
    assert web.post("claim", {"resources": ["a.py"]}, token=token).json["token"]
    assert looked == [], "nobody has hooks here"
    Path(web.host.place.private).mkdir(parents=True, exist_ok=True)
    (Path(web.host.place.private) / "live").touch()
    first = web.post("claim", {"resources": ["src/"]}, token=token).json
    assert [name for name, _ in looked] == ["src"]
    assert looked[0][1].startswith("dibs-request")
    status = web.post("status", {}, token=token).json
    assert [(one["resources"], one["token"]) for one in status["claims"]] == [
        (["a.py"], first["token"] - 1), (["src"], first["token"]),
    ], "it was decided once"  # fmt: skip
    assert web.post("claim", {"resources": ["src/x"]}, token=web.token(agent="bob")).code == "held"
    assert len(looked) == 1
