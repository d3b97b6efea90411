"""How `dibs doctor` ends: which clients are guarded, and what is left to do, in short orders, each said once."""

from __future__ import annotations

from dibs.errors import counted
from dibs.interfaces import agents
from dibs.workspace.known_clients import NAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.audit.answers import CheckView, DoctorSectionView

# Where a message names one of these, that is what to do.
WAYS = (
    ("`dibs doctor --recover`", "put the database back if you can; else run `dibs doctor --recover`"),
    ("`dibs init --local`", "run `dibs init --local`"),
    ("`dibs init --clients", f"run `dibs init --clients …` with the clients you use ({', '.join(NAMES)})"),
    ("`dibs init`", "run `dibs init`"),
)


def guarded(checks: list[CheckView]) -> list[str]:
    """The clients whose hooks refuse what they must in every working tree, and which would run them."""
    return _passing(checks, {"guard", "trust"})


def proven(checks: list[CheckView]) -> list[str]:
    """The clients whose hooks refuse what they must in every working tree, whether or not the client would run them."""
    return _passing(checks, {"guard"})


def _passing(checks: list[CheckView], kinds: set[str]) -> list[str]:
    found: dict[str, list[bool]] = {}
    seen: dict[str, set[str]] = {}
    for check in checks:
        client, _, what = check["check"].partition(" ")
        if client in NAMES and what in kinds:
            found.setdefault(client, []).append(check["ok"])
            seen.setdefault(client, set()).add(what)
    return [client for client, oks in found.items() if all(oks) and kinds <= seen[client]]


def todo(checks: list[CheckView]) -> list[str]:
    """What a person has to do, errors first."""
    left = [check for check in checks if not check["ok"] and check["severity"] != "advice"]
    left.sort(key=lambda check: check["severity"] != "error")
    return list(dict.fromkeys(order_of(check) for check in left))


def order_of(check: CheckView) -> str:
    """What a person does about a check, in words."""
    name, message = check["check"], check["message"]
    client, _, what = name.partition(" ")
    if what == "trust" and client in NAMES and check["severity"] == "warning":
        return agents.of(client).trust_order or f"{name}: {message}"
    if what == "guard" and ": run `dibs init" in message:
        return message.partition(": ")[2]
    if name == "committed" and "command" in check:
        return f"commit what `dibs init` wrote: `{check['command']}`"
    return next((order for sign, order in WAYS if sign in message), f"{name}: {message}")


def verdict(checks: list[CheckView], sections: list[DoctorSectionView]) -> str:
    """The last line: what is broken, or which clients are guarded."""
    ready, works = guarded(checks), proven(checks)
    found = [finding["severity"] for section in sections for finding in section["findings"]]
    errors, warnings = found.count("error"), found.count("warning")
    if errors:
        rest = f", {counted(warnings, 'warning')}" if warnings else ""
        return f"{counted(errors, 'thing')} to fix{rest}"
    if ready:
        line = f"all is well: {', '.join(ready)} guarded"
    elif works and not any(agents.of(client).shows_trust for client in works):
        line = f"{', '.join(works)}: proven; whether the client runs the hooks cannot be seen from here"
    elif works:
        what = "guards are proven; these clients do" if works[1:] else "guard is proven; this client does"
        line = f"{', '.join(works)}: the {what} not run the hooks yet"
    else:
        line = "nothing is broken; no client is guarded yet"
    return f"{line}; {counted(warnings, 'warning')}" if warnings else line
