"""Which commands of dibs a model may run without a person being asked: the one list, for every client.

Deny by default. Approved is what only asks, tells, or takes and gives back what is the agent's own, by rules that bind
it all the same. A person is asked before whatever runs a program, writes a file where it is told to, stops or frees
other agents, gives rights, or changes what all agents work with. A test holds both tables to the list of commands.
"""

from __future__ import annotations

APPROVED = frozenset((
    "ack", "agents", "alerts", "alerts ack", "ask", "boot", "brief", "claim", "confirm", "diff", "emit", "explain",
    "help", "inbox", "land --cancel", "land --status", "leave", "log", "radar", "release", "renew", "restore",
    "rules", "run error", "run handled", "run join", "run list", "run phase", "run progress", "run show", "run warn",
    "scratch", "send", "state delete", "state get", "state list", "state set", "stats", "status", "subscribe",
    "subscriptions", "sync-check", "task add", "task assign", "task bid", "task cancel", "task claim", "task edit",
    "task fail", "task inputs", "task list", "task move", "task next", "task note", "task progress", "task release",
    "task show", "task split", "task turn", "timeline", "verify", "version", "vote cast", "vote list", "vote open",
    "vote show", "whoami",
))  # fmt: skip

RUNS, WRITES, RIGHTS, ALL, PERSON = (
    "runs a program", "writes a file that it is told", "stops, frees or lets in other agents",
    "changes what all agents work with", "is for a person at a terminal, or for clients",
)  # fmt: skip
ASKED = {  # each with the reason
    "check": WRITES, "completion": PERSON, "demo": RUNS, "deploy": RUNS, "doctor": RUNS, "env": RUNS,
    "git-hook": PERSON, "handover": RIGHTS, "hook": PERSON, "import": ALL, "init": ALL,
    "kill": RIGHTS, "land": RUNS, "lead": RUNS, "lookback": WRITES,
    "map": WRITES, "mcp": PERSON, "prune": ALL, "revive": RIGHTS, "run end": RUNS, "run gates": RUNS,
    "run purge": ALL, "run report": WRITES, "run start": RUNS, "seal": ALL, "serve": RUNS, "store move": ALL,
    "sweep": RUNS, "task done": RUNS, "token list": RIGHTS, "token new": RIGHTS, "token revoke": RIGHTS,
    "top": PERSON, "undo": ALL, "up": RUNS, "worker": RUNS,
}  # fmt: skip


def prefixes() -> list[list[str]]:
    """The first words of the approved commands; one word where it stands for a whole family of them."""
    every = APPROVED | ASKED.keys()
    found = set()
    for name in APPROVED:
        first = name.partition(" ")[0]
        family = {one for one in every if one.partition(" ")[0] == first}
        found.add(first if family <= APPROVED else name)
    return [name.split(" ") for name in sorted(found)]
