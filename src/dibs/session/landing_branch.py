"""The branch that others are landed on, in the repository where the call is made: the config's, else main or master."""

from __future__ import annotations

from dibs.facts.git import queries as git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.session.session import Session

USUAL = ("main", "master")


def of(session: Session) -> str:
    """Its name; main, if there is neither."""
    named: str = session.config.policy.work["land"]["branch"]
    if named:
        return named
    return next((name for name in USUAL if git.commit(session.place.top, f"refs/heads/{name}")), USUAL[0])
