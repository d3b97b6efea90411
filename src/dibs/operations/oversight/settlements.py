"""`check settle`: a finding of `dibs check` that a person accepts, with a reason, until it is taken back.

A finding is named by the number of the event that shows it (`41`), or by its check and its code (`alerting:no-sink`)
where the configuration causes it. A settled finding is shown as settled and fails nothing. Nothing is deleted: the log
keeps the event, the settlement is an event of its own, and `--undo` ends it.

- success: the same once more keeps the newer reason.
- refusal: an event that is not in the log yet; more than MAX_SETTLED; a caller that is not a person (forbidden).
"""

from __future__ import annotations

from dibs.errors import Invalid, NotFound, Quota
from dibs.operations.core.call import iso
from dibs.operations.core.declare import ANYWHERE, PERSON, Field, Operation
from dibs.operations.oversight.records import delete_settlement, get_settlement, get_settlements, put_settlement

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.operations.core.call import Call
    from dibs.operations.oversight.answers import CheckSettleAnswer, SettledView
    from dibs.operations.oversight.requests import CheckSettleRequest
    from dibs.stores.seam import Transaction

MAX_SETTLED = 1_000  # at a time; who accepts more than this does not want the check
MAX_WHAT_CHARS = 200
LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_")


def _settle(tx: Transaction, call: Call, request: CheckSettleRequest) -> CheckSettleAnswer | Quota:
    """Accept a finding, or take that back."""
    what, why = request["what"], request["why"]
    what = _name(tx, what)
    known = get_settlement(tx, what)
    if request["undo"]:
        if known is None:
            raise NotFound(f"{what} is not settled; `dibs check --verbose` lists what is.", what=what)
        delete_settlement(tx, what)
        tx.append("audit.unsettled", call.agent, what, {"why": why} if why else {})
        return {"settled": what, "undone": True}
    if not why:
        raise Invalid("why: say why this is accepted; `dibs check` shows the reason.", field="why")
    if known is None and len(get_settlements(tx, MAX_SETTLED)) >= MAX_SETTLED:
        tx.append("call.refused", call.agent, "check settle", {"code": "quota"})
        text = f"{MAX_SETTLED} findings are settled already; take one back with --undo."
        return Quota(text, what="settled findings", limit=MAX_SETTLED)
    put_settlement(tx, {"what": what, "why": why, "by": call.agent, "at": tx.now})
    tx.append("audit.settled", call.agent, what, {"why": why})
    return {"settled": what, "undone": False, "why": why}


def _name(tx: Transaction, what: str) -> str:
    """The finding that is meant, in the form in which it is kept."""
    text = what.strip().removeprefix("event ").removeprefix("#")
    if text.isascii() and text.isdigit():
        number = int(text[:18])
        if not 1 <= number <= tx.tail().seq:
            raise NotFound(f"there is no event {number}; `dibs check --verbose` has the events.", what=text)
        return str(number)
    check, colon, code = text.partition(":")
    if not colon or not code or not LETTERS.issuperset(check) or not LETTERS.issuperset(code):
        message = f"what: an event's number, or a finding such as alerting:no-sink, not {text[:40]!r}"
        raise Invalid(message, field="what")
    return text


def settled(tx: Transaction) -> dict[str, SettledView]:
    """Everything that is settled, by name."""
    return {
        record["what"]: {"why": record["why"], "agent": record["by"], "at": iso(tx, record["at"])}
        for record in get_settlements(tx, MAX_SETTLED)
    }


def _listed(tx: Transaction, call: Call) -> dict[str, dict[str, SettledView]]:
    return {"settled": settled(tx)}


SETTLED = Operation("check settled", _listed, "Which findings are settled?", sent_by=ANYWHERE, writes=False)
INTERNAL = (SETTLED,)

OPERATIONS = (
    Operation(
        "check settle",
        _settle,
        "Accept a finding of `dibs check`, with a reason; --undo takes that back.",
        group="guards",
        fields=(
            Field("what", "text", "the number of an event, or a finding's name such as alerting:no-sink",
                  positional=True, required=True, longest=MAX_WHAT_CHARS, metavar="EVENT|FINDING"),
            Field("why", "text", "why it is accepted", default="", metavar="T"),
            Field("undo", "flag", "it is not accepted any more", default=False),
        ),
        errors=(Invalid, NotFound, Quota),
        rank=PERSON,
        answer="CheckSettleAnswer",
        idempotent=True,
    ),
)  # fmt: skip
