"""A working tree that was removed: its claims end, and the unfinished work that was in it is kept and told.

Agents' clients and people remove linked working trees (`git worktree remove --force`, `rm -rf`), and no hook runs
then. The ledgers outlive them: the next look of any process of dibs finds a ledger without its tree, and reports it.

- success: each claim in that tree ends (`removed`), and those of the tree itself; each unfinished file can be
  restored into another working tree, its owners get a message, and one alert names them.
- retry: a report of the same ledger has no second effect; the kept contents are named by it.
"""

from __future__ import annotations

from dibs.errors import quoted
from dibs.operations.agents.names import name_of
from dibs.operations.claims import endings, resources
from dibs.operations.claims import records as claim_records
from dibs.operations.core.call import FOLLOW_UPS
from dibs.operations.core.declare import HOSTS, Field, Operation
from dibs.operations.environments import records as tree_records
from dibs.operations.environments import tree_claims
from dibs.operations.guards import records
from dibs.operations.guards.edit_guard import OWNERS, PATH
from dibs.operations.messages import mailbox

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypedDict

    from dibs.operations.claims.resources import Resource
    from dibs.operations.core.call import Call
    from dibs.operations.guards.requests import TreeRemovedRequest, TreeReturnedRequest
    from dibs.stores.seam import Transaction

    Work = tuple[str, Resource, str, Sequence[str]]  # the id of its copy, the path, the content, the owners

    class RemovedTreeAnswer(TypedDict):
        """Of `tree-removed`."""

        ended: list[str]  # the claims that were void with it
        kept: list[str]  # under which its unfinished work is kept

    class TreeReturnedAnswer(TypedDict):
        """Of `tree-returned`."""

        restored: list[str]  # the contents that were kept of it


MAX_CLAIMS_READ = 2_000
MAX_OWNERS_TOLD = 20
SHOWN = 5  # files in a text
HOW = "removed"  # what became of the kept content


def _removed(tx: Transaction, call: Call, request: TreeRemovedRequest) -> RemovedTreeAnswer:
    """Report it. `age`: another tree is at that place for so many ms, and claims since then are that one's."""
    tree = request["tree"]
    claims = claim_records.all_claims(tx, MAX_CLAIMS_READ)[0]
    ended = [claim for claim in claims if claim["tree"] == tree and claim["since"] <= tx.now - request["age"]]
    for claim in ended:
        endings.end(tx, claim, HOW)
    endings.serve(tx, [resource for claim in ended for resource in claim["resources"]])
    tree_claims.end_all(tx, tree_records.id_of_tree(request["name"], call.place), HOW)
    known = records.get_kept_of(tx, [f"v{identifier}" for identifier, *_ in request["work"]])
    new = [item for item in request["work"] if known[f"v{item[0]}"] is None and item[3]]
    by_owner: dict[str, list[str]] = {}
    for identifier, path, content, owners in new:
        text = resources.show(path)
        kept = records.new_kept(tx, f"v{identifier}", text, tree, holder=owners[0], by="", blob=content)
        kept.update({"how": HOW, "ledger": request["name"]})
        records.put_kept(tx, kept, call.place)
        for owner in owners:
            by_owner.setdefault(owner, []).append(text)
    if by_owner:
        _tell(tx, call, tree, request["name"], by_owner, [resources.show(item[1]) for item in new])
    return {"ended": [claim["claim"] for claim in ended], "kept": [f"v{item[0]}" for item in new]}


def _returned(tx: Transaction, call: Call, request: TreeReturnedRequest) -> TreeReturnedAnswer:
    """All of it was brought back as a whole: nothing of it is missing any more."""
    from dibs.operations.alerts import lifecycle

    back = [
        record
        for record in records.all_kept(tx)
        if record.get("ledger") == request["name"]
        and records.place_of(record) == call.place
        and not record.get("restored")
    ]
    for record in back:
        records.put_kept(tx, {**record, "restored": True}, call.place)
        data = {"id": record["violation"], "tree": request["tree"], "was": "", "now": record["blob"], "undo": ""}
        tx.append("edit.restored", call.agent, record["path"], data)
        lifecycle.note_restored(tx, call, request["name"])
    return {"restored": [record["violation"] for record in back]}


def _tell(tx: Transaction, call: Call, tree: str, name: str, by_owner: dict[str, list[str]], paths: list[str]) -> None:
    from dibs.operations.alerts import suspicions

    owners = sorted(by_owner)
    tx.append("tree.removed", call.voice, tree, {"owners": owners, "paths": paths[:16], "count": len(paths)})
    for owner in owners[:MAX_OWNERS_TOLD]:
        files = _few(by_owner[owner])
        text = (
            f"the working tree {tree} was removed with what you had not committed in it: {files}. It is kept: "
            f"`dibs restore --tree {quoted(_name(tree))}` brings the whole tree back, and `dibs restore PATH` writes "
            "one file into the working tree in which you run it."
        )
        mailbox.post(tx, owner, call.voice, HOW, text, tree=tree)
    suspicions.put(
        tx, HOW, name, owners[0], event=tree, told=owners, tree=tree, owners=[name_of(tx, one) for one in owners],
        paths=paths[:16], count=len(paths), reporter=call.reporter,
    )  # fmt: skip
    FOLLOW_UPS.suspicions(tx, call)


def _name(tree: str) -> str:
    return tree.rstrip("/").rpartition("/")[2] or tree


def _few(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


REMOVED = Operation(
    "tree-removed", _removed, "A working tree was removed.", sent_by=HOSTS,
    fields=(
        Field("tree", "tree", "the top that it had", required=True),
        Field("name", "text", "its ledger", required=True),
        Field("work", "rows", "the unfinished work in it", default=(),
              items=(
                  Field("id", "channel", "its copy", required=True),
                  PATH,
                  Field("content", "text", "the content", required=True),
                  OWNERS,
              )),
        Field("age", "integer", "for how many ms another working tree is there", default=0),
    ),
    registers=False,
)  # fmt: skip

RETURNED = Operation(
    "tree-returned", _returned, "All of a removed working tree was brought back.", sent_by=HOSTS,
    fields=(
        Field("name", "text", "its ledger", required=True),
        Field("tree", "tree", "the top that it has now", required=True),
    ),
)  # fmt: skip

INTERNAL = (REMOVED, RETURNED)
