"""An agent's shell speaks for its agent; a person and a script may speak for anybody."""

from __future__ import annotations

from typing import Any

import pytest

from dibs.client import catalogue
from dibs.errors import DibsError, Forbidden, Held
from dibs.operations.core.authority import MAY, refusal_to_speak
from dibs.operations.core.call import Call, NeedsFacts, process_name, to_json
from dibs.operations.core.entry import perform
from dibs.operations.core.policy import Policy
from dibs.operations.guards.commit_guard import COMMITTED
from tests.operations.fleet import TREE, Fleet, guards, resource

MINUTE = 60_000


class Terminal:
    """A shell: some processes above it, and perhaps a client's session variable."""

    def __init__(self, fleet: Fleet, *above: int, session: str = "", policy: Policy | None = None) -> None:
        self.fleet, self.above, self.session, self.policy = fleet, above, session, policy or fleet.policy

    def type(self, words: str, /, agent: str = "", target: str = "", **fields: Any) -> Any:
        """A command as it is typed there; `agent` is what is said with `--as`."""
        if target:
            fields["agent"] = target
        operation = MAY if words == "may" else catalogue.operation(words)
        named = agent or self.session
        for key in ("resources", "resource"):
            if key in fields:
                fields[key] = resource(fields[key]) if key == "resource" else [resource(one) for one in fields[key]]
        call = Call(
            self.policy, agent=named, fallback="me@here", ancestors=[self.fleet.process(pid) for pid in self.above],
            from_shell=True, session=self.session, identified_by="--as" if agent else "",
        )  # fmt: skip
        verb = self.fleet.store.run if operation.writes else self.fleet.store.look
        while True:
            try:
                answer = verb(lambda tx: perform(tx, call, operation, dict(fields)))
                break
            except NeedsFacts as need:
                call.facts.update({process_name(one): True for one in need.processes})
        if isinstance(answer, DibsError):
            raise answer
        return to_json(answer)


@pytest.fixture(params=["process", "variable"])
def shell(request: Any, fleet: Fleet) -> Terminal:
    """The shell of the agent `a`, known by its client's process or by its session variable."""
    fleet.call("a", "boot", client=7)
    fleet.call("b", "boot", client=8)
    fleet.claim("b", "x.py")
    return Terminal(fleet, 70, 7) if request.param == "process" else Terminal(fleet, 70, session="a")


def test_an_agents_shell_cannot_speak_as_another_agent(fleet: Fleet, shell: Terminal) -> None:
    for words, fields in (
        ("release", {"resources": ["x.py"]}), ("release", {"all": True}), ("leave", {}), ("boot", {}),
        ("claim", {"resources": ["y.py"]}), ("send", {"to": "a", "text": "hi"}),
    ):  # fmt: skip
        with pytest.raises(Forbidden) as refused:
            shell.type(words, agent="b", **fields)
        assert "this is the shell of a" in refused.value.message
        assert "a person at a terminal" in refused.value.message
    assert fleet.holders() == [("b", "x.py")]
    assert not fleet.record("a\tb")["left"]


def test_an_unknown_name_is_somebody_else_too(shell: Terminal) -> None:
    with pytest.raises(Forbidden):
        shell.type("claim", agent="nobody", resources=["y.py"])


def test_it_speaks_as_itself_and_as_its_subagents(shell: Terminal) -> None:
    assert shell.type("claim", resources=["y.py"])["agent"] == "a"
    assert shell.type("claim", agent="a", resources=["y.py"])["agent"] == "a"
    assert shell.type("claim", agent="a/child", resources=["z.py"])["agent"] == "a/child"


@pytest.mark.parametrize("words", ["kill", "revive"])
def test_it_neither_stops_nor_revives_others(shell: Terminal, words: str) -> None:
    with pytest.raises(Forbidden) as refused:
        shell.type(words, target="b", **({"why": "slow"} if words == "kill" else {}))
    assert "orchestrator" in refused.value.message


def test_its_own_subagents_are_its_business(fleet: Fleet, shell: Terminal) -> None:
    fleet.claim("a/child", "y.py")
    assert shell.type("kill", target="a/child", why="done")["voided"] == ["y.py"]


def test_an_orchestrator_may_by_the_config(fleet: Fleet) -> None:
    fleet.call("a", "boot", client=7)
    fleet.claim("b", "x.py")
    roles = {"default": "", "assign": [("a", "orchestrator")], "named": {}}
    lead = Terminal(fleet, 7, policy=Policy(guards=guards(roles=roles)))
    assert lead.type("kill", target="b", why="slow")["voided"] == ["x.py"]
    with pytest.raises(Forbidden, match="a person at a terminal"):  # the store is configuration
        lead.type("may", act="store move")


def test_what_is_no_operation_asks_first(shell: Terminal) -> None:
    with pytest.raises(Forbidden, match="store move"):
        shell.type("may", act="store move")


def test_a_person_and_a_script_without_a_client_above_may_speak_for_anybody(fleet: Fleet) -> None:
    fleet.call("a", "boot", client=7)
    fleet.claim("b", "x.py")
    script = Terminal(fleet, 70, 71)
    assert script.type("release", agent="b", resources=["x.py"])["released"] == ["x.py"]
    assert script.type("kill", agent="ann", target="b", why="slow")["agents"][0]["agent"] == "b"
    assert script.type("may", act="init --uninstall") == {}


def test_the_nearest_client_above_counts(fleet: Fleet) -> None:
    fleet.call("outer", "boot", client=7)
    fleet.call("inner", "boot", client=8)
    shell = Terminal(fleet, 80, 8, 70, 7)
    assert shell.type("claim", resources=["x.py"])["agent"] == "inner"
    with pytest.raises(Forbidden):
        shell.type("claim", agent="outer", resources=["y.py"])


def test_a_commands_words_are_judged_by_the_same_rule(fleet: Fleet) -> None:
    fleet.claim("a", "x.py")
    call = Call(fleet.policy, agent="a")

    def judged(*spoken: tuple[str, str]) -> str:
        error = fleet.store.look(lambda tx: refusal_to_speak(tx, call, spoken))
        return "" if error is None else error.message

    assert judged(("release", "a"), ("claim", "a/child"), ("status", "")) == ""
    assert "not for b" in judged(("release", "b"))
    assert judged(("release", "?"))
    assert "kill" in judged(("kill", ""))


# --- what an agent claims in its shell


def committed(fleet: Fleet, agent: str, *names: str) -> list[str]:
    """A commit of these files as they are."""
    items = [([*resource(name), ""], True) for name in names]
    released: list[str] = fleet.internal(agent, COMMITTED, commit="c0ffee", tree=TREE, items=items)["released"]
    return released


def test_a_claim_on_a_file_in_an_agents_shell_ends_with_its_commit_of_it(fleet: Fleet, shell: Terminal) -> None:
    answer = shell.type("claim", resources=["y.py"])
    assert answer["ends"] == "commit"
    with pytest.raises(Held) as held:
        fleet.claim("c", "y.py")
    assert "30 min left; ends with its commit" in held.value.message
    assert committed(fleet, "a", "y.py") == ["y.py"]
    fleet.clean()


def test_one_that_had_to_wait_does_too(fleet: Fleet, shell: Terminal) -> None:
    waiter = shell.type("claim", resources=["x.py"], wait=MINUTE)["waiting"]
    fleet.release("b", "x.py")
    assert shell.type("claim", resources=["x.py"], wait=MINUTE, waiter=waiter)["ends"] == "commit"
    assert committed(fleet, "a", "x.py") == ["x.py"]


@pytest.mark.parametrize(
    "fields",
    [{"resources": ["y.py"], "keep": True}, {"resources": ["src/"]}, {"resources": ["deploy:prod"]},
     {"resources": ["*.py"]}, {"resources": ["y.py"], "task": "T-1"}, {"resources": ["y.py"], "mode": "read"}],
)  # fmt: skip
def test_what_is_kept_on_purpose_or_is_no_file_stays(fleet: Fleet, shell: Terminal, fields: Any) -> None:
    fleet.release("b", "x.py")
    assert "ends" not in shell.type("claim", **fields)
    assert committed(fleet, "a", "y.py") == []


def test_keep_turns_a_claim_that_would_end_with_the_commit_into_one_that_stays(fleet: Fleet, shell: Terminal) -> None:
    shell.type("claim", resources=["y.py"])
    assert not shell.type("claim", resources=["y.py"], keep=True).get("ends")
    assert committed(fleet, "a", "y.py") == []


def test_a_persons_and_a_scripts_claim_stays(fleet: Fleet) -> None:
    assert "ends" not in Terminal(fleet, 70).type("claim", agent="ann", resources=["y.py"])
    assert committed(fleet, "ann", "y.py") == []


# --- subagents


def test_a_file_of_ones_own_subagent_is_not_granted_in_the_shell(fleet: Fleet, shell: Terminal) -> None:
    fleet.edit("a/child", "y.py")
    for wait in (0, MINUTE):
        with pytest.raises(Held) as held:
            shell.type("claim", resources=["y.py"], wait=wait)
        assert held.value.message.startswith("a/child, a subagent of yours, holds y.py (30 min left; ends with its com")
    assert fleet.edit("a", "y.py")["claims"]  # the guard before an edit knows who edits


def test_what_is_claimed_in_the_shell_while_subagents_live_says_for_whom(fleet: Fleet, shell: Terminal) -> None:
    assert "note" not in shell.type("claim", resources=["y.py"])
    fleet.edit("a/child", "z.py")
    assert shell.type("claim", resources=["w.py"])["note"].startswith("this claims for a, not for its subagent")
    fleet.call("a/child", "leave")
    assert "note" not in shell.type("claim", resources=["v.py"])


def test_a_question_about_a_subagents_file_goes_to_that_subagent(fleet: Fleet, shell: Terminal) -> None:
    fleet.edit("a/child", "y.py")
    assert shell.type("ask", resource="y.py", text="when?")["to"] == ["a/child"]
    assert [kind for kind, _ in fleet.told("a/child")] == ["ask"]


# --- whoami


def test_whoami_says_who_and_by_what_and_registers_nobody(fleet: Fleet) -> None:
    events = len(fleet.events())
    found = Terminal(fleet, 70, session="d775fd74-bb09-45c2-8395-dc2308a6ed45").type("whoami")
    assert (found["agent"], found["known"], found["held"]) == ("d775fd74-bb09-45c2-8395-dc2308a6ed45", False, 0)
    assert Terminal(fleet, 70).type("whoami")["agent"] == "me@here"
    assert len(fleet.events()) == events
    fleet.call("a", "boot", client=7)
    fleet.claim("a", "x.py")
    found = Terminal(fleet, 70, 7).type("whoami")
    assert (found["agent"], found["name"], found["role"], found["held"], found["by"]) == ("a", "a", "", 1, "process")


def test_how_a_caller_was_named_is_no_agent_in_whoami(fleet: Fleet) -> None:
    for agent in ("process", "user"):
        fleet.call(agent, "boot")
    fleet.call("a", "boot", client=7)
    for shell, how in ((Terminal(fleet, 70, 7), "process"), (Terminal(fleet, 70), "user")):
        found = shell.type("whoami")
        assert (found["by"], "by_name" in found) == (how, False)


def test_what_a_program_starts_is_no_agents_shell(fleet: Fleet) -> None:
    call = Call(fleet.policy, agent="python", client=fleet.process(7))  # by the Python API: its own process
    fleet.store.run(lambda tx: perform(tx, call, catalogue.operation("boot"), {}))
    script = Terminal(fleet, 70, 7)
    assert script.type("claim", agent="ann", resources=["x.py"])["agent"] == "ann"
    assert script.type("may", act="store move") == {}
    assert script.type("claim", resources=["y.py"])["agent"] == "python"
