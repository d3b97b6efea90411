"""Moves of HEAD in a working tree that several agents share, reported after the fact.

The shell guard refuses a command that would visibly move HEAD under other agents (shared_tree.py). A script or a
program can do the same invisibly. Git's reflog has it; the agents at work in that tree are told, because their next
commit would land elsewhere, and the log has it in any case.
"""

from __future__ import annotations

from dibs.operations.agents.names import name_of
from dibs.operations.core.call import related
from dibs.operations.core.declare import ANYWHERE, Field, Operation
from dibs.operations.guards import audits, records
from dibs.operations.guards.edit_guard import is_present

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from dibs.operations.core.call import Call
    from dibs.operations.guards.requests import MovedRequest
    from dibs.stores.seam import Transaction

    Move = tuple[int, str, str, str]  # the end of its line in the reflog, the old commit, the new one, git's text

    class HeadMoveAnswer(TypedDict):
        """Of `moved`."""

        told: list[str]  # the agents at work there


MAX_MOVES_TOLD = 20  # one by one; a rebase makes many
GROWS = ("commit", "merge", "pull", "cherry-pick", "revert")  # these add to the branch: others continue where they were


def _moved(tx: Transaction, call: Call, request: MovedRequest) -> HeadMoveAnswer:
    """Log these moves, each once, and tell the agents at work there if their branch changed or was reset."""
    tree = request["tree"]
    reflog = records.get_reflog(tx, tree)
    # git shortens a reflog now and then
    told = reflog["size"] if reflog is not None and reflog["size"] <= request["size"] else 0
    new = [move for move in request["moves"] if move[0] > told]
    if not new:
        return {"told": []}
    records.put_reflog(tx, tree, {"size": max(end for end, *_ in new)})
    for _, old, commit, what in new[-MAX_MOVES_TOLD:]:
        tx.append("git.moved", call.agent, tree, {"from": old, "to": commit, "what": what[:200]})
    telling = [what for _, _, _, what in new if not what.startswith(GROWS)]
    if not telling:
        return {"told": []}
    from dibs.operations.messages import mailbox

    at_work = {record["agent"] for record in audits.others(tx, call, tree) if record["tree"] == tree}
    at_work |= {owner for owner in request["owners"] if not related(owner, call.agent) and is_present(tx, call, owner)}
    for agent in sorted(at_work):
        text = (
            f"HEAD of the working tree {tree} was moved while a command of {name_of(tx, call.agent)} ran "
            f"({telling[-1][:120] or 'git says no more'}). Look where you are before you commit (`git status`); "
            f"`git reflog` has what was there."
        )
        mailbox.post(tx, agent, call.voice, "head", text, tree=tree)
    return {"told": sorted(at_work)}


MOVED = Operation(
    "moved", _moved, "HEAD of this working tree was moved.", sent_by=ANYWHERE,
    fields=(
        Field("tree", "tree", "the top of the working tree", required=True),
        Field("size", "integer", "the size of git's reflog", required=True),
        Field("moves", "rows", "the moves", required=True,
              items=(
                  Field("end", "integer", "where its line ends in the reflog", required=True),
                  Field("old", "text", "the old commit", required=True),
                  Field("new", "text", "the new commit", required=True),
                  Field("what", "raw", "git's text", required=True),
              )),
        Field("owners", "words", "the agents with unfinished work there", default=()),
    ),
)  # fmt: skip

INTERNAL = (MOVED,)
