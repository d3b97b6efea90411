"""A brute-force model of claims over the log: what may be granted, refused and handed over, event by event.

It shares nothing with the code that decided: it keeps every claim and every place in a queue in two dictionaries,
compares each with each, and closes the whole graph of who waits for whom.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dibs.stores.seam import LogEvent

GRACE_MS = 1_000  # a place counts for this long after its deadline, so that its owner can say that it gives up
NEVER = 1 << 62  # the ticket of a request that has no place yet


class Model:
    """Replays the log; `problems` are the decisions that it would not have made."""

    def __init__(self, events: list[LogEvent]) -> None:
        self.claims: dict[str, dict[str, Any]] = {}
        self.places: dict[str, dict[str, Any]] = {}
        self.problems: list[str] = []
        self.seen: Counter[str] = Counter()
        # A place whose owner fell silent may be passed from a moment on that the log does not know.
        self._silent = {e["subject"] for e in events if e["kind"] == "wait.ended" and e["data"]["why"] == "lapsed"}
        commits: dict[int, list[LogEvent]] = {}
        for event in events:
            commits.setdefault(event["commit"], []).append(event)
        for commit in commits.values():
            self._commit(commit)

    def _commit(self, events: list[LogEvent]) -> None:
        now = events[0]["now"]
        held_before = [dict(claim) for claim in self.claims.values() if claim["until"] > now]
        tickets: dict[str, int] = {}  # of the places that ended in this commit, by agent
        freed: list[Any] = []
        judged = False
        for event in events:
            kind, data, agent, subject = event["kind"], event["data"], event["agent"], event["subject"]
            if kind == "wait.queued":
                ticket = tickets.pop(agent, event["commit"])
                kept = {name: data[name] for name in ("resources", "mode", "deadline")}
                self.places[subject] = {"agent": agent, "ticket": ticket, "id": subject, **kept}
            elif kind == "wait.ended":
                if data["why"] == "deadlock":
                    judged = self._judge_deadlock(self.places[subject], now)
                place = self.places.pop(subject)
                freed += place["resources"]
                tickets[agent] = place["ticket"]
                self.seen[f"wait {data['why']}"] += 1
            elif kind == "claim.granted":
                self._granted(event, held_before, tickets.get(agent, NEVER))
            elif kind == "claim.renewed":
                self.claims[subject]["until"] = data["until"]
            elif kind == "claim.moved":
                self.claims[subject]["agent"] = data["to"]
            elif kind == "claim.released":
                freed += data["resources"]
                if data["left"]:
                    self.claims[subject]["resources"] = data["left"]
                else:
                    del self.claims[subject]
                self.seen[f"released {data['why']}"] += 1
            elif kind == "claim.ended":
                freed += self.claims.pop(subject)["resources"]
            elif kind == "claim.refused":
                self._refused(event, judged=judged)
        self._handed_over(freed, now)

    def _refused(self, event: LogEvent, *, judged: bool) -> None:
        """A refusal is of a real cycle or a real holder, and leaves no place of its agent behind."""
        code, agent = event["data"]["code"], event["agent"]
        self.seen[f"refused {code}"] += 1
        asked = {"agent": agent, "ticket": NEVER, "id": "asked", **event["data"]}
        if code == "deadlock" and not judged:
            self._judge_deadlock(asked, event["now"])
        left = [p for p in self.places.values() if p["agent"] == agent and p["resources"] == asked["resources"]]
        if left:
            self.problems.append(f"{event['seq']}: {agent} was refused ({code}) and still waits: {left}")

    def _judge_deadlock(self, asked: dict[str, Any], now: int) -> bool:
        claims = [claim for claim in self.claims.values() if claim["until"] > now]
        places = [place for place in self.places.values() if place["id"] != asked["id"]]
        if not in_a_cycle(claims, places, asked):
            self.problems.append(f"{asked['agent']} is told of a deadlock that is none: {asked} {claims} {places}")
        return True

    def _granted(self, event: LogEvent, held_before: list[dict[str, Any]], ticket: int) -> None:
        data, agent, now = event["data"], event["agent"], event["now"]
        claim = {"agent": agent, "resources": data["resources"], "mode": data["mode"], "until": data["until"]}
        others = [one for one in self.claims.values() if one["until"] > now and conflict(one, claim)]
        if others:
            self.problems.append(f"{event['seq']}: {agent} is granted what others hold: {claim} {others}")
        upgrade = covers([one for one in held_before if one["agent"] == agent], claim)
        self.seen[f"granted {data['via']}{' upgrade' if upgrade else ''}"] += 1
        for place in self.places.values():
            present = now < place["deadline"] + GRACE_MS and place["id"] not in self._silent
            if not upgrade and present and place["ticket"] < ticket and conflict(place, lacking(held_before, claim)):
                self.problems.append(f"{event['seq']}: {agent} is granted {claim} past {place}")
        self.claims[event["subject"]] = claim

    def _handed_over(self, freed: list[Any], now: int) -> None:
        """Whoever could have what became free has it by the end of the commit that freed it."""
        if not freed:
            return
        live = [claim for claim in self.claims.values() if claim["until"] > now]
        for place in self.places.values():
            if place["id"] in self._silent or now >= place["deadline"] or not meets(place["resources"], freed):
                continue
            blocked = any(conflict(claim, place) for claim in live)
            lacks = lacking(live, place)
            earlier = any(conflict(one, lacks) and one["ticket"] < place["ticket"] for one in self.places.values())
            upgrade = covers([claim for claim in live if claim["agent"] == place["agent"]], place)
            if not blocked and (upgrade or not earlier):
                self.problems.append(f"{place} is free and was not handed over at {now}")


def lacking(held: list[Any], asked: Any) -> dict[str, Any]:
    """What is asked for, without what its agent holds: those who wait for that wait for it in any case."""
    own = [one for one in held if one["agent"] == asked["agent"]]
    left = [one for one in asked["resources"] if not covers(own, {**asked, "resources": [one]})]
    return {**asked, "resources": left}


def in_a_cycle(claims: list[Any], places: list[Any], asked: Any) -> bool:
    """Does this place lead back to something that its agent holds? All of the graph, closed transitively."""
    edges: dict[str, set[str]] = {}
    for place in [*places, asked]:
        edges[place["id"]] = {f"@{claim['agent']}" for claim in claims if conflict(claim, place)}
        if not covers([claim for claim in claims if claim["agent"] == place["agent"]], place):
            edges[place["id"]] |= {
                other["id"] for other in places if other["ticket"] < place["ticket"] and conflict(other, place)
            }
        edges.setdefault(f"@{place['agent']}", set()).add(place["id"])
    edges[f"@{asked['agent']}"] = set()  # the cycle is to go through this very place
    reached, new = set(edges[asked["id"]]), set(edges[asked["id"]])
    while new:
        new = {far for near in new for far in edges.get(near, ())} - reached
        reached |= new
    return f"@{asked['agent']}" in reached


def conflict(one: Any, other: Any) -> bool:
    """Can two agents not have both at once?"""
    return bool(
        one["agent"] != other["agent"]
        and "write" in {one["mode"], other["mode"]}
        and meets(one["resources"], other["resources"])
    )


def meets(some: list[Any], others: list[Any]) -> bool:
    """Names that are the same, or paths of which one is the other or lies below it."""
    return any(_within(a, b) or _within(b, a) for a in some for b in others)


def covers(held: list[Any], wished: Any) -> bool:
    """Is each wished resource within something that is held?"""
    own = [resource for claim in held for resource in claim["resources"]]
    return bool(own) and all(any(_within(one, holder) for holder in own) for one in wished["resources"])


def _within(one: Any, above: Any) -> bool:
    if "name" in {one[0], above[0]}:
        return bool(one[:2] == above[:2])
    return bool(one[1] == above[1] or one[1].startswith(f"{above[1]}/"))
