"""Every key of the store: its form, the record below it, the room that writes it, its entries in the two indexes.

Parts of a key are separated by TAB, written ⇥ here; words in capitals stand for values. The table of
docs/ARCHITECTURE.md is made from this one (`make generate`), and the tests hold every write to it. No operation imports
this file.
"""

from __future__ import annotations

DUE = "`due⇥TIME`"

# Form → room, record, index 1, index 2. The part before the first ⇥ or `/` tells one kind from the others; names have a
# colon, and begin after their letter. The letter before the id tells claims, waiters and interests apart.
KEYS: dict[str, tuple[str, str, str, str]] = {
    "r/PATH⇥LAST⇥hAGENT⇥ID": (
        "claims",
        "a claim's hold on one path, directory or glob (a glob's text follows after another TAB)",
        "`claims⇥AGENT⇥ID` (first resource only)",
        "`due⇥TIME` (first resource only)",
    ),
    "r/PATH⇥LAST⇥wID": (
        "claims",
        "a waiter's place",
        "`waits⇥AGENT⇥ID`",
        "`due⇥TIME`",
    ),
    "r/PATH⇥LAST⇥iID": (
        "claims",
        "an interest",
        "`interests⇥AGENT⇥ID`",
        "`due⇥TIME`",
    ),
    "nNAME⇥⇥…": (
        "claims",
        "the same three for a name such as `deploy:prod`",
        "",
        "",
    ),
    "iDEVICE:INODE⇥⇥…": (
        "claims",
        "the same three for a multiply linked file",
        "",
        "",
    ),
    "l⇥AGENT⇥ID": (
        "claims",
        "a claim that AGENT lost and was not told about yet",
        "",
        "`due⇥TIME`",
    ),
    "a⇥AGENT": (
        "agents",
        "an agent",
        "",
        "",
    ),
    "nm⇥NAME": (
        "agents",
        "the agent with this name, if that is not its id; also an alias of it",
        "",
        "",
    ),
    "p⇥PROCESS": (
        "agents",
        "the agent in this client process",
        "",
        "",
    ),
    "cr⇥ID": (
        "agents",
        "a credential: for whom, its role and end, the hash of its secret",
        "",
        "`due⇥TIME`: a week after its end",
    ),
    "ch⇥HOST": (
        "agents",
        "the credential that has this machine: the one whose word counts for its processes",
        "",
        "`due⇥TIME`: a week after that credential's end",
    ),
    "m⇥AGENT⇥STAMP⇥ID": (
        "messages",
        "a message; stamps rise within a mailbox",
        "`tell⇥AGENT⇥TIME⇥STAMP`: deliverable from then on (0: new)",
        "`due⇥TIME`",
    ),
    "mb⇥AGENT": (
        "messages",
        "a mailbox: the last stamp, the number of messages, the number from each sender, the waiting processes",
        "",
        "",
    ),
    "ml⇥TYPE⇥STAMP⇥ID": (
        "messages",
        "a message for later agents of a type",
        "",
        "`due⇥TIME`",
    ),
    "mt⇥ID": (
        "messages",
        "the conversation of a sent message, so that it can be answered after it is gone",
        "",
        "`due⇥TIME`",
    ),
    "su⇥AGENT": (
        "messages",
        "an agent's subscriptions, and its cursor in the log",
        "",
        "",
    ),
    "sk⇥WHAT⇥AGENT": (
        "messages",
        "a subscriber of WHAT",
        "",
        "",
    ),
    "t⇥TASK": (
        "tasks",
        "a task; default values are left out",
        (
            "`ready⇥POOL⇥PRIORITY⇥ORDER⇥TASK`, `mine⇥AGENT⇥…` (assigned), `tasks⇥STATE⇥ORDER⇥TASK` (also "
            "`blocked`, `auction`, `delayed`)"
        ),
        "`later⇥TIME`; `over⇥TIME` of a finished one outside any run: when it ended",
    ),
    "tp⇥TASK": (
        "tasks",
        "a task's payload",
        "",
        "",
    ),
    "tv⇥TASK": (
        "tasks",
        "the verification that a task passed",
        "",
        "",
    ),
    "tr⇥TASK": (
        "tasks",
        "a task's result",
        "",
        "",
    ),
    "tn⇥TASK⇥STAMP": (
        "tasks",
        "a note on a task",
        "",
        "",
    ),
    "ta⇥TASK": (
        "tasks",
        "a task's dependencies",
        "",
        "",
    ),
    "td⇥TASK⇥USER": (
        "tasks",
        "a task that waits for TASK",
        "",
        "",
    ),
    "tc⇥TASK⇥CHILD": (
        "tasks",
        "a child of a task",
        "",
        "",
    ),
    "tk⇥KEY": (
        "tasks",
        "the task of an idempotency key",
        "",
        "",
    ),
    "tg⇥RACE⇥TASK": (
        "tasks",
        "a task of a race",
        "",
        "",
    ),
    "tw⇥WAITER": (
        "tasks",
        "an agent that waits for work, or for one `task`",
        "`line⇥TASK⇥COMMIT⇥WAITER` if it waits for one task",
        "`task-waits⇥AGENT⇥WAITER` if it waits for one task",
    ),
    "tb⇥TASK⇥AGENT": (
        "tasks",
        "a bid for an auctioned task: `amount`, and the `commit` it came with",
        "",
        "",
    ),
    "tl⇥AGENT": (
        "tasks",
        ("when an agent last got a task, and when it asked for work of which runs: for the strategies"),
        "",
        "`due⇥TIME`",
    ),
    "u⇥RUN": (
        "runs",
        "a run",
        "`runs⇥STATE⇥SINCE⇥RUN`",
        "`due⇥TIME` once it has ended: when it is purged",
    ),
    "ua⇥RUN⇥AGENT": (
        "runs",
        "an agent's part in a run, and its usage",
        "",
        "",
    ),
    "ue⇥RUN⇥NUMBER": (
        "runs",
        "an error or a warning of a run",
        "",
        "",
    ),
    "ut⇥RUN⇥TASK": (
        "runs",
        "a task of a run",
        "",
        "",
    ),
    "e⇥KEY": (
        "shared",
        "a document of the shared state: value, version, author, time",
        "",
        "",
    ),
    "eg⇥KEY": (
        "shared",
        "the version of a deleted document",
        "",
        "`due⇥TIME`",
    ),
    "ec": (
        "shared",
        "the number of documents, and a version that no forgotten one was above",
        "",
        "",
    ),
    "vo⇥ID": (
        "shared",
        "a vote with its ballots",
        "`votes⇥open⇥…⇥ID`, `votes⇥over⇥…⇥ID` (the newest first)",
        "`due⇥TIME`",
    ),
    "vk⇥KEY": (
        "shared",
        "the vote that was opened under a key",
        "",
        "",
    ),
    "vc": (
        "shared",
        "the number of open votes",
        "",
        "",
    ),
    "v⇥ID": (
        "guards",
        (
            'a reported change, by the ledger\'s id: `path, tree, holder, by` ("" if not certain), `suspects,'
            " how` (`violated`, `unattributed`, `taken`, `doubted`; `forced`: kept when a claim was taken away; "
            "`removed`: with its working tree, whose `ledger` is named, and whether it was `restored`), "
            "`blob` (the content before; it can be restored), `overwritten` (the content after), `grade` (how "
            "certain), `place` (the far caller that reported it, by whom alone it is restored)"
        ),
        "",
        "`due⇥TIME`",
    ),
    "vu⇥TREE⇥PATH": (
        "guards",
        (
            "a path that is unsettled: the `ids` of the changes. No commit takes it until it is restored, "
            "acknowledged, or edited after reading"
        ),
        "",
        "`due⇥TIME`",
    ),
    "gs": (
        "guards",
        "the makers of stashes: `makers` (stash → agent), the maker of the next one, the stashes at that time",
        "",
        "",
    ),
    "gh⇥TREE": ("guards", "how much of a working tree's reflog was reported: `size`", "", DUE),
    "d⇥TARGET": (
        "guards",
        "the last good deploy of a target",
        "",
        DUE,
    ),
    "D⇥TARGET": (
        "guards",
        "the running deploy of a target",
        "",
        "",
    ),
    "lq⇥LANDING": (
        "landing",
        "a landing: its branch and commit, its agents, its outcome",
        "`landings⇥queue⇥TARGET⇥PRIORITY⇥ORDER⇥LANDING`, `landings⇥over⇥TARGET⇥…⇥LANDING` (the newest first)",
        "`due⇥TIME` once it is decided",
    ),
    "lb⇥TARGET⇥BRANCH": (
        "landing",
        "the queued landing of a branch, or the last one that landed",
        "",
        "`due⇥TIME` once it has landed",
    ),
    "lt⇥TARGET": (
        "landing",
        "a target: the numbers of landings, the running batch with its process and intent, the last landing",
        "",
        "",
    ),
    "rp⇥PLACE⇥CONFLICT": (
        "landing",
        "a coming conflict of two working trees or branches: sides, files, since when",
        "`radar⇥SINCE⇥CONFLICT`",
        "`due⇥TIME`: a week after it was last seen",
    ),
    "rl⇥PLACE": (
        "landing",
        "the last look for coming conflicts in a repository of a machine",
        "",
        "`due⇥TIME`",
    ),
    "as⇥KIND⇥SUBJECT⇥ID": (
        "alerts",
        "a suspicion: something that may need an alert; the next sweep looks into it",
        "",
        "`due⇥TIME` (0: at once)",
    ),
    "al⇥KIND⇥SUBJECT": (
        "alerts",
        "an alert that is open or acknowledged",
        "`alertout⇥TIME⇥ID` while it waits to be delivered",
        "",
    ),
    "ac⇥TIME⇥ID": (
        "alerts",
        "a cleared alert",
        "`alertout⇥TIME⇥ID` while it waits to be delivered",
        DUE,
    ),
    "an": (
        "alerts",
        "the number of open and of cleared alerts, and of those for which there was no room",
        "",
        "",
    ),
    "cs⇥WHAT": (
        "oversight",
        "a finding of `dibs check` that a person accepted: why, who, when",
        "",
        "",
    ),
    "ct": (
        "oversight",
        "the last test with many agents: figures and time",
        "",
        "",
    ),
    "q⇥AGENT⇥OPERATION⇥ID": (
        "core",
        "the answer to a request id",
        "",
        "`due⇥TIME`",
    ),
    "x⇥CONNECTION": (
        "core",
        "the last answer to a request that came through a server's connection",
        "",
        "`due⇥TIME`",
    ),
    "j⇥JOB": (
        "core",
        "a job: long work that is done in steps",
        "",
        "`later⇥0…0⇥JOB`: before all due tasks",
    ),
    "jp⇥JOB⇥TASK": (
        "core",
        "a task whose children the job cancels, and its progress",
        "",
        "",
    ),
    "jd⇥JOB": (
        "core",
        "the answer of a finished job",
        "",
        "`due⇥TIME`",
    ),
    "s⇥SEQ": (
        "upkeep",
        "a seal's place and time; through which event those before it were dropped, and whether all of them",
        "",
        "",
    ),
    "sl": (
        "upkeep",
        "the newest seal, and the time of the oldest one before which no event was pruned",
        "",
        "",
    ),
    "ar⇥LAST": (
        "upkeep",
        "an archive of pruned events: file, numbers, last link, digest, size, machine",
        "",
        "",
    ),
    "ad": (
        "upkeep",
        "the files of the archives that were dropped last",
        "",
        "",
    ),
    "sw": (
        "upkeep",
        "the last agent that a sweep looked at, while there are more",
        "",
        "",
    ),
}
