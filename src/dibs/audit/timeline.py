"""The timeline of a run as plain values: a lane for each agent, bars for tasks and claims, marks for losses.

Ten thousand tasks do not fit on a screen one by one: beyond MAX_BARS, bars of one outcome in one time slot are merged
into one with a count. The result says what is left out.
"""

from __future__ import annotations

from dibs.audit.fold import named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dibs.audit.fold import ClaimSpan, TaskSpan
    from dibs.audit.report_answers import ClaimStrip, Drawing, TaskBar, TimelineLane
    from dibs.audit.story import Story

MAX_BARS = 1_500  # of tasks, and as many of claims, drawn one by one
TIME_SLOTS = 240  # of the run's time, in which bars are merged: about four pixels each
MAX_LANES = 40  # agents drawn
MAX_MARKS = 500
MAX_TASK_NAMES = 5  # in a merged bar


def draw(story: Story, titles: Callable[[str], str], agents: Iterable[str], start: int, end: int) -> Drawing:
    """The lanes of these agents between two times, in seconds from the first."""
    length = max(1, end - start)
    seen = {claim.agent for claim in story.claims} | {mark[1] for mark in story.marks}
    busy: dict[str, int] = dict.fromkeys([agent for agent in agents if agent in seen], 0)
    for span in story.attempts:
        busy[span.agent] = busy.get(span.agent, 0) + max(1, span.length)
    shown = sorted(busy, key=lambda agent: (-busy[agent], agent))[:MAX_LANES]
    kept = set(shown)
    left_out = {"agents": len(busy) - len(shown)}
    spans = [span for span in story.attempts if span.agent in kept]
    claims = [claim for claim in story.claims if claim.agent in kept]
    marks = sorted([mark for mark in story.marks if mark[1] in kept])
    left_out.update(claims=len(story.claims) - len(claims), marks=max(0, len(marks) - MAX_MARKS))
    bars = _bars(spans, titles, start, length)
    strips = _strips(claims, start, length)
    lanes: dict[str, TimelineLane] = {
        agent: {"agent": agent, "tasks": [], "claims": [], "marks": []} for agent in sorted(shown)
    }
    for agent, bar in bars:
        lanes[agent]["tasks"].append(bar)
    for agent, strip in strips:
        lanes[agent]["claims"].append(strip)
    for when, agent, what, said in marks[:MAX_MARKS]:
        lanes[agent]["marks"].append({"at": _seconds(when - start), "what": what, "text": said})
    return {
        "seconds": _seconds(length), "lanes": list(lanes.values()), "together": len(spans) > MAX_BARS,
        "left_out": {name: number for name, number in left_out.items() if number > 0},
    }  # fmt: skip


def _seconds(ms: int) -> float:
    return round(max(0, ms) / 1000, 3)


def _bars(spans: list[TaskSpan], titles: Callable[[str], str], start: int, length: int) -> list[tuple[str, TaskBar]]:
    if len(spans) <= MAX_BARS:
        return [(span.agent, _bar(span, titles, start)) for span in spans]
    groups: dict[tuple[str, str, int], list[TaskSpan]] = {}
    for span in spans:
        slot = (max(0, span.start - start) * TIME_SLOTS) // length
        groups.setdefault((span.agent, span.outcome, slot), []).append(span)
    return [(agent, _many(group, titles, start)) for (agent, _, _), group in groups.items()]


def _bar(span: TaskSpan, titles: Callable[[str], str], start: int) -> TaskBar:
    bar: TaskBar = {
        "task": span.id, "title": titles(span.id), "from": _seconds(span.start - start),
        "to": _seconds(span.end - start), "outcome": span.outcome,
    }  # fmt: skip
    if span.why:
        bar["why"] = span.why
    return bar


def _many(spans: list[TaskSpan], titles: Callable[[str], str], start: int) -> TaskBar:
    """Merge bars into one; a single one stays as it is."""
    if len(spans) == 1:
        return _bar(spans[0], titles, start)
    return {
        "count": len(spans), "tasks": [span.id for span in spans[:MAX_TASK_NAMES]], "outcome": spans[0].outcome,
        "from": _seconds(min(span.start for span in spans) - start),
        "to": _seconds(max(span.end for span in spans) - start),
    }  # fmt: skip


def _strips(claims: list[ClaimSpan], start: int, length: int) -> list[tuple[str, ClaimStrip]]:
    groups: dict[int | tuple[str, str, int], list[ClaimSpan]] = {}
    for place, claim in enumerate(claims):
        slot = (max(0, claim.start - start) * TIME_SLOTS) // length
        key = place if len(claims) <= MAX_BARS else (claim.agent, claim.why, slot)
        groups.setdefault(key, []).append(claim)
    return [(group[0].agent, _strip(group, start)) for group in groups.values()]


def _strip(claims: list[ClaimSpan], start: int) -> ClaimStrip:
    strip: ClaimStrip = {
        "resources": named(claims[0].resources)[:MAX_TASK_NAMES], "mode": claims[0].mode,
        "end": claims[0].why or "held",
        "from": _seconds(min(claim.start for claim in claims) - start),
        "to": _seconds(max(claim.end for claim in claims) - start),
    }  # fmt: skip
    if len(claims) > 1:
        strip["count"] = len(claims)
    return strip
