"""Credentials: who speaks for whom, with which role, until when. On every engine."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import pytest

from dibs.client import catalogue
from dibs.errors import DibsError, Forbidden, Invalid, NotFound, Unauthorized
from dibs.operations.agents.credentials import OF_SERVER
from dibs.operations.core.call import Call, NeedsFacts, process_name
from dibs.operations.core.entry import perform
from dibs.testing.memory import MemoryTransaction
from tests import declared
from tests.operations.engines import OnEngine
from tests.operations.fleet import Fleet, guards, resource

HOUR = 3_600_000


class Server:
    """Calls that come with a credential."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.made = 0

    def token(self, **fields: Any) -> tuple[str, str]:
        """A new credential, made by a person: its id, and the hash of its secret."""
        self.made += 1
        digest = sha256(f"secret {self.made}".encode()).hexdigest()
        return self.fleet.call("me@here", "token new", hash=digest, **fields)["credential"]["id"], digest

    def call(self, credential: tuple[str, str], agent: str, name: str, /, **fields: Any) -> Any:
        """One call with this credential, as this agent."""
        operation = catalogue.operation(name)
        if "resources" in fields:
            fields["resources"] = [resource(one) for one in fields["resources"]]
        call = Call(self.fleet.policy, agent=agent, identified_by="credential", credential=credential)
        verb = self.fleet.store.run if operation.writes else self.fleet.store.look
        while True:
            try:
                answer = verb(lambda tx: perform(tx, call, operation, fields))
                break
            except NeedsFacts as need:
                call.facts.update({process_name(one): True for one in need.processes})
        if isinstance(answer, DibsError):
            raise declared.hold_refusal(answer)
        declared.hold(operation, answer, decided=True)
        return answer

    def claim(self, credential: tuple[str, str], agent: str, name: str = "x.py") -> Any:
        return self.call(credential, agent, "claim", resources=[name])

    def revoke(self, credential: tuple[str, str]) -> Any:
        return self.fleet.call("me@here", "token revoke", id=credential[0])


@pytest.fixture
def server(on_engine: OnEngine) -> Server:
    return Server(on_engine(Fleet()))


def test_an_agents_credential_speaks_for_it_and_its_subagents_only(server: Server) -> None:
    bob = server.token(agent="bob")
    assert server.claim(bob, "bob")["token"]
    assert server.claim(bob, "bob/child", "y.py")["token"]
    for other in ("ann", "bobby", "ann/bob"):
        with pytest.raises(Forbidden) as refused:
            server.claim(bob, other, "z.py")
        assert refused.value.fields["wanted"] == other
        with pytest.raises(Forbidden):
            server.call(bob, other, "status")
    assert server.fleet.holders() == [("bob", "x.py"), ("bob/child", "y.py")]
    server.fleet.clean()


def test_the_name_of_an_agent_is_no_way_to_speak_for_it(server: Server) -> None:
    server.fleet.call("3f1c8a52-9d1e-4c11-8f6e-2b0c9a7d5e10", "boot", type="claude")
    name = server.fleet.call("me@here", "agents")["agents"][0]["name"]
    taken = server.token(agent="early-bird")
    assert server.fleet.record(f"cr\t{taken[0]}")["who"] == "early-bird"
    with pytest.raises(Forbidden):
        server.claim(taken, name)
    assert server.fleet.record(f"cr\t{server.token(agent=name)[0]}")["who"].startswith("3f1c8a52")


def test_a_persons_credential_speaks_for_any_agent_with_a_persons_rank(server: Server) -> None:
    ann = server.token(person="ann")
    assert server.claim(ann, "bob")["token"]
    assert server.call(ann, "ann", "token list")["credentials"][0]["who"] == "ann"
    server.call(ann, "ann", "send", to="bob", text="hello")
    shown = {one["agent"]: one["kind"] for one in server.call(ann, "ann", "agents")["agents"]}
    assert shown["ann"] == "person"
    assert shown["bob"] == "agent"


def test_a_machine_speaks_for_the_agents_that_it_registered_and_for_no_others(server: Server) -> None:
    server.fleet.claim("local", "l.py")
    one, two = server.token(machine="one"), server.token(machine="two")
    server.claim(one, "a1")
    server.claim(one, "a1/child", "y.py")
    for stranger, agent in ((two, "a1"), (two, "a1/child"), (two, "a1/new"), (one, "local"), (one, "local/child")):
        with pytest.raises(Forbidden):
            server.claim(stranger, agent, "z.py")
        with pytest.raises(Forbidden):
            server.call(stranger, agent, "boot")
    assert server.claim(server.token(machine="one"), "a1", "w.py")["token"], "its next credential goes on"
    assert server.claim(server.token(agent="a1"), "a1", "v.py")["token"], "a person said so"
    server.fleet.clean()


def test_a_machine_registers_an_agent_by_its_acknowledgement_of_the_rules(server: Server) -> None:
    one = server.token(machine="one")
    server.call(one, "a1", "rules", ack=True)
    assert server.claim(one, "a1")["token"]
    server.fleet.clean()


@pytest.mark.parametrize("name", ["claim", "status", "boot", "token list"])
def test_an_unknown_a_revoked_and_an_expired_credential_do_nothing(server: Server, name: str) -> None:
    fields = {"resources": ["x.py"]} if name == "claim" else {}
    ann = server.token(person="ann")
    gone, old = server.token(person="ann"), server.token(person="ann", expires=HOUR)
    server.revoke(gone)
    assert server.call(old, "ann", name, **fields)
    server.fleet.now += HOUR
    before = len(server.fleet.events())
    wrong = [((ann[0], "0" * 64), "unknown"), (("none", ann[1]), "unknown"), (gone, "revoked"), (old, "expired")]
    for credential, why in wrong:
        with pytest.raises(Unauthorized) as refused:
            server.call(credential, "ann", name, **fields)
        assert refused.value.fields["why"] == why
        assert refused.value.status == 401
    assert len(server.fleet.events()) == before, "a refusal of a stranger does not fill the log"
    assert server.call(ann, "ann", name, **fields)


def test_a_revocation_counts_at_the_next_call_and_a_second_one_changes_nothing(server: Server) -> None:
    bob = server.token(agent="bob")
    server.claim(bob, "bob")
    first = server.revoke(bob)["credential"]
    assert first["state"] == "revoked"
    assert server.revoke(bob)["credential"] == first
    with pytest.raises(Unauthorized):
        server.claim(bob, "bob")
    assert [e["subject"] for e in server.fleet.events("token.revoked")] == [bob[0]]
    with pytest.raises(NotFound):
        server.fleet.call("me@here", "token revoke", id="none")
    server.fleet.clean()


def test_the_credentials_role_counts_and_not_the_callers_word(server: Server) -> None:
    viewer = server.token(agent="v", role="viewer")
    worker = server.token(agent="w", role="worker")
    lead = server.token(agent="lead", role="orchestrator")
    plain = server.token(agent="plain")
    assert server.call(viewer, "v", "status") is not None
    with pytest.raises(Forbidden) as refused:
        server.claim(viewer, "v")
    assert refused.value.fields["role"] == "viewer"
    for lower in (viewer, worker, plain):
        with pytest.raises(Forbidden):
            server.call(lower, server.fleet.record(f"cr\t{lower[0]}")["who"], "seal")
    server.call(lead, "lead", "seal")
    for each in (viewer, worker, plain, lead):
        who = server.fleet.record(f"cr\t{each[0]}")["who"]
        for name, fields in (("token list", {}), ("token new", {"person": who}), ("token revoke", {"id": each[0]})):
            with pytest.raises(Forbidden):
                server.call(each, who, name, **fields)


def test_a_viewers_credential_changes_nothing_by_an_operation_of_guards_either(server: Server) -> None:
    viewer, plain = server.token(agent="v", role="viewer"), server.token(agent="plain")
    with pytest.raises(Forbidden):
        server.call(viewer, "v", "use", tool="Write")
    assert server.call(plain, "plain", "use", tool="Write") == {}


def test_a_credential_without_a_role_has_the_one_that_the_config_gives_its_agent(on_engine: OnEngine) -> None:
    assigned = [("lead", "orchestrator"), ("me@here", "person")]
    roles = {"default": "worker", "assign": assigned, "named": {"reviewer": {"may": "viewer"}}}
    server = Server(on_engine(Fleet(guards=guards(roles=roles))))
    with pytest.raises(Forbidden):
        server.call(server.token(agent="bob"), "bob", "seal")
    server.call(server.token(agent="lead"), "lead", "seal")
    with pytest.raises(Forbidden):
        server.claim(server.token(agent="lead", role="reviewer"), "lead")


def test_what_makes_no_sense_makes_no_credential(server: Server) -> None:
    for fields in (
        {}, {"agent": "a", "person": "b"}, {"person": "a/b"}, {"agent": "a b"}, {"agent": "a", "role": "king"},
        {"machine": "m", "role": "person"}, {"agent": "dibs"}, {"agent": "a", "expires": 10},
    ):  # fmt: skip
        with pytest.raises(Invalid):
            server.token(**fields)
    with pytest.raises(Invalid):
        server.fleet.call("me@here", "token new", agent="a")  # no secret was made
    assert server.fleet.events("token.made") == []


def test_the_store_has_a_hash_and_neither_lists_nor_events_show_it(server: Server) -> None:
    identifier, digest = server.token(agent="bob", note="ci")
    assert server.fleet.record(f"cr\t{identifier}")["hash"] == digest
    assert digest not in str(server.fleet.events())
    listed = server.fleet.call("me@here", "token list")["credentials"]
    assert digest not in str(listed)
    assert [(one["id"], one["note"], one["state"]) for one in listed] == [(identifier, "ci", "live")]


def test_a_list_shows_those_that_count_and_all_on_request_and_a_sweep_forgets_the_ended(server: Server) -> None:
    old, new = server.token(agent="old", expires=HOUR), server.token(agent="new")
    server.fleet.now += HOUR
    assert [one["id"] for one in server.fleet.call("me@here", "token list")["credentials"]] == [new[0]]
    both = server.fleet.call("me@here", "token list", all=True)["credentials"]
    assert {one["id"]: one["state"] for one in both} == {old[0]: "expired", new[0]: "live"}
    server.fleet.now += 8 * 24 * HOUR
    server.fleet.call("me@here", "sweep")
    assert server.fleet.record(f"cr\t{old[0]}") is None
    assert server.fleet.record(f"cr\t{new[0]}") is not None


def test_an_agents_shell_may_neither_make_nor_list_nor_revoke(fleet: Fleet) -> None:
    server = Server(fleet)
    made = server.token(agent="bob")
    fleet.call("bob", "boot", client=7)
    for name, fields in (("token list", {}), ("token new", {"person": "bob"}), ("token revoke", {"id": made[0]})):
        with pytest.raises(Forbidden) as refused:
            fleet.call("bob", name, client=7, **fields)
        assert refused.value.fields["needs"] == "person"


def test_a_server_that_starts_again_revokes_the_credential_of_its_last_start(server: Server) -> None:
    hashes = [sha256(bytes([number])).hexdigest() for number in range(2)]
    first = server.fleet.internal("me@here", OF_SERVER, hash=hashes[0])["credential"]["id"]
    second = server.fleet.internal("me@here", OF_SERVER, hash=hashes[1], before=first)["credential"]["id"]
    with pytest.raises(Unauthorized):
        server.call((first, hashes[0]), "me@here", "status")
    assert server.call((second, hashes[1]), "me@here", "token list")["credentials"][0]["role"] == "person"


def test_the_log_names_the_agent_whose_credential_it_was_and_not_the_one_that_was_named(server: Server) -> None:
    bob, machine = server.token(agent="bob"), server.token(machine="box")
    server.fleet.call("ann", "boot")
    for credential, who in ((bob, "bob"), (machine, "box")):
        with pytest.raises(Forbidden):
            server.claim(credential, "ann")
        assert [e["agent"] for e in server.fleet.events("call.refused")][-1] == who
    server.claim(bob, "bob")
    assert [e["agent"] for e in server.fleet.events("claim.granted")] == ["bob"]


def test_the_name_of_a_caller_whose_record_was_read_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(Fleet())
    ann = server.token(agent="ann")
    server.call(ann, "ann", "state set", key="k", value=1)
    read: list[str] = []
    get = MemoryTransaction.get

    def counted(tx: MemoryTransaction, key: str) -> Any:
        read.append(key)
        return get(tx, key)

    monkeypatch.setattr(MemoryTransaction, "get", counted)
    found = server.call(ann, "ann", "state get", key="k")
    assert (found["by"], found["by_name"]) == ("ann", "ann")
    assert read.count("a\tann") == 1
