"""How `dibs doctor` ends: which clients are guarded, and what is left to do, in short orders, each said once."""

from __future__ import annotations

from dibs.doors import clients
from dibs.session.known_clients import NAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Where a message names one of these, that is what to do.
WAYS = (
    ("`dibs doctor --recover`", "put the database back if you can; else run `dibs doctor --recover`"),
    ("`dibs init --clients", f"run `dibs init --clients …` with the clients you use ({', '.join(NAMES)})"),
    ("`dibs init`", "run `dibs init`"),
)


def guarded(checks: list[dict[str, Any]]) -> list[str]:
    """The clients whose hooks refuse what they must in every working tree, and which would run them."""
    found: dict[str, list[bool]] = {}
    for check in checks:
        client, _, what = check["check"].partition(" ")
        if client in NAMES and what in {"guard", "trust"}:
            found.setdefault(client, []).append(check["ok"])
    return [client for client, oks in found.items() if all(oks)]


def todo(checks: list[dict[str, Any]]) -> list[str]:
    """What somebody has to do, for errors first."""
    left = [check for check in checks if not check["ok"] and check["severity"] != "advice"]
    left.sort(key=lambda check: check["severity"] != "error")
    return list(dict.fromkeys(_order(check) for check in left))


def _order(check: dict[str, Any]) -> str:
    name, message = check["check"], check["message"]
    client, _, what = name.partition(" ")
    if what == "trust" and client in NAMES and check["severity"] == "warning":
        return clients.of(client).trust_order or f"{name}: {message}"
    if name == "committed" and message.startswith("not committed: "):
        return f"commit {message.removeprefix('not committed: ').partition(';')[0]}"
    return next((order for sign, order in WAYS if sign in message), f"{name}: {message}")


def ending(number: int, failed: list[str], clients: list[str], orders: list[str]) -> str:
    """The last lines: well or not, and what is left to do."""
    if failed:
        line = f"{len(failed)} of {number} checks failed"
    elif clients:
        line = f"all is well for {', '.join(clients)}" if orders else f"all is well: {', '.join(clients)} guarded"
    else:
        line = "no client is guarded yet"
    if not orders:
        return f"{line}\n"
    return f"{line}. Left to do:\n" + "".join(f"  {place}. {order}\n" for place, order in enumerate(orders, 1))
