"""`dibs stats`: each figure is what a slow and simple count over the same events gives."""

from __future__ import annotations

import functools
import random
from typing import TYPE_CHECKING, Any

import pytest

from dibs.audit import statistics
from dibs.audit.fold import LOST, Fold
from dibs.audit.statistics import Figures
from dibs.errors import DibsError
from dibs.interfaces.cli.render import statistics as drawn
from dibs.operations.claims import resources
from dibs.stores.seam import read_event
from tests.operations.fleet import WALL, Fleet

if TYPE_CHECKING:
    from dibs.stores.seam import LogEvent
    from tests.scratch import Shell

AGENTS = ("ann", "bob", "carl")
NAMES = ("a.py", "b.py", "src/", "db:x")
MINUTE = 60_000
SEEDS = 6


@functools.cache
def history(seed: int, steps: int = 220) -> Fleet:
    """A fleet that works for some hours, at random: claims, waits, tasks, deaths."""
    chance = random.Random(seed)
    fleet = Fleet()
    for agent in AGENTS:
        fleet.call(agent, "boot")
    for step in range(steps):
        fleet.now += chance.choice((5, 400, 9_000, 45_000, 200_000))
        agent = chance.choice(AGENTS)
        deed = chance.randrange(12)
        try:
            if deed < 4:
                names = chance.sample(NAMES, chance.choice((1, 1, 2)))
                fleet.claim(agent, *names, mode=chance.choice(("write", "write", "read")),
                            **({"wait": 600_000} if chance.random() < 0.3 else {}))  # fmt: skip
            elif deed < 6:
                fleet.call(agent, "release", resources=[chance.choice(NAMES)])
            elif deed == 6:
                fleet.call(agent, "release", all=True)
            elif deed == 7:
                fleet.call("boss", "task add", title="t", id=f"t{step}", attempts=chance.choice((1, 2)))
            elif deed == 8:
                fleet.call(agent, "task next")
            elif deed == 9:
                _finish(fleet, chance, agent)
            elif deed == 10:
                fleet.call("boss", "sweep")
            elif chance.random() < 0.3:
                fleet.call("boss", "kill", agent=agent, why="x")
                fleet.call("boss", "revive", agent=agent)
        except DibsError:
            pass
    return fleet


def _finish(fleet: Fleet, chance: random.Random, agent: str) -> None:
    tasks = [one for one in fleet.call("boss", "status")["tasks"] if one.get("agent") == agent]
    for task in tasks[:1]:
        if chance.random() < 0.5:
            fleet.call(agent, "task done", id=task["id"])
        else:
            failed: dict[str, Any] = {"class": chance.choice(("transient", "permanent"))}
            fleet.call(agent, "task fail", id=task["id"], why="x", **failed)


def figures(events: list[LogEvent], since: int, until: int, buckets: int, now: int) -> Figures:
    """As the query counts."""
    found = Figures(since, until, buckets)
    fold = Fold(found)
    fold.read_all(event for event in events if event["kind"] in fold.kinds)
    fold.close(now, until)
    found.sort({})
    return found


# --- the slow count


def brute(events: list[LogEvent], since: int, now: int, wall: int) -> dict[str, Any]:
    """Everything by searching the whole list again for each figure."""

    def late(event: LogEvent) -> bool:
        return bool(event["wall"] >= since)

    out: dict[str, Any] = {}
    attempts = _attempts(events, now, wall)
    ended = [one for one in attempts if one["wall"] >= since]
    for outcome in ("complete", "failed", "retried", "returned", "working"):
        out[outcome] = sum(1 for one in ended if one["outcome"] == outcome)
    out["lost"] = sum(1 for one in ended if one["lost"])
    out["quarantined"] = sum(1 for one in ended if one["outcome"] == "quarantined")
    out["work"] = sum(one["took"] for one in ended)
    out["lost_work"] = sum(one["took"] for one in ended if one["lost"])
    grants = [e for e in events if e["kind"] == "claim.granted" and not _task(e["data"]["resources"])]
    out["granted"] = sum(1 for e in grants if late(e))
    out["refused"] = sum(1 for e in events if e["kind"] == "claim.refused" and late(e)) + sum(
        1 for e in events if e["kind"] == "call.refused" and late(e)
    )
    queued = {e["subject"]: e for e in events if e["kind"] == "wait.queued"}
    over = {e["subject"]: e for e in events if e["kind"] == "wait.ended"}
    waits = [
        (over[name]["now"] - e["now"], over[name]["data"]["why"]) if name in over else (now - e["now"], "granted")
        for name, e in queued.items()
        if name not in over or late(over[name])
    ]
    out["waits"] = len(waits)
    out["wait"] = sum(took for took, _ in waits)
    out["gave_up"] = sum(1 for _, why in waits if why not in {"granted", "again"})
    out["hold"], out["lost_claims"] = _held(events, grants, late, now)
    out["false"] = sum(1 for e in events if e["kind"] == "claim.refused" and late(e) and _was_soon_free(events, e))
    return out


def _task(held: list[Any]) -> bool:
    return all(text.startswith("task:") for _, text, *_ in held)


def _attempts(events: list[LogEvent], now: int, wall: int) -> list[dict[str, Any]]:
    found = []
    moves = [e for e in events if e["kind"] == "task.moved"]
    for place, begin in enumerate(moves):
        if begin["data"]["to"] != "executing":
            continue
        end = next((e for e in moves[place + 1 :] if e["subject"] == begin["subject"]), None)
        if end is None:
            found.append({"outcome": "working", "took": now - begin["now"], "wall": wall, "lost": False})
            continue
        data = end["data"]
        lost = data.get("class") == "lost" or data.get("why") in LOST
        outcome = data["to"] if data["to"] in {"complete", "failed", "quarantined", "cancelled"} else ""
        outcome = outcome or ("lost" if lost else "retried" if data.get("class") == "transient" else "returned")
        found.append({"outcome": outcome, "took": end["now"] - begin["now"], "wall": end["wall"], "lost": lost})
    return found


def _end_of(events: list[LogEvent], claim: str) -> LogEvent | None:
    """The event that ends a claim."""
    for event in events:
        if event["subject"] == claim and (
            event["kind"] == "claim.ended" or (event["kind"] == "claim.released" and not event["data"]["left"])
        ):
            return event
    return None


def _held(events: list[LogEvent], grants: list[LogEvent], late: Any, now: int) -> tuple[int, int]:
    total = lost = 0
    for grant in grants:
        end = _end_of(events, grant["subject"])
        if end is None:
            total += now - grant["now"]
        elif late(end):
            total += end["now"] - grant["now"]
            lost += end["kind"] == "claim.ended" and end["data"]["why"] in LOST
    return total, lost


def _was_soon_free(events: list[LogEvent], refusal: LogEvent) -> bool:
    """Were all claims of the blockers that overlap what was refused free of it within a minute?"""
    if refusal["data"]["code"] != "held":
        return False
    wanted, seq = refusal["data"]["resources"], refusal["seq"]
    ways = []
    for agent in {one["agent"] for one in refusal["data"]["blockers"]}:
        mine = []
        for grant in events[: seq - 1]:
            if grant["kind"] != "claim.granted" or grant["agent"] != agent:
                continue
            held = grant["data"]["resources"]
            for event in events[: seq - 1]:
                if event["subject"] == grant["subject"] and event["kind"] == "claim.released":
                    held = event["data"]["left"]
                if event["subject"] == grant["subject"] and event["kind"] == "claim.ended":
                    held = []
            if held and resources.any_overlap(held, wanted) is not None:
                mine.append(grant["subject"])
        if not mine:
            return False
        ways += mine
    for claim in ways:
        free = next(
            (
                event
                for event in events[seq:]
                if event["subject"] == claim
                and (
                    event["kind"] == "claim.ended"
                    or (
                        event["kind"] == "claim.released"
                        and (not event["data"]["left"] or resources.any_overlap(event["data"]["left"], wanted) is None)
                    )
                )
            ),
            None,
        )
        if free is None or free["now"] - refusal["now"] > MINUTE:
            return False
    return bool(ways)


# --- the tests


@pytest.mark.parametrize("seed", range(SEEDS))
def test_the_figures_are_those_of_a_slow_count(seed: int) -> None:
    fleet = history(seed)
    events = [read_event(event) for event in fleet.store.events(0, 100_000)]
    wall = fleet.now + WALL
    for since in (0, wall - 30 * MINUTE):
        found, slow = figures(events, since, wall, 10, fleet.now), brute(events, since, fleet.now, wall)
        counts, times = found.total.counts, found.total.times
        fast = {
            **{name: counts[name] for name in slow if name in counts}, "false": counts["false_refusals"],
            "work": times["work"], "lost_work": times["lost"], "wait": times["wait"], "hold": times["hold"],
        }  # fmt: skip
        assert fast == slow
        for name in ("granted", "refused", "waits", "complete", "failed", "lost"):
            assert sum(bucket[name] for bucket in found.buckets) == counts[name], name
            assert sum(sums.counts[name] for sums in found.agents.values()) == counts[name], name
        assert sum(sums.counts["attempts"] for sums in found.task_kinds.values()) == counts["attempts"]
        assert sum(sums.times["work"] for sums in found.task_kinds.values()) == times["work"]


def test_the_histories_have_everything_that_is_counted() -> None:
    total = dict.fromkeys(statistics.COUNTS, 0)
    for seed in range(SEEDS):
        fleet = history(seed)
        events = [read_event(event) for event in fleet.store.events(0, 100_000)]
        found = figures(events, 0, fleet.now + WALL, 10, fleet.now)
        for name, count in found.total.counts.items():
            total[name] += count
    missing = {name for name, count in total.items() if not count}
    assert missing <= {"passed", "cancelled"}


def test_a_refusal_is_false_only_if_all_that_was_in_its_way_is_free_within_a_minute() -> None:
    def refused(free_after: int, *, both: bool) -> int:
        fleet = Fleet()
        fleet.claim("ann", "a.py")
        fleet.claim("bob", "b.py")
        with pytest.raises(DibsError):
            fleet.claim("carl", "a.py", "b.py")
        fleet.now += free_after
        fleet.call("ann", "release", resources=["a.py"])
        if both:
            fleet.call("bob", "release", resources=["b.py"])
        events = [read_event(event) for event in fleet.store.events(0, 1_000)]
        return figures(events, 0, fleet.now + WALL, 1, fleet.now).total.counts["false_refusals"]

    assert refused(60_000, both=True) == 1
    assert refused(60_001, both=True) == 0
    assert refused(10, both=False) == 0


def test_a_small_plot_shows_nothing_something_and_the_most() -> None:
    assert drawn.plot([0, 1, 4, 8]) == "·▁▄█"
    assert drawn.plot([]) == ""
    assert drawn.plot([0, 0]) == "··"


def test_the_command_shows_the_last_day_in_sentences_plots_and_tables(shell: Shell) -> None:
    assert "nothing happened" in shell.run("stats").stdout
    shell.json("task", "add", "t", "--id", "t1", "--for", "coder", "--as", "boss", exit=0)
    shell.json("boot", "--as", "ann", "--type", "coder", exit=0)
    token = shell.json("task", "next", "--as", "ann", exit=0)["token"]
    shell.json("task", "done", "t1", "--token", str(token), "--as", "ann", exit=0)
    shell.json("claim", "a.py", "--as", "ann", exit=0)
    assert shell.run("claim", "a.py", "--as", "bob").returncode == 1
    shell.json("release", "a.py", "--as", "ann", exit=0)
    found = shell.json("stats", exit=0)
    assert (found["totals"]["complete"], found["totals"]["success_rate"], len(found["buckets"])) == (1, 1.0, 24)
    assert [(one["kind"], one["complete"]) for one in found["by_kind"]] == [("coder", 1)]
    assert found["refusals"]["claim"] == 1
    assert found["contention"][0]["false_refusals"] == 1
    assert [one["agent"] for one in shell.json("stats", "--limit", "1", exit=0)["by_agent"]] == ["ann"]
    assert shell.json("stats", "--since", "1", "--buckets", "3", exit=0)["totals"]["granted"] == 1
    said = shell.run("stats", "--since", "1h").stdout
    assert "claims: 1 granted, 1 refused (1 claim), 1 of them free within a minute" in said
    assert "tasks complete" in said
    assert shell.run("stats", "--since", "yesterday").returncode == 64


def test_what_was_free_is_not_contended_for_because_it_was_asked_for_with_something_held(shell: Shell) -> None:
    shell.json("claim", "src", "--as", "ann", exit=0)
    for _ in range(2):
        shell.json("claim", "README.md", "src/a.py", "--as", "bob", exit=1)
    (one,) = shell.json("stats", exit=0)["contention"]
    assert (one["resource"], one["refusals"]) == ("src/a.py", 2)
    assert [one["resource"] for one in shell.json("map", exit=0)["resources"]] == ["src", "src/a.py"]
    (checked,) = shell.json("check", "--check", "contention")["checks"]
    assert "most for src/a.py (2)" in checked["message"]


def test_the_number_0_is_the_beginning_of_the_log_and_one_that_is_not_there_yet_has_nothing(shell: Shell) -> None:
    assert shell.json("stats", "--since", "0", exit=0)["seconds"] == 86_400
    shell.json("claim", "a.py", "--as", "ann", exit=0)
    found = shell.json("stats", "--since", "0", exit=0)
    assert found["totals"]["granted"] == 1
    assert found["seconds"] < 86_400
    assert shell.json("stats", "--since", "99999", exit=0)["totals"]["granted"] == 0
