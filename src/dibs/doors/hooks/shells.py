"""Before a shell command: its words are read, its files go to the edit guard, the rest to the command's own decision.

Facts only: which files the words name, what git would sweep up, whether it is a deploy. A command of which nothing is
to be said (`ls`, `make`, `pytest`) passes without opening the store, and is audited afterwards.
"""

from __future__ import annotations

import os

from dibs.doors.hooks import journal
from dibs.doors.hooks.moments import allow_edits, identify, open_session
from dibs.errors import DibsError, Held
from dibs.facts import clock, reflog, shell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.doors.hooks.clients import Event
    from dibs.doors.session import Session
    from dibs.facts.gitwords import GitEffect as Effect
    from dibs.facts.workspace import Place
    from dibs.operations.call import Call

PATIENCE = 3.0  # seconds that a command waits for git's index, which others hold for as long as a commit takes
GLANCE = 0.15  # seconds between two looks
MAKE_COMMITS = frozenset({"commit", "merge", "cherry-pick", "revert", "rebase", "am"})


def before(event: Event, place: Place) -> str:
    """May this command run? Raises the refusal."""
    reading = shell.read(event.command, event.cwd or os.getcwd(), home=os.environ.get("HOME", ""))
    session = open_session(place) if reading.commands or reading.writes or reading.unresolved else None
    taken: list[str] = []
    if session is not None:
        effects = _effects(reading)
        deploys = _deploys(session, reading)
        if reading.writes or reading.unresolved or effects or deploys:
            taken = _decide(session, event, reading, effects, deploys)
    line = journal.line("O", event.call or event.tool, str(reflog.size(place.top)), ",".join(taken))
    journal.append(place.local, event.agent, [line])
    return ""


def _decide(session: Session, event: Event, reading: Any, effects: list[Effect], deploys: list[list[str]]) -> list[str]:
    """Both decisions: the command's own, and that about the files it names. The claims that end with the call."""
    call = identify(session, event)
    paths = [target.path for target in reading.writes]
    unresolved = _doubts(session, reading)
    sweeps: list[dict[str, Any]] = []
    index: list[list[str]] = []
    if effects:
        from dibs.doors.hooks import sweeping

        found = sweeping.look(session, effects)
        sweeps, index = found.sweeps, found.index
        paths += found.named
        unresolved += found.unresolved
    fields = {
        "tree": session.place.top, "sweeps": sweeps, "unresolved": unresolved, "acts": _acts(effects),
        "deploys": [[*deploy, _against(session, call, deploy[1])] for deploy in deploys],
        "index": index, "client": event.client,
    }  # fmt: skip
    taken: list[str] = []
    if sweeps or unresolved or deploys or index or fields["acts"]:
        taken = _command(session, call, fields)
    if paths:
        try:
            allow_edits(session, call, event, paths)
        except DibsError:
            if taken:
                _give_back(session, call, taken)
            raise
    return taken


def _doubts(session: Session, reading: Any) -> list[Any]:
    """What the words leave open, in the working trees of this workspace."""
    if not reading.unresolved:
        return []
    from dibs.doors.hooks import doubts

    return [*doubts.placed(session, reading.unresolved)]


def _effects(reading: Any) -> list[Effect]:
    """What the git commands among them would do, each with the directory it is run in."""
    if not reading.git:
        return []
    from dibs.facts import gitwords

    found = []
    for simple in reading.git:
        effect = gitwords.effect(simple.words, simple.cwd)
        if effect is not None and not effect.dry:
            found.append(effect)
    return found


def _acts(effects: list[Effect]) -> list[str]:
    """What a role may forbid."""
    acts = []
    if any(effect.kind in MAKE_COMMITS for effect in effects):
        acts.append("commit")
    if any(effect.kind == "push" for effect in effects):
        acts.append("deploy")
    return acts


def _command(session: Session, call: Call, fields: dict[str, Any]) -> list[str]:
    """The decision; where only git's index is in the way, a moment later it is free."""
    from dibs.operations.commands import COMMAND

    until = clock.since_boot() + int(PATIENCE * 1000)
    while True:
        try:
            claims: list[str] = session.run(COMMAND, call, fields)["claims"]
        except Held as error:
            index = all(blocker["resource"].startswith("git:index") for blocker in error.fields["blockers"])
            if not index or clock.since_boot() > until:
                raise
            call.facts.clear()
            clock.sleep(GLANCE)
        else:
            return claims


def _give_back(session: Session, call: Call, taken: list[str]) -> None:
    from dibs.operations.audits import AUDIT

    session.run(AUDIT, call, {"release": taken})


# --- deploys


def _deploys(session: Session, reading: Any) -> list[list[str]]:
    """Commands that the config calls deploys, with their targets."""
    patterns: dict[str, str] = session.config.policy.guards["deploy"].get("commands", {})
    found = []
    for simple in reading.commands:
        words = [word if word is not None else "…" for word in simple.words]
        if not words:
            continue
        words = [words[0].rpartition("/")[2], *words[1:]]
        if words[0] in {"npx", "bunx", "pnpm", "yarn", "npm"} and len(words) > 1:
            runner = [word for word in words[1:] if not word.startswith("-") and word not in {"exec", "dlx", "run"}]
            candidates = [words, runner]
        else:
            candidates = [words]
        for pattern, target in patterns.items():
            if any(_speaks_of(pattern, candidate) for candidate in candidates):
                found.append([simple.text or " ".join(words), target])
                break
    return found


def _against(session: Session, call: Call, target: str) -> str:
    """What speaks against a deploy right now; "" if nothing does."""
    from dibs.doors import deploying

    error = deploying.check(session, call, target, session.place.top, timeout=PATIENCE)
    return "" if error is None else error.message


def _speaks_of(pattern: str, words: list[str]) -> bool:
    """Do the words begin as the pattern does? Options between them do not matter (`kubectl -n prod apply`)."""
    wanted = pattern.replace("*", "").split()
    if not wanted or not words or words[0] != wanted[0].rpartition("/")[2]:
        return False
    place = 1
    for word in words[1:]:
        if place < len(wanted) and word == wanted[place]:
            place += 1
    return place == len(wanted)
