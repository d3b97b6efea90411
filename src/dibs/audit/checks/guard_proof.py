"""The proof of the guards: made by a door that can run the clients' hooks, kept in `.dibs/local/` for other doors.

`Door.prove_guards` of the command `dibs check` runs each client's own command with a forbidden write
(interfaces/cli/doctor/guards.py). A server, a library or a page shows the last proof of this machine, with its age.
"""

from __future__ import annotations

from dibs import jsontext
from dibs.machine import atomic_write, clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from dibs.audit.answers import CheckView
    from dibs.client.session import Session

    class Proof(TypedDict):
        """The checks of the guards, and when they were made."""

        wall: int  # ms
        checks: list[CheckView]


FILE = "proof"  # in .dibs/local/
FRESH_MS = 60_000  # a proof of this very check
MAX_BYTES = 256 * 1024


def proven(session: Session) -> Proof | None:
    """The checks of the guards, made now or last; None if there were none yet."""
    checks = session.door.prove_guards(session)
    if checks is None:
        return _kept(session.place.local)
    proof: Proof = {"wall": clock.wall(), "checks": checks}
    _keep(session.place.local, proof)
    return proof


def _keep(local: str, proof: Proof) -> None:
    try:
        atomic_write.replace(f"{local}/{FILE}", jsontext.encode(proof))
    except OSError:
        pass  # a sandbox: the next one keeps it


def _kept(local: str) -> Proof | None:
    try:
        with open(f"{local}/{FILE}", encoding="utf-8") as file:
            proof = jsontext.decode(file.read(MAX_BYTES))
        checks = proof["checks"]
        shaped = all({"check", "ok", "message", "severity"} <= set(one) for one in checks)
        return {"wall": int(proof["wall"]), "checks": checks} if shaped else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
