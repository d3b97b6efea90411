"""What only the caller's machine knows of pools that a request names. Nothing is decided here.

Its name, for pools of which each machine has its own units; its pressure, for pools that mind it; of ports, those
that something listens on. A figure that is not known is left out: then it holds nobody up.
"""

from __future__ import annotations

from dibs.machine import pressure, processes
from dibs.operations.claims.resources import POOL, pool_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.client.session import Session
    from dibs.operations.core.call import Fields


def complete(session: Session, fields: Fields) -> Fields:
    """The fields of a request, with these facts where a pool of the config asks for them."""
    named = session.config.policy.pools["named"]
    names = {pool_of(resource).removeprefix(POOL) for resource in fields["resources"]} & named.keys()
    facts: Fields = {}
    if any(named[name]["scope"] == "machine" for name in names):
        facts["machine"] = processes.host()
    minded = {named[name]["pressure"]["of"] for name in names if "pressure" in named[name]}
    figures = {of: figure for of in sorted(minded) if (figure := pressure.now(of)) is not None}
    if figures:
        facts["pressure"] = figures
    ranges = {name: named[name]["range"] for name in names if "range" in named[name]}
    if ranges:
        facts["unusable"] = _in_use(ranges, {name for name in ranges if named[name]["scope"] == "machine"})
    return {**fields, **facts}


def _in_use(ranges: dict[str, list[int]], own: set[str]) -> list[str]:
    """The ports of these pools that something listens on; `own`: the pools of which each machine has its own."""
    from dibs.machine import ports

    busy = ports.listening([port for first, last in ranges.values() for port in range(first, last + 1)])
    return [
        f"{POOL}{name}{f'@{processes.host()}' if name in own else ''}:{port}"
        for name, (first, last) in ranges.items()
        for port in sorted(busy)
        if first <= port <= last
    ]
