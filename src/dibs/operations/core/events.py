"""Every kind of event that dibs appends to the log: what it is about, what happened, which data it brings.

The table of docs/ARCHITECTURE.md is made from this one (`make generate`). The tests hold every append to it: its kind,
and the names of its data. Agents' own kinds (`dibs emit`) are the subject of `event.emitted`. The hot path does not
load this file: an operation writes the kind as a plain string.
"""

from __future__ import annotations

# Kind → subject, what happened, data. A name in `…` is a key of the data, or a value of the key before it.
KINDS: dict[str, tuple[str, str, str]] = {
    "claim.granted": (
        "claim id",
        "An agent holds something from now on.",
        ("`resources, mode, tree, until, token, via` (`request`, `queue`, `handover`), `request` if there was an id"),
    ),
    "claim.renewed": (
        "claim id",
        "A claim lives longer.",
        "`until`, `request` when a hand-over is picked up by a call that has an id",
    ),
    "claim.moved": (
        "claim id",
        "A claim belongs to another agent from now on.",
        "`to` (agent), `token`, `why` (`boot`, `left`)",
    ),
    "claim.released": (
        "claim id",
        "Its holder gave back a claim, or a part of it.",
        (
            "`resources` (released), `left` (still held; empty ends the claim), `why` (`released`, `upgraded`, "
            "`handover`, `left`, `committed`, `unchanged`; of a task's claim `done`, `failed`, `returned`), "
            "`to` (who was handed it), `commit`, `request`"
        ),
    ),
    "claim.ended": (
        "claim id",
        "A claim ended although its holder did not give it back.",
        (
            "`why`: `expired` (then `now` ≥ its `until`), `gone` (its process), `killed`, `cancelled` and "
            "`preempted` (the task behind it was called off, made way), `unclaimed` (a hand-over nobody picked "
            "up; then `now` ≥ its `until`), `forced` (taken away, with `by` and `reason`)"
        ),
    ),
    "claim.committed": (
        "claim id",
        ("A commit has what was claimed; the claim stays, because it was made by hand or its file was changed again."),
        "`commit`",
    ),
    "claim.refused": (
        "the first resource's text",
        "A claim was refused.",
        "`code, resources, mode, tree, blockers`",
    ),
    "claim.asked": (
        "holder",
        "An agent asks the holder to give something back.",
        "`resource, text`",
    ),
    "wait.queued": (
        "waiter id",
        "An agent waits for a claim.",
        "`resources, mode, tree, deadline`",
    ),
    "wait.ended": (
        "waiter id",
        "It waits no longer.",
        (
            "`why`: `granted`, `gave_up`, `lapsed`, `deadlock`, `killed`, `left`, `again` (its agent asked again "
            "and keeps the turn under a new id), `epoch` (the store lost commits)"
        ),
    ),
    "interest.left": (
        "interest id",
        "An agent wants to hear when something is free.",
        "`resources, mode`",
    ),
    "interest.ended": (
        "interest id",
        "It heard, or it is too late.",
        "`why` (`served`, `lapsed`, `granted`)",
    ),
    "agent.registered": (
        "agent",
        "An agent is seen for the first time.",
        "`process, name`",
    ),
    "agent.booted": (
        "agent",
        "An agent began anew, as another incarnation.",
        "`incarnation, process`",
    ),
    "agent.left": (
        "agent",
        "An agent said that it ends.",
        "",
    ),
    "agent.forgotten": (
        "the agent, which is gone",
        "The record of an agent that is long gone was removed.",
        "`seen`",
    ),
    "agent.same": (
        "another id of the agent",
        "From now on both ids mean this agent.",
        "`was` (whose it was before, or empty)",
    ),
    "agent.killed": (
        "the agent it happened to",
        "An agent may do nothing more.",
        "`why`",
    ),
    "agent.revived": (
        "the agent it happened to",
        "An agent that was killed may go on.",
        "`why`",
    ),
    "message.posted": (
        "recipient; `type:T` if it is kept for agents that come later",
        "A message lies in an inbox.",
        "`id, type`, `request` if there was an id",
    ),
    "message.acknowledged": (
        "message id",
        "Its recipient has dealt with a message.",
        "`from`",
    ),
    "message.expired": (
        "message id",
        "A message was removed before it was acknowledged.",
        "`from`, `delivery` (how often it was told)",
    ),
    "message.dropped": (
        "recipient",
        "dibs had something to say, and the inbox was full.",
        "`type`",
    ),
    "event.emitted": (
        "the kind that the agent named",
        "An agent says something in words of its own.",
        "`data`, `request` if there was an id",
    ),
    "event.subscribed": (
        "the kind, prefix or `state:KEY`",
        "An agent wants to hear of such events.",
        "`cursor`",
    ),
    "event.unsubscribed": (
        "the kind, prefix or `state:KEY`",
        "It does so no longer.",
        "",
    ),
    "alert.raised": (
        "claim, waiter or task id",
        "A hold or a wait takes twice as long as expected; a task fails again and again.",
        "`what` (`hold`, `wait`), `expected, actual, resources`; of a task `what` (`poison`), `failures`",
    ),
    "log.sealed": (
        '`""`',
        "What is true after an event was written down, so that the events before can go.",
        "`through, link, digest` (SHA-256 of the seal's body)",
    ),
    "log.pruned": (
        '`""`',
        "The events up to this number were dropped; a seal stands there.",
        "`through`",
    ),
    "store.recovered": (
        'the folder the damaged database was moved to, `""` if it was gone',
        "A new database took the place of a damaged one.",
        "`killed` (agents that stay killed)",
    ),
    "store.moving": (
        "where to",
        "The workspace is about to be moved to another store.",
        "`move` (its id)",
    ),
    "store.moved": (
        "where to",
        "The first event in the new store.",
        "`from, move, digest, events`",
    ),
    "store.fallback": (
        "the server that did not start",
        "SQLite stands in for a server that did not start.",
        "",
    ),
    "store.epoch": (
        '`""`',
        "The server lost answered commits, or may have: what rested on them was given up.",
        "`since` (the first commit of the new epoch), `claims` (how many were ended)",
    ),
    "call.refused": (
        "operation, resource, `state:KEY` or `vote:ID`",
        "An operation refused a call.",
        "`code`, `needs` (the rank, of `forbidden`), `command, exit, seconds` (of `unverified`)",
    ),
    "state.set": (
        "key",
        "A document of the shared state was written or deleted.",
        (
            "`version` (one above the last of this key; a new key begins at 1, or above all that were deleted and"
            " forgotten), `value` if it is short, else `digest` (SHA-256 of its JSON text), or `deleted`; "
            "`request`"
        ),
    ),
    "vote.opened": (
        "vote id",
        "A vote began.",
        "`options, electorate, deadline`, `request`",
    ),
    "vote.cast": (
        "vote id",
        "An agent voted.",
        "`option`, `request`",
    ),
    "vote.decided": (
        "vote id",
        "A vote ended; once for each vote.",
        "`outcome` (`decided`, `undecided`, `lapsed`), `option` (null unless decided)",
    ),
    "commit.checked": (
        "working tree",
        "The git hook let a commit pass.",
        "`paths` (how many), `tokens`",
    ),
    "commit.refused": (
        "working tree",
        "The git hook refused a commit.",
        "`code, paths`",
    ),
    "commit.unverified": (
        "commit",
        "A commit came past the git hook and has files that others held.",
        ("`tree, how` (`past`: `--no-verify`; `replayed`: a rebase, a cherry-pick), `paths, holders` (of others)"),
    ),
    "git.moved": (
        "working tree",
        "Something moved HEAD while the agent's command ran; commits are told of on their own.",
        "`from, to` (commits), `what` (git's words)",
    ),
    "run.started": (
        "run",
        "A run began.",
        "`operation, phase, spec`, `tasks` (how many it brought)",
    ),
    "run.joined": (
        "run",
        "An agent takes part in a run.",
        "`type, can`",
    ),
    "run.phased": (
        "run",
        "A run went on to another phase.",
        "`from, to`",
    ),
    "run.noted": (
        "run",
        "An error or a warning was noted in a run.",
        "`what` (`error`, `warning`), `number, text`",
    ),
    "run.handled": (
        "run",
        "A noted error or warning was dealt with.",
        "`number, how`",
    ),
    "run.ended": (
        "run",
        "A run ended.",
        "`cancelled` (how many tasks were called off), `released` (what its coordinator held for it)",
    ),
    "run.refused": (
        "run",
        "A run did not end, or was not purged.",
        "`code`",
    ),
    "run.archived": (
        "run",
        "A run's records were written to a file.",
        "`file, sha256, size`",
    ),
    "run.purged": (
        "run",
        "A run's records were removed.",
        "`tasks` (how many went with it)",
    ),
    "task.added": (
        "task",
        "A task is there.",
        (
            "`title, state, priority, after` (the first hundred), `parent, run, key`, `request`; `imported` if it"
            " was complete when it came (`dibs import`)"
        ),
    ),
    "task.moved": (
        "task",
        "A task changed its state.",
        (
            "`from, to`; into executing `claim, token`; out of it by its holder's word `token`; `class` "
            "(`transient`, `lost`, `poison`), `why`, `verified` (`command, exit, seconds`), `request`"
        ),
    ),
    "task.passed": (
        "task",
        "Another claim stands behind a task from now on, of the agent that the event names.",
        "`claim`",
    ),
    "task.kept": (
        "task",
        "A run was purged and this task of it stays, because others wait for it or it was planned again.",
        "`run`",
    ),
    "task.noted": (
        "task",
        "A note was added to a task.",
        "`text`",
    ),
    "task.assigned": (
        "task",
        "A task is kept for one agent.",
        "`to, strategy` (`direct`: named), `until`, `amount` (of the bid that won), `request`",
    ),
    "task.lapsed": (
        "task",
        "The agent that a task was assigned to did not take it.",
        "`strategy, until`",
    ),
    "task.auctioned": (
        "task",
        "A task waits for bids.",
        "`until`, `request`",
    ),
    "task.bid": (
        "task",
        "An agent bids for a task.",
        "`amount`, `request`",
    ),
    "deploy.started": (
        "target",
        "A deploy began.",
        "`commit, token, command`; `unsynced`, `rollback` if that was said",
    ),
    "deploy.finished": (
        "target",
        "A deploy ended.",
        (
            "`commit, result` (`ok`, `failed`, `unverified`, `unchecked`, `interrupted`), `token, seconds, exit`,"
            " `fenced` if the token was lost; `unsynced`, `rollback` if that was said"
        ),
    ),
    "deploy.refused": (
        "target",
        "A deploy was refused.",
        "`code`",
    ),
    "edit.refused": (
        "path",
        "The edit guard refused an edit.",
        "`code` (`forbidden`, `conflict`, `held`), `tree`",
    ),
    "edit.violated": (
        "path",
        "The agent certainly changed what the holder held or had unfinished.",
        ("`id, holder, tree, was, now` (blobs), `grade` (`sure`, `likely`, `unknown`, `outside`), `suspects, tool`."),
    ),
    "edit.unattributed": (
        "path",
        "Somebody changed what the agent held or had unfinished.",
        ("`id, holder, tree, was, now` (blobs), `grade` (`sure`, `likely`, `unknown`, `outside`), `suspects, tool`."),
    ),
    "edit.taken": (
        "path",
        "The agent went on with what the holder left, by a call that the edit guard let pass.",
        ("`id, holder, tree, was, now` (blobs), `grade` (`sure`, `likely`, `unknown`, `outside`), `suspects, tool`."),
    ),
    "edit.doubted": (
        "path",
        "Probably the holder's own command changed it, but others ran too.",
        ("`id, holder, tree, was, now` (blobs), `grade` (`sure`, `likely`, `unknown`, `outside`), `suspects, tool`."),
    ),
    "edit.accepted": (
        "path",
        "What is there may stay (`dibs ack ID`).",
        "`id, tree`",
    ),
    "edit.restored": (
        "path",
        "What was there before a change came back.",
        "`id` (what came back), `tree, was, now` (blobs), `undo` (under which `was` is kept)",
    ),
    "command.refused": (
        "the command",
        "The shell guard refused a command.",
        "`code`, `role` if one forbids it",
    ),
    "guard.doubted": (
        "tool",
        "A guard could not decide, and the config let it pass.",
        "`why`",
    ),
    "rules.acknowledged": (
        "agent",
        "An agent was told the workspace's rules.",
        "`digest` (the version it was told)",
    ),
}


def families() -> tuple[str, ...]:
    """What dibs' own kinds begin with, such as `claim.`."""
    return tuple(dict.fromkeys(f"{kind.partition('.')[0]}." for kind in KINDS))
