"""Far callers: the same results and exit codes from a server elsewhere."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dibs
from dibs.client import catalogue
from dibs.errors import Invalid
from dibs.machine import processes
from dibs.operations.core.call import process_name
from dibs.operations.core.declare import Field
from dibs.server import identity
from dibs.server.remote_endpoint import RemoteEndpoint
from tests.scratch import DIBS, Shell
from tests.server.far import Far, far
from tests.waiting import LIMIT_S, until


@pytest.fixture
def apart(shell: Shell, tmp_path: Path) -> Iterator[Far]:
    with far(shell, tmp_path) as made:
        yield made


# What is said at home, then by each way; `{n}` is the way's own number, so that each has things of its own.
COMMANDS: list[tuple[str, ...]] = [
    ("claim", "a{n}.txt", "--as", "ann{n}"),
    ("claim", "a{n}.txt", "--as", "ann{n}"),
    ("claim", "held.txt", "--as", "ann{n}"),
    ("claim", "held.txt", "--wait", "300ms", "--as", "ann{n}"),
    ("claim", "../outside", "--as", "ann{n}"),
    ("check", "held.txt", "--as", "ann{n}"),
    ("renew", "a{n}.txt", "--as", "ann{n}"),
    ("status",),
    ("whoami", "--as", "ann{n}"),
    ("boot", "--as", "ann{n}"),
    ("send", "bob", "hello {n}", "--as", "ann{n}"),
    ("inbox", "--as", "ann{n}"),
    ("task", "add", "work {n}", "--as", "ann{n}"),
    ("task", "next", "--as", "ann{n}"),
    ("task", "list"),
    ("state", "set", "key{n}", "1", "--as", "ann{n}"),
    ("state", "get", "key{n}"),
    ("state", "get", "nothing{n}"),
    ("release", "a{n}.txt", "--as", "ann{n}"),
    ("release", "a{n}.txt", "--as", "ann{n}"),
    ("log", "--limit", "3"),
    ("log", "--agent", "bob"),
    ("verify",),
    ("leave", "--as", "ann{n}"),
    ("claim", "x.txt", "--as", "no such id"),
    ("task", "done", "nonsense", "--token", "1", "--as", "ann{n}"),
    ("token", "list", "--as", "ann{n}"),
]  # fmt: skip


def keys(value: Any) -> Any:
    """The shape of an answer: its keys, and the types of its values."""
    if isinstance(value, dict):
        return {key: keys(inner) for key, inner in sorted(value.items())}
    if isinstance(value, list):
        return [keys(value[0])] if value else []
    return type(value).__name__


def test_commands_answer_and_exit_as_at_home(apart: Far) -> None:
    apart.home.json("claim", "held.txt", "--as", "bob", exit=0)
    for words in COMMANDS:
        ways = []
        for number, way in enumerate((apart.home, apart.away)):
            done = way.run(*[word.format(n=number) for word in words], "--json")
            assert "Traceback" not in done.stderr, (words, done.stderr)
            ways.append((done.returncode, keys(json.loads(done.stdout))))
        if words[0] == "token":
            assert ways[1][0] == 1  # a person at a terminal may at home; a machine's credential is no person's
            continue
        assert ways[0] == ways[1], words
    apart.home.json("verify", exit=0)


def test_two_machines_see_each_others_claims(apart: Far) -> None:
    apart.away.json("claim", "src/", "--as", "far", exit=0)
    refused = apart.home.json("claim", "src/x.py", "--as", "near", exit=1)
    assert refused["error"]["blockers"][0]["agent"] == "far"
    apart.home.json("claim", "b.txt", "--as", "near", exit=0)
    assert apart.away.json("claim", "b.txt", "--as", "far", exit=1)["error"]["code"] == "held"


def test_a_far_waiter_is_woken_when_its_turn_comes(apart: Far) -> None:
    apart.home.json("claim", "db:x", "--as", "bob", exit=0)
    waiting = subprocess.Popen(
        [DIBS, "claim", "db:x", "--wait", "60s", "--as", "far", "--json"], cwd=apart.away.folder,
        env=apart.away.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    until(lambda: apart.home.json("status")["waiting"])
    until(lambda: apart.server.http.half._watched)  # type: ignore[attr-defined]
    apart.home.json("release", "db:x", "--as", "bob", exit=0)
    out, err = waiting.communicate(timeout=LIMIT_S)
    assert waiting.returncode == 0, err
    assert b'"ok":true' in out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_far_waiter_leaves_its_place(apart: Far, number: signal.Signals) -> None:
    apart.home.json("claim", "db:x", "--as", "bob", exit=0)
    waiting = subprocess.Popen(
        [DIBS, "claim", "db:x", "--wait", "60s", "--as", "far"], cwd=apart.away.folder,
        env=apart.away.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    until(lambda: apart.home.json("status")["waiting"])
    waiting.send_signal(number)
    waiting.communicate(timeout=LIMIT_S)
    assert waiting.returncode == 128 + number
    assert apart.home.json("status")["waiting"] == []


def test_a_server_that_is_away_is_exit_code_2_and_says_what_to_do(apart: Far) -> None:
    apart.away.json("claim", "a.txt", "--as", "far", exit=0)
    apart.server.stop()
    found = apart.away.json("claim", "b.txt", "--as", "far", "--timeout", "300ms", exit=2)
    assert found["error"]["code"] == "unavailable"
    assert "dibs serve" in found["error"]["message"]
    apart.server.http.server_close = lambda: None  # type: ignore[method-assign]
    apart.server.stop = lambda: None  # type: ignore[method-assign]


@pytest.mark.parametrize("point", ["before", "after"])
def test_an_answer_that_is_lost_on_the_way_is_asked_again_and_done_once(apart: Far, point: str) -> None:
    cut: list[Any] = []

    def fate(_: Any, path: str, given: dict[str, Any], where: str) -> None:
        if path == "/link/run" and given["op"] == "send" and where == point and len(cut) < 2:
            cut.append(given["via"])
            raise ConnectionAbortedError

    apart.home.json("boot", "--as", "bob", exit=0)
    apart.away.json("boot", "--as", "far", exit=0)
    apart.server.http.fate = fate  # type: ignore[attr-defined]
    apart.away.json("send", "bob", "once", "--as", "far", exit=0)
    assert len(cut) == 2
    assert cut[0][:2] == cut[1][:2]
    posted = [one for one in apart.home.json("log")["events"] if one["kind"] == "message.posted"]
    assert [one["agent"] for one in posted] == ["far"]


def test_whether_a_request_was_done_is_asked_of_those_alone_that_change_something(apart: Far) -> None:
    def fate(_: Any, path: str, __: dict[str, Any], where: str) -> None:
        if path.startswith("/link/") and where == "after":
            raise ConnectionAbortedError

    apart.away.json("boot", "--as", "far", exit=0)
    apart.server.http.fate = fate  # type: ignore[attr-defined]
    for words, known in ((("claim", "a.txt"), False), (("status",), True), (("log",), True)):
        refused = apart.away.json(*words, "--as", "far", "--timeout", "300ms", exit=2)["error"]
        assert ("Nothing was changed" in refused["message"], refused.get("unknown", False)) == (known, not known), words


def test_an_agents_credential_speaks_for_that_agent_and_its_subagents_alone(apart: Far) -> None:
    apart.home.json("claim", "held.txt", "--as", "bob", exit=0)
    apart.use(apart.token("--agent", "ann"))
    apart.away.json("claim", "a.txt", "--as", "ann", exit=0)
    apart.away.json("claim", "b.txt", exit=0)  # without a name, it is the credential's agent
    apart.away.json("claim", "c.txt", "--as", "ann/helper", exit=0)
    assert apart.away.json("release", "held.txt", "--as", "bob", exit=1)["error"]["code"] == "forbidden"
    assert apart.away.json("claim", "d.txt", "--as", "eve", exit=1)["error"]["code"] == "forbidden"
    assert apart.away.json("token", "new", "--person", "me", "--as", "ann", exit=1)["error"]["code"] == "forbidden"
    granted = [one for one in apart.home.json("log")["events"] if one["kind"] == "claim.granted"]
    assert {one["agent"] for one in granted} == {"bob", "ann", "ann/helper"}


def test_a_machines_credential_does_not_speak_for_another_machines_agents(apart: Far) -> None:
    apart.home.json("claim", "held.txt", "--as", "bob", exit=0)
    apart.away.json("claim", "a.txt", "--as", "far", exit=0)
    assert apart.away.json("release", "held.txt", "--as", "bob", exit=1)["error"]["code"] == "forbidden"


def test_a_caller_is_told_by_what_it_is_known_and_where_a_credential_belongs(apart: Far) -> None:
    apart.use(apart.token("--agent", "ann"))
    who = apart.away.json("whoami", exit=0)
    assert (who["agent"], who["by"]) == ("ann", "credential")
    apart.use("dibs_0123456789ab_" + "0" * 64)
    assert "DIBS_TOKEN" in apart.away.json("whoami", exit=1)["error"]["message"]


def test_a_machines_user_who_has_the_name_of_another_machines_is_told_apart(apart: Far) -> None:
    mine = apart.away.json("whoami", exit=0)["agent"]
    apart.home.json("claim", "home.txt", exit=0)  # by the user of the server's machine, who has the same name
    assert apart.home.json("whoami", exit=0)["agent"] == mine
    apart.away.json("status", exit=0)
    assert apart.away.json("claim", "away.txt", exit=0)["agent"] == f"{mine}@laptop"
    assert apart.away.json("whoami", exit=0)["agent"] == f"{mine}@laptop"
    assert apart.away.json("claim", "home.txt", exit=1)["error"]["blockers"][0]["agent"] == mine
    assert apart.away.json("release", "away.txt", exit=0)["released"]


@pytest.mark.parametrize("token", ["", "nonsense", "dibs_abc_def"])
def test_a_wrong_credential_is_refused(apart: Far, token: str) -> None:
    apart.use(token)
    found = apart.away.json("claim", "a.txt", "--as", "far", exit=1, HOME="/nonexistent", XDG_CONFIG_HOME="")
    assert found["error"]["code"] == "unauthorized"


def test_a_revoked_credential_counts_no_more(apart: Far) -> None:
    made = apart.home.json("token", "new", "--machine", "other", exit=0)
    apart.use(made["token"])
    apart.away.json("claim", "a.txt", "--as", "far", exit=0)
    apart.home.json("token", "revoke", made["credential"]["id"], exit=0)
    found = apart.away.json("claim", "b.txt", "--as", "far", exit=1)
    assert found["error"]["code"] == "unauthorized"


def test_a_credential_comes_from_a_private_file_alone(apart: Far, tmp_path: Path) -> None:
    token = apart.away.environment.pop("DIBS_TOKEN")
    folder = tmp_path / "config/dibs"
    folder.mkdir(parents=True)
    (folder / "tokens").write_text(f"https://other dibs_a_b\n{apart.server.url} {token}\n", encoding="ascii")
    os.chmod(folder / "tokens", 0o644)
    environment: dict[str, Any] = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    found = apart.away.json("claim", "a.txt", "--as", "far", **environment)
    assert "chmod 600" in found["error"]["message"]
    os.chmod(folder / "tokens", 0o600)
    apart.away.json("claim", "a.txt", "--as", "far", exit=0, **environment)


def test_a_credential_of_the_environment_goes_to_no_server_that_only_the_config_names(apart: Far) -> None:
    url = apart.away.environment.pop("DIBS_STORE")
    config = apart.away.folder / ".dibs/config.toml"
    config.write_text(f'store = "{url}"\n{config.read_text()}')
    came = len(apart.home.json("log", "--limit", "0", exit=0)["events"])
    refused = apart.away.json("claim", "a.txt", "--as", "far", exit=1)["error"]
    assert refused["code"] == "unauthorized"
    assert f"DIBS_STORE={url}" in refused["message"]
    assert len(apart.home.json("log", "--limit", "0", exit=0)["events"]) == came
    apart.away.json("claim", "a.txt", "--as", "far", exit=0, DIBS_STORE=url)
    apart.away.json("claim", "b.txt", "--as", "far", exit=0)  # from then on it is this clone's server


def test_http_is_for_loopback_alone_and_no_credential_stands_in_a_url(apart: Far) -> None:
    for url in ("http://example.com", "https://me:secret@example.com", "https://", "https://x:0"):
        done = apart.away.run("claim", "a.txt", "--as", "far", "--json", DIBS_STORE=url)
        assert done.returncode == 64, (url, done.stdout)
        assert "secret" not in done.stdout + done.stderr


def test_another_store_than_the_pinned_server_is_refused(apart: Far) -> None:
    apart.away.json("claim", "a.txt", "--as", "far", exit=0)
    found = apart.away.json("claim", "b.txt", "--as", "far", exit=2, DIBS_STORE="sqlite:")
    assert apart.server.url in found["error"]["message"]
    apart.away.json("claim", "b.txt", "--as", "far", exit=0, DIBS_STORE=f"{apart.server.url}/")  # the same one
    apart.use(apart.token("--person", "me"))
    moved = apart.away.json("store", "move", "sqlite:", exit=2)
    assert "where it runs" in moved["error"]["message"]
    assert apart.away.json("up", exit=0)["started"] is False


PROGRAM = """
import sys, dibs
with dibs.open(sys.argv[1], agent="far") as ws:
    with ws.claim("a.txt", wait=5) as claim:
        assert claim.token
    assert ws.store.head().seq == len(ws.store.events(0, 10_000))
    assert ws.verify()["found"] == 0
    try:
        ws.claim("../x")
    except dibs.Invalid:
        print("done")
"""


def test_python_works_from_afar(apart: Far) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(apart.away.folder)], env=apart.away.environment, check=True,
        stdout=subprocess.PIPE, timeout=60,
    )  # fmt: skip
    assert done.stdout == b"done\n"


def _usual(field: Field) -> Any:
    """A value that the field takes."""
    if field.kind in {"object", "rows"}:
        return {one.name: _usual(one) for one in field.items} if field.kind == "object" else []
    return {"integer": 0, "json": [], "words": [], "flag": True}.get(field.kind, "x")


def test_what_is_for_the_servers_machine_alone_is_not_asked_from_afar(apart: Far) -> None:
    half, person = (
        RemoteEndpoint(apart.server.host),
        identity.of_token(apart.server.host, apart.token("--person", "me")),
    )
    for name in ("void", "recovered", "store move", "store moved", "store fallback", "archive drop", "log prune"):
        usual = {field.name: _usual(field) for field in catalogue.operation(name).fields}
        answer = half.run(person, {"op": name, "call": {"agent": "me"}, "fields": usual})
        assert answer["refused"][0] == "forbidden", (name, answer)
    wrong: list[Any] = ["serve token", "bearer", "nonsense", None, 7, ["claim"], {}]
    for name in wrong:
        for function in (half.run, half.answer):
            with pytest.raises(Invalid):
                function(person, {"op": name, "call": {"agent": "me"}, "fields": {}})
    assert half.run(person, {"op": "status"})["result"]["claims"] == []  # what is left out is empty
    assert half.answer(person, {"op": "log"})["result"]["events"]


def test_what_a_far_caller_says_of_the_servers_own_processes_is_not_believed(apart: Far) -> None:
    half, laptop = (
        RemoteEndpoint(apart.server.host),
        identity.of_token(apart.server.host, apart.token("--machine", "other")),
    )
    mine, theirs = processes.this(), ["their-host", "boot", "0", 7, 7]
    with dibs.open(str(apart.home.folder), agent="near") as near:
        near.claim("a.txt")
        facts = {process_name(mine): False, process_name(theirs): False}
        call = {"agent": "far", "facts": facts, "here": theirs[:3]}
        answer = half.run(laptop, {"op": "claim", "call": call, "fields": {"resources": [["file", "a.txt"]]}})
        assert answer["refused"][0] == "held"


def test_a_run_is_reported_and_archived_from_afar(apart: Far) -> None:
    apart.away.json("run", "start", "far work", "--id", "r1", "--as", "far", exit=0)
    report = apart.away.json("run", "report", exit=0)
    assert keys(report) == keys(apart.home.json("run", "report", exit=0))
    apart.away.json("run", "end", "--archive", "--as", "far", exit=0)
    assert [one.name for one in (apart.away.folder / ".dibs/local/runs").iterdir()] == ["r1.tar.gz"]


def test_what_was_overwritten_is_restored_on_the_callers_own_machine(apart: Far) -> None:
    assert apart.away.json("restore", "--list", "--as", "far", exit=0)["kept"] == []
    assert apart.away.json("restore", "a.txt", "--as", "far", exit=1)["error"]["code"] == "not_found"
    apart.use(apart.token("--agent", "reader", "--role", "viewer"))
    assert apart.away.json("restore", "a.txt", exit=1)["error"]["code"] == "forbidden"


SCRATCH = """
import sys
from dibs.client.session import Session
from dibs.stores import opening as workspace_store
session = Session(sys.argv[1], None)
assert session.is_far
session.use(workspace_store.open_new(sys.argv[2]))
assert not session.is_far
print(session.run(session.operation("status"), session.identify("ann"), {})["claims"])
session.close()
"""


def test_a_store_that_a_program_opened_itself_is_not_asked_of_the_server_elsewhere(apart: Far, tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    words = [sys.executable, "-c", SCRATCH, str(apart.away.folder), str(tmp_path / "scratch")]
    done = subprocess.run(words, env=apart.away.environment, check=True, stdout=subprocess.PIPE)
    assert done.stdout == b"[]\n"


def test_doctor_looks_at_the_callers_own_machine_and_asks_whether_the_server_answers(apart: Far) -> None:
    answer = apart.away.json("doctor")
    sections = {one["section"]: one for one in answer["sections"]}
    assert sections["audit"]["passed"], "the server looked at its record"
    assert sections["log"]["passed"][0].startswith("Log: intact")
    found = {one["check"]: one for one in answer["checks"]}
    assert str(apart.away.folder) in found["workspace"]["message"]
    assert found["server"]["ok"]
    assert apart.server.url in found["server"]["message"]
    assert str(apart.home.folder) not in json.dumps(found)


def test_what_a_far_caller_says_of_a_door_s_facts_is_held_to_its_form(apart: Far) -> None:
    half, person = (
        RemoteEndpoint(apart.server.host),
        identity.of_token(apart.server.host, apart.token("--person", "me")),
    )
    half.run(person, {"op": "run start", "call": {"agent": "me"}, "fields": {"operation": "x"}})
    half.run(person, {"op": "claim", "call": {"agent": "ann"}, "fields": {"resources": [["file", "a"]]}})
    force = {"resources": [["file", "a"]], "force": True, "why": "x"}
    asked: list[tuple[str, str, dict[str, Any]]] = [
        ("run read", "facts", {}), ("run gates", "facts", {}), ("boot", "files", {}), ("release", "saved", force),
    ]  # fmt: skip
    for name, field, fields in asked:
        for value in ("text", ["list"], 7, {"store": 7}, [["a", 7]]):
            answer = half.run(person, {"op": name, "call": {"agent": "me"}, "fields": {**fields, field: value}})
            assert answer["refused"][0] == "invalid", (name, value)


def test_a_command_under_a_claim_asks_dibs_with_the_credential_and_has_the_claim_s_token(apart: Far) -> None:
    away = apart.away
    subprocess.run(["git", "add", "-A"], cwd=away.folder, check=True)
    commit = away.commit()
    asks = 'echo "$DIBS_TOKEN" > token.txt && dibs whoami --json > who.json'
    words = ("--unsynced", "--unverified", "--as", "far", "--json", "--", "sh", "-c", asks)
    done = json.loads(away.run("deploy", "prod", *words).stdout)
    assert (done["ok"], done["commit"]) == (True, commit)
    assert (away.folder / "token.txt").read_text().strip().isdecimal()
    assert json.loads((away.folder / "who.json").read_text())["ok"] is True
    away.json("task", "add", "x", "--id", "x", "--as", "far", exit=0)
    worked = away.run("worker", "--exec", asks, "--limit", "1", "--as", "far")
    assert worked.returncode == 0, worked.stderr
    assert away.json("task", "show", "x", exit=0)["task"]["state"] == "complete"


def test_an_agents_credential_queues_a_branch_and_leaves_the_landing_to_others(apart: Far) -> None:
    away = apart.away
    config = away.folder / ".dibs/config.toml"
    config.write_text(f'{config.read_text()}\n[land]\ncheck = "true"\n')
    git = ["git", "-c", "core.hooksPath=/dev/null", "-c", "user.name=x", "-c", "user.email=x@x"]
    for words in (
        ["checkout", "-q", "-b", "main"],
        ["add", "-A"],
        ["commit", "-q", "-m", "a"],
        ["checkout", "-q", "-b", "feat"],
    ):
        subprocess.run([*git, *words], cwd=away.folder, check=True)
    away.commit()
    apart.use(apart.token("--agent", "lea"))
    found = away.json("land", "feat", "--onto", "main", "--wait", "1500ms", exit=2)
    assert found["landing"]["state"] == "queued"
    refused = [one for one in apart.home.json("log")["events"] if one["kind"] == "call.refused"]
    assert [one["subject"] for one in refused] == ["land-take"]  # asked once
    apart.use(apart.token("--machine", "ci"))
    landed = away.json("land", "feat", "--onto", "main", "--as", "bot", exit=0)
    assert landed["landing"]["state"] == "landed"
    assert [one["from"] for one in apart.home.json("inbox", "--as", "lea")["messages"]] == ["bot"]
