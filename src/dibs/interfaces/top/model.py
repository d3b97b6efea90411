"""What `dibs top` shows, derived from its state once for each change: sorted and joined, nothing decided.

The same rules as the page's (interfaces/page/model.js): what needs a person first, held paths as the repository's tree,
a refused deadlock kept together.
"""

from __future__ import annotations

from dibs.interfaces.top.state import LOST
from dibs.interfaces.top.words import ALERTS, count, is_name, joined, ms, plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.interfaces.top.records import Agent, OpenAlert, TreeRow
    from dibs.interfaces.top.state import FleetState
    from dibs.operations.agents.answers import AgentView
    from dibs.operations.alerts.answers import AlertView
    from dibs.operations.claims.answers import ClaimView, WaiterView
    from dibs.operations.tasks.answers import TaskView

STALE_MS = 4 * 3_600_000  # an idea that nobody touched for this long
LOW_MS = 180_000  # a claim in its last three minutes, and its last quarter, is soon over
DEEPEST = 60  # folders of the tree; what is deeper is one row
STOPPED = ("failed", "quarantined")
SEVERITIES = ("error", "warning", "info")
GRAVE = ("asks you", "limited", "stalled", "silent", "killed")
MAX_SINGLE = 3  # alerts of one kind that have rows of their own; more are one row


class Model:
    """All derived values of one version of the state."""

    def __init__(self, state: FleetState) -> None:
        self.state, self.version = state, state.version
        self.claims = list(state.claims.values())
        self.held_by: dict[str, list[ClaimView]] = {}
        for claim in self.claims:
            self.held_by.setdefault(claim["agent"], []).append(claim)
        self.waits = sorted(state.waiting.values(), key=lambda wait: ms(wait["since"]))
        self.wait_of = {wait["agent"]: wait for wait in self.waits}
        self.blocks: dict[str, list[WaiterView]] = {}
        for wait in self.waits:
            for holder in {one["agent"] for one in wait["holders"]}:
                self.blocks.setdefault(holder, []).append(wait)
        self.open = _worst_first([alert for alert in state.alerts if alert["state"] == "open"])
        self.acknowledged = len([alert for alert in state.alerts if alert["state"] == "acknowledged"])
        self.violated = {
            path: alert
            for alert in state.alerts if alert["kind"] == "violation" and alert["state"] != "cleared"
            for path in alert.get("resources") or [alert["subject"]]
        }  # fmt: skip
        self.quiet = {
            alert["agent"] for alert in state.alerts if alert["kind"] == "silent" and alert["state"] != "cleared"
        }
        self.tasks = list(state.tasks.values())
        self.task_of = {task["agent"]: task for task in self.tasks if task["state"] == "executing" and task["agent"]}
        self.agents: list[Agent] = [
            {**agent, "shown": self._shown(agent)} for agent in state.agents.values()
            if agent["state"] != "left" and (agent["kind"] != "person" or self._is_involved(agent["agent"]))
        ]  # fmt: skip
        self.shown = {agent["agent"]: agent["shown"] for agent in self.agents}
        self.longest_name = max([len(agent["name"]) for agent in self.agents], default=0)
        self.longest_task = max([len(task["id"]) for task in self.task_of.values()], default=0)
        self.longest_state = max([len(holds_up(blocked)) for blocked in self.blocks.values()], default=0)
        self.agents.sort(key=lambda agent: (self._rank(agent), self._since(agent), agent["name"]))
        self.deadlocks = [
            alert for alert in state.alerts
            if alert["kind"] == "deadlock" and alert["state"] != "cleared" and alert.get("cycle")
        ]  # fmt: skip

    # --- agents

    def _is_involved(self, agent: str) -> bool:
        return agent in self.held_by or agent in self.wait_of

    def _shown(self, agent: AgentView) -> str:
        """The word for an agent: what the server says of it, and whether it waits."""
        identifier = agent["agent"]
        if agent["state"] == "killed":
            return "killed"
        if agent["state"] == "gone" or agent["health"] == "dead":
            return "dead"
        needing = {"waits for a person": "asks you", "limited": "limited", "stalled": "stalled"}.get(agent["activity"])
        if needing:
            return needing
        if identifier in self.wait_of:
            return "waiting"
        if identifier in self.quiet:
            return "silent"
        if identifier not in self.held_by and identifier not in self.task_of:
            return "idle"  # also one that is not heard of: nobody depends on it
        return "silent" if agent["health"] == "silent" else "working"

    def hurt(self, agent: str) -> str:
        """A path of this agent that another changed under it; "" if there is none."""
        if not self.violated:
            return ""
        mine = [path for claim in self.held_by.get(agent, ()) for path in claim["resources"]]
        return next((path for path in mine if path in self.violated), "")

    def _rank(self, agent: Agent) -> int:
        identifier, shown = agent["agent"], agent["shown"]
        if shown in GRAVE or (shown == "dead" and identifier in self.held_by):
            return 0
        if shown == "waiting":
            return 1
        if self.hurt(identifier):
            return 2
        if identifier in self.blocks:
            return 3
        return {"working": 4, "idle": 5, "dead": 6}.get(shown, 4)

    def _since(self, agent: Agent) -> int:
        """Within a rank: who waits for a person by what it holds up, and who waits by how long."""
        if agent["shown"] in {"asks you", "limited", "stalled"}:
            return -1_000 * len(self.blocks.get(agent["agent"], ())) - len(self.held_by.get(agent["agent"], ()))
        return ms(self.wait_of[agent["agent"]]["since"]) if agent["shown"] == "waiting" else 0

    def files_of(self, agent: str) -> list[str]:
        """What an agent holds besides its task."""
        return [path for claim in self.held_by.get(agent, ()) if not claim.get("task") for path in claim["resources"]]

    # --- the verdict

    @property
    def is_empty(self) -> bool:
        """Has nobody called here yet?"""
        return self.state.whole and not (self.agents or self.claims or self.tasks)

    def verdict(self) -> tuple[str, str, str]:
        """Is everything fine: in two words, in some more, and how it looks."""
        state, needing = self.state, [alert for alert in self.open if alert["severity"] != "info"]
        needed = len({alert["kind"] for alert in needing})
        if state.phase == LOST:
            return "UNKNOWN", f"{needed} needed you" if needed else "", "dead"
        if self.is_empty:
            return "NOBODY HERE YET", "workspace is ready", "dead"
        if needed:
            kinds = list(dict.fromkeys([str(ALERTS.get(alert["kind"], alert["kind"])).lower() for alert in needing]))
            return f"{needed} {'NEEDS' if needed == 1 else 'NEED'} YOU", ", ".join(kinds[:4]), "bad"
        if state.warnings:
            return count(len(state.warnings), "WARNING"), "the store", "bad"
        blocked = f"{len(self.waits)} blocked" if self.waits else "nobody is blocked"
        return "ALL WELL", f"{'nothing needs you' if self.open else 'no open alert'}, {blocked}", "ok"

    def by_state(self) -> list[tuple[str, int]]:
        """How many agents are in each state."""
        order = ("asks you", "limited", "stalled", "working", "waiting", "idle", "silent", "dead", "killed")
        found = [(word, len([agent for agent in self.agents if agent["shown"] == word])) for word in order]
        return [one for one in found if one[1]]

    # --- tasks

    def opened(self, task: TaskView) -> list[str]:
        """The tasks before this one that are not complete."""
        known = self.state.tasks
        return [one for one in task.get("after") or () if one in known and known[one]["state"] != "complete"]

    def is_blocked(self, task: TaskView) -> bool:
        """Does a planned task wait for others?"""
        return bool(task.get("waits_for") or self.opened(task))

    def board(self) -> dict[str, list[TaskView]]:
        """The tasks by state, planned ones as ready and blocked; each sorted by priority, then age.

        Made once for each change of the tasks: sorting thousands of them takes longer than a picture.
        """
        version, found = self.state.board
        if version != self.state.task_version:
            found = self._sorted()
            self.state.board = self.state.task_version, found
        return found

    def _sorted(self) -> dict[str, list[TaskView]]:
        names = ("stopped", "executing", "ready", "blocked", "scoped", "discovery", "complete", "cancelled")
        found: dict[str, list[TaskView]] = {name: [] for name in names}
        for task in self.tasks:
            name: str = "stopped" if task["state"] in STOPPED else task["state"]
            if name == "planned":
                name = "blocked" if self.is_blocked(task) else "ready"
            found.setdefault(name, []).append(task)
        for name, tasks in found.items():
            if name == "complete":
                tasks.sort(key=lambda task: task.get("finished_at") or "", reverse=True)
            else:
                tasks.sort(key=lambda task: (-task["priority"], task["created_at"]))
        return found


def _worst_first(alerts: list[AlertView]) -> list[OpenAlert]:
    """By severity, new before old; many of one kind are one, with how many there are."""
    merged: dict[tuple[str, ...], OpenAlert] = {}
    many = {alert["kind"] for alert in alerts if sum(one["kind"] == alert["kind"] for one in alerts) > MAX_SINGLE}
    for alert in sorted(alerts, key=lambda one: (SEVERITIES.index(one["severity"]), -ms(one["since"]))):
        key = (alert["kind"],) if alert["kind"] in many else (alert["kind"], alert["agent"], alert["text"])
        known = merged.get(key, {**alert, "times": 0, "ids": []})
        merged[key] = {**known, "times": known["times"] + 1, "ids": [*known["ids"], alert["id"]]}
    return list(merged.values())


def holds_up(blocked: list[WaiterView]) -> str:
    """What an agent does that others wait for."""
    return f"* holds up {joined(plain(wait['name'] or wait['agent']) for wait in blocked)}"


def is_low(claim: ClaimView, now: int) -> bool:
    """Is a claim soon over: in three minutes, and in the last quarter of its time?"""
    left = ms(claim.get("expires_at")) - now
    return bool(claim.get("expires_at")) and left < LOW_MS and (not claim.get("ttl") or left < 250 * claim["ttl"])


class Branch:
    """A folder or a file of the tree of held paths."""

    __slots__ = ("claims", "kids", "waits")

    def __init__(self) -> None:
        self.kids: dict[str, Branch] = {}
        self.claims: list[ClaimView] = []
        self.waits: list[WaiterView] = []


def tree(model: Model) -> list[TreeRow]:
    """Held paths as the rows of the repository's tree; names first. Folders with one child are one row."""
    names: list[TreeRow] = []
    units: dict[str, list[TreeRow]] = {pool["name"]: [] for pool in model.state.pools}
    root = Branch()
    for claim in model.claims:
        for path in claim["resources"]:
            if path.startswith("task:"):
                continue
            if is_name(path):
                waits = [wait for wait in model.waits if path in wait["resources"]]
                pool = path.rpartition(":")[0]
                units.get(pool, names).append({
                    "id": f"{path}\t{claim['claim']}", "depth": 1 if pool in units else 0, "name": path, "path": path,
                    "claim": claim, "waits": waits,
                })  # fmt: skip
            else:
                _at(root, path).claims.append(claim)
    for wait in model.waits:
        for path in wait["resources"]:
            if not is_name(path):
                _at(root, path).waits.append(wait)
    names.sort(key=lambda row: row["path"])
    rows: list[TreeRow] = []
    _walk(root, 0, "", rows)
    return [*names, *_pools(model, units), *rows]


def _pools(model: Model, units: dict[str, list[TreeRow]]) -> Iterator[TreeRow]:
    """The pools that are in use: how much of each is taken, who waits, and its units."""
    for pool in model.state.pools:
        name, taken = pool["name"], units[pool["name"]]
        waits = [wait for wait in model.waits if name in wait["resources"]]
        if taken or waits:
            said = f"{name}  {len(taken)} of {pool['size']}" + (f", {len(waits)} waiting" if waits else "")
            yield {"id": name, "depth": 0, "name": said, "path": name, "waits": waits}
            yield from sorted(taken, key=lambda row: (len(row["path"]), row["path"]))


def _at(root: Branch, path: str) -> Branch:
    node = root
    for part in path.rstrip("/").split("/", DEEPEST):
        node = node.kids.setdefault(part, Branch())
    return node


def _walk(node: Branch, depth: int, above: str, rows: list[TreeRow]) -> None:
    for key in sorted(node.kids):
        name, here = key, node.kids[key]
        while not here.claims and not here.waits and len(here.kids) == 1:
            ((part, here),) = here.kids.items()
            name += f"/{part}"
        path = f"{above}/{name}" if above else name
        row: TreeRow = {
            "id": path,
            "depth": depth,
            "name": f"{name}/" if here.kids else name,
            "path": path,
            "waits": [],
        }
        for number, claim in enumerate(here.claims):
            waits = here.waits if number == 0 else []
            rows.append({**row, "id": f"{path}\t{claim['claim']}", "claim": claim, "waits": waits})
        if not here.claims:
            rows.extend({**row, "id": f"{path}\t{wait['agent']}", "wait": wait} for wait in here.waits)
            if not here.waits:
                rows.append(row)
        if here.kids:
            _walk(here, depth + 1, path, rows)
