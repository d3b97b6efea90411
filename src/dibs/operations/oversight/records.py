"""What is stored of oversight: accepted findings of `dibs check`, and the last test. Nothing is decided here."""

from __future__ import annotations

from dibs.stores.seam import prefix_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from dibs.stores.seam import Transaction

    class Settlement(TypedDict):
        """A finding of `dibs check` that a person accepted."""

        what: str  # the number of the event that shows it, or its check and its code
        why: str
        by: str  # the person
        at: int  # ms

    class Trial(TypedDict):
        """The result of a test with many agents at once."""

        what: str  # which test
        agents: int
        edits: int  # that they made
        lost: int  # of these
        clean: bool  # the log of the test holds together
        seconds: float
        version: str  # of dibs
        store: str  # the kind of store
        by: str  # the agent that recorded it
        at: int  # ms


def settlement_key(what: str) -> str:
    """A finding of `dibs check` that a person accepted."""
    return f"cs\t{what}"


TRIAL_KEY = "ct"  # the last test with many agents


def get_settlement(tx: Transaction, what: str) -> Settlement | None:
    """The settlement of a finding; None if it is not accepted."""
    settlement: Settlement | None = tx.get(settlement_key(what))
    return settlement


def get_settlements(tx: Transaction, limit: int) -> list[Settlement]:
    """All settlements, up to a limit."""
    return [settlement for _, settlement in tx.fetch([prefix_range(settlement_key(""))], limit).rows]


def put_settlement(tx: Transaction, settlement: Settlement) -> None:
    """Write a settlement."""
    tx.put(settlement_key(settlement["what"]), settlement)


def delete_settlement(tx: Transaction, what: str) -> None:
    """Delete the settlement of a finding."""
    tx.delete(settlement_key(what))


def get_trial(tx: Transaction) -> Trial | None:
    """The last test, if there was one."""
    trial: Trial | None = tx.get(TRIAL_KEY)
    return trial


def put_trial(tx: Transaction, trial: Trial) -> None:
    """Write the last test."""
    tx.put(TRIAL_KEY, trial)
