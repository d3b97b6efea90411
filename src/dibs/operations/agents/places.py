"""The machine that a caller elsewhere is on: whose word counts for its processes.

A call over a server's link names its machine (`Call.here`). The first credential that writes from there has it from
then on; a machine's credential also takes it from an agent's or a person's. Of all others, and of a credential that
ended, no process is believed: such a caller is served like one over plain HTTP, and its claims end by their deadlines.

- refusal: `forbidden`, raised, for a process of another machine than the call's own.
- retry: the same again; what is bound stays bound while the credential counts, or another of the same name.
- limit: a credential has at most MAX_MACHINES; the one that it named first is free again after that.
"""

from __future__ import annotations

from dibs.errors import Forbidden
from dibs.operations.agents import credentials
from dibs.operations.agents.records import credential_key, get_agents, machine_key, process_key
from dibs.operations.core.call import due, process_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.operations.agents.records import Credential, MachineOwner
    from dibs.operations.core.call import Call, Process
    from dibs.operations.core.declare import Operation
    from dibs.stores.seam import Json, Transaction

MAX_MACHINES = 16  # of one credential: containers that come and go


def enter(tx: Transaction, call: Call, operation: Operation, fields: dict[str, Json]) -> None:
    """Leave of what the caller says about processes what its credential can say."""
    assert call.credential is not None
    identifier, digest = call.credential
    own, place = credential_key(identifier), machine_key(call.here)
    credential, owner = tx.get_many([own, place]).values()
    record = credentials.live(tx, identifier, digest, credential)
    named = [fields[field.name] for field in operation.fields if field.kind == "process" and fields.get(field.name)]
    check(call.here, [call.client, *call.ancestors, *named])
    if not _is_free(tx, record, owner):
        if named:
            raise Forbidden(f"the machine that this process is on is {owner['who']}'s.", agent=record["who"])
        call.client, call.ancestors = None, []
        call.facts = dict.fromkeys(call.facts)  # such a caller sees nothing there
        return
    _leave_own(tx, call, record, named)
    if operation.writes and (owner is None or owner["credential"] != identifier):
        _bind(tx, record, call.here)


def _leave_own(tx: Transaction, call: Call, record: Credential, named: list[Process]) -> None:
    """Of the processes there, those of agents that the credential does not speak for are none of its business.

    On a store that machines open themselves such a machine may have agents that no credential registered.
    """
    known = {
        process_name(process): process for process in [*named, *call.ancestors, *([call.client] if call.client else ())]
    }
    keys = {
        process_key(name): name for name in [*known, *[name for name, alive in call.facts.items() if alive is not None]]
    }
    agents = {keys[key]: record["agent"] for key, record in tx.get_many(list(keys)).items() if record is not None}
    records = get_agents(tx, agents.values())
    others = {name for name, agent in agents.items() if not credentials.speaks_for(record, agent, records[agent])}
    if not others:
        return
    if any(process_name(process) in others for process in named):
        raise Forbidden("this process is another agent's.", agent=record["who"])
    if call.client is not None and process_name(call.client) in others:
        call.client = None
    call.ancestors = [process for process in call.ancestors if process_name(process) not in others]
    call.facts.update(dict.fromkeys(others & call.facts.keys()))


def check(host: str, processes: Iterable[Process | None]) -> None:
    """Refuse a process that is not on this machine."""
    for process in processes:
        if process is not None and (not host or process[0] != host):
            raise Forbidden("a caller names processes of its own machine alone.", process=process)


def _is_free(tx: Transaction, credential: Credential, owner: MachineOwner | None) -> bool:
    """Is the machine this credential's, or nobody's?"""
    if owner is None or (owner["kind"], owner["who"]) == (credential["kind"], credential["who"]):
        return True
    if credential["kind"] == credentials.MACHINE_KIND != owner["kind"]:
        return True
    former = tx.get(credential_key(owner["credential"]))
    return former is None or not credentials.is_live(tx, former)


def _bind(tx: Transaction, record: Credential, host: str) -> None:
    machines = [*[machine for machine in record.get("machines", ()) if machine != host], host]
    old = [machine_key(machine) for machine in machines[:-MAX_MACHINES]]
    for key, owner in tx.get_many(old).items():
        if owner is not None and owner["credential"] == record["id"]:
            tx.delete(key)
    until = due(record["until"] + credentials.KEPT_MS)
    tx.put(credential_key(record["id"]), {**record, "machines": machines[-MAX_MACHINES:]}, i2=until)
    tx.put(machine_key(host), {"credential": record["id"], "kind": record["kind"], "who": record["who"]}, i2=until)
