"""Pushes: over the commits of other agents on any branch, and past git's hook, which has the deploy guard.

A push that takes commits of an agent at work off a branch of a remote is refused to agents. A person's passes, and the
agents are told. A push that bypassed the hook is an event, and an alert for a person:

- success: one event and one alert for each commit and branch; who pushed is whom git names, which is not certain.
- retry: the same push once more is counted with its alert, and has one more event.
"""

from __future__ import annotations

from dibs.errors import Forbidden, quoted
from dibs.operations.core.call import FOLLOW_UPS
from dibs.operations.core.declare import ANYWHERE, Field, Operation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from dibs.errors import DibsError
    from dibs.operations.core.call import Call
    from dibs.operations.guards.requests import PushBypassedRequest, PushOverRequest
    from dibs.operations.guards.shared_tree import TreeEffect
    from dibs.stores.seam import Transaction

    class PushOverAnswer(TypedDict):
        """Of `push-over`."""

        told: list[str]  # the agents whose commits it takes off the branch

    class PushBypassedAnswer(TypedDict):
        """Of `push-bypassed`."""

        commit: str


def _over(tx: Transaction, call: Call, request: PushOverRequest) -> DibsError | PushOverAnswer:
    """May the branch lose these commits there? `makers` has an agent of each, with one of its commits."""
    from dibs.operations.guards import shared_tree

    makers = request["makers"]
    where = f"{request['remote']}/{request['branch']}"
    if not call.fallback or call.agent != call.fallback:
        effect: TreeEffect = {"what": "git push", "does": f"take off {where}", "makers": makers}
        return shared_tree.rewritten(tx, call, effect) or {"told": []}
    from dibs.operations.messages import mailbox

    at_work = [agent for agent in sorted(makers) if shared_tree.is_at_work(tx, call, agent)]
    for agent in at_work:
        commit = makers[agent][:10]
        text = (
            f"{call.name} pushes to {where} without {commit}, a commit of yours, which that branch had. If it is to be "
            f"there again: `git fetch`, then `git cherry-pick {quoted(commit)}` on top of it."
        )
        mailbox.post(tx, agent, call.voice, "push", text, commit=makers[agent])
    return {"told": at_work}


def _pushed(tx: Transaction, call: Call, request: PushBypassedRequest) -> PushBypassedAnswer:
    from dibs.operations.alerts import suspicions

    commit = request["commit"]
    data = {"remote": request["remote"], "branch": request["branch"], "by": request["by"]}
    tx.append("push.unverified", call.voice, commit, data)
    suspicions.put(
        tx, "bypass", f"{request['remote']}/{request['branch']} {commit}", "", event=commit, push=data, commit=commit,
        paths=[], holders=[],
        reporter=call.reporter,
    )  # fmt: skip
    FOLLOW_UPS.suspicions(tx, call)
    return {"commit": commit}


OVER = Operation(
    "push-over", _over, "May a branch of a remote lose these commits?", sent_by=ANYWHERE,
    fields=(
        Field("remote", "ref", "the remote", required=True),
        Field("branch", "ref", "the branch there", required=True),
        Field("makers", "texts", "the commits that would go, by their agents", required=True, longest=200),
    ),
    errors=(Forbidden,),
)  # fmt: skip
PUSHED = Operation(
    "push-bypassed", _pushed, "Report a push that bypassed git's hook.", sent_by=ANYWHERE,
    fields=(
        Field("remote", "ref", "the remote", required=True),
        Field("branch", "ref", "the branch there", required=True),
        Field("commit", "ref", "the commit that it has now", required=True),
        Field("by", "text", "whom git names", default="", longest=200),
    ),
    registers=False,
)  # fmt: skip

INTERNAL = (OVER, PUSHED)
