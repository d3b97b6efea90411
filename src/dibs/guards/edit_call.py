"""Before files are written: asks the edit guard, with the ledger's facts about each file, and records the call.

Used for edits and patches, and for the files that a shell command names. The guard's claim comes first, then the files
are looked at once more: a change between the first look and the claim is seen then, and from then on no other agent may
write them.
"""

from __future__ import annotations

import os

from dibs.errors import Forbidden, Invalid
from dibs.guards.caller import patience, run_or_queue
from dibs.interfaces.agents import PATCH
from dibs.ledger import contents, ledger_files, working_tree
from dibs.ledger.state import BASE, GIT, MERGES, MISSING, NOBODY, OUTSIDE, UNKNOWN, WHOLE
from dibs.machine import links
from dibs.operations.guards.edit_guard import BLIND, GONE, NOTHING, OLDER, SAME, target
from dibs.workspace import location
from dibs.workspace.paths import of_parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.client.session import Session
    from dibs.guards.payload import Event
    from dibs.ledger.working_tree import Tree
    from dibs.operations.core.call import Call
    from dibs.operations.guards.edit_guard import Knowledge, Target, TreeTargets

MAX_FILES_IN_FOLDER = 2_000  # of a folder that is written as a whole; each is looked at
MAX_LOOKS = 3  # before and after the claim; a file that changes more often is refused
# What is written where a path is a symbolic link: its target, the link (`rm`, `ln -f`), or one of them (`mv`, `sed -i`)
FOLLOWED, ITSELF, EITHER = "followed", "itself", "either"
MAX_PATHS = 200  # of one request; beyond it their folders are claimed


class Write:
    """One path that a call names, and how it writes it."""

    __slots__ = ("claimed", "content", "edits", "goes", "how", "link", "needs_file", "path")

    def __init__(
        self,
        path: str,
        how: str,
        content: str | None = None,
        edits: Sequence[tuple[str, str, bool]] = (),
        *,
        goes: bool = False,
        link: str = FOLLOWED,
        claimed: str = "",
        needs_file: bool = False,
    ) -> None:
        self.path, self.how = path, how
        self.needs_file = needs_file or bool(edits)  # it makes no file
        self.claimed = claimed  # the call claims it by hand before it writes it (shell/dibs_commands.py says how)
        self.link = link  # what is written if the path is a symbolic link
        self.content = content  # the whole new content, if that is known
        self.edits = edits  # or the replacements in it
        self.goes = goes  # the file is deleted

    def expected(self, before: bytes | None) -> bytes | None:
        """The file's new content, if it follows from the call."""
        if self.content is not None:
            return self.content.encode("utf-8", "surrogateescape")
        if not self.edits or before is None:
            return None
        for old, new, everywhere in self.edits:
            was = old.encode("utf-8", "surrogateescape")
            if bool(was) is not bool(before) or was not in before:  # without an old text it makes a new file
                return None
            before = before.replace(was, new.encode("utf-8", "surrogateescape"), -1 if everywhere else 1)
        return before


def writes_of(event: Event) -> list[Write]:
    """The writes of an edit or a patch."""
    if event.kind != PATCH:
        how = WHOLE if event.content is not None else MERGES
        return [Write(path, how, event.content, event.edits) for path in event.paths]
    from dibs.shell import patches

    try:
        found = patches.paths(event.command)
    except ValueError as error:
        raise Invalid(f"the patch cannot be read: {error}") from None
    if not found:
        raise Invalid("the patch names no file that could be read.")
    return [
        Write(
            path, WHOLE if action in {"add", "delete"} else MERGES, goes=action == "delete",
            link=ITSELF if action == "delete" else FOLLOWED,
        ) for action, path in found
    ]  # fmt: skip


class _NamedPath:
    """One path to be written, in its working tree."""

    __slots__ = ("alias", "ignored", "kind", "path", "real", "text", "write")

    def __init__(self, write: Write, real: str, path: str, located: tuple[str, str, str]) -> None:
        self.write, self.real, self.path = write, real, path
        self.kind, self.text, self.alias = located
        self.ignored = False


def allow(session: Session, call: Call, event: Event, writes: Sequence[Write], known: dict[str, Tree]) -> list[str]:
    """May these be written? Raises the refusal; returns the tops of the working trees concerned.

    `known` has the working trees that were looked at already, by their tops; others are added.
    """
    from dibs.operations.guards.edit_guard import EDIT

    named, outside = _located(session, event, writes)
    for _ in range(MAX_LOOKS):
        parts: list[TreeTargets] = []
        before: dict[str, list[str]] = {}
        for top, items in named.items():
            tree = known.get(top) or known.setdefault(top, working_tree.at(top, session.place))
            items.extend(_unfinished_within(session, tree, call.agent, items))
            paths = [one.path for one in items if one.kind == "file" and not one.ignored]
            tree.look(paths)
            tree.settle()
            if tree.untold():  # what was there before the claim did not happen to its holder
                from dibs.guards import audit

                audit.tell(session, call, [tree])
            before[top] = [_content(tree, path) for path in paths]
            rows = _folded([_target(tree, call.agent, one) for one in items])
            for start in range(0, len(rows), MAX_PATHS):
                some = rows[start : start + MAX_PATHS]
                parts.append({"targets": some, "tree": top, "local": top == session.place.root})
        parts += outside
        if parts:
            first, *more = parts
            fields = {
                **first,
                "more": more,
                "client": event.client,
                "tool": event.tool,
                "wait": patience(session, event),
            }
            try:
                run_or_queue(session, EDIT, call, fields)
            except BaseException:
                for top in named:  # the looks count, whatever the answer is
                    known[top].write()
                raise
        if not any(_changed(known[top], items, before[top]) for top, items in named.items()):
            break
    for top, items in named.items():
        _note(known[top], event, call.agent, items)
    return list(named)


def _located(
    session: Session, event: Event, writes: Sequence[Write]
) -> tuple[dict[str, list[_NamedPath]], list[TreeTargets]]:
    """The paths by working tree; and those outside of all, if roles apply to them."""
    named: dict[str, list[_NamedPath]] = {}
    outside: list[TreeTargets] = []
    roles = session.config.policy.guards["roles"]
    for write in writes:
        link = _link(session, event, write) if write.link != FOLLOWED else None
        if link is not None:
            named.setdefault(link[0], []).append(link[1])
            if write.link == ITSELF:
                continue
        real = event.real(write.path)
        wanted = write.path
        if write.goes and f"{session.place.top}/".startswith(f"{real.rstrip('/')}/"):
            wanted = real = session.place.top  # a parent folder of the working tree: all of the tree goes with it
        try:
            kind, text, alias, top = session.paths.located(wanted, event.cwd or session.cwd, literal=True)
        except Invalid:
            if location.tree_of(session.place, real):  # an invalid name, a loop of links
                if real.isprintable():
                    raise
                if write.goes:
                    continue  # nobody can hold such a file: it may go
                raise Forbidden(
                    f"{os.path.basename(real)!r} has a control character in it, such as a tab or a line break. Nobody "
                    "can claim a file of that name, so no agent writes one. Choose another name; one that is there "
                    "may be moved or deleted.",
                    path=repr(real),
                ) from None
            if roles["default"] or roles["assign"]:  # an agent that may write only here may not write elsewhere either
                targets = [target(of_parts("file", os.fsencode(real).decode("utf-8", "replace")), ignored=True)]
                outside.append({"targets": targets, "tree": "", "local": False})
            continue
        path = real[len(top) + 1 :] if real.startswith(f"{top}/") else text
        named.setdefault(top, []).append(_NamedPath(write, real, path, (kind, text, alias)))
    from dibs.git.ignored import ignored_among

    for top, items in named.items():
        free = ignored_among(top, session.paths.common, [one.text for one in items])
        for one in items:
            one.ignored = one.text in free or location.follows_record(session.place.local, one.path)
    return named, outside


def _link(session: Session, event: Event, write: Write) -> tuple[str, _NamedPath] | None:
    """The working tree and the path of a symbolic link that is itself replaced or deleted; None if it is no link."""
    full = os.path.join(event.where, write.path)
    if not os.path.islink(full):
        return None
    from dibs.guards.git_paths import resource_of

    folder, name = os.path.split(full)
    real = f"{links.real(folder)}/{name}"
    top = location.tree_of(session.place, real)
    if not top:
        return None
    path = real[len(top) + 1 :]
    kind, text, *_ = resource_of(session, path, top)
    # a Read shows what the link leads to, so nobody could be asked to read the link itself first
    return top, _NamedPath(Write(path, MERGES, goes=write.goes), real, path, (kind, text, ""))


def _target(tree: Tree, agent: str, one: _NamedPath) -> Target:
    """The facts about one path, for the operation."""
    resource = of_parts(one.kind, one.text, one.alias)
    if one.ignored:
        return target(resource, ignored=True)
    claimed = one.write.claimed
    if one.kind == "tree":
        return target(resource, inside=_within(one.real, tree.top), claimed=claimed)
    content = _content(tree, one.path)
    facts = facts_of(tree, agent, one)
    return target(resource, content="" if content == MISSING else content, facts=facts, claimed=claimed)


def _content(tree: Tree, path: str) -> str:
    head = tree.state.heads.get(path)
    return head.content if head is not None else MISSING


def facts_of(tree: Tree, agent: str, one: _NamedPath) -> Knowledge | None:
    """What the ledger says of a file to be written: what the agent knows of it, whose it is, since when."""
    head = tree.state.heads.get(one.path)
    if head is None:
        return None
    known = ledger_files.Seen(tree.folder, agent).last(one.path)
    if head.content == MISSING:
        how = GONE
    elif not known:
        how = NOTHING
    else:
        how = BLIND if known == ledger_files.BLIND else SAME if known == head.content else OLDER
    author = head.author
    change = head.change
    brought_back = author == agent and how != SAME  # by another: the agent made it first, and something else since
    if change is not None and (author in {GIT, OUTSIDE, UNKNOWN} or brought_back):
        author = change.actor
    suspects = change.suspects if change is not None and author == NOBODY else []
    since = False
    if change is not None and author != agent and change.after != MISSING:
        began = tree.state.began.get(agent, tree.now)
        since = int(change.signature.split(":")[2]) > began
    # what it knows is what is there: it has seen whatever others put there before
    disputed = how == SAME and any(maker not in {agent, GIT, BASE} for maker in _makers(tree, one.path))
    return {
        "merges": one.write.how == MERGES, "known": how, "author": author, "owners": head.owners, "since": since,
        "suspects": suspects, "disputed": disputed,
        "loose": author == OUTSIDE and head.content != tree.index.blob(one.path),
    }  # fmt: skip


def _makers(tree: Tree, path: str) -> list[str]:
    """Those who made the contents of a path, and those who changed it: git's content is nobody's, its return is."""
    head = tree.state.heads[path]
    last = [head.change] if head.change is not None else []
    return [*head.authors.values(), *[one.actor for one in [*last, *tree.state.changes] if one.path == path]]


def _unfinished_within(session: Session, tree: Tree, agent: str, items: list[_NamedPath]) -> list[_NamedPath]:
    """Uncommitted work in the folders that are written as a whole: each such file counts as named.

    It is other agents' unfinished work, and what no agent made and this one has not read.
    """
    folders = [one for one in items if one.kind == "tree" and not one.ignored]
    if not folders:
        return []
    changed = _changed_within(session, tree, folders)
    from dibs.guards.git_paths import resource_of

    known = {one.path for one in items}
    found = []
    unread = [path for path in tree.unread(agent) if path in changed]
    for path in dict.fromkeys([*tree.state.owned(agent), *unread]):
        folder = next((one for one in folders if path.startswith(f"{one.path}/" if one.path else "")), None)
        if folder is not None and path not in known:
            write = Write(path, folder.write.how, goes=folder.write.goes)
            kind, text, *alias = resource_of(session, path, tree.top)
            if kind == "file":
                found.append(_NamedPath(write, f"{tree.top}/{path}", path, (kind, text, alias[0] if alias else "")))
    return found


def _changed_within(session: Session, tree: Tree, folders: list[_NamedPath]) -> set[str]:
    """Look at every file in these folders that git calls changed; nobody may have looked at one before."""
    if not session.place.common:
        return set()
    from dibs.errors import Unavailable
    from dibs.git.queries import dirty

    try:
        found = dirty(tree.top, [f":(literal){one.path}" if one.path else "." for one in folders])
    except Unavailable:  # what is known already counts
        return set(tree.state.heads)
    paths = [change.path for change in found if not change.path.endswith("/")][:MAX_FILES_IN_FOLDER]
    tree.look(paths)
    tree.settle()
    return set(paths)


def _folded(targets: list[Target]) -> list[Target]:
    """Very many paths: their folders stand for them, ignored paths apart from the others."""
    if len(targets) <= MAX_PATHS:
        return targets
    folders: dict[tuple[str, bool], list[Target]] = {}
    for one in targets:
        folders.setdefault((os.path.dirname(one["resource"][1]), one["ignored"]), []).append(one)
    found = []
    for (folder, ignored), inside in folders.items():
        if len(inside) < MAX_PATHS // 8 or not folder:
            found += inside
        else:
            paths = [one["resource"][1] for one in inside]
            found.append(target(of_parts("tree", folder), ignored=ignored, inside=paths))
    return found


def _within(folder: str, top: str) -> list[str]:
    """The files in a folder, from the top of its working tree: some may be strict."""
    found: list[str] = []
    for directory, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in {".git", "node_modules"}]
        found += [os.path.join(directory, name)[len(top) + 1 :] for name in files]
        if len(found) > MAX_FILES_IN_FOLDER:
            break
    return found[:MAX_FILES_IN_FOLDER]


def _changed(tree: Tree, items: list[_NamedPath], before: list[str]) -> bool:
    """Has any of the files changed since the operation was asked about it?"""
    paths = [one.path for one in items if one.kind == "file" and not one.ignored]
    tree.look(paths, always=True)
    tree.settle()
    return [_content(tree, path) for path in paths] != before


def _before(tree: Tree, one: _NamedPath) -> bytes | None:
    """The content of the file that an edit changes."""
    seen = tree.found.get(one.path)
    return seen.data if seen is not None else contents.read(one.real)[1]


def _note(tree: Tree, event: Event, agent: str, items: list[_NamedPath]) -> None:
    """Write the names into the ledger, with their call."""
    accompanied = bool(tree.state.others(agent))
    for one in items:
        if one.kind == "tree" and not one.ignored:
            tree.name(event.key, f"{one.path}/", one.write.how)
        if one.kind == "file" and not one.ignored:
            is_new = one.write.needs_file and _content(tree, one.path) == MISSING
            before = b"" if is_new else _before(tree, one) if one.write.edits else None
            expected = one.write.expected(before)
            goes = one.write.goes or (is_new and expected is None)  # it fails: there is no text to replace
            tree.name(event.key, one.path, one.write.how, expected, goes=goes, keep=accompanied)
