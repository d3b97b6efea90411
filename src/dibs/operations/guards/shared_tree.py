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
from dibs.operations.claims import records as claim_records
from dibs.operations.claims import resources, views
from dibs.operations.core.call import related
from dibs.operations.core.declare import Field
from dibs.operations.guards.edit_guard import is_present

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dibs.errors import DibsError
    from dibs.operations.claims.records import Holding
    from dibs.operations.core.call import Call, Record
    from dibs.stores.seam import Transaction

    class Concern(Holding):
        """What a command may not touch unasked: a claim of another agent, unfinished work, an unread change."""

        claim: str  # its id; "" for what no claim covers
        pending: bool

    class UnfinishedWork(Concern):
        """Unfinished work of another agent that no claim covers."""

        there: bool  # that agent is at work
        shared: bool  # the caller may have done it
        own: bool  # the caller holds the path and has read it
        expect: None

    class UnreadChange(Concern):
        """An uncommitted change that no agent made and the caller has not read."""

        later: bool  # made since the caller began
        expect: None


MAX_FILES_SHOWN = 10  # in a refusal, or in a safe command
MAX_FILES_EXCLUDED = 30  # by a safe command; with more, nobody reads it
STASHES_KEY = "gs"  # the record of each stash's maker
MAX_STASHES = 200
WORK = "work"  # the `by` of unfinished work that no claim covers
LOOSE = "loose"  # the `by` of uncommitted changes that no agent made, and that the caller has not read
STASHES = "take away"  # what git stash does
KEEPS = frozenset({"take in", "commit", "may take in", "may commit", "stage changes of"})
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


def refusal(tx: Transaction, call: Call, fact: dict[str, Any], others: Sequence[Concern]) -> DibsError | None:
    """Why git may not do that now; None if it may. `others`: the claims that count here."""
    if fact.get("record"):
        return Forbidden(
            f"`{fact['what']}` would delete dibs' own record (.dibs/local), for all agents. "
            f"Run `{fact['record']}` instead.",
            instead=fact["record"],
        )
    if fact.get("repository"):
        return _repository(tx, fact, others)
    if fact.get("past"):
        protected = list(fact.get("protected", ()))
        where = ", ".join(protected) or "a protected branch"
        return Forbidden(
            f"`{fact['what']}` would push to {where} past git's own hook ({fact['past']}), "
            f"which looks whether that is safe. Leave {fact['past']} out.",
            protected=protected,
        )
    if "stashes" in fact:
        return _stashed(tx, call, fact)
    if "makers" in fact:
        return rewritten(tx, call, fact)
    if fact.get("head"):
        return _moved(tx, fact, others)
    return _swept(tx, fact, others)


def _repository(tx: Transaction, fact: dict[str, Any], others: Sequence[Concern]) -> Forbidden | None:
    """Refuse to delete, move or switch off the repository while there is something in it to lose."""
    theirs = [record for record in others if record["by"] != LOOSE]
    reasons = (
        [f"the work of {', '.join(dict.fromkeys([name_of(tx, one['agent']) for one in theirs]))}"] if theirs else []
    )
    reasons += [fact["unpushed"]] if fact.get("unpushed") else []
    if not reasons:
        return None
    part = fact["repository"]
    would = f"would take {part} away" if part.startswith(".git") else f"would change {part} for everybody"
    return Forbidden(
        f"`{fact['what']}` {would}, git's own directory for all agents here, with {' and '.join(reasons)}. Leave it as "
        "it is; work in a repository of your own (`git clone . DIR`), or ask a person to do it.",
        repository=part,
    )


def is_file(resource: Sequence[str]) -> bool:
    """Is this a path, a folder or a glob?"""
    return resource[0] in resources.LITERAL_KINDS or resource[0] == "glob"


def who(tx: Transaction, record: Concern) -> str:
    """The holder, and how much longer; or the owner of the unfinished work."""
    name = name_of(tx, record["agent"])
    if record["by"] == LOOSE:
        return "changed by no agent, and you have not read it"
    if record["by"] == WORK and record.get("shared"):
        path = quoted(record["resources"][0][1])
        return f"uncommitted work of {name} or of you; if it is yours, `dibs claim {path}`"
    if record["by"] == WORK:
        return f"uncommitted work of {name}" if record.get("there") else f"uncommitted work that {name} left"
    return f"{name}, {views.left(tx, record)}"


class _Covered:
    """The paths that these claims cover: a refusal names each file once."""

    def __init__(self, held: Sequence[Concern]) -> None:
        self.files: set[tuple[str, str]] = set()
        self.wide: list[tuple[str, Sequence[str]]] = []  # folders and globs
        for record in held:
            for resource in record["resources"]:
                if resource[0] == "file":
                    self.files.add((record["tree"], resource[1]))
                elif is_file(resource):
                    self.wide.append((record["tree"], resource))

    def has(self, tree: str, path: Sequence[str]) -> bool:
        """Does one of them count in this working tree and cover the path?"""
        if ("", path[1]) in self.files or (tree, path[1]) in self.files:
            return True
        return any(
            where in {"", tree} and resources.overlap(["file", path[1]], resource) for where, resource in self.wide
        )


def unfinished(
    tx: Transaction,
    call: Call,
    owned: Sequence[tuple[str, Sequence[str], Sequence[str], bool]],
    held: Sequence[Concern],
) -> list[UnfinishedWork]:
    """Other agents' unfinished work that no claim covers, in the form of claims: a sweep may not take it unseen.

    `own`: the caller holds the path and has read what is there, so that it may commit it.
    """
    found: list[UnfinishedWork] = []
    there: dict[str, bool] = {}
    covered = _Covered(held)
    claims = claim_records.claims_of(tx, call.agent) if owned else ()
    own = _Covered([one for one in claims if one["until"] > tx.now and one["mode"] == resources.WRITE])
    for tree, path, owners, read in owned:
        others = [owner for owner in owners if not related(owner, call.agent)]
        if not others or covered.has(tree, path):
            continue
        if others[0] not in there:
            there[others[0]] = is_present(tx, call, others[0])
        found.append({
            "claim": "", "agent": others[0], "resources": [list(path[:2])], "tree": tree, "by": WORK, "mode":
            resources.WRITE, "since": tx.now, "until": tx.now, "reason": "uncommitted work", "there": there[others[0]],
            "shared": len(others) < len(owners), "own": read and own.has(tree, path), "pending": False, "expect": None,
        })  # fmt: skip
    return found


def loose(
    tx: Transaction, found: Sequence[tuple[str, Sequence[str], bool]], held: Sequence[Concern]
) -> list[UnreadChange]:
    """Uncommitted changes that no agent made and the caller has not read, in the form of claims."""
    covered = _Covered(held)
    return [
        {
            "claim": "", "agent": "", "resources": [list(path[:2])], "tree": tree, "by": LOOSE, "mode": resources.WRITE,
            "since": tx.now, "until": tx.now, "reason": "uncommitted changes", "later": later, "pending": False,
            "expect": None,
        }
        for tree, path, later in found
        if not covered.has(tree, path)
    ]  # fmt: skip


# --- files


def _swept(tx: Transaction, fact: dict[str, Any], others: Sequence[Concern]) -> DibsError | None:
    """The refusal of a command that would take in or overwrite other agents' files; None if it would not."""
    drops, whole = fact.get("drops", False), fact.get("own", False)  # a removed working tree cannot be brought back
    others = [record for record in others if record["by"] != LOOSE or (drops and (record.get("later") or whole))]
    if fact.get("does", "") in KEEPS:  # an ended agent's work is not lost by it
        others = [
            record for record in others if record["by"] != WORK or (record.get("there") and not record.get("own"))
        ]
    if fact.get("own"):  # a whole working tree: agents at work in another one are not affected
        others = [record for record in others if record["tree"] == fact["tree"]]
    found: list[tuple[str, Concern]] = []
    paths: list[str] | None = fact.get("paths")
    folders: Sequence[str] = fact.get("folders", ())
    known = set(paths or ())
    for record in others:
        for resource in record["resources"]:
            if is_file(resource):
                found += [(hit, record) for hit in _hits(resource, paths, known, folders)]
    if not found:
        return None
    found.sort(key=lambda one: one[0])
    found = list({path: (path, record) for path, record in reversed(found)}.values())[::-1]  # each file once
    named = _named(tx, found)
    instead = _instead(fact, [path for path, _ in found])
    left = [path for path, record in found if record["by"] == WORK and not record.get("there")]
    if left:
        names = " ".join([quoted(path) for path in left[:MAX_FILES_SHOWN]])
        where = "" if fact["tree"] == fact.get("here", fact["tree"]) else f" in {fact['tree']} (`cd` there first)"
        take = f"`dibs claim {names}`{where}."
        if len(left) == len(found):
            instead = f"To take it over, and then keep it or not: {take}"
        else:  # nobody will commit it
            instead += f" What was left can be taken over: {take}"
    does = fact.get("does") or "touch"
    would = does if fact.get("may") else f"would {does}"
    unread = [path for path, record in found if record["by"] == LOOSE]
    if len(unread) == len(found):
        listed = ", ".join(unread[:MAX_FILES_SHOWN])
        more = f" and {len(unread) - MAX_FILES_SHOWN} more" if len(unread) > MAX_FILES_SHOWN else ""
        free = instead if instead.startswith("Run ") else ""
        return Conflict(
            f"`{fact['what']}` {would} uncommitted changes that no agent made (a person did, as far as is known), and "
            f"that you have not read: {listed}{more}. {free}{' ' if free else ''}{_read_first(unread)}",
            paths=unread[:MAX_FILES_SHOWN],
        )
    if unread:
        instead += " Read what no agent changed first, if it is to go."
    unknown = ", as far as can be read from its words" if fact.get("may") else ""
    return Held(
        f"`{fact['what']}` {would} files that others hold{unknown}: {named}. {instead}",
        blockers=[
            views.blocker(tx, record, [["file", path]])
            for path, record in found[:MAX_FILES_SHOWN]
            if record["by"] != LOOSE
        ],
        more=max(0, len(found) - MAX_FILES_SHOWN),
        files=[path for path, _ in found[:MAX_FILES_SHOWN]],
        instead=instead,
    )


def dropped(fact: dict[str, Any], others: Sequence[Concern]) -> list[str]:
    """The files of a person's older changes, unread by the caller, that the command drops. A stash keeps them."""
    if not fact.get("drops") or fact.get("does") == STASHES:
        return []
    paths: list[str] | None = fact.get("paths")
    known, folders = set(paths or ()), fact.get("folders", ())
    loose = [record["resources"][0] for record in others if record["by"] == LOOSE]
    return [hit for resource in loose for hit in _hits(resource, paths, known, folders)]


def _read_first(paths: list[str]) -> str:
    go, them = ("it is", "it") if len(paths) == 1 else ("they are", "each of them")
    return f"If {go} to go, read {them} first, then run it again."


def _hits(resource: Sequence[str], paths: list[str] | None, known: set[str], folders: Sequence[str]) -> list[str]:
    """The files of one held resource that a command would touch."""
    if paths is None:
        return [resources.show(resource)]
    if resource[0] == "file":
        hits = [resource[1]] if resource[1] in known else []
    else:
        hits = [path for path in paths if resources.overlap(["file", path], resource)]
    if not hits and any(resources.overlap(["tree", folder.rstrip("/")], resource) for folder in folders):
        hits = [resources.show(resource)]
    return hits


def _named(tx: Transaction, found: list[tuple[str, Concern]]) -> str:
    named = [f"{path} ({who(tx, record)})" for path, record in found[:MAX_FILES_SHOWN]]
    return "; ".join([*named, *([f"and {len(found) - MAX_FILES_SHOWN} more"] if len(found) > MAX_FILES_SHOWN else [])])


def _instead(fact: dict[str, Any], theirs: list[str]) -> str:
    """The safe command: the same for the files that no other agent holds, or another way."""
    held = set(theirs)
    folders = [folder.rstrip("/") for folder in fact.get("folders", ())]
    whole = [folder for folder in folders if not any(f"{path}/".startswith(f"{folder}/") for path in held)]
    skips = fact.get("skips", ())
    free = [path for path in fact.get("paths") or () if path not in held and path not in skips] + whole
    if not fact.get("safe") or not (free or len(whole) < len(folders)):
        return str(fact.get("else") or OTHER_WAY)
    inside, below = fact.get("inside", ""), bool(fact.get("below"))
    if "without" in fact:  # git clean deletes a folder together with the paths that a pathspec excludes
        but = [f"-e {quoted(fact['without'] + _pattern(path.removeprefix(inside)))}" for path in dict.fromkeys(theirs)]
        return f"Run `{fact['safe']} {' '.join(but)}{fact.get('named', '')}` instead."
    if len(free) <= MAX_FILES_SHOWN and len(whole) == len(folders):
        listed = " ".join([_this(path.removeprefix(inside), below=below) for path in free])
        return _with_paths(fact, fact["safe"], listed)
    if len(held) > MAX_FILES_EXCLUDED:
        return str(fact.get("else") or OTHER_WAY)
    but = [_but(path.removeprefix(inside), below=below) for path in dict.fromkeys(theirs)]
    return _with_paths(fact, fact.get("wide") or fact["safe"], f"{':/' if below else '.'} {' '.join(but)}")


def _with_paths(fact: dict[str, Any], safe: str, listed: str) -> str:
    """The safe command with its paths; a value that is too long, or not in the words, the agent has itself."""
    if UNSAID not in safe:
        return f"Run `{safe} -- {listed}` instead."
    without = f" without {fact['dropped']}, and" if fact.get("dropped") else ""
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


def _moved(tx: Transaction, fact: dict[str, Any], others: Sequence[Concern]) -> Held | None:
    """Refuse to change or move the branch that other agents at work here expect their next commit on."""
    here = fact["tree"]
    found = [
        (resources.show(resource), record)
        for record in others
        if record["tree"] == here or (not record["tree"] and fact.get("main"))
        for resource in record["resources"]
        if is_file(resource) and record["by"] != LOOSE and (record["by"] != WORK or record.get("there"))
    ]
    if not found:
        return None
    if fact["head"] == "switch":
        lands = f" Their next commit would land on {fact['to']}." if fact.get("to") else ""
        does = f"change the branch of this working tree, where others are at work: {_named(tx, found)}.{lands}"
    else:
        does = f"move the branch, or change the history, on which others are at work: {_named(tx, found)}."
    instead = str(fact.get("else") or OTHER_WAY)
    return Held(
        f"`{fact['what']}` would {does} {instead}",
        blockers=[views.blocker(tx, record, record["resources"]) for _, record in found[:MAX_FILES_SHOWN]],
        more=max(0, len(found) - MAX_FILES_SHOWN),
        files=[path for path, _ in found[:MAX_FILES_SHOWN]],
        instead=instead,
    )


def rewritten(tx: Transaction, call: Call, fact: dict[str, Any]) -> Forbidden | None:
    """Refuse to rewrite or drop the commits of an agent that is at work: it continues from what it knows."""
    for agent, commit in sorted(fact["makers"].items()):
        if related(agent, call.agent) or not is_at_work(tx, call, agent):
            continue
        does = fact.get("does", "drop")
        return Forbidden(
            f"`{fact['what']}` would {does} {commit[:10]}, a commit of {agent}, who is at work. Leave its "
            f"commits as they are: add to them (`git commit`, `git merge`, `git revert {quoted(commit[:10])}`), or ask "
            f"(`dibs send {quoted(agent)} TEXT`).",
            agent=agent,
            commit=commit,
        )
    return None


def is_at_work(tx: Transaction, call: Call, name: str) -> bool:
    """Is this a known agent that neither left, nor was killed, nor died?"""
    agent = get_agent(tx, name)
    if agent is None or agent["left"] or agent["killed"]:
        return False
    return agent["process"] is None or call.alive(agent["process"]) is not False


# --- stashes


def _stashed(tx: Transaction, call: Call, fact: dict[str, Any]) -> Forbidden | None:
    """Refuse to take another agent's stash. The last allowed stash command recorded who made which."""
    there: list[str] = fact["stashes"]
    before = tx.get(STASHES_KEY)
    record: Record = before or {"makers": {}, "making": "", "seen": []}
    makers = {stash: maker for stash, maker in record["makers"].items() if stash in there}
    new, count = [stash for stash in there if stash not in record["seen"]], record.get("count", 1)
    if record["making"] and new:  # the oldest of them; what came later is a person's
        makers.update(dict.fromkeys(new[-count:], record["making"]))
    for stash in fact.get("takes", ()):
        maker = makers.get(stash, "")
        if maker and not related(maker, call.agent):
            return _not_yours(fact, maker, there.index(stash) if stash in there else 0)
    again = record["making"] == call.agent and not new  # the same command makes another one
    after = {
        "makers": makers, "making": call.agent if fact.get("pushes") else "", "seen": there[:MAX_STASHES],
        "count": count + 1 if again else 1,
    }  # fmt: skip
    if before != after and (fact.get("pushes") or before is not None):
        tx.put(STASHES_KEY, after)
    return None


def _not_yours(fact: dict[str, Any], maker: str, place: int) -> Forbidden:
    return Forbidden(
        f"`{fact['what']}` would take away stash@{{{place}}}, which {maker} made. `git stash apply stash@{{{place}}}` "
        f"brings back what is in it and leaves it there; name a stash of your own, or ask "
        f"(`dibs send {quoted(maker)} TEXT`).",
        maker=maker,
    )
