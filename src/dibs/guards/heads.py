"""What a git command would do to HEAD and to branches: checkout, switch, reset, bisect, branch, update-ref, push.

Other agents at work in the same working tree expect their next commit on the branch that they know. Facts only: the new
branch, the changed files, the agents' commits that would be dropped. See git_scope.py.
"""

from __future__ import annotations

import os

from dibs.git import commits
from dibs.git import queries as git
from dibs.guards.gitadvice import OWN_TREE, git_prefix, new_place, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.git.effects import GitEffect
    from dibs.guards.git_scope import GitFootprint

RESTORE_HEAD = "restore --source=HEAD --staged --worktree"  # `git reset --hard`, for some files


def look(found: GitFootprint, effect: GitEffect) -> None:
    """One command."""
    if effect.kind in {"checkout", "switch"}:
        _switch(found, effect)
    elif effect.kind == "reset":
        _reset(found, effect)
    elif effect.kind == "bisect":
        _bisect(found, effect)
    elif effect.kind == "branch":
        _branch(found, effect)
    elif effect.kind in {"update-ref", "symbolic-ref"}:
        _reference(found, effect)
    elif effect.kind == "fetch":
        _fetch(found, effect)
    elif effect.kind == "push":
        _push(found, effect)
    elif effect.kind in {"replace", "filter-branch", "filter-repo"}:
        _moved(found, effect, found.top)


# --- another branch in this working tree


def switched(
    found: GitFootprint, effect: GitEffect, name: str, *, new: str = "", start: str = "", commit: str = ""
) -> None:  # fmt: skip
    """HEAD would be on another branch, or on none.

    A branch at the very commit that is checked out changes no file, and nothing gets lost: that passes, and the agents
    at work here are told afterwards (operations/guards/head_moves.py).
    """
    if not found.prefix and not (commit and commit == git.head(found.where)):
        found.fact(effect, head="switch", to=new or name, other=_way_out(found, name, new, start))


def _way_out(found: GitFootprint, name: str, new: str, start: str) -> str:
    """The same in a working tree of one's own."""
    branch = new or name
    if not branch or branch == "HEAD" or branch.startswith(("-", "@", ".")) or not _is_plain(branch):
        return OWN_TREE
    if new and found.commit_of(f"refs/heads/{new}"):
        return OWN_TREE
    words = ["-b", quoted(new)] if new else []
    if name in commits.checked_out(found.where).values():  # a branch is in one working tree at a time
        words = ["--detach"]
    words.append(quoted(new_place(found.session, found.where, branch.replace("/", "-"))))
    words += [quoted(name)] if not new else [quoted(start)] if start else []
    added = f"git worktree add {' '.join(words)}"
    return f"Work in a working tree of your own, `{added}`, or wait until they have committed."


def _is_plain(name: str) -> bool:
    return all(letter.isalnum() or letter in "/._-" for letter in name)


def _switch(found: GitFootprint, effect: GitEffect) -> None:
    if effect.kind == "checkout" and not effect.head:
        found.restore(effect)
        return
    from dibs.guards import remotes

    remotes.ask_all(found, effect)
    if effect.action == "create":
        _create(found, effect)
        return
    here = git.branch(found.where)
    name = effect.refspecs[0] if effect.refspecs else ""
    commit = found.commit_of("@{-1}" if name == "-" else name)
    if name and not commit:
        commit = commits.tracking(found.where, name)
    if name and not commit:
        if effect.kind == "checkout" and git.tracked_matching(found.where, [name]):  # a file that is missing now
            effect.paths, effect.refspecs = [name], []
            found.restore(effect)
        elif effect.later:  # an earlier command may create what it names
            switched(found, effect, name)
        return
    detached = effect.has("d", "detach") or not _is_branch(found, name)
    if (name and name not in {here, "HEAD"}) or effect.has("d", "detach"):
        switched(found, effect, "" if name == "-" else name, commit="" if detached else commit)
    lost = _lost(found) if effect.force else []
    brought = list(git.diff_paths(found.where, "HEAD", commit)) if commit else []
    if name:
        found.sweep(effect, [*lost, *brought], "write over", other=_way_out(found, name, "", ""), drops=effect.force)
    else:
        found.sweep(effect, lost, "write over", safe=_back(effect), other=OWN_TREE, drops=effect.force)


def _create(found: GitFootprint, effect: GitEffect) -> None:
    """A new branch, from here or from elsewhere."""
    new, start = [*effect.refspecs, "", ""][:2]
    commit = found.commit_of(start)
    if start and not commit and not effect.later and not effect.unknown:
        return  # git knows no such commit, and makes no branch
    fresh = not effect.has("orphan") and not effect.unknown and not found.commit_of(f"refs/heads/{new}")
    begins = commit if start else git.head(found.where)
    switched(found, effect, new, new=new, start=start, commit=begins if fresh else "")
    paths = _lost(found) if effect.force else []
    if commit:
        paths += git.diff_paths(found.where, "HEAD", commit)
    if effect.kind == "switch" and effect.has("orphan"):
        paths += git.tracked_matching(found.top)
    found.sweep(effect, paths, "write over", other=_way_out(found, new, new, start), drops=effect.force)


def _is_branch(found: GitFootprint, name: str) -> bool:
    """Is this the name of a branch, here or of a remote, or the last one? Anything else is checked out without one."""
    if name == "-" or name in found.coming:
        return True
    local = found.commit_of(f"refs/heads/{name}") if name else ""
    return bool(local or (name and not git.commit(found.where, name) and commits.tracking(found.where, name)))


def _lost(found: GitFootprint) -> list[str]:
    """The uncommitted changes that would be lost."""
    return [change.path for change in git.dirty(found.where, untracked=False)]


def _back(effect: GitEffect) -> str:
    return " ".join([*git_prefix(effect), RESTORE_HEAD])


# --- this working tree's branch, moved


def _reset(found: GitFootprint, effect: GitEffect) -> None:
    if effect.paths:
        return  # the index alone
    name = effect.refspecs[0] if effect.refspecs else ""
    from dibs.guards import remotes

    remotes.ask_all(found, effect)
    commit, here = found.commit_of(name), git.head(found.where)
    if name and not commit:  # without an earlier command that brings it, git fails
        if effect.later:
            found.doubt(effect)
        return
    paths: list[str] = []
    if effect.tree:
        paths = _lost(found) if effect.force else git.staged(found.where) if effect.has("merge") else []
    if not commit or commit == here:
        safe = _back(effect) if effect.force else ""
        found.sweep(effect, paths, "write over", safe=safe, other=OWN_TREE, drops=effect.force)
        return
    dropped = commits.between(found.where, commit)
    found.fact(effect, does="drop", makers=commits.makers(found.where, dropped))
    does = "write over" if effect.tree else "move the branch away from commits of"
    found.sweep(effect, [*paths, *git.diff_paths(found.where, "HEAD", commit)], does, other=OWN_TREE,
                drops=effect.force and effect.tree)  # fmt: skip


def _bisect(found: GitFootprint, effect: GitEffect) -> None:
    if effect.action != "reset":
        switched(found, effect, "")
        return
    done = git.ask(found.where, "rev-parse", "--git-path", "BISECT_START", fine=(0, 128))
    try:
        with open(os.path.join(found.where, os.fsdecode(done.out).strip()), encoding="utf-8") as file:
            commit = found.commit_of(file.read(1024).strip())
    except OSError:
        return
    if commit:
        found.sweep(effect, list(git.diff_paths(found.where, "HEAD", commit)), "write over", other=OWN_TREE)


# --- branches and refs by name


def _moved(found: GitFootprint, effect: GitEffect, top: str) -> None:
    """A checked-out branch would move, or history would be rewritten."""
    if not found.prefix:
        fact = found.fact(effect, head="move", to="", other=OWN_TREE)
        fact["tree"], fact["main"] = top, top == found.session.place.root


def _branch(found: GitFootprint, effect: GitEffect) -> None:
    names, here = effect.refspecs, git.branch(found.where)
    if effect.action == "move":
        old, new = (names[0], names[1]) if len(names) > 1 else (here, names[0] if names else "")
        for top, branch in commits.checked_out(found.where).items():
            if branch == old and old != new:
                fact = found.fact(effect, head="switch", to=new, other=OWN_TREE)
                fact["tree"], fact["main"] = top, top == found.session.place.root
    elif effect.action == "delete" and not effect.has("r", "remotes"):
        for name in names:
            _deleted(found, effect, name)
    elif effect.action == "create" and names:
        start = found.commit_of(names[1] if len(names) > 1 else "HEAD")
        if start and effect.force and found.commit_of(names[0]):
            _update(found, effect, names[0], start)
        if start:
            found.coming[names[0]] = start


def _reference(found: GitFootprint, effect: GitEffect) -> None:
    if effect.unknown:
        _moved(found, effect, found.top)
        return
    name, value = [*effect.refspecs, "", ""][:2]
    if effect.kind == "symbolic-ref":
        if name == "HEAD" and value != f"refs/heads/{git.branch(found.where)}":
            switched(found, effect, value.removeprefix("refs/heads/"))
        return
    branch = git.branch(found.where) if name == "HEAD" and not effect.has("no-deref") else ""
    branch = branch or (name.removeprefix("refs/heads/") if name.startswith("refs/heads/") else "")
    if name == "HEAD" and not branch:
        switched(found, effect, "")
    elif branch:
        _update(found, effect, branch, found.commit_of(value) if effect.action == "set" else "")


def _fetch(found: GitFootprint, effect: GitEffect) -> None:
    """`git fetch -u REMOTE SOURCE:BRANCH`, where BRANCH is in use."""
    if effect.unknown:
        _moved(found, effect, found.top)
    for spec in effect.refspecs[1:]:
        source, _, branch = spec.lstrip("+").partition(":")
        if branch:
            commit = found.commit_of(source) if effect.refspecs[0] == "." else "unknown"
            _update(found, effect, branch.removeprefix("refs/heads/"), commit)


def _update(found: GitFootprint, effect: GitEffect, branch: str, commit: str) -> None:
    """A branch moves to another commit ("" if it is deleted), wherever it is checked out."""
    old = found.commit_of(f"refs/heads/{branch}")
    if old and old == commit:
        return
    for top, name in commits.checked_out(found.where).items():
        if name == branch:
            _moved(found, effect, top)
    if not commit:
        _deleted(found, effect, branch)
        return
    dropped = commits.between(found.where, commit, old)
    found.fact(effect, does="drop", makers=commits.makers(found.where, dropped))


def _deleted(found: GitFootprint, effect: GitEffect, branch: str) -> None:
    """A branch would go: whose commits only it has, and were they never landed?"""
    dropped = commits.only_on(found.where, branch)
    makers = commits.makers(found.where, dropped)
    found.fact(effect, does="drop", makers=makers, unlanded=bool(makers) and not _has_landed(found, branch))


def _has_landed(found: GitFootprint, branch: str) -> bool:
    """Has the branch that others are landed on all that this one would bring? A squash has other commits."""
    from dibs.client import landing_settings
    from dibs.errors import Unavailable
    from dibs.git import merges

    place = found.session.place
    target = f"refs/heads/{landing_settings.target_of(found.session)}"
    folder = f"{place.shared}/radar/objects"
    try:
        os.makedirs(folder, 0o700, exist_ok=True)
        objects = merges.Objects(place.common, folder)
        merged = merges.merge(found.where, objects, target, f"refs/heads/{branch}")
        has = objects.ask(found.where, "rev-parse", f"{target}^{{tree}}").strip()
    except (Unavailable, OSError):
        return False
    return merged.outcome == merges.CLEAN and merged.tree == has


# --- pushes


def _forced(found: GitFootprint, effect: GitEffect) -> None:
    """A push that takes commits off a branch of a remote, as far as the last fetch or push tells what is there."""
    follows = git.upstream(found.where)
    remote = effect.remote or (follows.remote if follows else "origin")
    here = git.branch(found.where)
    specs = effect.refspecs or ([follows.branch] if follows else [here])
    if effect.all:
        specs = commits.branches(found.where)
    for spec in specs:
        source, colon, name = spec.lstrip("+").partition(":")
        name = (name if colon else source).removeprefix("refs/heads/")
        name = here if name == "HEAD" else name
        source = "" if effect.has("d", "delete") else source or ("" if colon else "HEAD")
        source = "HEAD" if not effect.refspecs and not effect.all else source
        old, new = found.commit_of(f"refs/remotes/{remote}/{name}"), found.commit_of(source) if source else ""
        if old and (new or not source):
            dropped = (
                commits.between(found.where, new, old) if new else commits.missing_from(found.where, old, "--branches")
            )
            found.fact(effect, does=f"take off {remote}/{name}", makers=commits.makers(found.where, dropped))


def _push(found: GitFootprint, effect: GitEffect) -> None:
    """A push that drops commits of others, or that bypasses git's own hook."""
    if (effect.force or effect.action == "delete") and not effect.unknown and not found.prefix:
        _forced(found, effect)
    if not effect.past or found.prefix:
        return
    done = git.ask(found.where, "rev-parse", "--git-path", "hooks/pre-push", fine=(0, 128))
    if not os.path.exists(os.path.join(found.where, os.fsdecode(done.out).strip())):
        return
    from dibs.operations.guards.deploy_guard import pushed_targets

    policy = found.session.config.policy
    here = git.branch(found.where)
    if effect.all or effect.unknown:
        names = [name for name in commits.branches(found.where) if pushed_targets(policy, name)]
    elif effect.refspecs:
        ends = [spec.lstrip("+").rpartition(":")[2].removeprefix("refs/heads/") for spec in effect.refspecs]
        names = [here if end == "HEAD" else end for end in ends]
    else:
        follows = git.upstream(found.where)
        names = [here, *([follows.branch] if follows else [])]
    protected = [name for name in dict.fromkeys(names) if name and pushed_targets(policy, name)]
    if protected:
        found.fact(effect, past=effect.past, protected=protected)
