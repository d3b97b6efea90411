"""`restore --tree`: a whole working tree as it was, byte for byte with modes, links and deletions, also a removed one.

Without `--to` a removed tree comes back where it was, as a working tree of git on its branch; with it, its files are
written into a folder. What is there stays: a folder with something in it is refused unless told (`--overwrite`), and
what the state has not is never deleted.

- success: the files, the branch and HEAD are named; its unfinished work belongs to its owners again, the alert ends.
- refusal: no such tree, nothing known of it then (`not_found`); the tree is there, the folder is in use (`conflict`).
- crash: files are written one by one, each whole; the same command with `--overwrite` finishes it.
- a content that is gone (a disk failed, `keep` is over) is named in `missing`; the other files come back.
"""

from __future__ import annotations

import os

from dibs.client.upkeep import removed_trees
from dibs.errors import Conflict, Forbidden, Invalid, NotFound, Unavailable, quoted
from dibs.git import queries as git
from dibs.ledger import contents, file_writes, ledger_files, working_tree
from dibs.ledger.state import MISSING, UNDO, WHOLE, State, call_end_line, name_line, owner_line
from dibs.machine import clock, moments
from dibs.machine.clock import random_id
from dibs.machine.programs import run
from dibs.states import at_time, request
from dibs.states.store import Store
from dibs.workspace.paths import of_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.audit.answers import RestoreAnswer
    from dibs.client.session import Session
    from dibs.operations.core.call import Call
    from dibs.states.at_time import Past
    from dibs.undo.requests import RestoreRequest

CHECKOUT_TIMEOUT_S = 600.0
MAX_LISTED = 1_000  # paths in an answer
NO_HOOKS = ("-c", "core.hooksPath=/dev/null")  # it is no checkout of anybody's


def restore(session: Session, call: Call, asked: RestoreRequest) -> RestoreAnswer:
    """Bring it back."""
    place = session.place
    if not place.common:
        raise Invalid("restore: --tree is for working trees of git", field="tree")
    removed_trees.look(session, call)  # its claims end, whatever becomes of its files
    at = moments.parse(asked["at"], "at") if asked["at"] else None
    top = at_time.named(place, session.cwd, asked["tree"])
    past = at_time.Past(Store(place), at_time.ledger_of(place, top, at), top, at)
    if not past.is_known:
        when = f" at {asked['at']}" if asked["at"] else ""
        raise NotFound(
            f"nothing is known of {top}{when}; `dibs timeline {quoted(asked['tree'])}` says what is", tree=top
        )
    if asked["to"]:
        to = os.path.normpath(os.path.join(session.cwd, asked["to"]))
        _check_place(session, call, to, overwrite=asked["overwrite"])
    elif os.path.lexists(f"{top}/.git"):
        text = f"{top} is there. `--to DIR` writes its state into a folder; `dibs restore FILE --at TIME`, a file."
        raise Conflict(text, path=top)
    else:
        to = top
    _check_free(place.common, place.root, to, overwrite=asked["overwrite"])
    how = export(past, to) if asked["to"] else _worktree(past, to, overwrite=asked["overwrite"])
    missing = fill(past, to) if asked["to"] else _settle(session, call, past, to)
    record = past.record
    return {
        "tree": top, "to": to, "at": clock.iso(record["at"]) if record else None,
        "head": record["head"] if record else "", "branch": record["branch"] if record else "", "checkout": how,
        "files": past.unfinished()[:MAX_LISTED], "count": len(past.unfinished()), "missing": missing,
        "notes": record["notes"] if record else ["no state was anchored: only what the ledger saw is there"],
    }  # fmt: skip


def _check_place(session: Session, call: Call, to: str, *, overwrite: bool) -> None:
    """Only a person says freely where files are written: clients run `dibs restore` for their agents without asking.

    An agent has new and empty folders next to the main working tree, and none that is hidden.
    """
    from dibs.operations.guards.person_acts import AT_WORK

    beside = os.path.relpath(os.path.realpath(to), os.path.dirname(os.path.realpath(session.place.root)))
    if not overwrite and not any(part[:1] == "." for part in beside.split("/")):
        return
    asks = {"resources": [of_name("restore:to")], "tree": session.place.top}
    if not session.run(AT_WORK, call, asks)["decides"]:
        text = "an agent restores a tree into a new folder next to the repository; anywhere else, a person does it."
        raise Forbidden(text, act="restore --to")


def _check_free(common: str, root: str, to: str, *, overwrite: bool) -> None:
    """Is the folder new or empty, and not git's own?"""
    real = os.path.realpath(to)
    if f"{real}/".startswith((f"{common}/", f"{root}/.dibs/")) or f"{root}/".startswith(f"{real}/"):
        raise Invalid(f"{to} is no folder for a working tree: it is git's, dibs' or the repository itself", field="to")
    if os.path.lexists(to) and not os.path.isdir(to):
        raise Conflict(f"{to} is a file", path=to)
    if os.path.isdir(to) and os.listdir(to) and not overwrite:
        raise Conflict(f"{to} is not empty: name a new folder, or `--overwrite` what is there", path=to)


# --- what HEAD has


def export(past: Past, to: str) -> str:
    """HEAD's files, as git writes them, into a plain folder."""
    os.makedirs(to, exist_ok=True)
    if past.record is None or not past.record["head"]:
        return "folder"
    index = clock.temporary(f"{past.kept.folder}/index")
    env = {**past.kept.objects.environment(index), "GIT_DIR": past.kept.common, "GIT_WORK_TREE": to}
    try:
        for words in (("read-tree", past.record["head"]), ("checkout-index", "--all", "--force", "--quiet")):
            done = run(["git", "-C", to, "-c", "core.bare=false", *words], env=env, timeout=CHECKOUT_TIMEOUT_S)
            if not done.ok:
                raise Unavailable(f"HEAD's files cannot be written: {done.said or done.code}", program="git", path=to)
    finally:
        for name in (index, f"{index}.lock"):
            if os.path.exists(name):
                os.unlink(name)
    return "folder"


def _worktree(past: Past, to: str, *, overwrite: bool) -> str:
    """A working tree of git's, on the branch and commit that it had."""
    common = past.kept.common
    record = past.record
    if record is None or not record["head"]:
        raise Invalid(f"no commit of {past.top} is known: `--to DIR` writes its files into a folder", field="to")
    _bring_commit(past, record["head"])
    if overwrite and os.path.isdir(to) and os.listdir(to):
        raise Conflict(
            f"{to} is not empty, and git makes no working tree there: `--to DIR` writes over a folder", path=to
        )
    run(["git", "-C", common, "worktree", "remove", "--force", past.top], env=git.environment())  # of a lost folder
    branch = record["branch"]
    tip = git.commit(common, f"refs/heads/{branch}") if branch else ""
    line = ["git", "-C", common, *NO_HOOKS, "worktree", "add", "-q"]
    if branch and tip in {"", record["head"]}:
        on = ["-b", branch, to, record["head"]] if not tip else [to, branch]
        done = run([*line, *on], env=git.environment(), timeout=CHECKOUT_TIMEOUT_S)
        if done.ok:
            return f"branch {branch}"
    done = run([*line, "--detach", to, record["head"]], env=git.environment(), timeout=CHECKOUT_TIMEOUT_S)
    if not done.ok:
        raise Unavailable(f"no working tree could be made: {done.said or done.code}", program="git", path=to)
    return f"detached; {branch} is elsewhere now" if branch else "detached"


def _bring_commit(past: Past, head: str) -> None:
    """HEAD's commits come back into the repository, if git has thrown them away."""
    common = past.kept.common
    if run(["git", "-C", common, "rev-list", "--objects", "--quiet", head], env=git.environment(),
           timeout=CHECKOUT_TIMEOUT_S).ok:  # fmt: skip
        return
    given = "".join([f"{name}\n" for name in past.kept.needed_of(head)]).encode()
    packed = past.kept.ask("pack-objects", "-q", "--stdout", given=given)
    line = ["git", "-C", common, f"--git-dir={common}", "unpack-objects", "-q"]
    done = run(line, env=git.environment(), given=packed, timeout=CHECKOUT_TIMEOUT_S)
    if not done.ok or not git.commit(common, head):
        raise Unavailable(f"the commit {head[:12]} that it was on is gone: `--to DIR` writes its files", path=past.top)


# --- what HEAD has not


def fill(past: Past, to: str) -> list[str]:
    """Make the folder have the files of the state; returns those whose content is gone."""
    missing = []
    paths = past.unfinished()
    for path in [one for one in paths if one not in past.entries]:
        _remove(f"{to}/{path}", to)
    for path in [one for one in paths if one in past.entries]:
        mode, blob = past.entries[path]
        if blob.startswith(contents.SAMPLED):
            content = contents.kept(f"{past.folder}/objects", blob)
        else:
            content = past.content((mode, blob))
        if content is None:
            missing.append(path)
            continue
        _put(f"{to}/{path}", content, at_time.KINDS[mode], to)
    return missing


def _put(full: str, content: bytes, kind: str, to: str) -> None:
    folder = os.path.dirname(full)
    while len(folder) > len(to):  # a file or a link where a folder is to be
        if os.path.lexists(folder) and (os.path.islink(folder) or not os.path.isdir(folder)):
            os.unlink(folder)
        folder = os.path.dirname(folder)
    if os.path.isdir(full) and not os.path.islink(full):
        try:
            os.rmdir(full)
        except OSError:
            raise Conflict(f"{full} is a folder with something in it, and a file in the state", path=full) from None
    try:
        file_writes.put(full, content, kind, f"{full}.{random_id()}")
    except OSError as error:
        raise Unavailable(f"{full} cannot be written: {error.strerror}", path=full) from None


def _remove(full: str, to: str) -> None:
    try:
        os.unlink(full)
    except OSError:
        return
    folder = os.path.dirname(full)
    while len(folder) > len(to):
        try:
            os.rmdir(folder)
        except OSError:
            return
        folder = os.path.dirname(folder)


def _settle(session: Session, call: Call, past: Past, to: str) -> list[str]:
    """The files as a call of the caller's, in the new tree's ledger. The work is its owners' again, the alert ends."""
    from dibs.operations.guards.removed_trees import RETURNED

    tree = working_tree.at(to, session.place)
    identifier = f"{UNDO}{random_id()}"
    tree.open_call(identifier, call.agent, is_open=False)
    paths = past.unfinished()
    for path in paths:
        blob = past.entries[path][1] if path in past.entries else MISSING
        tree.add(name_line(identifier, WHOLE, blob, path))
    tree.write()
    missing = fill(past, to)
    for path in paths:
        tree.made(path, call.agent, WHOLE)
    tree.add(call_end_line(tree.stamp(), identifier, left=False))
    tree.write()
    for path, owners in State(ledger_files.load(past.folder)[0]).owned().items():
        if path in tree.state.heads:
            tree.add(*[owner_line(owner, path) for owner in owners[:1]])
    tree.write()
    request.wanted(tree.folder, to)
    session.run(RETURNED, call, {"name": os.path.basename(past.folder), "tree": to})
    return missing
