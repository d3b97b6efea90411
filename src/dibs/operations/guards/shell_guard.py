"""The shell guard's decision: may this command run while others hold files here? Internal, run before a shell call.

Doors read the command's words and git's state and bring plain facts; the files that a command names one by one go to
the edit guard (edit_guard.py) like any other edit. Here it is about what a command does beyond that:
- sweeps: what git would do to files it does not name, to the branch and to the stashes of a working tree that is
  shared; working_tree.py decides it.
- targets that cannot be read from the words (`> $F`): refused while others hold claims in this working tree, or, where
  the words say in which folder it lies (`> build/$n`), while others hold something there.
- git's index and HEAD are one for a working tree, the stashes one for a repository: a command that touches them holds
  `git:index`, `git:head`, `git:stash` as long as it runs. One that was broken off, so that nobody told of its end, is
  taken over by the next git command of the same agent, and holds them for two minutes at most.
- dibs' own commands: an agent's shell speaks for that agent alone; speech.py decides it.
- deploys go through `dibs deploy`, which alone can hold the target, look whether the copy is stale, and verify.
"""

from __future__ import annotations

from dibs.errors import DibsError, Forbidden, Held
from dibs.operations.agents import roles
from dibs.operations.claims import endings, grants, holds, resources
from dibs.operations.core.declare import Operation
from dibs.operations.core.policy import MINUTE
from dibs.operations.guards import audits, working_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dibs.operations.core.call import Call, Record
    from dibs.stores.seam import Fetched, Transaction

# A git command takes seconds. A longer one goes on without; git itself lets no second one write its index meanwhile. It
# ends with the call, or with the process.
HELD_FOR = 2 * MINUTE
RUNS = "a git command runs"
SHOWN = 10  # claims named in a refusal


def _command(
    tx: Transaction,
    call: Call,
    got: Fetched,
    tree: str,
    sweeps: Sequence[dict[str, Any]] = (),
    unresolved: Sequence[str | dict[str, Any]] = (),
    index: Sequence[Sequence[str]] = (),
    acts: Sequence[str] = (),
    deploys: Sequence[Sequence[str]] = (),
    client: str = "",
    owned: Sequence[tuple[str, Sequence[str], Sequence[str]]] = (),
    spoken: Sequence[tuple[str, str]] = (),
) -> Any:
    """May it run? `owned` has the unfinished work that the ledger knows: working tree, path, whose it is.

    `spoken`: what it would have dibs itself do, and as whom.
    """
    agent = got.values[f"a\t{call.agent}"]
    for act in acts:
        refusal: DibsError | None = roles.refusal_to(call, agent, act, client)
        if refusal is not None:
            return _refuse(tx, call, act, refusal)
    if spoken:
        from dibs.operations.core import authority

        refusal = authority.refusal_to_speak(tx, call, spoken)
        if refusal is not None:
            return _refuse(tx, call, f"dibs {spoken[0][0]}", refusal)
    for command, target, against in deploys:
        refusal = roles.refusal_to(call, agent, "deploy", client) or _undeployed(command, target, against)
        return _refuse(tx, call, command, refusal)
    if sweeps or unresolved:
        others = audits.others(tx, call, "")
        unfinished = working_tree.unfinished(tx, call, owned, others) if sweeps else []
        for sweep in sweeps:
            counting = [one for one in [*others, *unfinished] if one["tree"] in {"", sweep.get("tree", tree)}]
            refusal = working_tree.refusal(tx, call, sweep, counting)
            if refusal is not None:
                return _refuse(tx, call, sweep["what"], refusal)
        refusal = _unreadable(tx, unresolved, others, tree)
        if refusal is not None:
            return _refuse(tx, call, refusal.fields["words"][0], refusal)
    return _hold(tx, call, index) if index else {"claims": []}


def _hold(tx: Transaction, call: Call, wanted: Sequence[Sequence[str]]) -> Any:
    """Git's index and what goes with it, as long as the command runs. What the agent holds anyway stays as it is."""
    normal = resources.normal(wanted)
    own = [
        claim
        for claim in holds.of_agent(tx, holds.CLAIM, call.agent)
        if claim["until"] > tx.now and not claim["pending"]
    ]
    if any(claim["by"] != audits.SHELL and resources.all_covered(normal, claim["resources"]) for claim in own):
        return {"claims": []}
    # Of a command that runs beside this one, or was broken off: this one takes it over, and its end is the end of both.
    freed: list[Any] = []
    for claim in own:
        if claim["by"] == audits.SHELL and all(resource[0] == "name" for resource in claim["resources"]):
            freed += claim["resources"]
            endings.give_back(tx, claim, claim["resources"], "released")
    both = [*wanted, *[[*one, ""] for one in freed if one not in normal]]
    ttl = min(HELD_FOR, call.policy.lifetime(normal, None)[0])
    held = grants.take(tx, call, None, both, by=audits.SHELL, ttl=ttl, reason=RUNS)
    if not isinstance(held, DibsError):
        return {"claims": [held["claim"]]}
    endings.serve(tx, freed)
    return _wait_a_moment(tx, call, normal, held) if isinstance(held, Held) else held


def _wait_a_moment(tx: Transaction, call: Call, wanted: Sequence[Sequence[str]], held: Held) -> Held:
    """Others' git commands are over in a moment: the door waits for them, and nobody is to take a claim by hand."""
    for record in holds.meeting(tx, wanted, ""):
        lasting = holds.CLAIM in record and record["until"] > tx.now and record["by"] != audits.SHELL
        if holds.WAITER in record or (lasting and endings.blocks(record, resources.WRITE, call.agent)):
            return held
    blockers = held.fields["blockers"]
    from dibs.operations.agents import names

    known = names.names_of(tx, [blocker["agent"] for blocker in blockers])
    return Held(
        f"a git command of {', '.join(known.values())} runs in this repository. Try again in a few seconds.",
        blockers=blockers, more=held.fields.get("more", 0), transient=True,
    )  # fmt: skip


def _undeployed(command: str, target: str, against: str) -> Forbidden:
    """A deploy by its bare command: nobody would hold the target, look for a stale copy, or verify."""
    now = f", and not now: {against}" if against else "."
    return Forbidden(
        f"`{command}` deploys to {target}{now} Run it as `dibs deploy {target} -- {command}`: that holds "
        f"deploy:{target}, fetches, refuses a stale copy, and verifies what came of it.",
        command=command,
        target=target,
    )


def _unreadable(
    tx: Transaction, unresolved: Sequence[str | dict[str, Any]], others: list[Record], tree: str
) -> Held | None:
    """The refusal of a command whose target may be somebody else's file; None if it certainly is not."""
    found: list[tuple[str, Record, list[list[str]]]] = []
    for doubt in unresolved:
        # A text alone may be anything in the working tree where the command is run.
        anywhere: dict[str, Any] = {"words": doubt, "tree": tree, "below": None}
        known = anywhere if isinstance(doubt, str) else doubt
        for record in others:
            if record["tree"] in {"", known["tree"]}:
                hits = [resource for resource in record["resources"] if _may_be(known["below"], resource)]
                found += [(known["words"], record, hits)] if hits else []
    if not found:
        return None
    words = list(dict.fromkeys([words for words, _, _ in found]))
    names = list(dict.fromkeys([resources.show(hit) for _, _, hits in found for hit in hits]))
    blockers = {record["claim"]: holds.blocker(tx, record, hits) for _, record, hits in found}
    return Held(
        f"which file this command would write cannot be read from its words ({', '.join(words[:3])}), and others hold "
        f"files here: {', '.join(names[:5])}. Write the file's name out.",
        blockers=list(blockers.values())[:SHOWN],
        more=max(0, len(blockers) - SHOWN),
        words=words,
    )


def _may_be(below: Sequence[Sequence[str]] | None, resource: Sequence[str]) -> bool:
    """Can a target that lies below these be this resource? None: below nothing in particular."""
    return working_tree.is_file(resource) and (below is None or any(resources.overlap(one, resource) for one in below))


def _refuse(tx: Transaction, call: Call, what: str, error: DibsError) -> DibsError:
    tx.append("command.refused", call.agent, what[:200], {"code": error.code})
    return error


COMMAND = Operation("command", _command, "May this command run now?", takes=True)
