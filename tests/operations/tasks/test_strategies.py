"""Who gets a task: each strategy's order by itself, and what `task next` makes of it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

import pytest

from dibs.errors import NotFound
from dibs.operations.core.policy import DAY, MINUTE, STRATEGIES, WORK
from dibs.operations.tasks import strategies
from dibs.operations.tasks.records import with_defaults
from dibs.operations.tasks.strategies import Facts
from tests.operations.crew import Crew
from tests.operations.fleet import Fleet

if TYPE_CHECKING:
    from dibs.operations.core.policy import WorkSettings
    from dibs.operations.tasks.records import Bid, Task

KEYS = 4_000


def work(**settings: Any) -> WorkSettings:
    """The settings of work with some of those for tasks changed."""
    return cast("WorkSettings", {**WORK, "tasks": {**WORK["tasks"], **settings}})


def agent(name: str, *can: str) -> Any:
    return {"agent": name, "type": "", "can": list(can)}


def a_task(**fields: Any) -> Task:
    return with_defaults({"task": "t", **fields})


def bid(name: str, amount: int, commit: int) -> Bid:
    return {"agent": name, "amount": amount, "commit": commit}


def order(name: str, candidates: list[Any], facts: Facts, **fields: Any) -> list[str]:
    return [one["agent"] for one in strategies.RANKS[name](a_task(**fields), candidates, facts)]


def add(fleet: Fleet, **fields: Any) -> str:
    title = fields.pop("title", "some work")
    return str(fleet.call("boss", "task add", title=title, **fields)["task"]["id"])


def boot(fleet: Fleet, *names: str, **fields: Any) -> None:
    for name in names:
        fleet.call(name, "boot", **fields)


def wait(fleet: Fleet, name: str, **fields: Any) -> str:
    """Wait for work under a name by which the agent would be woken."""
    waiter = fleet.call(name, "task next", wait=60_000, wake=f"wake-{name.replace('/', '-')}", **fields)["waiting"]
    fleet.now += 1  # those who wait are told apart by when they came
    return str(waiter)


def ask(fleet: Fleet, name: str) -> dict[str, Any] | None:
    """What `next` gives, or None."""
    try:
        answer: dict[str, Any] = fleet.call(name, "task next")
    except NotFound:
        return None
    return answer


def take(fleet: Fleet, name: str) -> str | None:
    """The task that `next` gives, or None."""
    answer = ask(fleet, name)
    return str(answer["task"]["id"]) if answer is not None else None


def finish(fleet: Fleet, name: str, answer: dict[str, Any]) -> None:
    fleet.call(name, "task done", id=answer["task"]["id"], token=answer["token"])


def drain(fleet: Fleet, name: str) -> list[str]:
    """Do all that there is for an agent."""
    done = []
    while (answer := ask(fleet, name)) is not None:
        finish(fleet, name, answer)
        done.append(answer["task"]["id"])
    return done


# --- each order by itself


def test_there_is_a_function_for_every_strategy_that_a_task_may_name() -> None:
    assert tuple(strategies.RANKS) == STRATEGIES


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_strategy_ranks_each_candidate_once_and_invents_none(name: str) -> None:
    facts = Facts(0)
    facts.bids = {one: bid(one, 1, 1) for one in "abc"}
    crowd = [agent(one, "x", one) for one in "cab"]
    assert sorted(order(name, crowd, facts, needs=["x"])) == ["a", "b", "c"]
    assert order(name, [], facts) == []


@pytest.mark.parametrize("name", STRATEGIES)
def test_the_order_does_not_depend_on_the_order_in_which_candidates_come(name: str) -> None:
    facts = Facts(0)
    facts.bids = {one: bid(one, 5, 1) for one in "abcd"}
    crowd = [agent(one) for one in "abcd"]
    assert order(name, crowd, facts) == order(name, crowd[::-1], facts)


def test_priority_takes_who_has_waited_longest_then_who_has_least_to_do() -> None:
    facts = Facts(0)
    facts.place = {"c": 0, "b": 1}
    facts.busy = {"d": [""]}
    assert order("priority", [agent(one) for one in "abcd"], facts) == ["c", "b", "a", "d"]


def test_round_robin_takes_who_was_given_something_longest_ago() -> None:
    facts = Facts(0)
    facts.given = {"a": [20, 7], "b": [10], "c": [20, 6, 3]}
    assert order("round_robin", [agent(one) for one in "abcd"], facts) == ["d", "b", "c", "a"]


def test_round_robin_holds_within_one_millisecond() -> None:
    crew = Crew(strategy="round_robin")
    for agent in "abc":
        crew.call(agent, "boot")
        crew.call(agent, "task next", wait=60_000)
    crew.now += 1_000
    given = []
    for number in range(9):
        crew.add(f"t{number}")
        given.append(crew.call("boss", "task assign", id=f"t{number}")["task"]["assigned"]["agent"])
        crew.finish(f"t{number}", given[-1])
    assert given == [given[0], given[1], given[2]] * 3
    assert len({*given}) == 3


def test_load_balanced_counts_what_is_at_work_and_what_waits_then_goes_round() -> None:
    facts = Facts(0)
    facts.busy, facts.assigned = {"a": ["", ""], "b": [""]}, {"c": [0]}
    facts.given = {"b": [20], "c": [10]}
    assert order("load_balanced", [agent(one) for one in "abcd"], facts) == ["d", "c", "b", "a"]


def test_capability_keeps_those_free_who_can_do_more() -> None:
    crowd = [agent("every", "py", "go", "sql"), agent("two", "py", "sql"), agent("py", "py")]
    assert order("capability", crowd, Facts(0), needs=["py"]) == ["py", "two", "every"]
    assert order("capability", crowd[:2], Facts(0), needs=["py", "sql"]) == ["two", "every"]


def test_the_highest_bid_is_first_and_of_equal_ones_the_earlier() -> None:
    facts = Facts(0)
    facts.bids = {"a": bid("a", 5, 9), "b": bid("b", 5, 7), "c": bid("c", 6, 11)}
    assert order("auction", [agent(one) for one in "abcd"], facts) == ["c", "b", "a"]


# --- sticky, with figures


def shares(agents: list[str]) -> dict[str, str]:
    """For each of many keys the agent that it goes to."""
    crowd, facts = [agent(name) for name in agents], Facts(0)
    return {key: order("sticky", crowd, facts, key=key)[0] for key in (f"key-{n}" for n in range(KEYS))}


@pytest.mark.parametrize("count", [2, 5, 10, 20])
def test_one_agent_more_or_less_moves_about_one_in_n_keys_and_no_others(count: int) -> None:
    agents = [f"agent-{n}" for n in range(count)]
    before, after = shares(agents[:-1]), shares(agents)
    moved = [key for key in before if before[key] != after[key]]
    assert {after[key] for key in moved} == {agents[-1]}, "a key moved between two agents that were there all along"
    assert KEYS / count * 0.75 < len(moved) < KEYS / count * 1.25


def test_keys_are_spread_evenly() -> None:
    found = list(shares([f"agent-{n}" for n in range(8)]).values())
    counts = [found.count(name) for name in set(found)]
    assert len(counts) == 8
    assert max(counts) < 1.25 * KEYS / 8
    assert min(counts) > 0.75 * KEYS / 8


def test_children_stick_together_by_their_parent_and_a_key_goes_before_it() -> None:
    crowd, facts = [agent(f"agent-{n}") for n in range(8)], Facts(0)
    of_parent = {order("sticky", crowd, facts, task=f"t{n}", parent="p")[0] for n in range(50)}
    assert len(of_parent) == 1
    assert len({order("sticky", crowd, facts, task=f"t{n}", parent="p", key=f"k{n}")[0] for n in range(50)}) > 1
    assert len({order("sticky", crowd, facts, task=f"t{n}")[0] for n in range(50)}) > 1


def words(names: str, name: str) -> Iterator[str]:
    """Words that go to this one of these agents."""
    crowd = [agent(one) for one in names]
    for number in itertools.count():
        if order("sticky", crowd, Facts(0), key=f"w{number}")[0] == name:
            yield f"w{number}"


# --- pull: sticky


def test_sticky_work_is_pulled_by_the_agent_whose_it_is(fleet: Fleet) -> None:
    for name in "abc":
        wait(fleet, name)
    expected = {}
    for name in "abc":
        for word in itertools.islice(words("abc", name), 10):
            expected[add(fleet, strategy="sticky", key=word)] = name
    got = {identifier: name for name in "cab" for identifier in drain(fleet, name)}
    assert got == expected
    fleet.clean()


def test_who_asked_lately_is_waited_for_but_not_for_longer_than_five_minutes(fleet: Fleet) -> None:
    of_a, of_b = words("ab", "a"), words("ab", "b")
    add(fleet, strategy="sticky", key=next(of_b))
    assert len(drain(fleet, "b")) == 1
    add(fleet, strategy="sticky", key=next(of_b))
    assert drain(fleet, "a") == []  # and is known to ask from now on
    assert len(drain(fleet, "b")) == 1
    mine = add(fleet, strategy="sticky", key=next(of_a))
    assert drain(fleet, "b") == []
    fleet.now += strategies.PRESENCE_MS
    assert drain(fleet, "b") == [mine]


def test_an_agent_that_asks_for_another_run_only_is_not_waited_for(fleet: Fleet) -> None:
    wait(fleet, "a", run="one")
    for word in itertools.islice(words("ab", "a"), 3):
        add(fleet, strategy="sticky", key=word)
    assert len(drain(fleet, "b")) == 3


def test_an_agent_that_never_asks_for_work_keeps_nobody_waiting(fleet: Fleet) -> None:
    """The boss is there all the time; a share of the words would be its own."""
    names = [add(fleet, strategy="sticky", key=f"k{number}") for number in range(12)]
    assert sorted(drain(fleet, "a")) == sorted(names)


def test_who_works_on_a_task_is_waited_for_however_long_that_takes(fleet: Fleet) -> None:
    of_a = words("ab", "a")
    boot(fleet, "a", pid=fleet.process(7))
    waiter = wait(fleet, "a")
    add(fleet, strategy="sticky", key=next(of_a))
    busy = fleet.call("a", "task next", wait=1_000, waiter=waiter)
    mine = add(fleet, strategy="sticky", key=next(of_a))
    fleet.now += strategies.PRESENCE_MS + MINUTE
    assert drain(fleet, "b") == []
    finish(fleet, "a", busy)
    assert drain(fleet, "a") == [mine]


@pytest.mark.parametrize("end", ["dead", "left", "killed", "parent killed", "failing"])
def test_the_share_of_an_agent_that_cannot_come_goes_to_the_others(end: str) -> None:
    fleet = Fleet(work=work(breaker_failures=1, max_attempts=100))
    name = "p/a" if end == "parent killed" else "a"
    if end == "parent killed":
        boot(fleet, "p")
    crowd = [agent(name), agent("b")]
    keys = [f"w{n}" for n in range(60) if order("sticky", crowd, Facts(0), key=f"w{n}")[0] == name][:4]
    boot(fleet, name, pid=fleet.process(7))
    wait(fleet, name)
    if end == "failing":
        fleet.call("boss", "task add", title="doomed")
        doomed = fleet.call(name, "task next")
        how: Any = {"class": "permanent", "why": "no"}
        fleet.call(name, "task fail", id=doomed["task"]["id"], token=doomed["token"], **how)
    made = [add(fleet, strategy="sticky", key=key) for key in keys]
    assert drain(fleet, "b") == ([] if end != "failing" else made)
    if end == "dead":
        fleet.kill9(7)
    elif end == "left":
        fleet.call(name, "leave")
    elif end != "failing":
        fleet.call("boss", "kill", agent=name.partition("/")[0], why="test")
    assert drain(fleet, "b") == ([] if end == "failing" else made)


def note(fleet: Fleet, run: str) -> dict[str, int]:
    """Say that agent a asks for work of this run; gives what is noted then."""
    fleet.store.run(lambda tx: strategies._note_asking(tx, "a", run, strategies.gather(tx)))
    noted: dict[str, int] = fleet.record("tl\ta")["asked"]
    return noted


def test_it_is_noted_once_a_minute_that_an_agent_asks_and_forgotten_after_a_day(fleet: Fleet) -> None:
    start = fleet.now
    assert note(fleet, "") == {"": start}
    fleet.now += strategies.ASKED_INTERVAL_MS - 1
    assert note(fleet, "") == {"": start}
    fleet.now += 1
    assert note(fleet, "") == {"": fleet.now}
    fleet.now += DAY
    fleet.call("boss", "sweep")
    assert fleet.record("tl\ta") is None


def test_of_many_runs_only_the_last_asked_for_are_remembered(fleet: Fleet) -> None:
    for number in range(strategies.MAX_ASKED_RUNS + 5):
        fleet.now += 1
        noted = note(fleet, f"r{number}")
    assert sorted(noted) == sorted(f"r{number}" for number in range(5, strategies.MAX_ASKED_RUNS + 5))


# --- pull: round_robin, load_balanced, capability


def served(fleet: Fleet, *names: str) -> None:
    """Each of these had a task by turns already."""
    for name in names:
        add(fleet, strategy="round_robin")
        answer = ask(fleet, name)
        assert answer is not None
        finish(fleet, name, answer)
        fleet.now += 1


def test_among_equals_whoever_asks_has_it_at_once(fleet: Fleet) -> None:
    for name in "abc":
        wait(fleet, name)
    for strategy in ("round_robin", "load_balanced", "capability"):
        task = add(fleet, strategy=strategy)
        assert take(fleet, strategy) == task


def test_what_others_come_first_for_is_looked_at_once_for_all_tasks_that_ask_the_same(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    boot(fleet, "every", can=["py", "go"])
    boot(fleet, "py", can=["py"])
    wait(fleet, "py")
    for _ in range(40):
        add(fleet, strategy="capability", needs=["py"])
    other = add(fleet, strategy="capability", needs=["go"])
    ranked = []

    def count(task: Any, *given: Any) -> Any:
        ranked.append(task["needs"])
        return strategies.capability(task, *given)

    monkeypatch.setitem(strategies.RANKS, "capability", count)
    assert take(fleet, "every") == other
    assert sorted(ranked) == [["go"], ["py"]]


def test_round_robin_gives_to_those_who_wait_in_turn(fleet: Fleet) -> None:
    got = []
    for _ in range(9):
        for name in "abc":
            wait(fleet, name)
        add(fleet, strategy="round_robin")
        for name in "cba":  # to look first helps in the first round only
            answer = ask(fleet, name)
            if answer is not None:
                got.append(name)
                finish(fleet, name, answer)
        fleet.now += 1
    assert got == list("cba") * 3
    fleet.clean()


def test_the_one_whose_turn_it_is_is_woken_when_another_looks_first(fleet: Fleet) -> None:
    served(fleet, "b")
    wait(fleet, "a")
    wait(fleet, "b")
    add(fleet, strategy="round_robin")
    fleet.store.woken.clear()
    wait(fleet, "b")
    assert fleet.store.woken == {"wake-a"}


def test_who_went_away_while_waiting_loses_its_turn_after_fifteen_seconds_or_at_once_if_that_is_seen(
    fleet: Fleet,
) -> None:
    boot(fleet, "a", pid=fleet.process(7))
    served(fleet, "b", "c")
    for name in "ab":
        wait(fleet, name)
    task = add(fleet, strategy="round_robin")
    assert take(fleet, "b") is None
    fleet.kill9(7)
    assert take(fleet, "c") is None  # it is the turn of b now
    fleet.now += 15_000
    assert take(fleet, "c") == task


def test_who_has_all_that_it_may_have_is_not_waited_for_although_it_seems_to_wait(fleet: Fleet) -> None:
    served(fleet, "b")
    wait(fleet, "a")
    fleet.call("boss", "task add", title="x", id="x")
    fleet.call("a", "task claim", id="x")
    task = add(fleet, strategy="round_robin")
    assert take(fleet, "b") == task


def test_load_balanced_gives_to_who_has_least(fleet: Fleet) -> None:
    fleet.policy = type(fleet.policy)(work=work(max_tasks=3))
    for name in "ab":
        wait(fleet, name)
    for number in range(2):
        add(fleet, id=f"x{number}")
        fleet.call("a", "task claim", id=f"x{number}")
    got = []
    for _ in range(3):
        task = add(fleet, strategy="load_balanced")
        first, second = take(fleet, "a"), take(fleet, "b")
        got.append("a" if first == task else "b" if second == task else "")
        fleet.now += 1
    assert got == ["b", "b", "a"]


def test_capability_leaves_what_is_simple_to_who_can_do_nothing_else(fleet: Fleet) -> None:
    boot(fleet, "every", can=["py", "go", "sql"])
    boot(fleet, "py", can=["py"])
    wait(fleet, "every")
    wait(fleet, "py")
    easy = add(fleet, strategy="capability", needs=["py"])
    hard = add(fleet, strategy="capability", needs=["py", "go"])
    assert take(fleet, "every") == hard
    assert take(fleet, "py") == easy


def test_the_strategy_of_the_config_counts_where_the_task_names_none() -> None:
    fleet = Fleet(work=work(strategy="round_robin"))
    served(fleet, "b")
    wait(fleet, "a")
    mine, anybodys = add(fleet), add(fleet, strategy="priority")
    assert take(fleet, "b") == anybodys
    assert take(fleet, "a") == mine


@pytest.mark.parametrize("strategy", ["round_robin", "load_balanced"])
def test_nothing_is_noted_for_the_default_strategy_but_for_those_that_ask_for_it(fleet: Fleet, strategy: str) -> None:
    add(fleet)
    assert take(fleet, "a")
    assert fleet.record("tl\ta") is None
    add(fleet, strategy=strategy)
    assert take(fleet, "b")
    assert fleet.record("tl\tb")["given"][0] == fleet.now


def test_an_aborted_look_leaves_no_turn_behind(fleet: Fleet) -> None:
    """The first run of the transaction is thrown away and another agent gets the task in that gap."""
    task = add(fleet, strategy="round_robin")
    aborts = iter([True])
    fleet.store.faults.abort = lambda: next(aborts, False)
    taken: list[str | None] = []
    fleet.store.faults.between = lambda: taken.append(take(fleet, "b"))
    assert take(fleet, "a") is None
    assert taken == [task]
    assert fleet.record("tl\ta") is None
    fleet.clean()


def test_many_tasks_that_are_anothers_cost_one_gathering_of_facts(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait(fleet, "a")
    for word in itertools.islice(words("ab", "a"), 40):
        add(fleet, strategy="sticky", key=word)
    gather, gathered = strategies.gather, []

    def count(*given: Any) -> Facts:
        gathered.append(given)
        return gather(*given)

    monkeypatch.setattr(strategies, "gather", count)
    assert take(fleet, "b") is None
    assert len(gathered) == 1


def test_tasks_with_the_same_word_go_to_the_same_agent() -> None:
    agents: Any = [{"agent": f"w{number}", "can": [], "type": ""} for number in range(8)]
    facts = strategies.Facts(0)

    def first(**fields: str) -> str:
        return str(strategies.sticky(a_task(**fields), agents, facts)[0]["agent"])

    words = [f"word{number}" for number in range(40)]
    assert all(first(sticky=word, key="one") == first(sticky=word, key="other") for word in words)
    assert len({first(sticky=word) for word in words}) == len(agents)


def test_an_agent_is_found_for_a_task_however_many_others_there_are(fleet: Fleet) -> None:
    fleet.crowd(1_100)
    boot(fleet, "zoe", can=["sql"])
    ask(fleet, "zoe")
    task = add(fleet, needs=["sql"])
    assert fleet.call("boss", "task assign", id=task)["agent"] == "zoe"
