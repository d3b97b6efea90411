"""What a lander says: why a branch cannot land, in words on which an agent that was not there can act."""

from __future__ import annotations

from dibs.errors import DibsError, quoted
from dibs.git import queries as git
from dibs.ledger import working_tree
from dibs.operations.agents.lookups import NAMES
from dibs.workspace.paths import of_parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.client.session import Session
    from dibs.operations.core.call import Call
    from dibs.operations.landing.lander import QueuedLanding

MAX_REFUSAL_CHARS = 800  # of a remote
MAX_LINE_CHARS = 200  # of the last line of a check
SHOWN = 3  # files that are in the way


def in_the_way(session: Session, call: Call, onto: str, blocked: tuple[str, str], paths: Sequence[str]) -> str:
    """Why a working tree of the target cannot follow, whose work is in the way, and what to do about it.

    `blocked`: the working tree and git's reason. `paths`: what the landing changes.
    """
    top, reason = blocked
    try:
        dirty = sorted({change.path for change in git.dirty(top)}.intersection(paths))
        heads = working_tree.at(top, session.place).state.heads
    except (DibsError, OSError):  # git's own reason names a file
        dirty, heads = [], {}
    owners = sorted({owner for path in dirty if path in heads for owner in heads[path].owners})
    owners = owners or _holders(session, call, [f"{top}/{path}" for path in dirty[:SHOWN]])
    names = session.run(NAMES, call, {"agents": owners})["names"] if owners else {}
    by = f" of {', '.join(names.get(one) or one for one in owners)}" if owners else ""
    more = f" and {len(dirty) - SHOWN} more" if len(dirty) > SHOWN else ""
    what = f"uncommitted changes{by} in {', '.join(dirty[:SHOWN])}{more}" if dirty else reason.rstrip(".")
    ask = f", or ask first (`dibs send {quoted(owners[0])} TEXT`)" if owners else ""
    return (
        f"{onto} is checked out in {top}, which cannot follow: {what}. This landing changes the same files. The branch "
        f"needs no repair; commit or stash what is there{ask}."
    )


def _holders(session: Session, call: Call, files: Sequence[str]) -> list[str]:
    """The agents that hold these files: of an agent without hooks, only its claim says whose work they are."""
    if not files:
        return []
    wanted = [of_parts(*session.paths.resource(file, session.cwd, literal=True)) for file in files]
    claims = session.run(session.operation("status"), call, {"resources": wanted})["claims"]
    return sorted({claim["agent"] for claim in claims if claim["mode"] == "write"})


def elsewhere(landing: QueuedLanding, remote: str) -> str:
    """The commit of a landing is only in the clone that it was queued in."""
    branch, commit = landing["branch"], landing["commit"][:12]
    push = f", or push the branch to {remote}" if remote else ""
    what = f"its commit {commit}" if commit else "the branch"
    return (
        f"{branch} was queued in {landing['home']}, and {what} is not here. It stays queued: `dibs land` there lands "
        f"it{push}."
    )


def last_line(output: str) -> str:
    """The last line of a check's output, as the end of a sentence."""
    line = output.rpartition("\n")[2].strip()
    return f" and ends with: {line[:MAX_LINE_CHARS]}" if line else "."


def refusal(text: str) -> str:
    """What a remote said, without git's frame around it."""
    lines = [line.strip().removeprefix("remote:").strip() for line in text.splitlines()]
    said = [line for line in lines if line and line != "Done" and not line.startswith(("To ", "error: failed to push"))]
    reasons = [line for line in said if not line.startswith("!")] or said
    return " ".join(reasons)[:MAX_REFUSAL_CHARS] or "it did not answer"
