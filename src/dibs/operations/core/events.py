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
        "An agent was granted a claim.",
        (
            "`resources, mode, tree, until, token, via` (`request`, `queue`, `handover`), `request` if there was an "
            "id; `reason, task` if the agent said them"
        ),
    ),
    "claim.renewed": (
        "claim id",
        "A claim was renewed.",
        "`until`, `request` when a hand-over is picked up by a call that has an id",
    ),
    "claim.moved": (
        "claim id",
        "A claim passed to another agent.",
        "`to` (agent), `token`, `why` (`boot`, `left`)",
    ),
    "claim.released": (
        "claim id",
        "A holder released a claim, or a part of it.",
        (
            "`resources` (released), `left` (still held; empty ends the claim), `why` (`released`, `upgraded`, "
            "`handover`, `left`, `committed`, `unchanged`; of a task's claim `done`, `failed`, `returned`), "
            "`to` (the new holder), `commit`, `request`"
        ),
    ),
    "claim.ended": (
        "claim id",
        "A claim ended without a release by its holder.",
        (
            "`why`: `expired` (then `now` ≥ its `until`), `gone` (its process), `killed`, `cancelled` and "
            "`preempted` (so was its task), `unclaimed` (a hand-over that was not picked "
            "up; then `now` ≥ its `until`), `forced` (taken away, with `by` and `reason`), `removed` (its working tree)"
        ),
    ),
    "claim.committed": (
        "claim id",
        ("A commit has the claimed file; the claim stays: it was made by hand, or its file was changed again."),
        "`commit`",
    ),
    "claim.refused": (
        "the first resource's text",
        "A claim was refused.",
        "`code, resources, mode, tree, blockers`; `contested` (the resources that were not free) if others were",
    ),
    "claim.asked": (
        "holder",
        "An agent asked the holder to release a resource.",
        "`resource, text`",
    ),
    "wait.queued": (
        "waiter id",
        "An agent was queued for a claim.",
        "`resources, mode, tree, deadline`",
    ),
    "wait.ended": (
        "waiter id",
        "A wait ended.",
        (
            "`why`: `granted`, `gave_up`, `lapsed`, `deadlock`, `killed`, `left`, `again` (its agent asked again "
            "and keeps the turn under a new id), `epoch` (the store lost commits)"
        ),
    ),
    "interest.left": (
        "interest id",
        "A refused agent left an interest: it is told when the resource is free.",
        "`resources, mode`",
    ),
    "interest.ended": (
        "interest id",
        "An interest ended.",
        "`why` (`served`, `lapsed`, `granted`)",
    ),
    "agent.registered": (
        "agent",
        "An agent was registered.",
        "`process, name`, `machine` if a machine's credential did",
    ),
    "agent.booted": (
        "agent",
        "An agent started again, as another incarnation.",
        "`incarnation, process`",
    ),
    "agent.left": (
        "agent",
        "An agent left.",
        "",
    ),
    "agent.forgotten": (
        "the agent, which is gone",
        "The record of an agent that is long gone was removed.",
        "`seen`",
    ),
    "agent.same": (
        "another id of the agent",
        "Both ids mean this agent from now on.",
        "`was` (the earlier agent of that id, or empty)",
    ),
    "agent.killed": (
        "the agent it happened to",
        "An agent was killed: all its calls are refused.",
        "`why`",
    ),
    "agent.revived": (
        "the agent it happened to",
        "A killed agent was revived.",
        "`why`",
    ),
    "token.made": (
        "credential id",
        "A person made a credential for a server's caller.",
        "`kind` (`agent`, `person`, `machine`), `who, role, until, fingerprint` (of the secret's hash)",
    ),
    "token.revoked": (
        "credential id",
        "A credential was revoked: its calls are refused.",
        "`who`",
    ),
    "message.posted": (
        "recipient; `type:T` if it is kept for agents that come later",
        "A message was put into an inbox.",
        "`id, type`, `request` if there was an id",
    ),
    "message.acknowledged": (
        "message id",
        "A message was acknowledged.",
        "`from`",
    ),
    "message.expired": (
        "message id",
        "A message was removed before it was acknowledged.",
        "`from`, `delivery` (how often it was shown)",
    ),
    "message.dropped": (
        "recipient",
        "A message of dibs itself was dropped, because the inbox was full.",
        "`type`",
    ),
    "event.emitted": (
        "the kind that the agent named",
        "An agent emitted an event of its own.",
        "`data`, `request` if there was an id",
    ),
    "event.subscribed": (
        "the kind, prefix or `state:KEY`",
        "An agent subscribed to events.",
        "`cursor`",
    ),
    "event.unsubscribed": (
        "the kind, prefix or `state:KEY`",
        "A subscription ended.",
        "",
    ),
    "alert.raised": (
        "alert id",
        "An alert was raised: something needs attention. The event's agent is the one it is about.",
        (
            "`what` (its kind: `hold`, `wait`, `deadlock`, …; ALERTS.md has them), `severity` (`warning`, `error`), "
            "`about` (its subject), `resources`, `expected, actual` (ms)"
        ),
    ),
    "alert.acknowledged": (
        "alert id",
        "An agent or a person acknowledged an alert.",
        "`what` (its kind), `why`",
    ),
    "alert.cleared": (
        "alert id",
        "The cause of an alert is gone.",
        "`what` (its kind), `why`",
    ),
    "audit.settled": (
        "an event's number, or a finding of `dibs check`",
        "A person accepted a finding of the audit.",
        "`why`",
    ),
    "audit.unsettled": (
        "an event's number, or a finding of `dibs check`",
        "A finding of the audit is not accepted any more.",
        "`why`",
    ),
    "audit.tested": (
        "the test, such as `demo`",
        "A test with many agents ended (`dibs demo`).",
        "`agents, edits, lost, clean` (its log holds together), `seconds, version, store`",
    ),
    "log.sealed": (
        '`""`',
        "The live claims at an event were sealed, so that earlier events can be pruned.",
        "`through, link, digest` (SHA-256 of the seal's body)",
    ),
    "log.pruned": (
        '`""`',
        "The events up to this number were moved to an archive; a seal is there.",
        "`through`, `archive` (`file, first, last, link, sha256, size, host`)",
    ),
    "log.dropped": (
        '`""`',
        "An archive was dropped: the archives of its machine were over their limit, or a person gave it up.",
        "`first, last` (its events), `why`",
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
        "SQLite replaces a server that did not start.",
        "",
    ),
    "store.epoch": (
        '`""`',
        "The server lost answered commits, or may have: the claims that depended on them ended.",
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
        "A commit bypassed the git hook and has files that other agents held.",
        ("`tree, how` (`past`: `--no-verify`; `replayed`: a rebase, a cherry-pick), `paths, holders` (of others)"),
    ),
    "push.unverified": (
        "commit",
        "A push to a protected branch bypassed the git hook; git's own log has it.",
        "`remote, branch, by` (whom git names)",
    ),
    "tree.removed": (
        "working tree",
        "A working tree was removed with unfinished work of agents in it, which is kept.",
        "`owners` (agents), `paths` (the first), `count` (of all)",
    ),
    "git.moved": (
        "working tree",
        "Something moved HEAD while the agent's command ran; commits have their own events.",
        "`from, to` (commits), `what` (git's text)",
    ),
    "run.started": (
        "run",
        "A run began.",
        "`operation, phase, spec`, `tasks` (how many it brought)",
    ),
    "run.joined": (
        "run",
        "An agent joined a run.",
        "`type, can`",
    ),
    "run.phased": (
        "run",
        "A run moved to another phase.",
        "`from, to`",
    ),
    "run.noted": (
        "run",
        "An error or a warning was added to a run.",
        "`what` (`error`, `warning`), `number, text`",
    ),
    "run.handled": (
        "run",
        "An error was handled.",
        "`number, how`",
    ),
    "run.ended": (
        "run",
        "A run ended.",
        "`cancelled` (how many tasks), `released` (the coordinator's claims for it)",
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
        "A task was added.",
        (
            "`title, state, priority, after` (the first hundred), `parent, run, key`, `request`; `imported` if it"
            " was complete when it was added (`dibs import`)"
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
        "A task has another claim from now on, held by the event's agent.",
        "`claim`",
    ),
    "task.forgotten": (
        '`""`',
        "The records of finished tasks outside any run were removed after `[tasks] keep`.",
        "`tasks`",
    ),
    "task.kept": (
        "task",
        "A run was purged and this task of it stays: other tasks wait for it, or it was planned again.",
        "`run`",
    ),
    "task.noted": (
        "task",
        "A note was added to a task.",
        "`text`",
    ),
    "task.assigned": (
        "task",
        "A task was assigned to an agent.",
        "`to, strategy` (`direct`: named), `until`, `amount` (of the bid that won), `request`",
    ),
    "task.lapsed": (
        "task",
        "An assigned task was not picked up.",
        "`strategy, until`",
    ),
    "task.auctioned": (
        "task",
        "An auction of a task was opened.",
        "`until`, `request`",
    ),
    "task.bid": (
        "task",
        "An agent bid for a task.",
        "`amount`, `request`",
    ),
    "deploy.started": (
        "target",
        "A deploy began.",
        "`commit, token, command`; `unsynced`, `rollback` if given",
    ),
    "deploy.finished": (
        "target",
        "A deploy ended.",
        (
            "`commit, result` (`ok`, `failed`, `unverified`, `unchecked`, `interrupted`), `token, seconds, exit`,"
            " `fenced` if the token was lost; `unsynced`, `rollback` if given"
        ),
    ),
    "deploy.refused": (
        "target",
        "A deploy was refused.",
        "`code`",
    ),
    "landing.queued": (
        "landing id",
        "A branch was queued to land, or another commit of it took its place in the queue.",
        "`target` (the branch that it lands on), `branch, commit, priority`, `request` if there was an id",
    ),
    "landing.moving": (
        "target",
        "The lander is about to move the target; whether it did is in the repository.",
        "`base, commit, landings, token`",
    ),
    "landing.landed": (
        "landing id",
        "A branch landed: it is a part of the target.",
        "`target, branch, base` (the target before), `commit, token`",
    ),
    "landing.refused": (
        "landing id",
        "A branch did not land and is no longer queued; the branch is untouched.",
        "`target, branch, code` (`conflict`, `check`, `missing`, `tree`, `forbidden`), `why, token`",
    ),
    "landing.stopped": (
        "target",
        "Nothing can land now, or these cannot; everything stays queued.",
        "`why, landings, token`",
    ),
    "landing.cancelled": (
        "landing id",
        "A branch was taken out of the landing queue.",
        "`target, branch`",
    ),
    "radar.found": (
        "conflict id",
        "A look found that two working trees or branches would conflict if they were merged now.",
        "`sides, files`",
    ),
    "radar.cleared": (
        "conflict id",
        "They would no longer conflict, or nobody looks any more.",
        "`sides`",
    ),
    "edit.refused": (
        "path",
        "The edit guard refused an edit.",
        "`code` (`forbidden`, `conflict`, `held`), `tree`",
    ),
    "edit.violated": (
        "path",
        "The agent certainly changed a file that the holder held or had unfinished work in.",
        ("`id, holder, tree, was, now` (blobs), `grade` (`sure`, `likely`, `unknown`, `outside`), `suspects, tool`."),
    ),
    "edit.unattributed": (
        "path",
        "A file that the agent held or had unfinished work in was changed; the actor is not certain.",
        ("`id, holder, tree, was, now` (blobs), `grade` (`sure`, `likely`, `unknown`, `outside`), `suspects, tool`."),
    ),
    "edit.taken": (
        "path",
        "The agent continued unfinished work of the holder, by a call that the edit guard let pass.",
        ("`id, holder, tree, was, now` (blobs), `grade` (`sure`, `likely`, `unknown`, `outside`), `suspects, tool`."),
    ),
    "edit.doubted": (
        "path",
        "Probably the holder's own command changed the file, but others ran too.",
        ("`id, holder, tree, was, now` (blobs), `grade` (`sure`, `likely`, `unknown`, `outside`), `suspects, tool`."),
    ),
    "edit.accepted": (
        "path",
        "The present content was accepted (`dibs ack ID`).",
        "`id, tree`",
    ),
    "edit.restored": (
        "path",
        "A content from before a change was restored, or is there again by another's doing.",
        "`id` (the restored content), `tree, was, now` (blobs), `undo` (under which `was` is kept)",
    ),
    "undo.started": (
        "undo id",
        "An agent took files to undo what other agents, or it itself, changed in them.",
        "`of` (agents), `what` (a claim, task or agent), `tree, paths` (the first), `count` (of all), `claim`",
    ),
    "undo.finished": (
        "undo id",
        "The changes are undone.",
        (
            "`of` (agents), `what, tree, paths` (the first), `restored` (how many files), `conflicts` (how many have "
            "some), `claim`, `commit` if one reverts committed work"
        ),
    ),
    "undo.refused": (
        "undo id",
        "An undo was refused, or given up before it changed anything.",
        "`code`, `of` (agents)",
    ),
    "command.refused": (
        "the command",
        "The shell guard refused a command.",
        "`code`, `role` if one forbids it",
    ),
    "guard.doubted": (
        "tool",
        "A guard could not check a call, and the config let it pass.",
        "`why`",
    ),
    "rules.acknowledged": (
        "agent",
        "An agent was shown the workspace's rules.",
        "`digest` (of that version)",
    ),
}


def families() -> tuple[str, ...]:
    """The prefixes of dibs' own kinds, such as `claim.`."""
    return tuple(dict.fromkeys(f"{kind.partition('.')[0]}." for kind in KINDS))
