"""The rules of a workspace: the version that each agent was shown. The text is a file, `.dibs/rules.md`."""

from __future__ import annotations

from dibs.operations.agents import roles
from dibs.operations.agents.records import get_agent, put_agent
from dibs.operations.agents.registration import register
from dibs.operations.core.declare import Field, Operation
from dibs.stores.seam import COMMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.operations.agents.answers import RulesAnswer, ScratchAnswer
    from dibs.operations.agents.requests import RulesRequest
    from dibs.operations.core.call import Call
    from dibs.stores.seam import Transaction


def _rules(tx: Transaction, call: Call, request: RulesRequest) -> RulesAnswer:
    """The present version, and the one that the caller was shown; `ack` records that it knows the present one."""
    agent = get_agent(tx, call.agent)
    if agent is None and request["ack"]:  # a question alone does not register the caller
        agent = register(tx, call, call.client, call.kind)
    known = "" if agent is None else agent.get("rules", "")
    if agent is not None and request["ack"] and call.rules and known != call.rules:
        agent["rules"], agent["rules_at"] = call.rules, COMMIT
        known = call.rules
        put_agent(tx, agent)
        tx.append("rules.acknowledged", call.agent, call.agent, {"digest": call.rules})
    return {"digest": call.rules, "acknowledged": known, "current": known == call.rules}


def _scratch(tx: Transaction, call: Call) -> ScratchAnswer:
    """The caller's scratch folder, relative to the workspace's root."""
    return {"agent": call.agent, "scratch": roles.scratch_of(call.agent)}


OPERATIONS = (
    Operation(
        "rules",
        _rules,
        "Show the rules of the workspace, and whether you were shown this version.",
        group="agents",
        fields=(Field("ack", "flag", "record that you have read them", default=False),),
        registers=False,
        rank="viewer",
        answer="RulesAnswer",
        idempotent=True,
        wants=("rules",),
        afterwards="rules text",
    ),
    Operation(
        "scratch",
        _scratch,
        "Print the path of your own scratch folder; creates it if needed.",
        group="agents",
        rank="worker",
        answer="ScratchAnswer",
        idempotent=True,
        afterwards="scratch folder",
    ),
)
