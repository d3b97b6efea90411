"""Who may do what: declared with each operation, decided in one place, refused with who could."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dibs.client import catalogue
from dibs.errors import Forbidden, Invalid
from dibs.operations.core import authority
from dibs.operations.core.declare import RANKS
from dibs.operations.core.policy import Policy
from dibs.operations.tasks.batches import ADD
from tests.operations.agents.test_speech import Terminal
from tests.operations.crew import Crew
from tests.operations.engines import OnEngine
from tests.operations.fleet import Fleet, guards

if TYPE_CHECKING:
    from dibs.operations.core.policy import GuardSettings

ASSIGN = {"lead": "orchestrator", "w*": "worker", "v*": "viewer", "a*": "agent"}
CLIENT = 7  # a client's process above the call: the caller is an agent


def roles(default: str = "", assign: dict[str, str] | None = None, **named: Any) -> GuardSettings:
    """What a config says about roles, as the guards are told."""
    pairs = [list(pair) for pair in (ASSIGN if assign is None else assign).items()]
    return guards(roles={"default": default, "assign": pairs, "named": named})


@pytest.fixture
def fleet(on_engine: OnEngine) -> Fleet:
    """A fleet with one of each role; `x` has none."""
    made = on_engine(Crew())
    made.policy = Policy(guards=roles())
    for agent in ("lead", "w1", "w2", "v1", "a1", "a2"):
        made.call(agent, "boot")
    return made


def refused(fleet: Fleet, agent: str, name: str, /, client: int | None = None, **fields: Any) -> Forbidden | None:
    """The refusal of a call for want of authority, if it was refused; other refusals are no matter here."""
    try:
        fleet.call(agent, name, client=client, **fields)
    except Forbidden as error:
        return error if "needs" in error.fields else None
    return None


# --- the declarations


def test_every_operation_declares_who_may_call_it() -> None:
    for operation in catalogue.every():
        assert operation.rank in RANKS, operation.name
        assert bool(operation.required_rank) == bool(operation.max_rank), operation.name
        if operation.max_rank:
            assert RANKS[operation.max_rank] > RANKS[operation.rank], operation.name
        if not operation.writes:
            assert operation.rank in {"viewer", "person"}, operation.name


def test_what_is_judged_by_its_words_is_judged_as_it_is_declared() -> None:
    for act, least in authority.ACTS.items():
        if act in {one.name for one in catalogue.every()}:
            declared = catalogue.operation(act)
            assert (declared.max_rank or declared.rank) == least


@pytest.mark.parametrize(
    ("name", "fields", "least"),
    [
        ("send", {"to": "a2", "text": "hi"}, "worker"), ("inbox", {}, "viewer"), ("boot", {}, "viewer"),
        ("scratch", {}, "worker"), ("task add", {"title": "T"}, "agent"), ("claim", {"resources": ["x.py"]}, "agent"),
        ("state set", {"key": "k", "value": 1, "version": 0}, "agent"),
        ("vote open", {"title": "v", "electorate": ["a2"]}, "agent"),
        ("run start", {"name": "r"}, "agent"), ("kill", {"agent": "a2", "why": "w"}, "orchestrator"),
        ("revive", {"agent": "a2"}, "orchestrator"), ("seal", {}, "orchestrator"), ("prune", {}, "person"),
        ("claim", {"resources": ["deploy:prod"]}, "orchestrator"),
        ("claim", {"resources": ["role:leader"]}, "orchestrator"),
        ("status", {}, "viewer"), ("task list", {}, "viewer"),
    ],
)  # fmt: skip
def test_each_rank_may_what_is_declared_and_what_those_below_it_may(name: str, fields: Any, least: str) -> None:
    for rank, agent in (("viewer", "v1"), ("worker", "w1"), ("agent", "a1"), ("orchestrator", "lead")):
        made = Fleet(guards=roles())
        made.call("a2", "boot")
        error = refused(made, agent, name, **fields)
        assert (error is None) == (RANKS[rank] >= RANKS[least]), (rank, name)
        made.clean()


def test_many_tasks_at_once_are_for_agents_too() -> None:
    made = Fleet(guards=roles())
    with pytest.raises(Forbidden):
        made.internal("w1", ADD, tasks=[{"title": "T"}])


# --- where the rank comes from


def test_an_agent_without_a_role_is_an_agent_and_a_caller_without_a_client_above_is_a_person() -> None:
    made = Fleet(guards=roles(assign={}))
    made.call("b", "boot")
    error = refused(made, "a", "kill", client=CLIENT, agent="b", why="w")
    assert error is not None
    assert (error.role, error.needs) == ("agent", "orchestrator")
    made.call("script", "kill", agent="b", why="w")
    made.clean()


def test_what_an_agents_client_starts_is_never_a_person() -> None:
    made = Fleet()
    made.call("a", "boot", client=CLIENT)
    made.call("b", "boot")
    for shell in (Terminal(made, 70, CLIENT), Terminal(made, 70, session="a")):
        with pytest.raises(Forbidden):
            shell.type("prune")
        with pytest.raises(Forbidden):
            shell.type("kill", target="b", why="w")
    Terminal(made, 70).type("kill", target="b", why="w")


def test_the_default_role_is_for_agents_and_a_person_has_a_role_only_by_name() -> None:
    made = Fleet(guards=roles("worker", {}))
    assert refused(made, "x", "task add", title="T") is not None
    terminal = Terminal(made, 70)
    assert terminal.type("task add", title="T")["task"]["by"] == "me@here"
    named = Terminal(made, 70, policy=Policy(guards=roles("", {"me@*": "viewer"})))
    with pytest.raises(Forbidden):
        named.type("task add", title="T")


def test_a_role_of_the_configs_own_counts_as_an_agent_or_as_it_says() -> None:
    made = Fleet(guards=roles("", {"p": "planner", "c": "chief"}, planner={}, chief={"may": "orchestrator"}))
    made.call("b", "boot")
    assert refused(made, "p", "claim", resources=["x.py"]) is None
    assert refused(made, "p", "kill", agent="b", why="w") is not None
    assert refused(made, "c", "kill", agent="b", why="w") is None


def test_nobody_says_of_itself_what_it_may() -> None:
    made = Fleet(guards=roles("worker", {}))
    made.call("a", "boot", type="orchestrator", can=["orchestrator"])
    assert refused(made, "a", "kill", agent="a2", why="w") is not None


def test_a_viewer_does_not_even_write_to_a_scratch_folder(fleet: Fleet) -> None:
    with pytest.raises(Forbidden):
        fleet.edit("v1", ".dibs/local/scratch/v1/x")
    fleet.edit("w1", ".dibs/local/scratch/w1/x")


# --- the refusal


def test_a_refusal_is_in_the_log_and_names_who_could(fleet: Fleet) -> None:
    error = refused(fleet, "w1", "kill", agent="lead", why="w")
    assert error is not None
    assert error.code == "forbidden"
    assert (error.role, error.needs, error.could) == ("worker", "orchestrator", ["lead"])
    assert "an orchestrator (lead), or a person at a terminal" in error.message
    assert fleet.events("call.refused")[-1]["data"] == {"code": "forbidden", "needs": "orchestrator"}
    assert fleet.record("a\tlead")["killed"] is None
    fleet.clean()


def test_a_refusal_to_kill_does_not_name_the_agent_that_would_be_killed() -> None:
    made = Fleet(guards=roles(assign={}))
    for name in ("b", "b/child"):
        made.call(name, "boot")
    for agent, may in (("b", ""), ("all", ""), ("b/child", "b, or ")):
        theirs = " of what is not its own" if may else " in this way"
        expected = f"`dibs kill`{theirs} is not for a (an agent): {may}an orchestrator, or a person at a terminal can"
        error = refused(made, "a", "kill", client=CLIENT, agent=agent, why="w")
        assert error is not None
        assert error.message.startswith(expected)
    assert refused(made, "b/child", "revive", client=CLIENT, agent="b/child") is not None


def test_a_refusal_names_nobody_who_is_dead_killed_or_left() -> None:
    made = Fleet(guards=roles(assign={"l*": "orchestrator", "w": "worker"}))
    for number, name in enumerate(("l1", "l2", "l3", "l4"), 20):
        made.call(name, "boot", client=number)
    made.kill9(20)
    made.call("l4", "kill", agent="l2", why="w")
    made.call("l3", "leave", client=22)
    error = refused(made, "w", "kill", agent="l4", why="w")
    assert error is not None
    assert error.could == ["l4"]


def test_a_refused_newcomer_is_not_registered(fleet: Fleet) -> None:
    assert refused(fleet, "w9", "state set", key="k", value=1, version=0) is not None
    assert fleet.record("a\tw9") is None


# --- what is one's own


def test_an_agent_may_stop_its_own_subagents_and_neither_itself_nor_its_parent(fleet: Fleet) -> None:
    fleet.call("a1/child", "boot")
    assert refused(fleet, "a1", "kill", agent="a1/child", why="w") is None
    assert refused(fleet, "a1", "revive", agent="a1/child") is None
    assert refused(fleet, "a1/child", "kill", agent="a1", why="w") is not None
    with pytest.raises(Invalid):
        Fleet().call("a", "kill", agent="a", why="w")


@pytest.fixture
def crew(on_engine: OnEngine) -> Crew:
    """Agents without roles, each with a client; `boss` adds the tasks."""
    made = on_engine(Crew(max_tasks=3))
    for number, agent in enumerate(("boss", "a", "b"), 30):
        made.call(agent, "boot", client=number)
    made.add("T", by="boss")
    return made


def by(crew: Crew, agent: str, name: str, **fields: Any) -> Forbidden | None:
    """A call from the agent's client."""
    return refused(crew, agent, name, client={"boss": 30, "a": 31, "b": 32}[agent], **fields)


def test_a_task_is_called_off_by_who_added_it_or_has_it(crew: Crew) -> None:
    error = by(crew, "a", "task cancel", id="T")
    assert error is not None
    assert error.owners == ["boss"]
    assert "boss, or an orchestrator, or a person at a terminal can do it" in error.message
    assert by(crew, "a", "task move", id="T", state="cancelled") is not None
    assert crew.state("T") == "planned"
    crew.add("mine", by="boss")
    crew.call("a", "task claim", client=31, id="mine")
    assert by(crew, "b", "task cancel", id="mine") is not None
    assert by(crew, "a", "task cancel", id="mine") is None
    assert by(crew, "boss", "task cancel", id="T") is None
    assert crew.states("T", "mine") == ["cancelled", "cancelled"]
    crew.clean()


def test_a_task_that_nobody_has_is_moved_by_any_agent_and_an_assigned_one_is_not(crew: Crew) -> None:
    crew.add("S", by="boss", state="discovery")
    assert by(crew, "a", "task move", id="S", state="scoped") is None
    assert crew.state("S") == "scoped"
    crew.call("boss", "task assign", client=30, id="T", to="b")
    assert by(crew, "a", "task move", id="T", state="scoped") is not None
    assert by(crew, "boss", "task move", id="T", state="scoped") is None


def test_what_runs_is_edited_only_by_the_agent_that_added_or_has_it_or_an_orchestrator(crew: Crew) -> None:
    crew.add("S", by="boss")
    assert by(crew, "a", "task edit", id="S", priority=3) is None
    crew.call("boss", "task assign", client=30, id="T", to="b")
    assert by(crew, "a", "task edit", id="T", priority=4) is not None
    assert by(crew, "b", "task edit", id="T", priority=5) is None
    assert by(crew, "boss", "task edit", id="T", title="another") is None


def test_a_task_is_given_to_somebody_by_who_added_it_and_passed_on_by_whom_it_waits_for(crew: Crew) -> None:
    assert by(crew, "a", "task assign", id="T", to="b") is not None
    assert by(crew, "boss", "task assign", id="T", to="b") is None
    assert by(crew, "a", "task assign", id="T", to="a") is not None
    assert by(crew, "b", "task assign", id="T", to="a") is None


def test_a_run_is_ended_and_dropped_by_its_coordinator(crew: Crew) -> None:
    run = crew.call("boss", "run start", client=30, name="r")["run"]["id"]
    assert by(crew, "a", "run end", run=run) is not None
    assert by(crew, "a", "run end") is not None
    assert by(crew, "boss", "run end", run=run) is None
    assert by(crew, "a", "run purge", run=run) is not None
    assert by(crew, "boss", "run purge", run=run) is None


def test_a_worker_notes_its_own_tasks_only(fleet: Crew) -> None:
    fleet.add("T", by="lead")
    fleet.add("U", by="lead")
    fleet.take("T", "w1")
    assert refused(fleet, "w1", "task note", id="T", text="so far") is None
    assert refused(fleet, "w1", "task note", id="U", text="so far") is not None
    assert refused(fleet, "a1", "task note", id="U", text="so far") is None
    assert refused(fleet, "w2", "task cancel", id="T") is not None
    assert refused(fleet, "lead", "task cancel", id="T") is None


# --- claims


def test_a_worker_holds_only_what_it_may_write() -> None:
    made = Fleet(guards=roles("worker", {}, worker={"write": ["reports/", "port:*"]}))
    assert refused(made, "w", "claim", resources=["reports/x.md", "port:8080"]) is None
    assert refused(made, "w", "claim", resources=["src/x.py"], mode="watch") is None
    for names in (["src/x.py"], ["reports/y.md", "src/x.py"], ["**"], ["db:main"]):
        for mode in ("write", "read"):
            assert refused(made, "w", "claim", resources=names, mode=mode) is not None, names


def test_deploys_and_roles_are_anybodys_where_nobody_orchestrates(fleet: Fleet) -> None:
    assert refused(fleet, "x", "claim", client=CLIENT, resources=["deploy:prod"]) is not None
    plain = Fleet()
    assert refused(plain, "x", "claim", client=CLIENT, resources=["deploy:prod", "role:lead"]) is None


@pytest.mark.parametrize(
    ("agent", "name", "fields", "words"),
    [
        ("a1", "kill", {"agent": "a2/x", "why": "x"}, "`dibs kill` of what is not its own is not for a1 (an agent): "),
        ("a1", "release", {"force": True, "why": "x"}, "`dibs release` in this way is not for a1 (an agent): "),
        ("v1", "release", {}, "`dibs release` is not for v1 (a viewer): "),
    ],
)
def test_a_refusal_names_a_command_that_there_is_and_whether_another_use_of_it_is_allowed(
    fleet: Fleet, agent: str, name: str, fields: dict[str, Any], words: str
) -> None:
    fields = {**fields, "resources": [["file", "x"]]} if name == "release" else fields
    found = refused(fleet, agent, name, client=CLIENT, **fields)
    assert found is not None
    assert found.message.startswith(words)
    assert found.act == name
