"""A working tree that several agents share: what git may do to its files, its branch and the stashes, and what not.

Doors bring facts, a dictionary for each effect of a git command. All have `what` (the command) and `tree` (the top of
the working tree); in addition to that, by their keys:
- `paths` (None: not known), `folders`, `does`: files that would be taken in, overwritten, deleted. Refused if other
  agents hold one of them, with the list and the same command for the other files: `safe` begins it, `wide` if it says
  what to leave out (`without`: by git clean's patterns); `else` is the advice if there is no such command. `may`: it is
  not certain. `drops`: uncommitted changes in them would be gone; then changes that no agent made (a person's) count,
  too, if they are newer than the caller's session and it has not read them: a person is at work there. Older ones go,
  as with a write of the whole file, and the caller is told how to bring them back.
- `head` (`switch`: another branch, `move`: the same one elsewhere), `to`: refused while other agents hold files in that
  working tree, because their next commit would land elsewhere. `main`: the claims that are not bound to a tree count
  there.
- `makers` (agent → commit), `does`: commits that would be rewritten or dropped. Refused if an agent at work made one
  of them.
  `unlanded`: nothing else has them; then it does not matter whether that agent is at work.
- `unfinished`: uncommitted work in a working tree that would go as a whole. Refused, also to its author: what goes by
  accident goes with its tree. The ways out are a commit, or a stash, which outlives the tree.
- `stashes`, `takes`, `pushes`: the existing stashes, those that would go, whether one is made. The makers are kept
  from one such command to the next. Refused if another agent made it.
- `record`: dibs' own record would go; the text is the command that leaves it there.
- `repository`, `unpushed`: a part of git's own directory would go, or the repository would be switched off. Refused
  while other agents have claims or unfinished work, or while there is something in it that no remote has.
- `past`, `protected`: a push to these branches that bypasses git's own hook, which has the deploy guard.
"""

from __future__ import annotations

from dibs.errors import Conflict, Forbidden, Held, quoted
from dibs.operations.agents.names import name_of
from dibs.operations.agents.records import get_agent
from dibs.operations.claims import resources
from dibs.operations.core.call import related
from dibs.operations.core.declare import Field
from dibs.operations.guards import records
from dibs.operations.guards.concerns import UnreadChange, is_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypedDict

    from dibs.errors import DibsError
    from dibs.operations.claims.resources import Resource
    from dibs.operations.core.call import Call
    from dibs.operations.guards.concerns import Concern
    from dibs.operations.guards.records import Stashes
    from dibs.stores.seam import Transaction

    Advice = TypedDict("Advice", {"else": str}, total=False)  # as FACTS has it

    class SweepFields(TypedDict, total=False):
        """What a door says of an effect on many files, in addition to the files and what happens to them."""

        tree: str
        here: str  # the working tree of the command; shell_guard.py adds it
        folders: list[str]
        may: bool
        drops: bool
        own: bool
        skips: list[str]
        without: str
        named: str
        inside: str
        below: bool
        head: str
        to: str
        main: bool
        makers: dict[str, str]
        unlanded: bool
        unfinished: list[str]
        stashes: list[str]
        takes: list[str]
        pushes: bool
        dropped: str
        record: str
        repository: str
        unpushed: str
        past: str
        protected: list[str]

    class EffectFields(SweepFields, Advice, total=False):
        """What a door says of any effect."""

        paths: list[str] | None
        does: str
        safe: str
        wide: str

    class TreeEffect(EffectFields):
        """An effect of a git command on a shared working tree: the fields of `FACTS`, where each is explained."""

        what: str


MAX_FILES_SHOWN = 10  # in a refusal, or in a safe command
MAX_FILES_EXCLUDED = 30  # by a safe command; with more, nobody reads it
MAX_STASHES = 200
STASHES = "take away"  # what git stash does
FACTS = (
    Field("what", "raw", "the command", required=True),
    Field("tree", "tree", "the top of the working tree; the command's own, if nothing is said"),
    Field("paths", "raws", "the files; not known, if nothing is said"),
    Field("folders", "raws", "whole folders"),
    Field("does", "raw", "what would happen to them"),
    Field("may", "flag", "it is not certain"),
    Field("drops", "flag", "uncommitted changes in them would be gone"),
    Field("own", "flag", "only claims of that very working tree count"),
    Field("safe", "raw", "how the safe command begins"),
    Field("skips", "raws", "files that the safe command cannot name: git's index does not have them"),
    Field("wide", "raw", "the same, where it says what to leave out"),
    Field("without", "raw", "how git clean's patterns begin"),
    Field("named", "raw", "the end of git clean's command"),
    Field("inside", "raw", "the folder from which git counts paths"),
    Field("below", "flag", "the command is run below the top"),
    Field("else", "raw", "the advice, if there is no safe command"),
    Field("head", "choice", "what happens to HEAD", choices=("switch", "move"), default=""),
    Field("to", "raw", "the branch that HEAD would be on"),
    Field("main", "flag", "claims that are bound to no working tree count there"),
    Field("makers", "texts", "the commits that would go, by their agents"),
    Field("unlanded", "flag", "nothing else has these commits, and they were never landed"),
    Field("unfinished", "raws", "uncommitted work of the caller's own that would go with its working tree"),
    Field("stashes", "words", "the stashes that are there"),
    Field("takes", "words", "those that would go"),
    Field("pushes", "flag", "a stash is made"),
    Field("dropped", "raw", "options that the safe command leaves out"),
    Field("record", "raw", "the command that leaves dibs' own record"),
    Field("repository", "raw", "the part of git's own directory that would go, or what is switched off"),
    Field("unpushed", "raw", "what is in the repository and in no remote"),
    Field("past", "raw", "the option that bypasses git's hook"),
    Field("protected", "raws", "the branches that it protects"),
)
UNPRINTABLE = "\ufffd"  # in a path: a letter that cannot be shown, see workspace/paths.py
UNSAID = "…"  # in a command: a value that is not written out
OTHER_WAY = "Name your own files one by one, or work in a working tree of your own (`git worktree add`)."


def refusal(tx: Transaction, call: Call, effect: TreeEffect, others: Sequence[Concern]) -> DibsError | None:
    """Why git may not do that now; None if it may. `others`: what counts here."""
    if effect.get("record"):
        return Forbidden(
            f"`{effect['what']}` would delete dibs' own record (.dibs/local), for all agents. "
            f"Run `{effect['record']}` instead.",
            instead=effect["record"],
        )
    if effect.get("repository"):
        return _repository(tx, effect, others)
    if effect.get("past"):
        protected = list(effect.get("protected", ()))
        where = ", ".join(protected) or "a protected branch"
        return Forbidden(
            f"`{effect['what']}` would push to {where} past git's own hook ({effect['past']}), "
            f"which looks whether that is safe. Leave {effect['past']} out.",
            protected=protected,
        )
    if "stashes" in effect:
        return _stashed(tx, call, effect)
    if "makers" in effect:
        return rewritten(tx, call, effect)
    if effect.get("head"):
        return _moved(tx, effect, others)
    return _swept(tx, effect, others) or _unfinished(effect)


def _repository(tx: Transaction, effect: TreeEffect, others: Sequence[Concern]) -> Forbidden | None:
    """Refuse to delete, move or switch off the repository while there is something in it to lose."""
    agents = list(dict.fromkeys([name_of(tx, concern.agent) for concern in others if concern.agent]))
    reasons = [f"the work of {', '.join(agents)}"] if agents else []
    reasons += [effect["unpushed"]] if effect.get("unpushed") else []
    if not reasons:
        return None
    part = effect["repository"]
    would = f"would take {part} away" if part.startswith(".git") else f"would change {part} for everybody"
    return Forbidden(
        f"`{effect['what']}` {would}, git's own directory for all agents here, with {' and '.join(reasons)}. Leave it "
        "as it is; work in a repository of your own (`git clone . DIR`), or ask a person to do it.",
        repository=part,
    )


def _unfinished(effect: TreeEffect) -> Conflict | None:
    """Refuse to take away a working tree with uncommitted work in it."""
    paths = effect.get("unfinished")
    if not paths:
        return None
    more = f" and {len(paths) - MAX_FILES_SHOWN} more" if len(paths) > MAX_FILES_SHOWN else ""
    where = quoted(effect["tree"])
    return Conflict(
        f"`{effect['what']}` would delete the working tree {effect['tree']} with work in it that is not committed: "
        f"{', '.join(paths[:MAX_FILES_SHOWN])}{more}. Commit it first (`git -C {where} add -A`, `git -C {where} "
        f"commit`); or put it aside on purpose, where it outlives the tree: `git -C {where} stash push -u`.",
        paths=list(paths[:MAX_FILES_SHOWN]), tree=effect["tree"],
    )  # fmt: skip


# --- files


def _swept(tx: Transaction, effect: TreeEffect, others: Sequence[Concern]) -> DibsError | None:
    """The refusal of a command that would take in or overwrite other agents' files; None if it would not."""
    others = [concern for concern in others if concern.is_in_the_way(effect)]
    if effect.get("own"):  # a whole working tree: agents at work in another one are not affected
        others = [concern for concern in others if concern.tree == effect["tree"]]
    known = set(effect.get("paths") or ())
    touched: list[tuple[str, Concern]] = []
    for concern in others:
        for resource in concern.resources:
            if is_file(resource):
                touched += [(hit, concern) for hit in _hits(effect, known, resource)]
    if not touched:
        return None
    touched.sort(key=lambda item: item[0])
    touched = list({path: (path, concern) for path, concern in reversed(touched)}.values())[::-1]  # each file once
    named = _named(tx, touched)
    instead = _instead(effect, [path for path, _ in touched])
    left = [path for path, concern in touched if concern.is_left]
    if left:
        names = " ".join([quoted(path) for path in left[:MAX_FILES_SHOWN]])
        is_here = effect["tree"] == effect.get("here", effect["tree"])
        where = "" if is_here else f" in {effect['tree']} (`cd` there first)"
        take = f"`dibs claim {names}`{where}."
        if len(left) == len(touched):
            instead = f"To take it over, and then keep it or not: {take}"
        else:  # nobody will commit it
            instead += f" What was left can be taken over: {take}"
    does = effect.get("does") or "touch"
    would = does if effect.get("may") else f"would {does}"
    unread = [path for path, concern in touched if isinstance(concern, UnreadChange)]
    if len(unread) == len(touched):
        listed = ", ".join(unread[:MAX_FILES_SHOWN])
        more = f" and {len(unread) - MAX_FILES_SHOWN} more" if len(unread) > MAX_FILES_SHOWN else ""
        free = instead if instead.startswith("Run ") else ""
        return Conflict(
            f"`{effect['what']}` {would} uncommitted changes that no agent made (a person did, as far as is known), "
            f"and that you have not read: {listed}{more}. {free}{' ' if free else ''}{_read_first(unread)}",
            paths=unread[:MAX_FILES_SHOWN],
        )
    if unread:
        instead += " Read what no agent changed first, if it is to go."
    unknown = ", as far as can be read from its words" if effect.get("may") else ""
    return Held(
        f"`{effect['what']}` {would} files that others hold{unknown}: {named}. {instead}",
        blockers=[
            blocker
            for path, concern in touched[:MAX_FILES_SHOWN]
            if (blocker := concern.blocker(tx, [["file", path]])) is not None
        ],
        more=max(0, len(touched) - MAX_FILES_SHOWN),
        files=[path for path, _ in touched[:MAX_FILES_SHOWN]],
        instead=instead,
    )


def dropped(effect: TreeEffect, others: Sequence[Concern]) -> list[str]:
    """The files of a person's older changes, unread by the caller, that the command drops. A stash keeps them."""
    if not effect.get("drops") or effect.get("does") == STASHES:
        return []
    unread = [concern.resources[0] for concern in others if isinstance(concern, UnreadChange)]
    known = set(effect.get("paths") or ())
    return [hit for resource in unread for hit in _hits(effect, known, resource)]


def _read_first(paths: list[str]) -> str:
    go, them = ("it is", "it") if len(paths) == 1 else ("they are", "each of them")
    return f"If {go} to go, read {them} first, then run it again."


def _hits(effect: TreeEffect, known: set[str], resource: Resource) -> list[str]:
    """The files of one resource that a command would touch; `known`: the paths that it names."""
    paths = effect.get("paths")
    if paths is None:
        return [resources.show(resource)]
    if resource[0] == "file":
        hits = [resource[1]] if resource[1] in known else []
    else:
        hits = [path for path in paths if resources.overlap(["file", path], resource)]
    folders = effect.get("folders", ()) if not hits else ()
    if any(resources.overlap(["tree", folder.rstrip("/")], resource) for folder in folders):
        hits = [resources.show(resource)]
    return hits


def _named(tx: Transaction, touched: list[tuple[str, Concern]]) -> str:
    named = [f"{path} ({concern.who(tx)})" for path, concern in touched[:MAX_FILES_SHOWN]]
    more = len(touched) - MAX_FILES_SHOWN
    return "; ".join([*named, *([f"and {more} more"] if more > 0 else [])])


def _instead(effect: TreeEffect, theirs: list[str]) -> str:
    """The safe command: the same for the files that no other agent holds, or another way."""
    held = set(theirs)
    folders = [folder.rstrip("/") for folder in effect.get("folders", ())]
    whole = [folder for folder in folders if not any(f"{path}/".startswith(f"{folder}/") for path in held)]
    skips = effect.get("skips", ())
    free = [path for path in effect.get("paths") or () if path not in held and path not in skips] + whole
    if not effect.get("safe") or not (free or len(whole) < len(folders)):
        return effect.get("else") or OTHER_WAY
    inside, below = effect.get("inside", ""), bool(effect.get("below"))
    if "without" in effect:  # git clean deletes a folder together with the paths that a pathspec excludes
        but = [
            f"-e {quoted(effect['without'] + _pattern(path.removeprefix(inside)))}" for path in dict.fromkeys(theirs)
        ]
        return f"Run `{effect['safe']} {' '.join(but)}{effect.get('named', '')}` instead."
    if len(free) <= MAX_FILES_SHOWN and len(whole) == len(folders):
        listed = " ".join([_this(path.removeprefix(inside), below=below) for path in free])
        return _with_paths(effect, effect["safe"], listed)
    if len(held) > MAX_FILES_EXCLUDED:
        return effect.get("else") or OTHER_WAY
    but = [_but(path.removeprefix(inside), below=below) for path in dict.fromkeys(theirs)]
    return _with_paths(effect, effect.get("wide") or effect["safe"], f"{':/' if below else '.'} {' '.join(but)}")


def _with_paths(effect: TreeEffect, safe: str, listed: str) -> str:
    """The safe command with its paths; a value that is too long, or not in the words, the agent has itself."""
    if UNSAID not in safe:
        return f"Run `{safe} -- {listed}` instead."
    without = f" without {effect['dropped']}, and" if effect.get("dropped") else ""
    return f"Run it again{without} with `-- {listed}` at its end."


def _pattern(path: str) -> str:
    """A path as a line of .gitignore."""
    return f"/{_wild(path)}"


def _wild(path: str) -> str:
    """A path as a pattern: a letter that cannot be written out is any letter."""
    return "".join([f"\\{letter}" if letter in "*?[\\" else letter for letter in path]).replace(UNPRINTABLE, "?")


def _this(path: str, *, below: bool) -> str:
    """Git's pathspec for this file alone; `:/` counts from the top."""
    if UNPRINTABLE in path:
        return quoted(f":(top){_wild(path)}")
    if _is_plain(path) if below else not _has_wildcard(path) and path[:1] != ":":
        return quoted(f":/{path}" if below else path)
    return quoted(f":({'top,' if below else ''}literal){path}")


def _but(path: str, *, below: bool) -> str:
    """Git's pathspec that excludes this file; a path with special characters is marked as literal."""
    if UNPRINTABLE in path:
        return quoted(f":(top,exclude){_wild(path)}")
    if not below and _is_plain(path):
        return f"':!{path}'" if "'" not in path else quoted(f":!{path}")
    return quoted(f":(top,exclude,literal){path}")


def _is_plain(path: str) -> bool:
    """Does git take this text for a path, after `:!` and `:/` too? A sign at its beginning would be magic there."""
    return (path[:1].isalnum() or path[:1] == ".") and not _has_wildcard(path)


def _has_wildcard(path: str) -> bool:
    return any(letter in path for letter in "*?[\\")


# --- HEAD and commits


def _moved(tx: Transaction, effect: TreeEffect, others: Sequence[Concern]) -> Held | None:
    """Refuse to change or move the branch that other agents at work here expect their next commit on."""
    here = effect["tree"]
    touched = [
        (resources.show(resource), concern)
        for concern in others
        if concern.is_at_work and (concern.tree == here or (not concern.tree and effect.get("main")))
        for resource in concern.resources
        if is_file(resource)
    ]
    if not touched:
        return None
    if effect["head"] == "switch":
        lands = f" Their next commit would land on {effect['to']}." if effect.get("to") else ""
        does = f"change the branch of this working tree, where others are at work: {_named(tx, touched)}.{lands}"
    else:
        does = f"move the branch, or change the history, on which others are at work: {_named(tx, touched)}."
    instead = effect.get("else") or OTHER_WAY
    return Held(
        f"`{effect['what']}` would {does} {instead}",
        blockers=[concern.blocker(tx, concern.resources) for _, concern in touched[:MAX_FILES_SHOWN]],
        more=max(0, len(touched) - MAX_FILES_SHOWN),
        files=[path for path, _ in touched[:MAX_FILES_SHOWN]],
        instead=instead,
    )


def rewritten(tx: Transaction, call: Call, effect: TreeEffect) -> Forbidden | None:
    """Refuse to rewrite or drop the commits of an agent that is at work: it continues from what it knows."""
    for agent, commit in sorted(effect["makers"].items()):
        if related(agent, call.agent):
            continue
        if not is_at_work(tx, call, agent):
            if effect.get("unlanded"):
                return _unlanded(tx, effect, agent, commit)
            continue
        does = effect.get("does", "drop")
        return Forbidden(
            f"`{effect['what']}` would {does} {commit[:10]}, a commit of {agent}, who is at work. Leave its "
            f"commits as they are: add to them (`git commit`, `git merge`, `git revert {quoted(commit[:10])}`), or ask "
            f"(`dibs send {quoted(agent)} TEXT`).",
            agent=agent,
            commit=commit,
        )
    return None


def _unlanded(tx: Transaction, effect: TreeEffect, agent: str, commit: str) -> Forbidden:
    return Forbidden(
        f"`{effect['what']}` would drop {commit[:10]}, a commit of {name_of(tx, agent)} that was never landed and that "
        "nothing else has. Land the branch (`dibs land BRANCH`), keep it under another name (`git branch -m BRANCH "
        "kept/BRANCH`), or ask a person to delete it.",
        agent=agent,
        commit=commit,
    )


def is_at_work(tx: Transaction, call: Call, name: str) -> bool:
    """Is this a known agent that neither left, nor was killed, nor died?"""
    agent = get_agent(tx, name)
    if agent is None or agent["left"] or agent["killed"]:
        return False
    return agent["process"] is None or call.alive(agent["process"]) is not False


# --- stashes


def _stashed(tx: Transaction, call: Call, effect: TreeEffect) -> Forbidden | None:
    """Refuse to take another agent's stash. The last allowed stash command recorded who made which."""
    there = effect["stashes"]
    before = records.get_stashes(tx)
    record: Stashes = before or {"makers": {}, "making": "", "seen": []}
    makers = {stash: maker for stash, maker in record["makers"].items() if stash in there}
    new, count = [stash for stash in there if stash not in record["seen"]], record.get("count", 1)
    if record["making"] and new:  # the oldest of them; what came later is a person's
        makers.update(dict.fromkeys(new[-count:], record["making"]))
    for stash in effect.get("takes", ()):
        maker = makers.get(stash, "")
        if maker and not related(maker, call.agent):
            return _not_yours(effect, maker, there.index(stash) if stash in there else 0)
    again = record["making"] == call.agent and not new  # the same command makes another one
    after: Stashes = {
        "makers": makers, "making": call.agent if effect.get("pushes") else "", "seen": there[:MAX_STASHES],
        "count": count + 1 if again else 1,
    }  # fmt: skip
    if before != after and (effect.get("pushes") or before is not None):
        records.put_stashes(tx, after)
    return None


def _not_yours(effect: TreeEffect, maker: str, place: int) -> Forbidden:
    return Forbidden(
        f"`{effect['what']}` would take away stash@{{{place}}}, which {maker} made. `git stash apply "
        f"stash@{{{place}}}` brings back what is in it and leaves it there; name a stash of your own, or ask "
        f"(`dibs send {quoted(maker)} TEXT`).",
        maker=maker,
    )
