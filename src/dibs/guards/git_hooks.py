"""Git's hooks: pre-commit and pre-merge-commit, prepare-commit-msg, post-commit and post-merge, pre-push.

Git asks before it commits and pushes, and reports afterwards; this file translates that into operations. A refusal is
exit 1 with the reason and the safe command on stderr, which git shows. In doubt (the store is busy or damaged, git
itself does not answer) the answer is a refusal too, unless the config says `on_doubt = "allow"`.

A checked commit is remembered until its git process reports it (workspace/checked_commits.py). A report without a check
bypassed the guard (`--no-verify`), or replays commits (a rebase, a cherry-pick), for which git does not ask. The
repository's own pre-commit hook runs after this one and may stage more: when the message is prepared, git has read the
index again and reads it no more, and what is new in it is checked then.
"""

from __future__ import annotations

import os
import sys

from dibs.errors import NO, USAGE, YES, Conflict, DibsError, Fenced, Held, Unavailable, asking, named, taking_away
from dibs.git import queries as git
from dibs.git import under_way
from dibs.guards.git_paths import resource_of
from dibs.workspace import checked_commits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from dibs.client.session import Session
    from dibs.operations.core.call import Call
    from dibs.workspace.checked_commits import CheckedCommit
    from dibs.workspace.location import Place

REPLAYS = frozenset({"rebase", "cherry-pick", "revert", "am", "pull", "merge"})  # these make commits without asking
WITH_VALUE = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"})
MAX_TRAILERS = 10  # paths in a commit's message, with their tokens
MAX_PATHS_SHOWN = 10  # in a refusal
MAX_COMMAND_CHARS = 1_000  # of a git command that a refusal repeats
MAX_PATHS_CHECKED = 2_000  # paths of a commit, one by one


def main(words: Sequence[str]) -> int:
    """Run one hook: its name, and git's arguments. Returns the exit code; never a traceback."""
    hook = _HOOKS.get(words[0]) if words else None
    if hook is None:
        _say(f"there is no git hook {words[0] if words else ''!r} for dibs; there are {', '.join(_HOOKS)}")
        return USAGE
    asks = words[0] in _ASK
    session = None
    try:
        session = _open()
        if session is None:
            return YES
        return hook(session, list(words[1:]))
    except DibsError as error:
        if asks and error.exit == NO:
            _say(error.message)
            return NO
        return _doubt(session, words[0], error.message) if asks else _note(error.message)
    except Exception as error:  # noqa: BLE001 - git shows this text, and a traceback helps no user
        message = f"an error inside dibs ({type(error).__name__}: {error})"
        return _doubt(session, words[0], message) if asks else _note(message)


def _open() -> Session | None:
    """The workspace around git's working tree; None if there is none any more."""
    from dibs.client.session import Session
    from dibs.workspace import location

    given = os.environ.get("DIBS_WORKSPACE")
    if not location.find(os.getcwd(), given).exists:
        return None
    wanted, timeout = os.environ.get("DIBS_TIMEOUT"), None
    if wanted:
        from dibs.machine import durations

        timeout = durations.parse(wanted, "timeout") / 1000
    return Session(os.getcwd(), given, timeout=timeout, short_lived=True)


def _doubt(session: Session | None, hook: str, why: str) -> int:
    """The call could not be checked: refused, unless the config lets such calls pass."""
    allowed = session is not None and session.config.policy.guards.get("on_doubt") == "allow"
    if not allowed or session is None:
        _say(
            f"{hook} blocked: dibs could not check it: {why}\n"
            "  Try again. `--no-verify` bypasses the guard; that is noticed afterwards and logged."
        )
        return NO
    _say(f'{hook} could not be checked and passes (on_doubt = "allow"): {why}')
    try:
        from dibs.operations.guards.audits import DOUBT

        session.run(DOUBT, session.identify(None), {"why": why, "tool": f"git {hook}"})
    except DibsError:  # the store itself is in doubt
        pass
    return YES


def _note(why: str) -> int:
    """After the fact nothing can be refused; a message is printed."""
    _say(f"the commit is done, but dibs could not record it: {why}")
    return YES


def _say(text: str) -> None:
    sys.stderr.write(f"dibs: {text}\n")


# --- before a commit


def _pre_commit(session: Session, _: list[str]) -> int:
    return _check(session, _staged(session))


def _staged(session: Session) -> list[str]:
    """The paths that the commit would change now."""
    index = os.environ.get("GIT_INDEX_FILE", "")
    return git.staged(session.place.top, os.path.join(os.getcwd(), index) if index else "")


def _check(session: Session, paths: list[str], late: Sequence[str] = ()) -> int:
    """May they be committed? `late` are those that another hook of the repository staged after the first check."""
    from dibs.operations.guards import commit_guard

    top = session.place.top
    resources = [resource_of(session, path) for path in paths]
    call = session.identify(None)
    owned = _unfinished(session, call, paths)
    fields = {"paths": resources, "tree": top, "client": client_name(), "owned": owned}
    try:
        answer = session.run(commit_guard.CHECK, call, fields)
    except (Held, Fenced, Conflict) as error:
        here = os.environ.get("GIT_PREFIX", "")  # the folder in which git was called, from the top
        written = {
            resource[1]: os.path.relpath(path, here) if here else path
            for resource, path in zip(resources, paths, strict=True)
        }
        _say(_refusal(error, written, session.place) + (_staged_late(late) if late else ""))
        return NO
    known = call.agent != call.fallback or answer["held"]
    checked: CheckedCommit = {
        "agent": call.agent if known else "", "tokens": answer["tokens"], "held": answer["held"], "paths": paths
    }  # fmt: skip
    checked_commits.remember(session.place, checked)
    return YES


def _staged_late(late: Sequence[str]) -> str:
    """What to do about a hook of the repository that stages more than the agent did."""
    return (
        f"\nThis repository's own pre-commit hook staged {_quoted(late)} after you did. Take it out of the index as "
        "above, and let that hook stage only what was staged before, or commit in a working tree of your own "
        "(`git worktree add`)."
    )


def _unfinished(session: Session, call: Call, paths: Sequence[str]) -> list[list[Any]]:
    """The owners of unfinished work in these paths, after a look at them; unreported changes are reported."""
    from dibs.guards import audit
    from dibs.ledger import ledger_files, working_tree

    tree = working_tree.of(session.place)
    tree.survey(paths[:MAX_PATHS_CHECKED])
    tree.write()
    audit.tell(session, call, [tree])
    heads, seen = tree.state.heads, ledger_files.Seen(tree.folder, call.agent)
    return [
        [resource_of(session, path), heads[path].owners, seen.last(path) == heads[path].content]
        for path in paths
        if path in heads and heads[path].owners
    ]


def _refusal(error: DibsError, written: dict[str, str], place: Place) -> str:
    """The refused files, their holders, and the safe command."""
    lines: list[str] = []
    bad: dict[str, None] = {}
    if isinstance(error, Held):
        for blocker in error.blockers:
            reason = f" ({blocker['reason']})" if blocker["reason"] else ""
            for text in blocker["paths"]:
                bad[text] = None
                left = f" ({blocker['left']})" if blocker.get("left") else ""
                lines.append(f"  {written.get(text, text)}: {named(blocker)} holds it{left}{reason}")
            if blocker["more_paths"]:
                lines.append(f"  and {blocker['more_paths']} more of {named(blocker)}'s")
    elif isinstance(error, Conflict):
        return f"commit refused: {error.message}"
    elif "paths" in error.fields:
        bad = dict.fromkeys(error.paths)
        lines = [f"  {error.message}", *[f"  {written.get(text, text)}" for text in list(bad)[1:MAX_PATHS_SHOWN]]]
    else:
        return f"commit refused: {error.message}"
    if error.fields.get("person"):
        lines.append(_override(error, [written.get(text, text) for text in bad]))
    busy = under_way.refuses_paths(place.git_dir)
    if busy:
        lines.append(
            f"A {busy} is under way in this working tree, and git commits no single files meanwhile. Leave the index "
            "as it is: wait until it is committed, or commit in a working tree of your own (`git worktree add`)."
        )
        return "\n".join(["commit refused: files of other agents are in it.", *lines])
    names = _quoted([written.get(text, text) for text in bad])
    rest = [path for text, path in written.items() if text not in bad]
    back = "git restore --staged --" if git.head(place.top) else "git rm --cached --"
    take = "or take" if error.fields.get("person") else "Take"
    lines.append(f"{take} {'it' if len(bad) == 1 else 'them'} out of the commit:  {back} {names}")
    if rest and len(rest) <= MAX_PATHS_SHOWN:
        lines.append(f"or commit the others by name:  git commit -- {_quoted(rest)}")
    if isinstance(error, Held):
        lines.append(f"or ask for it:  {asking(written.get(next(iter(bad)), next(iter(bad))))}")
    else:
        lines.append(f"or claim it again, read it, and commit then:  dibs claim {names}")
    many = "path" if len(written) == 1 else "paths"
    why = "held by other agents" if isinstance(error, Held) else "no longer yours"
    return f"commit refused: {len(bad)} of {len(written)} {many} {why}.\n" + "\n".join(lines)


def _override(error: DibsError, names: list[str]) -> str:
    """How a person commits it all the same: later, or now by one command, with the words that git was called with."""
    from shlex import join

    agents = " and ".join(dict.fromkeys([named(blocker) for blocker in error.blockers]))
    found = checked_commits.gits()
    words = git.command_of(found[0][0][3]) if found else []
    again = join(["git", *words[1:]]) if words and len(join(words)) <= MAX_COMMAND_CHARS else "git commit"
    return (
        f"Once the turn of {agents} has ended, this commit passes. To commit it now, and notify {agents}:\n"
        f"  {taking_away(names, 'a person commits it')} && {again}"
    )


def _quoted(paths: Any) -> str:
    from shlex import quote

    names = [quote(path) for path in paths]
    return " ".join(names[:MAX_PATHS_SHOWN]) + (" …" if len(names) > MAX_PATHS_SHOWN else "")


def client_name() -> str:
    """The client whose shell this is, by its session variable; "" if none is known."""
    from dibs.workspace.known_clients import SESSION_VARIABLES

    return next((client for variable, client in SESSION_VARIABLES.items() if os.environ.get(variable)), "")


# --- the commit's message


def _prepare_message(session: Session, words: list[str]) -> int:
    """Name the agent and its tokens in the message, if the guard was asked and there is a message already.

    A message that a person is still to write stays empty: with a trailer in it, git would no longer treat an empty
    message as an abort.
    """
    asked = checked_commits.recall(session.place)
    if asked is not None:
        paths = _staged(session)
        late = set(paths).difference(asked["paths"])
        if late and _check(session, paths, sorted(late)) != YES:
            return NO
    source = words[1] if len(words) > 1 else ""
    if asked is None or not asked["agent"] or not words or source in {"", "template"}:
        return YES
    path = os.path.join(os.getcwd(), words[0])
    with open(path, encoding="utf-8", errors="replace") as file:
        if not any(line.strip() and not line.startswith("#") for line in file):
            return YES
    trailers = [f"Dibs-Agent: {asked['agent']}"]
    trailers += [f"Dibs-Token: {name}={token}" for name, token in asked["tokens"][:MAX_TRAILERS]]
    if len(asked["tokens"]) > MAX_TRAILERS:
        trailers.append("Dibs-Token: …")
    given = [part for trailer in trailers for part in ("--trailer", trailer)]
    try:
        git.ask(session.place.top, "interpret-trailers", "--in-place", "--if-exists", "addIfDifferent", *given, path)
    except Unavailable as error:  # the commit is fine without them
        _say(error.message)
    return YES


# --- after a commit


def _post_commit(session: Session, _: list[str]) -> int:
    asked = checked_commits.recall(session.place)
    how = "checked" if asked is not None else "replayed" if _replays() else "past"
    commit = git.head(session.place.top)
    return _reported(session, commit, git.commit_paths(session.place.top, commit), how)


def _post_merge(session: Session, words: list[str]) -> int:
    """After a merge or a fast-forward: the commits that HEAD has now and did not have before."""
    asked = checked_commits.recall(session.place)
    top = session.place.top
    before = git.commit(top, "ORIG_HEAD")
    if words[:1] == ["1"] or not before:  # squashed: there is no commit yet
        return YES
    how = "checked" if asked is not None else "replayed"
    commit = git.head(top)
    return _reported(session, commit, git.diff_paths(top, before, commit), how)


def _reported(session: Session, commit: str, blobs: dict[str, str], how: str) -> int:
    """Report it, and only then forget its check: another hook that finds the commit meanwhile waits for the report."""
    code = _tell(session, commit, blobs, how)
    checked_commits.forget(session.place)
    return code


def tell(session: Session, commit: str, how: str, call: Call, suspects: Sequence[str] = ()) -> None:
    """Report a commit that git's hooks did not report; `suspects` if it is not certain who made it."""
    _tell(session, commit, git.commit_paths(session.place.top, commit), how, call, suspects)


def _tell(
    session: Session, commit: str, blobs: dict[str, str], how: str, call: Call | None = None,
    suspects: Sequence[str] = (),
) -> int:  # fmt: skip
    from dibs.operations.guards import commit_guard

    checked_commits.tell(session.place, commit)
    top = session.place.top
    differing = git.differing(top, commit, [path for path, blob in blobs.items() if blob])
    items = [
        [resource_of(session, path), os.path.lexists(os.path.join(top, path)) is bool(blob) and path not in differing]
        for path, blob in blobs.items()
    ]
    fields = {"commit": commit, "tree": top, "items": items, "how": how, "suspects": list(suspects)}
    answer = session.run(commit_guard.COMMITTED, call or session.identify(None), fields)
    _finished(session, [path for path, (_, same) in zip(blobs, items, strict=True) if same])
    for one in answer["finished"]:
        paths = ", ".join(one["paths"][:MAX_PATHS_SHOWN])
        _say(f"{named(one)} had finished its turn: its claim on {paths} ended with this commit, and it will be told.")
    for one in answer["unseen"]:
        paths = ", ".join(one["paths"][:MAX_PATHS_SHOWN])
        _say(f"{one['agent']} holds {paths}, which this commit changes; it was notified.")
    return YES


def _finished(session: Session, paths: Sequence[str]) -> None:
    """Committed paths are no longer unfinished work."""
    from dibs.ledger import working_tree

    working_tree.of(session.place).finish(paths)


def _replays() -> bool:
    """Does a git process above this one make commits without asking?"""
    return any(subcommand(git.command_of(process[3])) in REPLAYS for process, _ in checked_commits.gits())


def subcommand(words: Sequence[str]) -> str:
    """Git's subcommand: its first word that is no option."""
    left = iter(words[1:])
    for word in left:
        if word in WITH_VALUE:
            next(left, None)
        elif not word.startswith("-"):
            return word
    return ""


# --- before a push


def _pre_push(session: Session, words: list[str]) -> int:
    """A push to a protected branch is a deploy. Git gives the refs, old and new, on stdin."""
    from dibs.deploy import checks

    updates = []
    for line in sys.stdin.buffer.read().decode(errors="surrogateescape").splitlines():
        parts = line.split(" ")
        if len(parts) == 4 and parts[2].startswith("refs/heads/"):  # noqa: PLR2004 - ref and commit, here and there
            updates.append((parts[2].removeprefix("refs/heads/"), _some(parts[1]), _some(parts[3])))
    call = session.identify(None)
    checks.check_push(session, call, session.place.top, words[0] if words else "the remote", updates)
    from dibs.client.upkeep import push_look

    push_look.begin(session.place)
    push_look.note(session.place.local, [(branch, here) for branch, here, _ in updates if here])
    return YES


def _some(commit: str) -> str:
    return commit if commit.strip("0") else ""


_HOOKS: dict[str, Callable[[Session, list[str]], int]] = {
    "pre-commit": _pre_commit,
    "pre-merge-commit": _pre_commit,
    "prepare-commit-msg": _prepare_message,
    "post-commit": _post_commit,
    "post-merge": _post_merge,
    "pre-push": _pre_push,
}
_ASK = ("pre-commit", "pre-merge-commit", "prepare-commit-msg", "pre-push")  # git obeys their answer
