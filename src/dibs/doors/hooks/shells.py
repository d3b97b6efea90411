"""Before a shell command: its words are read, its files go to the edit guard, the rest to the command's own decision.

Facts only: which files the words name, what git would sweep up, whether it is a deploy. A command of which nothing is
to be said (`ls`, `make`, `pytest`) passes without opening the store, and is audited afterwards.
"""

from __future__ import annotations

import os

from dibs.doors.hooks import journal
from dibs.doors.hooks.moments import allow_edits, identify, open_session
from dibs.errors import DibsError, Held
from dibs.facts import clock, git, reflog, shell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.doors.hooks.clients import Event
    from dibs.doors.session import Session
    from dibs.facts.gitwords import GitEffect
    from dibs.facts.workspace import Place
    from dibs.operations.call import Call

    Found = tuple[list[dict[str, Any]], list[str]]  # what is swept up, and what is named one by one

PATIENCE = 3.0  # seconds that a command waits for git's index, which others hold for as long as a commit takes
GLANCE = 0.15  # seconds between two looks
PATCH_MOST = 8 * 1024 * 1024  # letters of a patch that are read
OWN_TREE = "Work in a working tree of your own: `git worktree add`."


def before(event: Event, place: Place) -> str:
    """May this command run? Raises the refusal."""
    reading = shell.read(event.command, event.cwd or os.getcwd(), home=os.environ.get("HOME", ""))
    effects = _effects(reading)
    session: Session | None = None
    deploys: list[list[str]] = []
    if reading.commands:
        session = open_session(place)
        deploys = _deploys(session, reading)
    pushed = [act for act in effects if act.kind == "push"]
    taken = ""
    if reading.writes or reading.unresolved or effects or deploys:
        session = session or open_session(place)
        call = identify(session, event)
        paths = [target.path for target in reading.writes]
        deploys = [[*deploy, _against(session, call, deploy[1])] for deploy in deploys]
        sweeps, more, index = _swept(session, effects)
        fields = {
            "tree": place.top, "sweeps": sweeps, "unresolved": reading.unresolved, "deploys": deploys,
            "acts": _acts(effects, pushed), "client": event.client,
            "index": list(session.paths.resource("git:index", place.top)) if index else None,
        }  # fmt: skip
        if sweeps or reading.unresolved or deploys or index or fields["acts"]:
            taken = ",".join(_command(session, call, fields))
        paths += more
        if paths:
            try:
                allow_edits(session, call, event, paths)
            except DibsError:
                if taken:
                    _give_back(session, call, taken)
                raise
    line = journal.line("O", event.call or event.tool, str(reflog.size(place.top)), taken)
    journal.append(place.local, event.agent, [line])
    return ""


def _effects(reading: Any) -> list[GitEffect]:
    """What the git commands among them would do."""
    if not reading.git:
        return []
    from dibs.facts import gitwords

    found = [gitwords.effect(simple.words, simple.cwd or "") for simple in reading.git]
    return [effect for effect in found if effect is not None and not effect.dry]


def _acts(effects: list[GitEffect], pushed: list[GitEffect]) -> list[str]:
    """What a role may forbid."""
    acts = []
    if any(effect.kind in {"commit", "merge", "cherry-pick", "revert", "rebase", "am"} for effect in effects):
        acts.append("commit")
    if pushed:
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


def _give_back(session: Session, call: Call, taken: str) -> None:
    from dibs.operations.audits import AUDIT

    session.run(AUDIT, call, {"release": taken.split(",")})


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


# --- git


def _swept(session: Session, effects: list[GitEffect]) -> tuple[list[dict[str, Any]], list[str], bool]:
    """What git would sweep up; the files that are named one by one; whether the index is touched."""
    sweeps: list[dict[str, Any]] = []
    named: list[str] = []
    for effect in effects:
        look = _LOOKS.get(effect.kind)
        if look is not None:
            found = look(effect.cwd or session.cwd, effect)
            sweeps += found[0]
            named += found[1]
    return sweeps, named, any(effect.index for effect in effects)


def _sweep(effect: GitEffect, paths: list[str] | None, does: str, safe: str = "", other: str = "") -> Found:
    """One thing that git would do to many files; None for all of them."""
    what = " ".join([word if word is not None else "…" for word in effect.words])[:120]
    return [{"what": what, "paths": paths, "does": does, "safe": safe, "else": other}], []


def _add(where: str, effect: GitEffect) -> Found:
    changes = git.dirty(where, effect.paths)
    return _sweep(effect, [change.path for change in changes], "take in", "git add --")


def _commit(where: str, effect: GitEffect) -> Found:
    paths = [] if effect.paths else git.staged(where)
    if effect.all or effect.paths:
        paths += [change.path for change in git.dirty(where, effect.paths, untracked=False)]
    return _sweep(effect, paths, "commit", "git commit --")


def _stash(where: str, effect: GitEffect) -> Found:
    if "pop" in effect.words or "apply" in effect.words:
        return _sweep(effect, git.stash_paths(where), "write over", other=OWN_TREE)
    kept = [change.path for change in git.dirty(where, effect.paths) if effect.all or not change.untracked]
    return _sweep(effect, kept, "take away", "git stash push --")


def _throw_away(where: str, effect: GitEffect) -> Found:
    """checkout, switch, restore, reset: changes of the working tree that are lost, and what another commit brings."""
    if not effect.tree:
        return [], []
    if effect.paths:
        changes = git.dirty(where, effect.paths, untracked=False)
        return _sweep(effect, [change.path for change in changes], "write over", "git restore --")
    lost: list[str] = []
    if effect.kind == "reset" or effect.force:
        lost = [change.path for change in git.dirty(where, untracked=False)]
    return _sweep(effect, [*lost, *_brought(where, effect)], "write over", "git restore --", OWN_TREE)


def _brought(where: str, effect: GitEffect) -> list[str]:
    """The files that differ between here and the commits that are named."""
    found: list[str] = []
    for word in effect.words[1:]:
        if word is not None and not word.startswith("-"):
            commit = git.commit(where, word)
            if commit:
                found += git.diff_paths(where, "HEAD", commit)
    return found


def _bring_in(where: str, effect: GitEffect) -> Found:
    """Files change under everybody's hands; what a pull or an e-mailed patch brings is not known beforehand."""
    known = effect.kind in {"merge", "rebase", "cherry-pick", "revert"}
    paths = _brought(where, effect) if known else []
    return _sweep(effect, paths or None, "change", other=OWN_TREE)


def _clean(where: str, effect: GitEffect) -> Found:
    paths = [change.path for change in git.dirty(where, effect.paths) if change.untracked]
    return _sweep(effect, paths, "delete", "git clean -f --")


def _named(where: str, effect: GitEffect) -> Found:
    """rm, mv: edits of the files that they name."""
    return [], [os.path.join(where, path) for path in effect.paths] if effect.tree else []


def _apply(where: str, effect: GitEffect) -> Found:
    """The files that a patch names; one that cannot be read may change anything."""
    from dibs.facts import patches

    if not effect.tree:
        return [], []
    found: list[str] = []
    for path in effect.paths:
        try:
            with open(os.path.join(where, path), encoding="utf-8", errors="surrogateescape") as file:
                found += patches.diff_paths(file.read(PATCH_MOST))
        except (OSError, ValueError):
            return _sweep(effect, None, "change", other=OWN_TREE)
    if not found:
        return _sweep(effect, None, "change", other=OWN_TREE)
    top = git.top(where)
    return [], [os.path.join(top, name) for name in found]


_LOOKS = {
    "add": _add, "commit": _commit, "stash": _stash, "checkout": _throw_away, "switch": _throw_away,
    "restore": _throw_away, "reset": _throw_away, "clean": _clean, "pull": _bring_in, "merge": _bring_in,
    "rebase": _bring_in, "cherry-pick": _bring_in, "revert": _bring_in, "am": _bring_in, "apply": _apply,
    "rm": _named, "mv": _named,
}  # fmt: skip
