"""Before a shell command: its words are parsed, its files go to the edit guard, the rest to the shell guard.

Facts only: the files that it names and shows, what git would sweep up, whether it is a deploy. A command without any of
these (`ls`, `make`, `pytest`) passes without opening the store, and is audited afterwards.
"""

from __future__ import annotations

import os

from dibs import shell
from dibs.errors import DibsError, Held
from dibs.git import reflog
from dibs.guards import audit
from dibs.guards.caller import Queued, begin, identify, open_session
from dibs.ledger import contents, ledger_files, working_tree
from dibs.ledger.state import BACK, MERGES, MISSING, UNITS, WHOLE, tree_line
from dibs.machine import caller, links

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dibs.canonical import Canonical
    from dibs.client.session import Session
    from dibs.git.effects import GitEffect as Effect
    from dibs.guards.edit_call import Write
    from dibs.guards.payload import Event
    from dibs.ledger.working_tree import Tree
    from dibs.operations.core.call import Call
    from dibs.operations.guards.shared_tree import TreeEffect
    from dibs.operations.guards.shell_guard import OpenTarget
    from dibs.operations.pools.shapes import Use
    from dibs.shell import Reading, Simple, Target
    from dibs.workspace.location import Place

REMOTE_TIMEOUT_S = 3.0  # the deploy is refused in any case
ONLY_WRITE = frozenset(("cp", "mkdir", "mv", "printf", "rm", "sed", "tee", "touch"))  # they run no other program
NEEDS_A_FILE = frozenset(("sed", "gsed", "perl", "ruby"))  # in place: they fail where there is no file
REPLACES_LINKS = frozenset({"delete", "move", "link", "symlink"})  # they never write to a link's target
BRINGS_BACK = frozenset({"checkout", "restore", "stash", "clean"})
MAKE_COMMITS = frozenset({"commit", "merge", "cherry-pick", "revert", "rebase", "am"})


def before(event: Event, place: Place) -> str:
    """May this command run? Raises the refusal."""
    reading = _read(event)
    known = _trees(event, place, reading)
    shown = _shown(known, place, reading)
    for top, tree in known.items():
        tree.survey(shown.get(top, ()))
        if reading.kind != "harmless":
            tree.look_if_behind(event.agent)
        if shown:
            tree.write()
        tree.settle()
    session = open_session(place) if reading.commands or reading.writes or reading.unresolved else None
    taken: list[str] = []
    undone = False
    if session is not None:
        effects = _effects(reading)
        deploys = _deploys(session, reading)
        spoken = _spoken(event, reading)
        asked = reading.writes or reading.unresolved or effects or deploys or spoken
        if asked or any(tree.untold() for tree in known.values()):
            call = identify(session, event)
            audit.tell(session, call, known.values())
            if spoken:
                from dibs.operations.guards.shell_guard import COMMAND

                session.run(COMMAND, call, {"tree": place.top, "spoken": spoken, "client": event.client})
            taken, undone = _decide(session, call, event, reading, effects, deploys, known)
        uses = session.config.policy.pools["use"]
        if uses and event.units is None and any(_may_need_units(simple, uses) for simple in reading.commands):
            from dibs.guards import pool_turn

            try:
                pool_turn.take(session, event, reading.commands, known[place.top])
            except BaseException:
                if taken:
                    _give_back(session, identify(session, event), taken)
                raise
    _note(event, place, reading, known, shown, taken, undone=undone)
    return ""


def _read(event: Event) -> Reading:
    """The words of the command, in the language of its tool."""
    home = caller.environ().get("HOME", "")
    if "powershell" in event.tool.lower() or "pwsh" in event.tool.lower():
        from dibs.shell import powershell

        return powershell.read(event.command, event.where, home=home)
    return shell.read(event.command, event.where, home=home)


def _spoken(event: Event, reading: Reading) -> list[tuple[str, str]]:
    """The dibs commands in it that act as another agent, or that are not for agents."""
    if "dibs" not in event.command and "DIBS_AGENT" not in event.command:
        return []
    from dibs.shell import dibs_commands

    return dibs_commands.speaks_as(reading.commands)


def _trees(event: Event, place: Place, reading: Reading) -> dict[str, Tree]:
    """The working tree in use, and others: the command's own, and those that it goes to, or names to a program."""
    found = {place.top: working_tree.of(place)}
    for where in dict.fromkeys([event.where, *_elsewhere(place, reading)]):
        here = os.path.realpath(where)
        if here != place.top and not here.startswith(f"{place.top}/"):
            from dibs.workspace import location

            top = location.tree_of(place, f"{here}/.")
            if top and top not in found:
                found[top] = working_tree.at(top, place)
    return found


def _elsewhere(place: Place, reading: Reading) -> list[str]:
    """The directories that the commands run in, and the paths that they give to programs, outside of this tree."""
    inside = f"{place.top}/"
    found = []
    for simple in reading.commands:
        cwd = simple.cwd
        if cwd is not None and cwd != place.top and not cwd.startswith(inside):
            found.append(cwd)
        if reading.kind != "open" or cwd is None or simple.words[:1] == ["git"]:  # git's are looked at by its effects
            continue
        for word in (*simple.words, *simple.assignments.values()):
            path = word.rpartition("=")[2] if word else ""
            if path[:1] == "/" or path[:2] == "..":
                found.append(os.path.join(cwd, path))
    return found


def _shown(known: dict[str, Tree], place: Place, reading: Reading) -> dict[str, list[str]]:
    """The files that the command shows to the agent, by working tree."""
    found: dict[str, list[str]] = {}
    for path in [*reading.shown, *[path for path, _ in reading.git_shown]]:
        real = links.real(path)
        for top in known:
            if real.startswith(f"{top}/"):
                found.setdefault(top, []).append(real[len(top) + 1 :])
                break
        else:
            from dibs.workspace import location

            top = location.tree_of(place, real)
            if top:
                known[top] = working_tree.at(top, place)
                found.setdefault(top, []).append(real[len(top) + 1 :])
    return found


def _note(
    event: Event, place: Place, reading: Reading, known: dict[str, Tree], shown: dict[str, list[str]], taken: list[str],
    *, undone: bool,
) -> None:  # fmt: skip
    """What the agent will have seen, and that the call begins: unless it can write nothing."""
    partly = {links.real(path) for path, how in reading.git_shown if how == "show"}
    for top, paths in shown.items():
        tree = known[top]
        seen = []
        for path in paths:
            head = tree.state.heads.get(path)
            if head is None or head.content == MISSING:
                continue
            if f"{top}/{path}" in partly and head.content != tree.index.blob(path):
                continue  # it shows an earlier version, not the present one
            seen.append((path, head.content, tree.now))
        if seen:
            ledger_files.saw(tree.folder, event.agent, seen)
    moded, unnamed = _name_moded(event, place, reading, known)
    if reading.kind == "harmless" and not taken and not undone and not moded and not event.units:
        return
    known[place.top].add(*[tree_line(event.key, top) for top in known if top != place.top])
    for tree in known.values():
        begin(
            tree, event, is_open=unnamed or reading.kind == "open", left=reading.background,
            diary=reflog.size(place.top), claims=[*taken, *[UNITS + one for one in event.units or ()]],
        )  # fmt: skip


def _name_moded(event: Event, place: Place, reading: Reading, known: dict[str, Tree]) -> tuple[bool, bool]:
    """Name the files whose mode the command changes: its own doing, though nothing is claimed for that.

    Does it change any; and does it change some that its words do not name (`chmod -R`, a glob)?
    """
    changers = [one for one in reading.commands if one.words[:1] == ["chmod"]] if "chmod" in event.command else []
    unnamed = False
    for simple in changers:
        for word in simple.words[1:]:
            real = os.path.realpath(os.path.join(simple.cwd, word)) if word and simple.cwd is not None else "/"
            path = known[place.top].inner(real)
            if path and os.path.isfile(real):
                known[place.top].name(event.key, path, MERGES)
            else:
                unnamed = unnamed or real == "/" or os.path.isdir(real) or any(sign in (word or "") for sign in "*?[")
    return bool(changers), unnamed


def _decide(
    session: Session, call: Call, event: Event, reading: Reading, effects: list[Effect], deploys: list[list[str]],
    known: dict[str, Tree],
) -> tuple[list[str], bool]:  # fmt: skip
    """The decisions, on git's index when no other agent's command holds it: what that one staged is of a moment."""
    if not effects:
        return _decided(session, call, event, reading, effects, deploys, known)
    from dibs.guards import index_turn

    first: list[str] = []
    if index_turn.is_busy(event, known):
        first = index_turn.take(session, call, effects)
    try:
        try:
            return _decided(session, call, event, reading, effects, deploys, known)
        except Held as error:
            from dibs.error_subtypes import Transient

            if first or not isinstance(error, Transient):
                raise
        first = index_turn.take(session, call, effects)
        return _decided(session, call, event, reading, effects, deploys, known)
    except (DibsError, Queued):
        if first:
            _give_back(session, call, first)
        raise


def _decided(
    session: Session, call: Call, event: Event, reading: Reading, effects: list[Effect], deploys: list[list[str]],
    known: dict[str, Tree],
) -> tuple[list[str], bool]:  # fmt: skip
    """Both decisions: the command's own, and that about the files it names.

    The claims that end with the call; and does it bring back what git has of files that it names?
    """
    from dibs.guards.edit_call import ITSELF, Write, allow

    claimed = _claimed(event, reading)
    writes = [_write(target, claimed.get(target.path, "")) for target in reading.writes]
    unresolved = _open_targets(session, reading)
    sweeps: list[TreeEffect] = []
    index: list[Canonical] = []
    owned: list[list[Any]] = []
    loose: list[list[Any]] = []
    undone: list[tuple[str, str, str]] = []
    if effects:
        from dibs.guards import git_scope

        swept = _swept_trees(session, effects, known)
        owned = _owned(session, call, swept)
        found = git_scope.look(session, effects)
        sweeps, index, undone = found.sweeps, found.index, found.undone
        if any(sweep.get("drops") for sweep in sweeps):
            loose = _loose(session, call, swept)
        writes += [Write(path, WHOLE, link=ITSELF) for path in found.named]
        unresolved += [{"words": words} for words in found.unresolved]
    elif any(doubt.get("exact") for doubt in unresolved):
        for tree in known.values():
            owned += _work_in(session, call, tree)
    gone, writes = _gone(session, call, event, reading, effects, writes, known, owned)
    sweeps = [*gone, *sweeps]
    fields = {
        "tree": session.place.top, "sweeps": sweeps, "unresolved": unresolved, "acts": _acts(effects),
        "deploys": [[*deploy, _against(session, call, deploy[1])] for deploy in deploys],
        "index": index, "client": event.client, "owned": owned, "loose": loose, "waits": True,
    }  # fmt: skip
    taken: list[str] = []
    if sweeps or unresolved or deploys or index or fields["acts"]:
        from dibs.operations.guards.shell_guard import COMMAND

        taken = session.run(COMMAND, call, fields)["claims"]
    if writes:
        try:
            allow(session, call, event, writes, known)
        except (DibsError, Queued):
            if taken:
                _give_back(session, call, taken)
            raise
    for doubt in unresolved:
        if doubt.get("exact") and doubt["tree"] in known:  # it holds them while it runs: their changes are its own
            for resource in doubt["below"] or ():
                known[doubt["tree"]].name(event.key, resource[1], MERGES)
    if undone:
        _name_undone(session, event, undone, known, writes, sure=_only_brings_back(reading, effects))
    return taken, bool(undone)


def _gone(
    session: Session, call: Call, event: Event, reading: Reading, effects: list[Effect], writes: list[Write],
    known: dict[str, Tree], owned: list[list[Any]],
) -> tuple[list[TreeEffect], list[Write]]:  # fmt: skip
    """What it would do to git's own directory and to whole working trees, and its other writes; adds to `owned`."""
    goes = any(write.goes for write in writes)
    found: list[TreeEffect] = []
    if ".git" in event.command or goes or any(effect.kind in {"config", "init"} for effect in effects):
        from dibs.guards import git_folder

        found = git_folder.look(session, reading, effects)
        if found and not owned:
            owned += _owned(session, call, known)
    if goes:
        from dibs.guards import tree_removal

        removed, writes = tree_removal.look(session, event, reading, writes)
        for fact in removed:
            owned += _owned(session, call, {fact["tree"]: working_tree.at(fact["tree"], session.place)})
            found.append(tree_removal.with_unfinished(session, fact))
    return found, writes


def _name_undone(
    session: Session, event: Event, undone: list[tuple[str, str, str]], known: dict[str, Tree], writes: list[Write],
    *, sure: bool,
) -> None:  # fmt: skip
    """Name what goes back to what git has: its own doing, though nothing is claimed for it.

    Nobody works on what is undone. `sure`: nothing else in the command changes those files.
    """
    written = {event.real(write.path) for write in writes}
    for top, path, content in undone:
        tree = known.get(top) or known.setdefault(top, working_tree.at(top, session.place))
        if f"{top}/{path}" not in written:
            tree.name(event.key, path, BACK, blob=_brought(tree, path, content) if sure else "")


def _only_brings_back(reading: Reading, effects: list[Effect]) -> bool:
    """Does the command nothing to files but bring back what git has, or delete what git has not?"""
    programs = {one.words[0] for one in reading.commands if one.words}
    if reading.kind == "open" and not all(name in {"git", "cd"} or shell.only_looks(name) for name in programs):
        return False
    return all(effect.kind in BRINGS_BACK and effect.action in {"", "push", "save"} for effect in effects)


def _brought(tree: Tree, path: str, content: str) -> str:
    """The content that git brings back: of a commit, or of the index. "" if a look could not tell it by its id."""
    found = content or tree.index.blob(path)
    if path[-1:] == "/" or content == MISSING:
        return found
    size = contents.signature(f"{tree.top}/{path}").partition(":")[0]
    is_large = size.isdigit() and int(size) > contents.MAX_WHOLE_BYTES
    return "" if found == MISSING or is_large else found


def _swept_trees(session: Session, effects: list[Effect], known: dict[str, Tree]) -> dict[str, Tree]:
    """These working trees, and those in which the git commands act (`git -C TREE`), or which they remove."""
    from dibs.workspace import location

    found = dict(known)
    for effect in effects:
        if effect.cwd is not None:
            removed = effect.kind == "worktree" and effect.action == "remove" and effect.paths
            where = os.path.join(effect.cwd, effect.paths[0]) if removed else effect.cwd
            top = location.tree_of(session.place, f"{os.path.realpath(where)}/.")
            if top and top not in found:
                found[top] = working_tree.at(top, session.place)
    return found


def _loose(session: Session, call: Call, known: dict[str, Tree]) -> list[list[Any]]:
    """Uncommitted changes that no agent made, as far as the ledger knows, and that this one has not read."""
    from dibs.guards.git_paths import resource_of

    found = []
    for tree in known.values():
        began = tree.state.began.get(call.agent, tree.now if tree.top == session.place.top else 0)
        for path in tree.unread(call.agent):
            later = contents.changed_at(f"{tree.top}/{path}", tree.state.heads[path].signature) > began
            found.append([tree.top, resource_of(session, path, tree.top), later])
    return found


def _owned(session: Session, call: Call, known: dict[str, Tree]) -> list[list[Any]]:
    """Other agents' unfinished work in these working trees, after a look at all files that git calls changed."""
    found = []
    for tree in known.values():
        if not session.place.common:
            continue
        tree.look_at_all()
        audit.tell(session, call, [tree])
        found += _work_in(session, call, tree)
    return found


def _work_in(session: Session, call: Call, tree: Tree) -> list[list[Any]]:
    """Other agents' unfinished work in a working tree, and whether this one has read what is there."""
    from dibs.guards.git_paths import resource_of

    seen = ledger_files.Seen(tree.folder, call.agent)
    return [
        [tree.top, resource_of(session, path, tree.top), owners, seen.last(path) == tree.state.heads[path].content]
        for path, owners in tree.state.owned(call.agent).items()
    ]


def _write(target: Target, claimed: str) -> Write:
    """A target of the command, for the edit guard."""
    from dibs.guards.edit_call import EITHER, FOLLOWED, ITSELF, Write

    how = MERGES if target.merges or target.how in {"append", "touch"} else WHOLE
    link = ITSELF if target.how in REPLACES_LINKS else FOLLOWED if target.how in {"append", "touch"} else EITHER
    gone = target.how in {"delete", "move"}
    fails = how == MERGES and target.words.partition(" ")[0] in NEEDS_A_FILE
    return Write(target.path, how, target.text, goes=gone, link=link, claimed=claimed, needs_file=fails)


def _claimed(event: Event, reading: Reading) -> dict[str, str]:
    """The files that the command itself claims before it writes them (`dibs claim F --wait 60s && … > F`)."""
    if "dibs" not in event.command:
        return {}
    from dibs.shell import dibs_commands

    return dibs_commands.claims_first(event.command, reading)


def _open_targets(session: Session, reading: Reading) -> list[OpenTarget]:
    """The open targets, in the working trees of this workspace."""
    if not reading.unresolved:
        return []
    from dibs.guards import open_targets

    return [*open_targets.placed(session, reading.unresolved)]


def _effects(reading: Reading) -> list[Effect]:
    """The git commands in it, each with its directory."""
    if not reading.git:
        return []
    from dibs.git import aliases

    return aliases.effects(reading)


def effects_of(event: Event) -> set[str]:
    """The git commands that its words run."""
    reading = shell.read(event.command, event.where, home=caller.environ().get("HOME", ""))
    return {effect.kind for effect in _effects(reading)}


def _acts(effects: list[Effect]) -> list[str]:
    """The acts that a role may forbid."""
    acts = []
    if any(effect.kind in MAKE_COMMITS for effect in effects):
        acts.append("commit")
    if any(effect.kind == "push" for effect in effects):
        acts.append("deploy")
    return acts


def _give_back(session: Session, call: Call, taken: list[str]) -> None:
    from dibs.operations.guards.audits import GIVE_BACK

    session.run(GIVE_BACK, call, {"release": taken})


# --- deploys


def _deploys(session: Session, reading: Reading) -> list[list[str]]:
    """Commands that deploy, by their words or by what their scripts run, with their targets."""
    patterns = session.config.policy.guards["deploy"].get("commands", {})
    if not any(_may_deploy(simple, patterns) for simple in reading.commands):
        return []
    from dibs.shell import deploy_commands

    patterns = deploy_commands.spelled(patterns)
    programs = deploy_commands.names(patterns)
    worth = [simple for simple in reading.commands if deploy_commands.may_be(simple, programs)]
    return deploy_commands.find(worth, patterns, session.cwd) if worth else []


def _may_deploy(simple: Simple, patterns: dict[str, str]) -> bool:
    """Do its words need a closer look? Programs that run no others do not, unless the config names them."""
    first = simple.words[0] if simple.words else None
    if shell.only_looks(first):
        return False
    return first not in ONLY_WRITE or any(first in pattern for pattern in patterns)


def _may_need_units(simple: Simple, uses: Sequence[Use]) -> bool:
    """Do its words need a closer look? Programs that only look do not, unless a pattern begins with them."""
    first = simple.words[0] if simple.words else None
    if not shell.only_looks(first):
        return True
    return any(first == pattern.split(None, 1)[0] for use in uses for pattern in use["match"])


def _against(session: Session, call: Call, target: str) -> str:
    """Why a deploy would be refused now; "" if it would not."""
    from dibs.deploy import checks

    error = checks.check(session, call, target, session.place.top, timeout=REMOTE_TIMEOUT_S)
    return "" if error is None else error.message
