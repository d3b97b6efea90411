"""The shell guard's decision: may this command run while others hold files here? Internal, run before a shell call.

Doors read the command's words and git's state and bring plain facts; the files that a command names one by one go to
the edit guard (edits.py) like any other edit. Here it is about what a command does beyond that:
- sweeps: `git add -A`, `commit -a`, `stash`, `checkout .`, `reset --hard`, `merge` … take in or overwrite whatever they
  find. If that is somebody else's, the command is refused with the list and what to run instead.
- targets that cannot be read from the words (`> $F`): refused while others hold claims in this working tree, or, where
  the words say in which folder it lies (`> build/$n`), while others hold something there.
- git's index is one for a working tree: a command that touches it holds `git:index` as long as it runs.
- deploys go through `dibs deploy`, which alone can hold the target, look whether the copy is stale, and verify.
"""

from __future__ import annotations

from dibs.errors import DibsError, Forbidden, Held
from dibs.operations import audits, claims, holds, resources, roles
from dibs.operations.declare import Operation
from dibs.operations.policy import MINUTE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dibs.operations.call import Call, Record
    from dibs.stores.seam import Fetched, Transaction

INDEX_TTL = 10 * MINUTE  # longer than a client lets a command run; it ends with the call, or with the process
SHOWN = 10  # files named in a refusal


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
) -> Any:
    agent = got.values[f"a\t{call.agent}"]
    for act in acts:
        refusal: DibsError | None = roles.refusal_to(call, agent, act, client)
        if refusal is not None:
            return _refuse(tx, call, act, refusal)
    for command, target, against in deploys:
        refusal = roles.refusal_to(call, agent, "deploy", client) or _undeployed(command, target, against)
        return _refuse(tx, call, command, refusal)
    if sweeps or unresolved:
        others = audits.others(tx, call, "")
        for sweep in sweeps:
            refusal = _swept(tx, sweep, [one for one in others if one["tree"] in {"", sweep.get("tree", tree)}])
            if refusal is not None:
                return _refuse(tx, call, sweep["what"], refusal)
        refusal = _unreadable(tx, unresolved, others, tree)
        if refusal is not None:
            return _refuse(tx, call, refusal.fields["words"][0], refusal)
    return _hold_index(tx, call, index) if index else {"claims": []}


def _hold_index(tx: Transaction, call: Call, index: Sequence[Sequence[str]]) -> Any:
    """Git's index, as long as the command runs. What the agent holds of it anyway is left as it is."""
    normal = resources.normal(index)
    for claim in holds.of_agent(tx, holds.CLAIM, call.agent):
        if claim["until"] > tx.now and not claim["pending"] and resources.all_covered(normal, claim["resources"]):
            if claim["by"] != audits.SHELL:
                return {"claims": []}
            claim["uses"] = claim.get("uses", 1) + 1  # another command of this agent runs: the last one gives it back
            holds.put(tx, claim)
            return {"claims": [claim["claim"]]}
    ttl = min(INDEX_TTL, call.policy.lifetime(normal, None)[0])
    held = claims.take(tx, call, None, index, by=audits.SHELL, ttl=ttl, reason="a git command runs")
    return held if isinstance(held, DibsError) else {"claims": [held["claim"]]}


def _is_file(resource: Sequence[str]) -> bool:
    return resource[0] in resources.LITERAL or resource[0] == "glob"


def _undeployed(command: str, target: str, against: str) -> Forbidden:
    """A deploy by its bare command: nobody would hold the target, look for a stale copy, or verify."""
    now = f", and not now: {against}" if against else "."
    return Forbidden(
        f"`{command}` deploys to {target}{now} Run it as `dibs deploy {target} -- {command}`: that holds "
        f"deploy:{target}, fetches, refuses a stale copy, and verifies what came of it.",
        command=command,
        target=target,
    )


def _swept(tx: Transaction, sweep: dict[str, Any], others: list[Record]) -> Held | None:
    """The refusal of a command that would take in or overwrite other agents' files; None if it would not."""
    found: list[tuple[str, Record]] = []
    paths: list[str] | None = sweep["paths"]
    known = set(paths or ())
    for record in others:
        for resource in record["resources"]:
            if not _is_file(resource):
                continue
            if paths is None:
                hits = [resources.show(resource)]
            elif resource[0] == "file":
                hits = [resource[1]] if resource[1] in known else []
            else:
                hits = [path for path in paths if resources.overlap(["file", path], resource)]
            found += [(hit, record) for hit in hits]
    if not found:
        return None
    named = "; ".join(
        [f"{path} ({record['agent']} until {_until(tx, record)})" for path, record in found[:SHOWN]]
        + ([f"and {len(found) - SHOWN} more"] if len(found) > SHOWN else [])
    )
    blockers = [holds.blocker(tx, record, [["file", path]]) for path, record in found[:SHOWN]]
    free = [path for path in paths or () if path not in {hit for hit, _ in found}]
    instead = _instead(sweep, free)
    return Held(
        f"`{sweep['what']}` would {sweep['does']} files that others hold: {named}. {instead}",
        blockers=blockers,
        more=max(0, len(found) - SHOWN),
        files=[path for path, _ in found[:SHOWN]],
        instead=instead,
    )


def _instead(sweep: dict[str, Any], free: list[str]) -> str:
    """The safe command: the same for the files that nobody else holds, or another way altogether."""
    if sweep.get("safe") and free:
        listed = " ".join([_quoted(path) for path in free[:SHOWN]]) + (" …" if len(free) > SHOWN else "")
        return f"Run `{sweep['safe']} {listed}` instead."
    return str(
        sweep.get("else")
        or "Name your own files one by one, or work in a working tree of your own (`git worktree add`)."
    )


def _quoted(path: str) -> str:
    plain = all(letter.isalnum() or letter in "/._-+@%," for letter in path)
    return path if plain else "'" + path.replace("'", "'\\''") + "'"


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
    return _is_file(resource) and (below is None or any(resources.overlap(one, resource) for one in below))


def _until(tx: Transaction, record: Record) -> str:
    from dibs.operations.call import iso

    return iso(tx, record["until"])


def _refuse(tx: Transaction, call: Call, what: str, error: DibsError) -> DibsError:
    tx.append("command.refused", call.agent, what[:200], {"code": error.code})
    return error


COMMAND = Operation("command", _command, "May this command run now?", takes=True)
