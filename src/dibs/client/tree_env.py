"""The environment of the caller's working tree: claimed at the store, made into texts here, written where it is used.

The facts that only this machine knows: the tree's name, the ports that something listens on. A stamp in the tree's
private folder says when it was used last, so that a hook asks the store no more often than it has to. Nothing is
decided here.
"""

from __future__ import annotations

import os
import time

from dibs.client import env_file, env_values
from dibs.machine import ports, processes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dibs.client.session import Session
    from dibs.operations.core.call import Call
    from dibs.operations.environments.tree_claims import EnvAnswer, EnvListAnswer, EnvReleaseAnswer, VariableUnits

STAMP = "env"  # in the tree's private folder
RENEW_S = 3_600  # between two renewals by hooks, or a quarter of the time after which the tree counts as idle


class TreeEnv:
    """What a tree has now."""

    __slots__ = ("answer", "values", "warnings")

    def __init__(self, answer: EnvAnswer, values: dict[str, str], warnings: list[str]) -> None:
        self.answer = answer
        self.values = values  # of its variables
        self.warnings = warnings  # about ports that another program uses


def take(session: Session, call: Call) -> TreeEnv:
    """Take what the tree needs, or renew it."""
    from dibs.client.upkeep import removed_trees
    from dibs.operations.environments.tree_claims import TAKE

    place = session.place
    name = env_values.name_of(place)
    facts = env_values.facts_of(place, name)
    fields = {"tree": place.top, "name": name, "unusable": _in_use(session), "machine": _machine(session)}
    removed_trees.look(session, call)  # what trees had that are gone is free
    answer: EnvAnswer = session.run(TAKE, call, fields)
    had: dict[str, dict[str, list[str]]] = {}
    for one in answer["units"]:
        had.setdefault(one["variable"], {})[one["pool"]] = one["units"]
    values = env_values.rendered(answer["variables"], had, facts)
    _stamp(place.private)
    return TreeEnv(answer, values, foreign(session, answer["units"], values))


def seen(session: Session, call: Call) -> tuple[list[str], list[str]]:
    """What the tree has already, without a use of it: its variables with units, and what is wrong with their ports."""
    from dibs.operations.environments.tree_claims import LIST

    answer: EnvListAnswer = session.run(LIST, call, {"name": env_values.name_of(session.place)})
    units = [had for one in answer["trees"] for had in one["units"]]
    values = {had["variable"]: ",".join(had["units"]) for had in units}
    return list(values), foreign(session, units, values)


def release(session: Session, call: Call) -> EnvReleaseAnswer:
    """Give back what the tree has, and remove its file."""
    from dibs.operations.environments.tree_claims import RELEASE

    answer: EnvReleaseAnswer = session.run(RELEASE, call, {"name": env_values.name_of(session.place)})
    env_file.remove(session.place)
    return answer


def listed(session: Session, call: Call) -> EnvListAnswer:
    """What all trees have."""
    from dibs.operations.environments.tree_claims import LIST

    answer: EnvListAnswer = session.run(LIST, call, {})
    return answer


def _machine(session: Session) -> str:
    """This machine's name, if a pool has units of each machine's own."""
    pools = session.config.policy.pools["named"].values()
    return processes.host() if any(pool["scope"] == "machine" for pool in pools) else ""


# --- ports


def _ranges(session: Session) -> dict[str, list[int]]:
    """The pools of ports that variables refer to."""
    policy = session.config.policy
    used = {part["what"] for one in policy.env["vars"] for part in one["parts"] if part["kind"] == "pool"}
    return {name: pool["range"] for name, pool in policy.pools["named"].items() if name in used and "range" in pool}


def _in_use(session: Session) -> list[str]:
    """The ports of these pools that something listens on now."""
    wanted = [port for first, last in _ranges(session).values() for port in range(first, last + 1)]
    return [str(port) for port in sorted(ports.listening(wanted))] if wanted else []


def foreign(session: Session, units: Iterable[VariableUnits], values: Mapping[str, str]) -> list[str]:
    """What to say of the tree's ports on which a program listens that is not at work in this tree.

    One that was started elsewhere with the tree's own `values` is.
    """
    ranges = _ranges(session)
    had = {int(unit): one["variable"] for one in units if one["pool"] in ranges for unit in one["units"]}
    busy = ports.listening(had) if had else set()
    if not busy:
        return []
    owners = ports.owners(busy)
    return [
        f"port {port} ({had[port]}) is this working tree's, but {_user(owners.get(port))} listens on it: end that "
        "program, or take another port with `dibs env --release`, then `dibs env`"
        for port in sorted(busy)
        if port not in owners or not _is_of(session.place.top, owners[port], had[port], values)
    ]


def _user(pid: int | None) -> str:
    if pid is None:
        return "a process that cannot be seen from here (another user's, or a container's)"
    return f"{processes.name_of(pid) or 'a process'} (pid {pid}, in {_folder(pid) or 'an unknown folder'})"


def _is_of(top: str, pid: int, variable: str, values: Mapping[str, str]) -> bool:
    """Is this process at work in the tree, by its folder or by the environment that it was started with?"""
    folder = _folder(pid)
    if folder == top or folder.startswith(f"{top}/"):
        return True
    return processes.variable_of([*processes.here(), pid, 0], variable) == values.get(variable, "")


def _folder(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return ""


# --- the stamp


def is_due(session: Session) -> bool:
    """Is it time that a hook renews what the tree has?"""
    idle_s = session.config.policy.env["idle"] / 1000
    try:
        age = time.time() - os.stat(f"{session.place.private}/{STAMP}").st_mtime
    except OSError:
        return True
    return not 0 <= age <= min(RENEW_S, idle_s / 4)


def _stamp(private: str) -> None:
    try:
        os.makedirs(private, 0o700, exist_ok=True)
        with open(f"{private}/{STAMP}", "w", encoding="utf-8"):
            pass
    except OSError:
        pass  # a sandbox: the next prompt renews again
