"""`limited`: an agent's client reports that an error ended its turn: a usage limit, a bill, a server that is down.

- success: the agent is limited, until the time that the client named, if it did. `status`, `agents`, top and the page
  say so. It ends with the agent's next prompt, tool call or start, not with a notification of its client.
- what it holds stays: claims on unfinished files as those of any living process (claims/lapses.py), and the claim on
  its task with them. With `[agents] limited = "offer"` its tasks go back to the queue after `offer_after`, which counts
  against nobody, unless the limit ends before; a late `task done` of it is fenced with whoever has the task now.
- others: the agents that wait for what it holds are told once.
- expiry: none; a limit whose time is over is still shown until the agent goes on, since nobody else knows that it will.
- retry: the first report's beginning stays. crash, race: one transaction; a call of the agent after it ends it.
- a far caller reports itself alone.
"""

from __future__ import annotations

from dibs.operations.agents import names
from dibs.operations.agents.records import put_agent, registered_agent
from dibs.operations.agents.turns import MAX_QUESTION_CHARS, rest, words_of
from dibs.operations.claims import endings
from dibs.operations.claims import records as claim_records
from dibs.operations.core.call import related, span
from dibs.operations.core.declare import ANYWHERE, Field, Operation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.operations.agents.records import Agent, Limit
    from dibs.operations.agents.requests import LimitedRequest
    from dibs.operations.core.answers import NoAnswer
    from dibs.operations.core.call import Call
    from dibs.stores.seam import Transaction

MAX_LIMIT_MS = 35 * 86_400_000  # a monthly limit
MAX_SENT_CHARS = 400
MAX_TOLD = 16  # agents that wait for what it holds


def _limited(tx: Transaction, call: Call, request: LimitedRequest) -> NoAnswer:
    """The caller cannot go on."""
    agent = registered_agent(tx, call.agent)
    before = agent.get("limited")
    limit: Limit = {
        "since": before["since"] if before is not None else tx.now,
        "what": words_of(request["what"], MAX_QUESTION_CHARS),
    }
    if request["ms"]:
        limit["until"] = tx.now + request["ms"]
    agent["limited"] = limit
    rest(tx, agent)
    put_agent(tx, agent)
    if call.policy.work["agents"]["limited"] == "offer":
        _offer(tx, call, limit)
    if before is None:
        _tell(tx, call, agent, limit)
    return {}


def _offer(tx: Transaction, call: Call, limit: Limit) -> None:
    """Its tasks' claims end after `offer_after`; not if the limit ends before."""
    at = tx.now + call.policy.work["agents"]["offer_after"]
    if limit.get("until", at) < at:
        return
    for claim in claim_records.claims_of(tx, call.agent):
        if claim["by"] == endings.BY_TASK and tx.now < at < claim["until"]:
            claim["until"] = at
            claim_records.put(tx, claim)
            tx.append("claim.renewed", call.agent, claim["claim"], {"until": at})


def _tell(tx: Transaction, call: Call, agent: Agent, limit: Limit) -> None:
    """Tell the agents in line for what it holds: they need not wait for nothing."""
    from dibs.operations.messages import mailbox

    told: set[str] = set()
    for claim in claim_records.claims_of(tx, call.agent):
        for record in claim_records.overlapping(tx, claim["resources"], claim["tree"]):
            if claim_records.is_claim(record) or record["until"] <= tx.now or related(record["agent"], call.agent):
                continue
            if record["agent"] in told or len(told) >= MAX_TOLD:
                continue
            told.add(record["agent"])
            text = f"{names.name_of(tx, call.agent, agent)} holds what you want, and is {words(tx, limit)}."
            mailbox.post(tx, record["agent"], "dibs", "limited", text)


def words(tx: Transaction, limit: Limit) -> str:
    """That an agent is limited, and for how much longer."""
    until = limit.get("until", 0)
    left = f" for another {span(until - tx.now)}" if until > tx.now else ""
    return f"limited{left} ({limit['what']})" if limit["what"] else f"limited{left}"


LIMITED = Operation(
    "limited", _limited, "An error ended the agent's turn: it cannot go on.", sent_by=ANYWHERE,
    fields=(
        Field("what", "raw", "in its client's words", default="", longest=MAX_SENT_CHARS),
        Field("ms", "integer", "for how long; 0: that is not known", default=0, least=0, most=MAX_LIMIT_MS),
    ),
)  # fmt: skip

INTERNAL = (LIMITED,)
