"""What a credential can and cannot do over a server's link: nothing is believed that is not its own."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dibs.canonical import Canonical
from dibs.operations.core.call import Call, process_name
from dibs.operations.messages.records import get_mailbox
from dibs.server.request_decider import RequestDecider
from tests.server.link import ELSEWHERE, Link, process

FILE = {"resources": [["file", "a.py"]]}


@pytest.fixture
def link(tmp_path: Path) -> Iterator[Link]:
    made = Link(tmp_path)
    yield made
    made.close()


def inbox(link: Link, agent: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = link.got("person", "inbox", agent=agent)["messages"]
    return found


# --- identity


@pytest.mark.parametrize("role", ["viewer", "worker", "orchestrator"])
def test_an_agent_s_credential_takes_no_other_id_and_no_claim_with_it(link: Link, role: str) -> None:
    link.add("bob", agent="bob")
    link.add("mallory", agent="mallory", role=role)
    link.got("bob", "claim", FILE)
    assert link.refused("mallory", "same", {"alias": "bob"}) == "forbidden"
    for alias in ("bob", "nobody-yet"):
        link.got("mallory", "boot", {"also": alias})
    link.ask("mallory", "leave")
    assert link.claims() == [("bob", ["a.py"])]
    link.add("nobody", agent="nobody-yet")
    assert link.got("nobody", "whoami")["agent"] == "nobody-yet"


def test_a_machine_s_credential_takes_the_ids_of_its_own_agents_and_free_ones_alone(link: Link) -> None:
    link.add("other", machine="other")
    link.add("bob", agent="bob")  # has not called yet
    link.got("machine", "claim", FILE, agent="ann")
    assert link.refused("other", "same", {"alias": "ann"}, agent="eve") == "conflict"
    for alias in ("bob", "kim"):  # ids that a credential was made for are that bearer's
        link.got("other", "same", {"alias": alias}, agent="eve")
        assert link.refused("other", "claim", FILE, agent=alias) == "forbidden"
    assert link.got("bob", "whoami")["agent"] == "bob"
    assert link.got("person", "whoami")["agent"] == "kim"
    link.got("machine", "same", {"alias": "ann"}, agent="lea")
    link.got("machine", "same", {"alias": "script-7"}, agent="lea")
    assert link.claims() == [("lea", ["a.py"])]
    assert link.got("machine", "whoami", agent="script-7")["agent"] == "lea"


def test_a_machine_s_credential_takes_no_subagent_s_id_that_a_credential_was_made_for(link: Link) -> None:
    link.add("sub", agent="bob/sub")  # has not called yet, nor has bob
    for agent in ("bob/sub", "bob/sub/x"):
        assert link.refused("machine", "claim", FILE, agent=agent) == "forbidden"
    link.got("machine", "boot", agent="bob")
    assert link.refused("machine", "claim", FILE, agent="bob/sub") == "forbidden"
    link.got("sub", "claim", FILE)
    link.got("machine", "boot", agent="bob/other")


def test_an_agent_with_a_person_s_credential_has_the_role_that_the_config_gives_it(tmp_path: Path) -> None:
    link = Link(tmp_path, '[roles]\ndefault = "worker"')
    try:
        mine: dict[str, Any] = {"client": process(1), "ancestors": [process(1)], "here": ELSEWHERE}
        calls = ({"agent": "s1", **mine}, {"agent": "s1", "session": "s1", "typed": True, "here": ELSEWHERE})
        for call in calls:
            assert link.got("person", "boot", **call)["role"]["role"] == "worker"
            assert link.got("person", "whoami", **call)["role"] == "worker"
            assert link.refused("person", "commit-check", {"paths": [["file", "a.py"]]}, **call) == "forbidden"
        assert link.got("person", "whoami")["role"] == "person"  # the person's own terminal
        link.got("person", "claim", FILE, typed=True, here=ELSEWHERE)
    finally:
        link.close()


def test_a_type_that_one_agent_s_credential_tells_gives_no_role(tmp_path: Path) -> None:
    config = '[roles]\ndefault = "worker"\n[roles.assign]\n"type:lead" = "orchestrator"\n"client:ide" = "orchestrator"'
    link = Link(tmp_path, config)
    try:
        link.got("agent", "boot", {"client_type": "lead"})
        assert link.got("agent", "whoami")["role"] == "worker"
        assert link.refused("agent", "kill", {"agent": "kim", "why": "x"}) == "forbidden"
        found = {"paths": [["file", "a.py"]], "client": "ide"}
        assert link.refused("agent", "commit-check", found) == "forbidden"
        link.got("machine", "boot", {"client_type": "lead"}, agent="ann")  # by its dibs, which names its agents
        assert link.got("machine", "whoami", agent="ann")["role"] == "orchestrator"
    finally:
        link.close()


def test_a_viewer_by_the_config_is_one_for_internal_operations_too(tmp_path: Path) -> None:
    link = Link(tmp_path, '[roles.assign]\n"mallory" = "viewer"')
    try:
        for name, fields in (("doubt", {}), ("wake", {"channel": "x"}), ("give-back", {}), ("upkeep", {})):
            assert link.refused("agent", name, fields) == "forbidden", name
        assert link.got("agent", "mine")["claims"] == []
    finally:
        link.close()


# --- machines and processes


def test_what_a_caller_says_of_a_machine_counts_from_the_credential_that_has_it(link: Link) -> None:
    link.got("machine", "claim", FILE, agent="ann", client=process(1), here=ELSEWHERE)
    dead = {process_name(process(1)): False}
    link.add("other", machine="other")
    for who, agent in (("agent", "mallory"), ("other", "eve"), ("person", "kim")):
        assert link.refused(who, "claim", FILE, agent=agent, here=ELSEWHERE, facts=dead) == "held", who
    link.got("machine", "claim", FILE, agent="lea", here=ELSEWHERE, facts=dead)  # its own: ann's process is dead
    assert link.claims() == [("lea", ["a.py"])]


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_a_machine_s_name_is_not_the_beginning_of_another_s_processes(link: Link, parts: int) -> None:
    mine: dict[str, Any] = {"agent": "ann", "here": ELSEWHERE, "facts": {process_name(process(1)): True}}
    link.got("machine", "land-take", {"onto": "main", "lander": process(1)}, **mine)
    link.add("other", machine="other")
    there = [":".join(ELSEWHERE[:parts]), "b", "n"]
    call = {"agent": "eve", "here": there, "facts": {process_name(process(1)): False}}
    link.ask("other", "land-take", {"onto": "main", "lander": process(9, there)}, **call)
    assert link.claims() == [("ann", ["land:main"])]


def test_a_second_credential_on_a_machine_is_served_without_its_processes(link: Link) -> None:
    link.got("machine", "boot", agent="ann", client=process(1), here=ELSEWHERE)
    link.got("agent", "boot", client=process(1), ancestors=[process(1)], here=ELSEWHERE)
    listed = {one["agent"]: one for one in link.web.workspace.agents(all=True)["agents"]}
    assert (listed["ann"]["pid"], listed["mallory"]["pid"]) == (1, None)
    own = link.got("machine", "whoami", ancestors=[process(1)], fallback="user", here=ELSEWHERE)
    assert own["agent"] == "ann"
    assert link.refused("agent", "boot", {"pid": process(1)}, here=ELSEWHERE) == "forbidden"


def test_a_machine_s_credential_takes_its_machine_from_an_agent_s_and_a_revoked_one_leaves_it(link: Link) -> None:
    link.got("agent", "boot", client=process(1), here=ELSEWHERE)
    link.got("machine", "boot", agent="ann", client=process(2), here=ELSEWHERE)
    link.got("agent", "boot", client=process(3), here=ELSEWHERE)
    pids = {one["agent"]: one["pid"] for one in link.web.workspace.agents(all=True)["agents"]}
    assert pids["ann"] == 2
    assert pids["mallory"] == 1
    made = link.web.made(machine="second")
    link.tokens["second"] = made["token"]
    there = ["third-host", "b", "n"]
    link.got("second", "boot", agent="eve", client=process(1, there), here=there)
    link.web.workspace.token_revoke(made["credential"]["id"])
    link.got("agent", "boot", client=process(9, there), here=there)
    assert {one["agent"]: one["pid"] for one in link.web.workspace.agents(all=True)["agents"]}["mallory"] == 9


def test_a_credential_has_a_bounded_number_of_machines(link: Link) -> None:
    for number in range(40):
        there = [f"host{number}", "b", "n"]
        link.got("machine", "boot", agent="ann", client=process(1, there), here=there)
    rows = link.web.host.store.look(lambda tx: tx.fetch([("ch\t", "ch\n")], 1000).rows)
    assert len(rows) == 16


@pytest.mark.parametrize("who", ["machine", "agent", "person"])
def test_a_process_of_another_machine_than_the_caller_s_is_refused(link: Link, who: str) -> None:
    agent = {"machine": "eve", "agent": "mallory", "person": "kim"}[who]
    other = process(1, ["third", "b", "n"])
    mine = link.web.workspace.agents(all=True)["agents"]
    for call in ({"client": other}, {"ancestors": [other]}, {"client": other, "here": ELSEWHERE}):
        assert link.refused(who, "boot", agent=agent, **call) == "forbidden", call
    for name, fields in (
        ("boot", {"pid": other}),
        ("deploy-start", {"target": "p", "token": 1, "process": other}),
    ):
        assert link.refused(who, name, fields, agent=agent, here=ELSEWHERE) == "forbidden"
    assert link.web.workspace.agents(all=True)["agents"] == mine


def test_a_process_of_the_server_s_own_machine_is_its_connection_s_or_none(link: Link) -> None:
    from dibs.machine import processes

    mine, here = processes.this(), processes.here()
    said: list[dict[str, Any]] = [{}, {"pid": os.getpid()}, {"pid": 1}]
    for pid in said:  # nothing says that this connection is of that process
        link.got("agent", "boot", client=mine, ancestors=[mine], here=here, **pid)
    assert {one["agent"]: one["pid"] for one in link.web.workspace.agents(all=True)["agents"]}["mallory"] is None
    assert link.refused("agent", "boot", {"pid": mine}, here=here) == "forbidden"


def test_a_process_of_an_agent_that_no_credential_registered_is_nobody_s_elsewhere(link: Link) -> None:
    there = ["shared-box", "b", "n"]  # a machine that opens the store itself, as on Redis
    session = link.web.host.session()
    call = Call(session.config.policy, agent="near", client=process(1, there))
    session.run(session.operation("claim"), call, {"resources": [Canonical(("file", "a.py", ""))]})
    dead = {process_name(process(1, there)): False}
    for who, agent in (("agent", "mallory"), ("machine", "eve")):
        answer = link.ask(who, "claim", FILE, agent=agent, here=there, facts=dead)
        assert answer["refused"][0] == "held", who
        link.got(who, "boot", agent=agent, client=process(1, there), here=there, facts=dead)
        assert link.refused(who, "boot", {"pid": process(1, there)}, agent=agent, here=there) == "forbidden"
    found = link.web.host.store.look(lambda tx: tx.get(f"p\t{process_name(process(1, there))}"))
    assert found["agent"] == "near"


def test_a_deploy_and_a_landing_are_ended_by_their_own_agents_alone(link: Link) -> None:
    link.got("person", "claim", {"resources": [["name", "deploy:prod"]]}, agent="ann")
    token = link.web.workspace.status()["claims"][0]["token"]
    for name, fields in (("deploy-start", {}), ("deploy-finish", {"result": "ok"})):
        assert link.refused("agent", name, {"target": "prod", "token": token, **fields}) == "fenced"
    assert link.claims() == [("ann", ["deploy:prod"])]
    taken = link.got("person", "land-take", {"onto": "main", "lander": process(1)}, agent="ann", here=ELSEWHERE)
    step = {"onto": "main", "token": taken["token"], "turn": taken["turn"]}
    for name in ("land-done", "land-back", "land-leave", "land-confirm"):
        assert link.refused("machine", name, step, agent="eve") == "fenced", name


# --- files of the server


@pytest.mark.parametrize("name", ["../../../x", "..", "a/b", "/etc/x", "a.b", "\0", "x" * 40])
def test_a_name_to_be_woken_by_is_no_path(link: Link, name: str) -> None:
    folder = Path(link.web.host.place.local) / "wakes"
    folder.mkdir(exist_ok=True)
    victim = Path(link.web.folder) / "x"
    victim.write_text("precious")
    for operation, fields in (
        ("wake", {"channel": name}), ("inbox", {"wait": 5_000, "wake": name}), ("task next", {"wait": 5, "wake": name}),
        ("claim", {**FILE, "wait": 5_000, "wake": name}), ("task claim", {"id": "t", "wait": 5, "wake": name}),
    ):  # fmt: skip
        assert link.refused("agent", operation, fields) == "invalid", operation
    assert victim.read_text() == "precious"


def _change(link: Link, **more: Any) -> dict[str, Any]:
    return {
        "id": "c1", "resource": ["file", "a.py"], "tree": str(link.web.folder), "was": "a" * 40, "now": "b" * 40,
        "actor": "ann", "grade": "sure", "suspects": ["ann"], "owners": ["bob"], "named": False, "heard": [], **more,
    }  # fmt: skip


@pytest.mark.parametrize("who", ["machine", "agent", "person"])
def test_what_a_far_caller_reports_is_of_its_own_place_and_told_in_its_own_name(link: Link, who: str) -> None:
    agent = {"machine": "eve", "agent": "mallory", "person": "kim"}[who]
    for one in ("ann", "bob"):
        link.got("person", "boot", agent=one)
    link.got("person", "claim", FILE, agent="bob")
    link.got(who, "boot", agent=agent)
    made = link.got(who, "changed", {"found": [_change(link)]}, agent=agent)["violations"]
    assert [one["tree"] for one in made] == [str(link.web.folder)]  # as the caller names it
    (told,) = [one for one in inbox(link, "bob") if one["type"] == "violation"]
    assert told["from"] == agent
    assert inbox(link, "ann") == []  # accused by nobody that could know
    events = [one for one in link.web.workspace.log()["events"] if one["kind"].startswith("edit.")]
    assert [(one["kind"], one["data"]["tree"]) for one in events] == [
        ("edit.unattributed", f"{link.tokens_of(who)}:{link.web.folder}")
    ]
    assert not [one for one in link.web.workspace.log()["events"] if one["kind"] == "edit.violated"]
    own = link.web.workspace.restore()["kept"]
    assert own == []  # nothing that this machine kept
    alerts = [one["text"] for one in link.web.workspace.alerts()["alerts"]]
    assert all(text.startswith(f"{agent} reports: ") for text in alerts)
    there = link.web.host.store.look(lambda tx: tx.fetch([("vu\t", "vu\n")], 9).rows)
    assert [key.split("\t")[1] for key, _ in there] == [f"{link.tokens_of(who)}:{link.web.folder}"]  # not this tree's


@pytest.mark.parametrize(("who", "agent"), [("agent", "mallory"), ("machine", "eve"), ("person", "kim")])
def test_a_commit_that_a_far_caller_reports_accuses_no_agent_of_another_credential(
    link: Link, who: str, agent: str
) -> None:
    link.got("person", "boot", agent="ann")
    link.got("person", "claim", FILE, agent="lea")
    found = {"commit": "c" * 40, "items": [[["file", "a.py"], False]], "how": "past", "suspects": ["ann", "lea"]}
    link.got(who, "committed", found, agent=agent)
    (told,) = inbox(link, "lea")
    assert told["from"] == agent
    assert "ann" not in told["text"]
    assert "ann" not in str(link.web.workspace.alerts()["alerts"][0]["text"])


@pytest.mark.parametrize("word", ["$(touch x)", "x;touch y", "`id`", "a b", "a\nb", "x" * 33])
def test_the_id_of_a_change_is_one_word_that_no_shell_reads_otherwise(link: Link, word: str) -> None:
    assert link.refused("agent", "changed", {"found": [{**_change(link), "id": word}]}) == "invalid"


@pytest.mark.parametrize("word", ["-p", "--output=x", "a b", "a\nb"])
def test_a_commit_that_a_caller_names_is_no_option_of_git_and_no_two_words(link: Link, word: str) -> None:
    assert link.refused("agent", "committed", {"commit": word, "how": "past"}) == "invalid"
    finish = {"target": "prod", "token": 1, "result": "ok"}
    assert link.refused("agent", "deploy-finish", {**finish, "commit": word}) == "invalid"
    push = {"remote": "origin", "branch": "main", "commit": word}
    assert link.refused("agent", "push-bypassed", push) == "invalid"


def test_a_target_is_one_line(link: Link) -> None:
    finish = {"target": "prod\na0 error: all is lost", "token": 1, "result": "ok"}
    assert link.refused("agent", "deploy-finish", finish) == "invalid"
    assert link.refused("agent", "deploy-check", {"targets": [finish["target"]]}) == "invalid"


def test_reports_of_one_caller_do_not_fill_another_s_inbox(link: Link) -> None:
    link.got("person", "boot", agent="bob")
    found = [_change(link, id=f"c{number}", resource=["file", f"f{number}"]) for number in range(300)]
    link.got("agent", "changed", {"found": found})
    box = link.web.host.store.look(lambda tx: get_mailbox(tx, "bob"))
    assert box["from"]["mallory"] == 250
    link.got("person", "send", {"to": "bob", "text": "hello"})
    while link.got("person", "inbox", {"limit": 200}, agent="bob")["messages"]:
        link.got("person", "ack", {"message": "all"}, agent="bob")
    box = link.web.host.store.look(lambda tx: get_mailbox(tx, "bob"))
    assert box["from"] == {}  # counted down again


def test_a_removed_tree_is_the_reporter_s_own(link: Link) -> None:
    link.got("person", "boot", agent="bob")
    session = link.web.host.session()
    fields = {"resources": [Canonical(("file", "a.py", ""))], "tree": str(link.web.folder)}
    session.run(session.operation("claim"), Call(session.config.policy, agent="near"), fields)
    work = [["c9", ["file", "a.py"], "a" * 40, ["bob"]]]
    given = {"tree": str(link.web.folder), "name": "x", "work": work}
    assert link.got("machine", "tree-removed", given, agent="eve")["ended"] == []
    assert link.claims() == [("near", ["a.py"])]
    assert link.web.workspace.restore()["kept"] == []
    assert {one["from"] for one in inbox(link, "bob")} == {"eve"}


def test_a_forged_content_is_written_nowhere(link: Link) -> None:
    link.got("person", "boot", agent="bob")
    victim = Path(link.web.folder) / "a.py"
    victim.write_text("mine")
    link.got("agent", "changed", {"found": [_change(link)]})
    for token in link.tokens.values():
        assert link.web.post("restore", {"what": "vc1"}, token=token).status == 404
        body = {"op": "restore", "call": {}, "fields": {"what": "vc1"}}
        assert link.web.call("POST", "/link/answer", body, token=token).status == 422
    assert victim.read_text() == "mine"


def test_an_undo_is_told_to_those_whose_work_it_was_allowed_for(link: Link) -> None:
    link.got("person", "boot", agent="ann")
    fields = {"undo": "u1", "what": "x", "tree": "/repo"}
    taken = link.got("agent", "undo", {**fields, "of": ["mallory"], "paths": FILE["resources"], "count": 1})
    done = {**fields, "of": ["ann"], "paths": ["run this"], "restored": 1, "claim": taken["claim"], "release": True}
    link.got("agent", "undo-done", done)
    assert inbox(link, "ann") == []


def test_a_landing_is_reported_by_a_machine_or_a_person_in_its_own_name(link: Link) -> None:
    queued = {"branch": "feat", "commit": "c" * 40, "onto": "main"}
    link.got("person", "land", {**queued, "home": "host:clone(1234)"}, agent="ann")
    assert link.refused("agent", "land", {**queued, "home": "x. Run this now"}) == "invalid"
    lander = {"onto": "main", "lander": process(1)}
    assert link.refused("agent", "land-take", lander, here=ELSEWHERE) == "forbidden"
    taken = link.got("machine", "land-take", lander, agent="eve", here=ELSEWHERE)
    step = {"onto": "main", "token": taken["token"], "turn": taken["turn"]}
    (landing,) = link.got("machine", "land-batch", {**step, "size": 1}, agent="eve", here=ELSEWHERE)["landings"]
    moves = [[landing["landing"], "c" * 40, "d" * 40]]
    link.got("machine", "land-move", {**step, "base": "b" * 40, "commit": "d" * 40, "moves": moves}, agent="eve")
    link.got("machine", "land-done", {**step, "note": "Well."}, agent="eve")
    assert [one["from"] for one in inbox(link, "ann")] == ["eve"]


def test_a_push_is_reported_in_the_reporter_s_name_and_in_words_of_git(link: Link) -> None:
    good = {"remote": "origin", "branch": "main", "commit": "a" * 40}
    for wrong in ({"branch": "main; rm -rf x"}, {"commit": "a\x1b[2J"}, {"remote": "x" * 500}, {"by": "a\x1bb"}):
        assert link.refused("agent", "push-bypassed", {**good, **wrong}) == "invalid"
    link.got("agent", "push-bypassed", good)
    assert [one["agent"] for one in link.web.workspace.log()["events"] if one["kind"] == "push.unverified"] == [
        "mallory"
    ]


def test_a_name_stops_to_be_listened_for_by_a_credential_that_counts(link: Link) -> None:
    made = link.web.made(agent="old")
    name = "0123456789ab"
    for path in ("watch", "unwatch"):
        assert link.web.call("POST", f"/link/{path}", {"name": name}, token=made["token"]).status == 200
    link.web.call("POST", "/link/watch", {"name": name}, token=link.tokens["agent"])
    link.web.workspace.token_revoke(made["credential"]["id"])
    assert link.web.call("POST", "/link/unwatch", {"name": name}, token=made["token"]).status == 401


def test_a_caller_at_the_socket_is_this_machine_s_user(link: Link) -> None:
    request = RequestDecider(link.web.host).read("wake", {}, {"channel": "x"})
    assert (request.call.sender, request.call.barred, request.call.place) == ("socket", "", "")
    assert json.dumps(request.fields) == '{"channel": "x"}'
