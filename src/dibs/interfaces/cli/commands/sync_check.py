"""`dibs sync-check`: is what others have pushed here? Fetches and compares; changes no file and no branch.

Compares HEAD, whatever is checked out, with the remote's default branch. Being behind is a refusal (1); what cannot be
compared is not a yes either (2), unless --unsynced says that it does not matter.
"""

from __future__ import annotations

import sys

from dibs import jsontext
from dibs.deploy import checks
from dibs.errors import YES
from dibs.git import sync
from dibs.interfaces.cli.command import Command
from dibs.interfaces.cli.dispatch import open_session
from dibs.operations.core.declare import Field
from dibs.operations.guards import deploy_guard

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.git.sync import BranchView
    from dibs.interfaces.cli.parse import Words

FIELDS = (
    Field("target", "text", "compare with the branch that the config names for this deploy target", default="",
          positional=True, metavar="TARGET"),
    Field("remote", "text", "compare with this remote (default: origin, or the only one)", default="", metavar="R"),
    Field("branch", "text", "compare with this branch there (default: the remote's default branch)", default="",
          metavar="B"),
    Field("unsynced", "flag", "exit with 0 if HEAD cannot be compared", default=False),
)  # fmt: skip


def run(words: Words) -> int:
    """Compare; being behind is a refusal."""
    session = open_session(words)
    given = words.fields
    target: str = given.get("target", "")
    if session.place.common:
        remote, branch = checks.branch_for(session, target)
        status = sync.stand(
            session.place.top,
            given.get("remote") or remote,
            given.get("branch") or branch,
            timeout=checks.fetch_timeout_s(session),
        )
    else:
        status = sync.BranchStatus(why="this is not a git repository")
    shown = status.as_json()
    refusal = deploy_guard.stale(shown, target=target, unsynced=bool(given.get("unsynced")))
    if refusal is not None:
        raise refusal
    sys.stdout.write(jsontext.encode({"ok": True, "target": target, **shown}) + "\n" if words.json else _line(shown))
    return YES


def _line(shown: BranchView) -> str:
    if shown["behind"] is None:
        return f"not compared: {shown['why']}\n"
    note = f" ({shown['note']})" if shown.get("note") else ""
    ahead = f", {shown['ahead']} ahead" if shown["ahead"] else ""
    return f"{shown['branch'] or 'HEAD'} has all of {shown['upstream']}{note}{ahead} ({shown['commit'][:12]})\n"


COMMAND = Command(
    "sync-check",
    "Fetch, and refuse (exit code 1) if the remote's default branch has commits that are missing here.",
    run=run,
    group="guards",
    fields=FIELDS,
    examples=(
        ("dibs sync-check", "compare HEAD with the remote's default branch"),
        ("dibs sync-check prod", "compare with the branch that the config names for prod"),
    ),
    notes=(
        (
            "HEAD is compared with the default branch whatever is checked out: another branch, a detached HEAD, a CI "
            "checkout. Exit code 2: they cannot be compared (no remote, no answer, a shallow clone)."
        ),
    ),
    json="target, branch, commit, behind, ahead, upstream",
    refusals=("behind", "unavailable"),
)
