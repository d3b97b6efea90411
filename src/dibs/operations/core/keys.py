"""The keys of the rooms that have no records.py yet. `tools/key_definitions.py` reads all others from there.

Parts of a key are separated by TAB, written ⇥ here; words in capitals stand for values. No operation imports this
file. A room that defines a key deletes its row here.
"""

from __future__ import annotations

# Form → room, what is stored there.
KEYS: dict[str, tuple[str, str]] = {
    "m⇥AGENT⇥STAMP⇥ID": ("messages", "a message; stamps rise within a mailbox"),
    "mb⇥AGENT": (
        "messages",
        "a mailbox: the last stamp, the number of messages, the number from each sender, the waiting processes",
    ),
    "ml⇥TYPE⇥STAMP⇥ID": ("messages", "a message for later agents of a type"),
    "mt⇥ID": ("messages", "the conversation of a sent message, so that it can be answered after it is gone"),
    "su⇥AGENT": ("messages", "an agent's subscriptions, and its cursor in the log"),
    "sk⇥WHAT⇥AGENT": ("messages", "a subscriber of WHAT"),
    "u⇥RUN": ("runs", "a run"),
    "ua⇥RUN⇥AGENT": ("runs", "an agent's part in a run, and its usage"),
    "ue⇥RUN⇥NUMBER": ("runs", "an error or a warning of a run"),
    "e⇥KEY": ("shared", "a document of the shared state: value, version, author, time"),
    "eg⇥KEY": ("shared", "the version of a deleted document"),
    "ec": ("shared", "the number of documents, and a version that no forgotten one was above"),
    "vo⇥ID": ("shared", "a vote with its ballots"),
    "vk⇥KEY": ("shared", "the vote that was opened under a key"),
    "vc": ("shared", "the number of open votes"),
    "v⇥ID": ("guards", "a reported change whose content before is kept, by the ledger's id"),
    "vu⇥TREE⇥PATH": (
        "guards",
        "a path that is unsettled: no commit takes it until it is restored, acknowledged, or edited after reading",
    ),
    "gs": (
        "guards",
        "the makers of stashes: `makers` (stash → agent), the maker of the next one, the stashes at that time",
    ),
    "gh⇥TREE": ("guards", "how much of a working tree's reflog was reported: `size`"),
    "d⇥TARGET": ("guards", "the last good deploy of a target"),
    "D⇥TARGET": ("guards", "the running deploy of a target"),
    "lq⇥LANDING": ("landing", "a landing: its branch and commit, its agents, its outcome"),
    "lb⇥TARGET⇥BRANCH": ("landing", "the queued landing of a branch, or the last one that landed"),
    "lt⇥TARGET": (
        "landing",
        "a target: the numbers of landings, the running batch with its process and intent, the last landing",
    ),
    "rp⇥PLACE⇥CONFLICT": ("landing", "a coming conflict of two working trees or branches: sides, files, since when"),
    "rl⇥PLACE": ("landing", "the last look for coming conflicts in a repository of a machine"),
    "as⇥KIND⇥SUBJECT⇥ID": ("alerts", "a suspicion: something that may need an alert; the next sweep looks into it"),
    "ac⇥TIME⇥ID": ("alerts", "a cleared alert"),
    "an": ("alerts", "the number of open and of cleared alerts, and of those for which there was no room"),
    "cs⇥WHAT": ("oversight", "a finding of `dibs check` that a person accepted: why, who, when"),
    "ct": ("oversight", "the last test with many agents: figures and time"),
    "s⇥SEQ": (
        "upkeep",
        "a seal's place and time; through which event those before it were dropped, and whether all of them",
    ),
    "sl": ("upkeep", "the newest seal, and the time of the oldest one before which no event was pruned"),
    "ar⇥LAST": ("upkeep", "an archive of pruned events: file, numbers, last link, digest, size, machine"),
    "ad": ("upkeep", "the files of the archives that were dropped last"),
    "sw": ("upkeep", "the last agent that a sweep looked at, while there are more"),
}
