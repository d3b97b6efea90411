"""The kinds of dibs' own events. Made by `make generate` from operations/*/events.py, whose import is dear."""

KINDS = frozenset((
    "agent.booted", "agent.forgotten", "agent.killed", "agent.left", "agent.registered", "agent.revived", "agent.same",
    "alert.acknowledged", "alert.cleared", "alert.raised", "audit.settled", "audit.tested", "audit.unsettled",
    "call.refused", "claim.asked", "claim.committed", "claim.ended", "claim.granted", "claim.moved", "claim.refused",
    "claim.released", "claim.renewed", "command.refused", "commit.checked", "commit.refused", "commit.unverified",
    "deploy.finished", "deploy.refused", "deploy.started", "edit.accepted", "edit.doubted", "edit.refused",
    "edit.restored", "edit.taken", "edit.unattributed", "edit.violated", "event.emitted", "event.subscribed",
    "event.unsubscribed", "git.moved", "guard.doubted", "handover.ended", "handover.made", "handover.offered",
    "interest.ended", "interest.left", "landing.cancelled", "landing.landed", "landing.moving", "landing.queued",
    "landing.refused", "landing.stopped", "log.dropped", "log.pruned", "log.sealed", "message.acknowledged",
    "message.dropped", "message.expired", "message.posted", "push.unverified", "radar.cleared", "radar.found",
    "rules.acknowledged", "run.archived", "run.ended", "run.handled", "run.joined", "run.noted", "run.phased",
    "run.purged", "run.refused", "run.started", "state.set", "store.epoch", "store.fallback", "store.moved",
    "store.moving", "store.recovered", "task.added", "task.assigned", "task.auctioned", "task.bid", "task.forgotten",
    "task.kept", "task.lapsed", "task.moved", "task.noted", "task.passed", "token.made", "token.revoked",
    "tree.removed", "undo.finished", "undo.refused", "undo.started", "vote.cast", "vote.decided", "vote.opened",
    "wait.ended", "wait.queued",
))  # fmt: skip
FAMILIES = (
    "agent.", "alert.", "audit.", "call.", "claim.", "command.", "commit.", "deploy.", "edit.", "event.", "git.",
    "guard.", "handover.", "interest.", "landing.", "log.", "message.", "push.", "radar.", "rules.", "run.", "state.",
    "store.", "task.", "token.", "tree.", "undo.", "vote.", "wait.",
)  # fmt: skip
