"""The result of a round: counted from the files and the journals, and for the round with dibs also from its log.

An edit was made if its agent noted it, on the disk, after writing; it is lost if the file does not have it at the end.
"""

from __future__ import annotations

import dibs
from dibs.demo import files, plan
from dibs.stores.seam import read_event
from dibs.verify.checker import verify_store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.demo.files import JournalLine
    from dibs.demo.fleet import Round
    from dibs.demo.results import GuardedResult, GuardFindings, RefusalSample, RoundCounts, RoundResult
    from dibs.stores.seam import LogEvent

PAGE_EVENTS = 1_000  # read at a time
REQUIRED_FIELDS = ("agent", "resource", "since", "until")  # in a refusal, for each blocker
MAX_SAMPLES = 3  # of refusals, as texts
LOSS_REASONS = ("gone", "epoch")  # the holder's process was dead, or a server lost commits and all claims were void


def count(played: Round) -> RoundCounts:
    """Compare the files with the journals."""
    wrote = [line["edit"] for line in played.wrote]
    contents = [files.read(f"{played.repo}/{file}") for file in plan.FILES]
    there = [edit for content in contents for edit in content.edits]
    lost = sorted(set(wrote) - set(there))
    return {
        "edits": len(wrote),
        "in_files": len(set(wrote) & set(there)),
        "lost": len(lost),
        "lost_edits": lost,
        "twice": len(there) - len(set(there)),
        "not_in_journals": len(set(there) - set(wrote)),
        "counters": sum(content.count for content in contents),
        "killed": plan.agent_with(plan.DIES),
        "paused": plan.agent_with(plan.PAUSES),
        "paused_seconds": played.paused_for / 1000,
        "overwritten_by_paused": played.overwritten,
        "seconds": played.milliseconds / 1000,
    }


def examine(played: Round) -> GuardFindings:
    """Further results of the round with dibs: refusals, the stale token, the dead holder's file, the log."""
    with dibs.open(played.repo) as workspace:
        report = verify_store(workspace.store)
        events = _events(workspace.store)
    refused = [event for event in events if event["kind"] == "claim.refused"]
    unexplained = [line for line in played.refused if not _explained(line)]
    return {
        "refusals": len(played.refused),
        "refusals_explained": len(played.refused) - len(unexplained),
        "refusals_in_log": len(refused),
        "samples": _samples(played.refused),
        "stale_tokens_refused": len(played.stale),
        "stale": [
            {
                "agent": line["agent"],
                "file": line["file"],
                "token": line["token"],
                "holder": line["holder"],
                "message": line["message"],
            }
            for line in played.stale
        ],
        "busy": played.busy,
        "dead_holder": _inheritance(events, played),
        "verify": {"ok": report.ok, **report.as_json()},
    }


def failures(without: RoundResult, with_dibs: GuardedResult) -> list[str]:
    """The promises that the round with dibs broke; empty if none."""
    wrong = []
    if with_dibs["lost"]:
        wrong.append(f"{with_dibs['lost']} edits were lost with dibs: {', '.join(with_dibs['lost_edits'][:5])}")
    if with_dibs["counters"] != with_dibs["edits"] or with_dibs["twice"] or with_dibs["not_in_journals"]:
        wrong.append(f"the counters say {with_dibs['counters']}, the journals {with_dibs['edits']}")
    if with_dibs["edits"] != without["edits"]:
        wrong.append(f"{without['edits']} edits were made without dibs, {with_dibs['edits']} with it")
    unexplained = with_dibs["refusals"] - with_dibs["refusals_explained"]
    if unexplained:
        wrong.append(f"{unexplained} refusals do not say who, what, since and until")
    if not with_dibs["stale_tokens_refused"]:
        wrong.append("the stale token was not refused")
    if with_dibs["dead_holder"] is None:
        wrong.append("the killed agent's claim was not taken from it")
    if not with_dibs["verify"]["ok"]:
        first = with_dibs["verify"]["findings"][0]
        wrong.append(f"verify found {with_dibs['verify']['found']}, first at event {first['seq']}: {first['message']}")
    return wrong


def _explained(line: JournalLine) -> bool:
    """Does the refusal name a holder, and for each holder what, since when and until when?"""
    return bool(line["blockers"]) and all(blocker.get(name) for blocker in line["blockers"] for name in REQUIRED_FIELDS)


def _samples(refused: list[JournalLine]) -> list[RefusalSample]:
    """A few refusals as texts, each about another file."""
    chosen: dict[str, RefusalSample] = {}
    for line in sorted(refused, key=lambda line: len(line["blockers"])):
        if len(chosen) < MAX_SAMPLES and line["file"] not in chosen:
            chosen[line["file"]] = {"agent": line["agent"], "file": line["file"], "message": line["message"]}
    return list(chosen.values())


def _inheritance(events: list[LogEvent], played: Round) -> dict[str, Any] | None:
    """The next holder of the dead agent's file, and the time after the kill."""
    dead = plan.agent_with(plan.DIES)
    ended = [
        e for e in events if e["kind"] == "claim.ended" and e["agent"] == dead and e["data"]["why"] in LOSS_REASONS
    ]
    if not ended:
        return None
    file = plan.file_of(played.size, plan.DIES)
    for event in events:
        if (
            event["seq"] > ended[0]["seq"]
            and event["kind"] == "claim.granted"
            and file in [resource[1] for resource in event["data"]["resources"]]
        ):
            return {
                "agent": dead,
                "file": file,
                "next": event["agent"],
                "milliseconds": max(0, event["wall"] - played.killed_at),
                "deadline": played.deadline_of_killed,
            }
    return None


def _events(store: Any) -> list[LogEvent]:
    found: list[LogEvent] = []
    while page := store.events(found[-1]["seq"] if found else 0, PAGE_EVENTS):
        found += [read_event(event) for event in page]
    return found
