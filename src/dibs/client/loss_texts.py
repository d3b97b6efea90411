"""How an agent is told what it does not have (any more): tasks first, each with its holder; then the rest.

One copy of these sentences, for the clients' hooks and for `dibs boot`. operations/agents/beliefs.py decides who has
what.
"""

from __future__ import annotations

from dibs.errors import named, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.client.memory_files import BootDecision
    from dibs.operations.agents.answers import BootAnswer, Briefing, LossView

SHOWN = 12  # of each kind; a briefing is read only if it is short
RESOURCES = 5  # of one claim
WHY = {
    "expired": "it expired", "gone": "its process was gone", "killed": "the agent was stopped",
    "unclaimed": "it was handed over and not picked up", "not held": "you do not hold it",
    "cancelled": "it was cancelled", "preempted": "more urgent work came first",
    "forced": "it was taken away", "removed": "its working tree was removed",
    "handover": "it was handed over", "limited": "you were at a limit, and it was offered to others",
    "epoch": "the server was restarted and may have lost what it had granted",
}  # fmt: skip
OPEN = ("discovery", "scoped")  # states that come before one in which a task can be taken
OVER = ("complete", "failed", "cancelled", "quarantined")


def first(result: BootDecision | BootAnswer) -> list[str]:
    """What has to be read before anything else: the tasks that are not the agent's, and an id that is another's."""
    found = [loss for loss in result["lost"] if _task_of(loss)]
    lines = [_about_task(loss) for loss in found[:SHOWN]] + _more(len(found))
    rival = result.get("rival")
    if rival:
        lines.append(
            f"Your environment calls you {rival['id']}, but that is {named(rival)}, another session that is still "
            "there: what it has is not yours. Use an id of your own."
        )
    return lines


def rest(result: Briefing) -> list[str]:
    """The other losses, each with its present holder."""
    found = [loss for loss in result["lost"] if not _task_of(loss)]
    lines = []
    for loss in found[:SHOWN]:
        holder = f"{named(loss, 'holder')} holds it now" if loss["holder"] else "nobody holds it now"
        todo = "Stop working on it" if loss["holder"] else "Claim it again before you continue"
        names = ", ".join(loss["resources"][:RESOURCES])
        lines.append(f"You LOST {names} {_when(loss)}; {holder}. {todo}{_settle(loss)}.")
    return lines + _more(result["lost_count"] - len(result["lost"]) + len(found))


def _task_of(loss: LossView) -> str:
    return next((name[5:] for name in loss["resources"] if name.startswith("task:")), "")


def _about_task(loss: LossView) -> str:
    task = _task_of(loss)
    lost = f"You LOST {task} {_when(loss)}. " if loss["had"] else ""
    state = loss.get("state")
    if loss["holder"]:
        now = f"{named(loss, 'holder')} took {task} {loss['since_ago']} ago: do not work on it"
    elif state in OVER:
        by = [f"by {named(loss, 'finished_by')}"] if loss.get("finished_by") else []
        how = ", ".join([*by, *([f"{loss['since_ago']} ago"] if loss.get("since_ago") else [])])
        now = f"{task} is {state}{f' ({how})' if how else ''}: do not work on it"
    elif state in OPEN:
        now = (
            f"{task} is nobody's and still {state}: do not work on it before it is planned "
            f"(`dibs task move {quoted(task)} planned`) and you have claimed it (`dibs task claim {quoted(task)}`)"
        )
    else:
        how = f"dibs task claim {quoted(task)}" if state else f"dibs claim {quoted(f'task:{task}')}"
        now = f"{task} is nobody's: claim it again before you work on it (`{how}`)"
    return f"{lost}{now}{_settle(loss)}."


def _when(loss: LossView) -> str:
    return f"{loss['ago']} ago ({WHY.get(loss['why'], loss['why'])})"


def _settle(loss: LossView) -> str:
    return f" (`dibs ack {loss['claim']}` when you know)" if loss.get("claim") else ""


def _more(count: int) -> list[str]:
    return [f"And more losses ({count - SHOWN}): `dibs log --kind claim.ended`."] if count > SHOWN else []
