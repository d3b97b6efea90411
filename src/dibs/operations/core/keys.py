"""Every key of the store: its form, the record below it, the room that writes it, its entries in the two indexes.

Parts of a key are separated by TAB, written ⇥ here; words in capitals stand for values. The table of
docs/ARCHITECTURE.md is made from this one (`make generate`), and the tests hold every write to it. No operation imports
this file.
"""

from __future__ import annotations

DUE = "`due⇥TIME`"

# Form → room, record, index 1, index 2. What stands before the first ⇥ or `/` tells one kind from the others; names
# have a colon, and begin behind their letter. The places of claims are told apart by the letter before the id.
KEYS: dict[str, tuple[str, str, str, str]] = {
    "r/PATH⇥LAST⇥hAGENT⇥ID": (
        "claims",
        "a claim's hold on one path, directory or glob (a glob's text follows behind another TAB)",
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
        "a claim that was taken from AGENT and not yet told",
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
        "the agent that goes by this name, where that is not its id; also another id of it",
        "",
        "",
    ),
    "p⇥PROCESS": (
        "agents",
        "which agent runs in this client process",
        "",
        "",
    ),
    "m⇥AGENT⇥STAMP⇥ID": (
        "messages",
        "a message; stamps rise within a mailbox",
        "`tell⇥AGENT⇥TIME⇥STAMP`: to be told from then on (0: new)",
        "`due⇥TIME`",
    ),
    "mb⇥AGENT": (
        "messages",
        "a mailbox: the last stamp, how many messages, how many of each sender, which processes wait",
        "",
        "",
    ),
    "ml⇥TYPE⇥STAMP⇥ID": (
        "messages",
        "a message for the agents of a type that come later",
        "",
        "`due⇥TIME`",
    ),
    "mt⇥ID": (
        "messages",
        "whose conversation a sent message belongs to, so that it can be answered after it is gone",
        "",
        "`due⇥TIME`",
    ),
    "su⇥AGENT": (
        "messages",
        "what an agent subscribes to, and its cursor in the log",
        "",
        "",
    ),
    "sk⇥WHAT⇥AGENT": (
        "messages",
        "who subscribes to WHAT",
        "",
        "",
    ),
    "t⇥TASK": (
        "tasks",
        "a task; what is as most tasks have it is left out",
        (
            "`ready⇥POOL⇥PRIORITY⇥ORDER⇥TASK`, `mine⇥AGENT⇥…` (assigned), `tasks⇥STATE⇥ORDER⇥TASK` (also "
            "`blocked`, `auction`, `delayed`)"
        ),
        "`later⇥TIME`",
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
        "the tasks that a task comes after",
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
        "",
        "",
    ),
    "tb⇥TASK⇥AGENT": (
        "tasks",
        "a bid for a task that is auctioned: `amount`, and the `commit` it came with",
        "",
        "",
    ),
    "tl⇥AGENT": (
        "tasks",
        ("when an agent was last given a task, and for which runs it asked for work when: for the strategies that ask"),
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
        "an agent that takes part in a run, and what it uses",
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
        "a document of the shared state: value, version, who wrote it when",
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
        "how many documents there are, and a version no forgotten one was above",
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
        "how many votes are open",
        "",
        "",
    ),
    "v⇥ID": (
        "guards",
        (
            'a change that was told, by the ledger\'s id: `path, tree, holder, by` ("" if not certain), `suspects,'
            " how` (`violated`, `unattributed`, `taken`, `doubted`; `forced`: kept when a claim was taken away), "
            "`blob` (what was there; it can be restored), `overwritten` (what is)"
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
        "who made which stash: `makers` (stash → agent), who was let make the next one, which there were then",
        "",
        "",
    ),
    "d⇥TARGET": (
        "guards",
        "the last good deploy of a target",
        "",
        "",
    ),
    "D⇥TARGET": (
        "guards",
        "the deploy of a target that runs",
        "",
        "",
    ),
    "q⇥AGENT⇥OPERATION⇥ID": (
        "core",
        "the answer to a request id",
        "",
        "`due⇥TIME`",
    ),
    "j⇥JOB": (
        "core",
        "a job: long work that goes on in steps",
        "",
        "`later⇥0…0⇥JOB`: before all tasks whose time has come",
    ),
    "jp⇥JOB⇥TASK": (
        "core",
        "a task whose children the job calls off, and how far it is",
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
        "where a seal stands and since when; whether the events before it were dropped",
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


def prefix_of(key: str) -> str:
    """What tells one kind of key from the others."""
    first = key.replace("⇥", "\t").partition("\t")[0]
    if first.startswith("r/"):
        return "r"
    return first[0] if ":" in first or first == "nNAME" else first
