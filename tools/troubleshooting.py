"""The tables of docs/start/troubleshooting.md: what to do about each refusal, and about each check of `dibs doctor`.

The codes, their meaning and their exit codes come from the classes of errors.py; tests hold both tables complete.
"""

from __future__ import annotations

from dibs import errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# What to do about a refusal, by its code. A new class of errors needs a row here.
REMEDIES = {
    "held": "wait (`dibs claim RES --wait 60s`), ask (`dibs ask RES TEXT`), or do other work; a person may take it: "
    "`dibs release RES --force --why TEXT`",
    "fenced": "stop: what you had is another agent's now, or expired. Read the file again, claim it again",
    "killed": "a person stopped this agent: `dibs revive NAME`, when it may continue",
    "deadlock": "release something that you hold, or do other work; `dibs explain RES` says who waits for whom",
    "order": "release what you hold, and claim all of it in one request",
    "not_found": "look at the spelling; the message names what is near",
    "conflict": "read again what was changed in the meantime, then repeat",
    "invalid": "the call itself is wrong: `dibs help COMMAND`",
    "unauthorized": "set `DIBS_TOKEN`; a person makes a credential with `dibs token new`",
    "forbidden": "the message names who may; [Roles](../reference/roles.md) has all of it",
    "quota": "finish or release something first",
    "behind": "bring in what others did (the message has the command), test, try again",
    "unverified": "give a verification (`--verify`), or fix what made it fail",
    "failed": "a command that dibs ran failed: its output is above the message",
    "busy": "try again; `dibs doctor` says who keeps the store",
    "unavailable": "`dibs doctor` says what is wrong with the store; nothing was changed",
}


def _classes(base: type[errors.DibsError] = errors.DibsError) -> Iterator[type[errors.DibsError]]:
    for one in base.__subclasses__():
        if not one.mark and "code" in vars(one) and one.__module__ == errors.__name__:
            yield one


def refusals() -> list[str]:
    """The rows of the table of refusals."""
    found = sorted(_classes(), key=lambda one: one.code)
    assert {one.code for one in found} == set(REMEDIES), "a code of error that has no remedy here, or is gone"
    rows = [f"| `{one.code}` | {one.__doc__} | {REMEDIES[one.code]} | {one.exit} | {one.status} |\n" for one in found]
    return ["| code | means | what to do | exit code | HTTP |\n| --- | --- | --- | --- | --- |\n", *rows]


# What each check of `dibs doctor` looks at, and what to do when it fails. CLIENT stands for the name of a client.
DOCTOR = {
    "workspace": ("is this a workspace with a valid config?", "`dibs init`, or fix the line that it names"),
    "folder": ("is `.dibs/local/` this user's own, and ignored by git?", "the `chmod` that it names, or `dibs init`"),
    "filesystem": ("is the store on a local disk?", "move the repository: a network filesystem cannot hold it"),
    "space": ("can the store be written?", "make room on the disk"),
    "sqlite": ("is SQLite recent enough?", "install dibs again"),
    "database": ("can the store be opened?", "what it names; `dibs doctor --recover` as the last resort"),
    "pages": ("is every page of the database sound?", "a copy from before, else `dibs doctor --recover`"),
    "gate": ("does a process keep others from the store?", "end or continue the process that it names"),
    "server": ("does the server of the store answer?", "start it, or correct the address; `dibs up` starts one"),
    "persistence": ("does the server keep what it is told?", "the settings that it names"),
    "fallback": ("does SQLite stand in for a server?", "`dibs up`, when the server runs again"),
    "record": ("does the log agree with the store?", "`dibs verify` has the whole list"),
    "states": (
        "can the states of working trees be anchored, and how much do they take?",
        "make room on the disk; the next tool call of an agent there tries again",
    ),
    "env": (
        "has another program taken a port of this working tree?",
        "end that program, or `dibs env --release`, then `dibs env`",
    ),
    "undo": ("was an undo interrupted?", "the `dibs undo` that it names finishes it"),
    "serve": ("does a server of another version run?", "`dibs serve --stop`, then start it again"),
    "launcher": ("do hooks find this dibs?", "`dibs init`"),
    "clients": ("do the settings of any client call dibs?", "`dibs init --clients NAME`"),
    "guards": ("can the hooks be tried?", "what it names"),
    "pure": ("could the client run without hooks, as OpenCode with `--pure`?", "start it without `--pure`"),
    "CLIENT settings": ("do the client's settings let hooks run?", "the setting that it names"),
    "CLIENT permissions": ("may the client run too much of dibs unasked?", "take out the entry that it names"),
    "CLIENT hooks": ("does the client have its hooks?", "`dibs init`"),
    "CLIENT guard": ("does the client's hook refuse a forbidden write?", "`dibs init`"),
    "CLIENT trust": ("would the client run the hooks?", "start the client once in the folder, and trust it"),
    "CLIENT tools": (
        "does the client's entry start the tools (MCP)?",
        "install the extra `mcp`, then `dibs init`",
    ),
    "vscode hooks": ("does VS Code's agent run the hooks?", "switch its hooks on in its settings"),
    "set-up": ("is this a trial for you alone?", "`dibs init` makes it the team's"),
    "committed": ("do other worktrees and clones have the hooks?", "commit what `dibs init` wrote"),
    "bare": ("could the client run without hooks, as Claude Code with `--bare`?", "start it without `--bare`"),
    "audit": ("could the audit look?", "`dibs check` says what stood in its way"),
    "git hooks": ("do commits and pushes pass the guards?", "`dibs init`"),
}


def doctor_rows() -> list[str]:
    """The rows of the table of doctor's checks."""
    rows = [f"| {name} | {asks} | {remedy} |\n" for name, (asks, remedy) in DOCTOR.items()]
    return ["| check | asks | if not |\n| --- | --- | --- |\n", *rows]
