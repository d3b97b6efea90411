"""Claims and waiters as refusals, `status` and boot show them. Nothing is decided here."""

from __future__ import annotations

from dibs.operations.agents.records import get_agent
from dibs.operations.claims import records, resources
from dibs.operations.core.call import in_words, iso, process_name, span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.operations.claims.answers import BlockerView, ClaimView
    from dibs.operations.claims.records import Claim, Holding, Want
    from dibs.operations.claims.resources import Resource
    from dibs.stores.seam import Transaction

# What ends a claim before its deadline, by what made it (`by`) or by its own field `ends`.
EARLY_ENDS = {
    "edit": "ends with its commit", "commit": "ends with its commit", "shell": "ends with its command",
    "task": "ends with its task",
}  # fmt: skip
WANTED = 5  # names that an advised command has room for


def left(tx: Transaction, claim: Holding) -> str:
    """For how much longer a claim is held, and what ends it earlier: "29 min left; ends with its commit"."""
    ends = EARLY_ENDS.get(str(claim.get("ends") or claim["by"]), "")
    time = f"{in_words(claim['until'] - tx.now)} left" if claim["until"] > tx.now else "kept while its process runs"
    return time + (f"; {ends}" if ends else "")


def blocker(tx: Transaction, record: Holding, wanted: Sequence[Resource], asking: str = "") -> BlockerView:
    """One record in the way, as a refusal shows it. `asking`: the agent that is refused."""
    resource = resources.any_overlap(record["resources"], wanted)
    shown: BlockerView = {
        "agent": record["agent"],
        "resource": resources.show(resource if resource is not None else record["resources"][0]),
        "mode": record["mode"],
        "since": iso(tx, record["since"]),
        "until": iso(tx, record["until"]),
        "reason": record["reason"],
    }
    if resource is not None and resources.is_alias(resource):  # a hard link: name the path that holds it
        shown["resource"] = resources.shown(record["resources"])[0]
    if records.is_waiter(record):
        shown["waiting"] = True
        shown["until"] = iso(tx, record["deadline"])
    else:
        shown["left"] = left(tx, record)
        _add_holder(tx, record, shown)
    if asking and record["agent"].startswith(f"{asking}/"):
        shown["subagent"] = True
    if record.get("task"):
        shown["task"] = str(record.get("task"))
        title = records.title_of_task(tx, shown["task"])
        if title is not None:
            shown["title"] = title
    return shown


def _add_holder(tx: Transaction, record: Holding, shown: BlockerView) -> None:
    """What is known of the holder: that its process is gone, what it is doing, what it waits for, that it is idle.

    A claim that is not tied to a dead process lasts until its deadline.
    """
    agent = get_agent(tx, record["agent"])
    if agent is None:
        return
    if agent["process"] is not None and agent.get("mourned") == process_name(agent["process"]):
        shown["dead"] = True
    elif "waits" in agent:
        shown["now"] = f"has waited for a person for {span(tx.now - agent['waits']['since'])}"
    elif "limited" in agent:
        from dibs.operations.agents import limits

        shown["now"] = limits.words(tx, agent["limited"])
    elif "stalled" in agent:
        shown["now"] = f"stalled for {span(tx.now - agent['stalled'])}"
    elif "rested" in agent:
        shown["now"] = f"idle for {span(tx.now - agent['rested'])}"
    if agent.get("doing"):
        shown["doing"] = agent["doing"]


def contested(in_the_way: Iterable[Want], asked: Sequence[Resource]) -> list[Resource]:
    """What these are in the way of, of what was asked for."""
    held = [resource for record in in_the_way for resource in record["resources"]]
    return [wanted for wanted in asked if any(resources.overlap(wanted, other) for other in held)]


def wanted(contested: Sequence[Resource], asked: Sequence[Resource]) -> list[str]:
    """What was asked for, as a refusal names it: what is contested first, and the rest if that is little."""
    folders = [resource for resource in asked if resources.kind_of(resource) == "tree"]
    named = [
        resource
        for resource in [*contested, *[other for other in asked if other not in contested]]
        if not any(resource != folder and resources.covers(folder, resource) for folder in folders)  # the folder has it
    ]
    if len(asked) > WANTED:
        named = [resource for resource in named if resource in contested][:WANTED]
    return list(dict.fromkeys(resources.shown(named)))


def held(tx: Transaction, claim: Claim) -> ClaimView:
    """One claim, as status and boot show it."""
    shown: ClaimView = {
        "claim": claim["claim"],
        "agent": claim["agent"],
        "resources": resources.shown(claim["resources"]),
        "mode": claim["mode"],
        "token": claim["token"],
        "since": iso(tx, claim["since"]),
        "expires_at": iso(tx, claim["until"]),
        "left": left(tx, claim),
        "reason": claim["reason"],
        "task": claim["task"],
        "ttl": claim["ttl"] / 1000,
        "renewed_at": iso(tx, claim["renewed"] if "renewed" in claim else claim["since"]),
    }
    if claim["expect"]:
        shown["expected"] = claim["expect"] / 1000
    if claim["tree"]:
        shown["tree"] = claim["tree"]
    return shown
