"""Sweeps: finding what came due while nobody looked. Each is bounded; what is left waits for the next.

Nothing depends on a sweep being run: an ended claim blocks nobody, because everybody who looks decides by the clock. A
sweep makes it visible in the log, wakes those who wait, raises alerts and keeps the store small. Every claim does a
little of it, so that a store in use needs no sweeper; `dibs sweep` does all of it, and alone does what the config says
of old events.
"""

from __future__ import annotations

from dibs import jsontext
from dibs.errors import Invalid, NotFound
from dibs.operations.claims import endings, holds
from dibs.operations.core import long_jobs
from dibs.operations.core.call import due
from dibs.operations.core.declare import Field, Operation
from dibs.operations.core.policy import ABSURD
from dibs.stores.seam import AFTER_KEY, digest_of, prefix_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.operations.core.call import Call, Record
    from dibs.stores.seam import Fetched, Transaction

A_FEW = 8  # due records that are looked at after an agent's call
MANY = 256  # due records that one `sweep` transaction looks at
AGENTS = 500  # agents whose process is looked at in one sweep
PLACE = "sw"  # where the agents that the last sweep looked at end, while there are more
KEEP = 30 * 86_400_000  # a month of the log
SEAL_EVERY = 86_400_000  # where the config says how long events are kept: so the oldest are a day too many
MOST_SEALS = 10_000  # looked at; pruning drops those before the one that it goes by


def some(tx: Transaction, limit: int) -> dict[str, int]:
    """Look at up to `limit` records that came due, and do what is due."""
    page = tx.scan(2, "due\t", limit, before=due(tx.now + 1))
    done = {"claims": 0, "waiters": 0, "interests": 0, "answers": 0, "alerts": 0, "more": int(page.truncated)}
    done["looked_at"] = len(page.rows)
    if not page.rows:
        return done
    from dibs.operations.claims import waiters

    freed: list[Any] = []
    for _, key, record in page.rows:
        held = holds.CLAIM in record and not key.startswith("l\t")  # not the memory of a claim that was lost
        if (held or holds.WAITER in record) and record["until"] > tx.now:
            waiters.alert(tx, record)
            holds.put(tx, record)
            done["alerts"] += 1
        elif held:
            endings.expire(tx, record)
            freed += record["resources"]
            done["claims"] += 1
        elif holds.WAITER in record:
            endings.drop_waiter(tx, record, "lapsed")
            freed += record["resources"]
            done["waiters"] += 1
        elif holds.INTEREST in record:
            holds.remove(tx, record)
            tx.append("interest.ended", record["agent"], record["interest"], {"why": "lapsed"})
            done["interests"] += 1
        else:
            done["more"] |= not _other(tx, key, record)
            done["answers"] += 1
    endings.serve(tx, freed)
    return done


def _other(tx: Transaction, key: str, record: Record) -> bool:
    """What came due and is neither claim, waiter nor interest: each family has its own way to end.

    Says whether that is done; a large run goes in parts.
    """
    family = key.partition("\t")[0]
    if family == "vo":
        from dibs.operations.shared import votes

        votes.came_due(tx, key, record)
    elif family == "eg":
        from dibs.operations.shared import documents

        documents.forget(tx, key, record)
    elif family == "m":
        from dibs.operations.messages import mailbox

        mailbox.expire(tx, key, record)
    elif family == "ml":
        from dibs.operations.messages import broadcasts

        broadcasts.lapse(tx, key, record)
    elif family == "u":
        from dibs.operations.runs import run_endings

        return run_endings.came_due(tx, record)
    else:  # an old answer to a request id, or a loss nobody came back to hear of
        tx.delete(key)
    return True


def _sweep(tx: Transaction, call: Call, got: Fetched) -> dict[str, Any]:
    from dibs.operations.tasks import due_tasks

    done = {**some(tx, MANY), "agents": 0, "sealed": 0, "pruned": 0}
    came = due_tasks.promote(tx, call)
    done["tasks"] = came.done
    left = call.jobs[long_jobs.help_on(tx, call.jobs[0]) :] if call.jobs else []  # one step is enough for a transaction
    dead_more = _end_of_the_dead(tx, call, done)
    more = bool(done.pop("more")) or came.more or bool(left) or dead_more
    del done["looked_at"]
    due = _due_for_the_log(tx, call)
    if due and not any(done.values()):  # by itself: a seal stands where the log ends, and nothing may come between
        if due == "sealed":
            _seal(tx, call, None)
        else:
            _prune(tx, call, None, call.policy.work["log"]["keep"])
        done[due] = 1
    return {"swept": done, "more": more or bool(due)}


def _end_of_the_dead(tx: Transaction, call: Call, done: dict[str, int]) -> bool:
    """End the claims of agents whose process is gone, up to MANY; says whether there may be more of these.

    When there are none, agents that are gone for good are forgotten. In a workspace that has known many agents, each
    sweep looks at those after the last.
    """
    low, high = prefix_range("a\t")
    last: Record | None = tx.fetch([PLACE]).values[PLACE]
    found = tx.fetch((), [(low if last is None else f"a\t{last['agent']}{AFTER_KEY}", high)], AGENTS)
    suspects = [agent for _, agent in found.rows if agent["process"] is not None and not agent["left"]]
    call.know([agent["process"] for agent in suspects])
    freed: list[Any] = []
    ended, cut = 0, ""
    for agent in suspects:
        if call.alive(agent["process"]) is not False:
            continue
        for claim in holds.of_agent(tx, holds.CLAIM, agent["agent"]):
            if claim["tied"] and ended < MANY:
                endings.end(tx, claim, "gone")
                freed += claim["resources"]
                ended += 1
        if ended >= MANY:
            cut = agent["agent"]
            break
    endings.serve(tx, freed)
    done["claims"] += ended
    dead = [agent for agent in suspects if call.alive(agent["process"]) is False]
    if dead:
        from dibs.operations.agents import deaths

        deaths.tell(tx, call, dead)
    if cut:  # the next sweep begins with the same agent: it may hold more
        before = [agent["agent"] for _, agent in found.rows if agent["agent"] < cut]
        if before:
            tx.put(PLACE, {"agent": before[-1]})
        return True
    from dibs.operations.agents import forgotten

    done["agents"] = forgotten.some(tx, call, [agent for _, agent in found.rows])
    if found.truncated:
        tx.put(PLACE, {"agent": found.rows[-1][1]["agent"]})
    elif last is not None:
        tx.delete(PLACE)
    return False


# --- the log


def _due_for_the_log(tx: Transaction, call: Call) -> str:
    """What the config says of old events: it is to be `sealed`, each day, or `pruned` of what is older than `keep`."""
    keep: int = call.policy.work["log"]["keep"]
    if not keep:
        return ""
    seals = _seals(tx)
    if not seals or tx.now - seals[-1]["at"] >= min(SEAL_EVERY, keep):
        return "sealed"
    old = [seal for seal in seals if seal["at"] <= tx.now - keep]
    return "pruned" if old and not old[-1].get("pruned") else ""


def _seals(tx: Transaction) -> list[Record]:
    """Where seals stand, the oldest first."""
    return [seal for _, seal in tx.fetch((), [prefix_range("s\t")], MOST_SEALS).rows]


def _key_of(seal: Record) -> str:
    return f"s\t{seal['seq']:015d}"


def _seal(tx: Transaction, call: Call, got: Fetched | None) -> dict[str, Any]:
    """What is live now, written down beside the log, so that everything before may be pruned later."""
    found, _ = holds.every(tx, holds.CLAIM, 1_000_000)
    kept = ("claim", "agent", "resources", "mode", "tree", "until", "token")
    claims = [{key: claim[key] for key in kept} for claim in found]
    tail = tx.tail()
    seq, link = tail.seq, tail.link
    body = jsontext.encode({"claims": claims, "token": tail.commit})
    tx.seal(body)
    seal = {"seq": seq, "link": link, "at": tx.now}
    tx.put(_key_of(seal), seal)
    tx.append("log.sealed", call.agent, "", {"through": seq, "link": link, "digest": digest_of(body)})
    return {"seq": seq, "link": link, "claims": len(claims)}


def _prune(tx: Transaction, call: Call, got: Fetched | None, keep: int | None = None) -> dict[str, Any]:
    """Drop the events before the newest seal that is older than `keep`. That seal stays: there `verify` begins.

    What is younger than the config's `[log] keep` (a month where it is silent) stays, whoever asks.
    """
    least: int = call.policy.work["log"]["keep"] or KEEP
    keep = least if keep is None else keep
    if keep < least:
        text = f"the last {least / 3_600_000:g} h of the log are kept ([log] keep in the config, 30d if it is silent)."
        raise Invalid(f"keep: {text}", field="keep", least=least)
    old = [seal for seal in _seals(tx) if seal["at"] <= tx.now - keep]
    if not old:
        raise NotFound("no seal is that old: `dibs seal` makes one, and events before a seal can be pruned.")
    through = old[-1]["seq"]
    for seal in old[:-1]:
        tx.delete(_key_of(seal))
    tx.put(_key_of(old[-1]), {**old[-1], "pruned": True})
    tx.prune(through)
    tx.append("log.pruned", call.agent, "", {"through": through})
    return {"through": through}


OPERATIONS = (
    Operation(
        "sweep",
        _sweep,
        "End claims that expired or whose process died, raise alerts, and drop old events as the config says.",
        group="record",
        may="worker",
        registers=False,
        answer="SweepAnswer",
    ),
    Operation(
        "seal",
        _seal,
        "Write a seal (the live claims at this point), up to which the log can be pruned.",
        group="record",
        may="orchestrator",
        registers=False,
        answer="SealAnswer",
    ),
    Operation(
        "prune",
        _prune,
        "Drop the events before the newest seal older than --keep.",
        group="record",
        fields=(
            Field(
                "keep",
                "duration",
                "keep that much of the log (default, and least: [log] keep in the config, or 30d)",
                most=ABSURD,
                metavar="D",
            ),
        ),
        errors=(NotFound, Invalid),
        may="person",
        registers=False,
        answer="PruneAnswer",
        destructive=True,
    ),
)
