"""What a git command that brings commits would change: pull, merge, rebase, cherry-pick, revert, am.

A pull is judged by what it really brings: the remote is asked first, for some seconds at most; if it does not answer,
by what is known of it. An operation that stopped half-way is judged by what is staged and still to come. Facts only,
see git_scope.py.
"""

from __future__ import annotations

from dibs.errors import Unavailable
from dibs.git import commits as git_commits
from dibs.git import queries as git
from dibs.guards import remotes
from dibs.guards.gitadvice import IN_A_FILE, OWN_TREE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.git.effects import GitEffect
    from dibs.guards.git_scope import GitFootprint

FALSE_WORDS = frozenset({"false", "no", "off", "0", ""})
WAIT_OR_ASK = "Wait until they have committed, or ask for it (`dibs ask FILE TEXT`)."


def look(found: GitFootprint, effect: GitEffect) -> None:
    """One command."""
    if not effect.tree:
        return
    if effect.action:
        _go_on(found, effect)
    elif effect.kind == "pull":
        _pull(found, effect)
    elif effect.kind == "rebase":
        _rebase(found, effect)
    elif effect.kind == "merge":
        names = _meant(found, effect, effect.refspecs or ["@{u}"])
        _sweep(found, effect, [path for name in names for path in git_commits.merged(found.where, name)])
    elif effect.kind == "am":
        _mail(found, effect)
    else:
        commits = git_commits.chosen(found.where, _meant(found, effect, effect.refspecs))
        paths = git_commits.paths_of(found.where, commits, effect.value("m", "mainline") or "")
        _sweep(found, effect, paths)


def _meant(found: GitFootprint, effect: GitEffect, names: list[str]) -> list[str]:
    """The names as git will know them when the command runs; a name that the same line creates may be unknown now."""
    remotes.ask_all(found, effect)
    meant = [found.coming.get(name, name) for name in names]
    plain = [name for name in meant if ".." not in name and not name.startswith("^")]
    if effect.later and not all(found.commit_of(name) for name in plain):
        found.doubt(effect)
    return meant


def _sweep(found: GitFootprint, effect: GitEffect, paths: list[str], note: str = "") -> None:
    if effect.kind not in {"cherry-pick", "revert", "am"} and _stashes_itself(found, effect):
        paths = [*paths, *[change.path for change in git.dirty(found.where, untracked=False)]]
    found.sweep(effect, paths, "change", other=f"{note}{OWN_TREE}")


def _stashes_itself(found: GitFootprint, effect: GitEffect) -> bool:
    """Does it stash all uncommitted changes while it works, other agents' included?"""
    if effect.has("autostash"):
        return True
    kinds = {"pull": ("rebase", "merge"), "merge": ("merge",)}.get(effect.kind, ("rebase",))
    return not effect.has("no-autostash") and any(
        _setting(found, f"{kind}.autostash") not in FALSE_WORDS for kind in kinds
    )


def _setting(found: GitFootprint, name: str) -> str:
    done = git.ask(found.where, "config", "--get", name, fine=(0, 1, 128))
    return done.out.decode(errors="replace").strip() if done.ok else ""


# --- commits from elsewhere


def _pull(found: GitFootprint, effect: GitEffect) -> None:
    """What the followed branch, or the named ones, would bring."""
    follows = git.upstream(found.where)
    remote = effect.remote or (follows.remote if follows else "")
    if not remote:
        return  # git reports that it has no upstream
    names: list[str] = []
    note = ""
    if effect.refspecs:
        for spec in effect.refspecs:
            name = spec.lstrip("+").partition(":")[0]
            try:
                names.append(git_commits.fetched(found.where, remote, name))
            except Unavailable:
                note = f"({remote} did not answer; this is judged by what is known of it.) "
                names.append(f"refs/remotes/{remote}/{name}")
    else:
        note = "" if remote == "." else remotes.ask(found, remote)
        if follows is not None and follows.remote == remote:
            names.append(follows.ref)
    names = [name for name in names if git.commit(found.where, name)]
    if _rebases(found, effect):
        for name in names[:1]:
            _replay(found, effect, name, note=note)
        return
    _sweep(found, effect, [path for name in names for path in git_commits.merged(found.where, name)], note)


def _rebases(found: GitFootprint, effect: GitEffect) -> bool:
    """Does this pull rebase?"""
    if effect.has("no-rebase", "ff-only", "squash", "no-ff"):
        return False
    for option, value in reversed(effect.options):
        if option in {"rebase", "r"}:
            return (value or "true") not in FALSE_WORDS
    setting = _setting(found, f"branch.{git.branch(found.where)}.rebase") or _setting(found, "pull.rebase")
    return setting not in FALSE_WORDS


# --- rewritten commits


def _rebase(found: GitFootprint, effect: GitEffect) -> None:
    from dibs.guards import heads

    remotes.ask_all(found, effect)
    names = list(effect.refspecs)
    root = effect.has("root")
    upstream = "" if root else names.pop(0) if names else "@{u}"
    upstream = found.coming.get(upstream, upstream)
    if names and names[0] != git.branch(found.where):
        heads.switched(found, effect, names[0])
        return
    if root:
        _replay(found, effect, "", onto=effect.value("onto") or "")
    elif found.commit_of(upstream):
        _replay(found, effect, upstream, onto=effect.value("onto") or "")
    elif effect.later:
        found.doubt(effect)


def _replay(found: GitFootprint, effect: GitEffect, upstream: str, *, onto: str = "", note: str = "") -> None:
    """Our commits since `upstream` are rewritten on top of it, or of `onto`."""
    commits = git_commits.between(found.where, upstream)
    base = onto or upstream
    comes = git_commits.merged(found.where, base) if base else []
    anyway = effect.has("i", "interactive", "x", "exec", "f", "force-rebase", "no-ff", "root", "autosquash") or onto
    if not comes and not anyway and not git_commits.between(found.where, "HEAD", base):
        return  # it is there already
    found.fact(effect, does="rewrite", makers=git_commits.makers(found.where, commits))
    _sweep(found, effect, [*comes, *git_commits.paths_of(found.where, commits)], note)


def _mail(found: GitFootprint, effect: GitEffect) -> None:
    """The files that patches name."""
    paths: list[str] = []
    for name in effect.refspecs:
        found_here = git_commits.named_by(f"{found.where}/{name}" if not name.startswith("/") else name)
        if found_here is None:
            found.sweep(effect, None, "may change", other="Name the patch files, one by one.", may=True)
            return
        paths += found_here
    if not effect.refspecs:
        found.sweep(effect, None, "may change", other=IN_A_FILE, may=True)
        return
    _sweep(found, effect, paths)


# --- operations that stopped half-way


def _go_on(found: GitFootprint, effect: GitEffect) -> None:
    """--continue, --skip, --abort."""
    stopped = git_commits.stopped(found.where, effect.kind)
    if not stopped.running:
        return  # git reports it
    paths = git.staged(found.where)  # unmerged files are among them
    if effect.action != "abort":
        paths += stopped.paths + git_commits.paths_of(found.where, stopped.commits)
    if effect.kind == "rebase" and effect.action in {"skip", "abort"}:  # like `git reset --hard`
        paths += [change.path for change in git.dirty(found.where, untracked=False)]
    if effect.action == "abort" and stopped.back:
        paths += git.diff_paths(found.where, "HEAD", stopped.back)
        dropped = git_commits.between(found.where, stopped.back, "HEAD", stopped.onto)
        found.fact(effect, does="drop", makers=git_commits.makers(found.where, dropped))
    does = {"abort": "write over", "skip": "write over"}.get(effect.action, "change or commit")
    found.sweep(effect, paths, does, other=WAIT_OR_ASK)
