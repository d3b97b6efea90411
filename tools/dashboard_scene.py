"""A fleet to look at: ten agents in one repository, two hours of their work, and what is wrong now.

    python -m tools.dashboard_scene FOLDER

says `ready` when it stands, and ends when its input does. Used by the pictures (tools/dashboard.py). All of it is said
through the Python door, so that every event is a real one; only the clock is moved: it starts two hours ago and is back
at the present when the scene stands. Those who wait do so in threads until the scene is closed.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dibs
from dibs.machine import clock

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

MINUTE_MS = 60_000
AGENTS = {
    "lead": "orchestrator", "ada": "coder", "ben": "coder", "cleo": "coder", "dov": "coder", "eve": "coder",
    "finn": "coder", "gus": "builder", "hana": "coder", "ivo": "builder",
}  # fmt: skip
TASKS: tuple[tuple[str, str, int, tuple[str, ...]], ...] = (
    ("money-type", "One money type", 9, ()), ("schema-audit", "Audit of the orders table", 9, ()),
    ("search-spike", "Search: which index?", 8, ()), ("fixtures", "Fixtures for guests", 8, ()),
    ("orders-schema", "Orders: split address columns", 8, ("schema-audit",)),
    ("session-tokens", "Rotate session tokens", 7, ()), ("checkout-form", "Checkout form: guest login", 7, ()),
    ("invoice-minor", "Invoices in minor units", 6, ("money-type",)),
    ("refunds", "Refunds use the new amounts", 6, ("money-type",)), ("infra-dns", "DNS for staging", 5, ()),
    ("search-facets", "Facets in search", 4, ("search-spike",)), ("image-build", "Build the shop image", 4, ()),
    ("load-test", "Load test of the pay path", 3, ()), ("docs-api", "Describe the new endpoints", 2, ()),
    ("migrate-data", "Move old orders to 0042", 8, ("orders-schema",)),
    ("receipts", "Receipts show minor units", 5, ("refunds", "invoice-minor")),
    ("e2e", "End to end: guest pays", 6, ("checkout-form", "session-tokens")),
    ("cutover", "Cut over to checkout v2", 9, ("migrate-data", "e2e", "infra-dns")),
    ("email-sync", "Sync bounced e-mails", 1, ()), ("pdf-export", "Invoices as PDF", 1, ()),
)  # fmt: skip
IDEAS = (
    ("fraud-rules", "Fraud rules for guest orders", "discovery"),
    ("returns", "Returns: who pays for the label?", "discovery"),
    ("gift-cards", "Gift cards as a tender", "scoped"), ("admin-audit", "Audit trail for manual refunds", "scoped"),
)  # fmt: skip


class Scene:
    """The fleet in a folder; a context manager that ends what it started."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._shift = -120 * MINUTE_MS
        self._real = (clock.since_boot, clock.wall)
        self._plan: list[tuple[float, int, Callable[[], Any]]] = []
        self._tokens: dict[str, int] = {}
        self._claims: dict[tuple[str, str], Any] = {}
        self._spaces: dict[str, Any] = {}
        self._threads: list[threading.Thread] = []
        self._over = threading.Event()

    def __enter__(self) -> Self:
        since_boot, wall = self._real
        clock.since_boot = lambda: since_boot() + self._shift
        clock.wall = lambda: wall() + self._shift
        try:
            self._play()
        except BaseException:
            self.__exit__()
            raise
        finally:
            clock.since_boot, clock.wall = self._real
        self._wait_for_each_other()
        self._meet_at_the_merge()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for space in self._spaces.values():
            space.close()

    def _meet_at_the_merge(self) -> None:
        """Three agents in worktrees of their own: two change the same lines, one has landed, one is queued."""

        def run(*words: str, where: str = "", fine: bool = False) -> None:
            folder = self.folder.parent / where if where else self.folder
            subprocess.run(words, cwd=folder, check=not fine, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        who = ("-c", "user.name=shop", "-c", "user.email=shop@example.org", "-c", "core.hooksPath=/dev/null")
        amounts, config = self.folder / "amounts.txt", self.folder / ".dibs" / "config.toml"
        amounts.write_text("".join(f"{number}\n" for number in range(1, 31)))
        config.write_text(f'{config.read_text()}\n[land]\ncheck = "test -s amounts.txt"\n')
        run("git", "checkout", "-q", "-B", "main")
        run("git", "add", "amounts.txt", ".dibs/config.toml")
        run("git", *who, "commit", "-q", "-m", "amounts")
        for name, line, text in (("ada", 4, "four"), ("cleo", 12, "twelve"), ("eve", 12, "XII")):
            run("git", "worktree", "add", "-q", "-b", f"{name}-amounts", f"../{name}")
            changed = self.folder.parent / name / "amounts.txt"
            changed.write_text(changed.read_text().replace(f"\n{line}\n", f"\n{text}\n"))
            run("git", *who, "commit", "-q", "-a", "-m", f"{line} in words", where=name)
        run(sys.executable, "-m", "dibs", "land", "--as", "ada", where="ada")
        self.of("lead").claim("land:main", reason="release 2.4")
        self.of("cleo").land("cleo-amounts")
        run(sys.executable, "-m", "dibs", "radar", fine=True)  # exit code 1: there is a conflict

    def at(self, minutes: float, act: Callable[..., Any], *words: Any, **fields: Any) -> None:
        """Have this happen that many minutes before now."""
        self._plan.append((-minutes, len(self._plan), partial(act, *words, **fields)))

    def _run(self) -> None:
        """Play the plan in the order of its times: a clock does not go back."""
        for minutes, _, act in sorted(self._plan, key=lambda one: one[:2]):
            self._shift = int(minutes * MINUTE_MS)
            act()

    def of(self, agent: str) -> Any:
        """An agent's workspace."""
        return self._spaces[agent]

    def tried(self, act: Callable[[], Any]) -> None:
        """Do what is refused."""
        try:
            act()
        except dibs.DibsError:
            pass

    def _play(self) -> None:
        dibs.init(str(self.folder))
        for name, kind in AGENTS.items():
            self._spaces[name] = dibs.open(str(self.folder), agent=name, timeout=10)
            self._spaces[name].boot(type=kind)
        lead = self.of("lead")
        self.at(118, lambda: lead.run_start("checkout", id="checkout-v2"))
        for name, title, priority, after in TASKS:
            self.at(117, lead.task_add, title, id=name, priority=priority, after=list(after), run="checkout-v2")
        for name, title, state in IDEAS:
            self.at(116, lead.task_add, title, id=name, state=state)
        self._earlier()
        self._now()
        self._run()

    def _take(self, agent: str, task: str) -> None:
        self._tokens[task] = self.of(agent).task_claim(task)["token"]

    def _hold(self, agent: str, path: str, **how: Any) -> None:
        self._claims[agent, path] = self.of(agent).claim(path, **how)

    def _release(self, agent: str, path: str) -> None:
        self._claims.pop((agent, path)).release()

    def _done(self, agent: str, task: str) -> None:
        self.of(agent).task_done(task, token=self._tokens[task], result={"done": True})

    def _fail(self, agent: str, task: str, why: str) -> None:
        self.of(agent).task_fail(task, token=self._tokens[task], class_="permanent", why=why)

    def _earlier(self) -> None:
        """What is over."""
        for agent, task, path, begun, ended in (
            ("ada", "money-type", "src/billing/money.py", 113, 96),
            ("cleo", "schema-audit", "src/db/models.py", 104, 78),
            ("finn", "search-spike", "src/search/spike.py", 109, 86), ("hana", "fixtures", "tests/fixtures", 63, 50),
        ):  # fmt: skip
            self.at(begun, self._take, agent, task)
            self.at(begun - 0.5, self._hold, agent, path, reason=task, ttl="1h")
            self.at(ended, self._release, agent, path)
            self.at(ended, self._done, agent, task)
        self.at(101, lambda: self.tried(lambda: self.of("dov").claim("src/db/models.py")))
        self.at(90, lambda: self._hold("dov", "src/api/routes.py"))
        self.at(82, lambda: self.tried(lambda: self.of("eve").claim("src/api/routes.py")))
        self.at(76, lambda: self._release("dov", "src/api/routes.py"))
        self.at(76, lambda: self._hold("eve", "src/api/routes.py"))
        self.at(71, lambda: self.of("dov").claim("src/api/session.py"))
        self.at(64, lambda: self.of("lead").kill("dov", why="loops on one test"))
        self.at(60, lambda: self.of("lead").revive("dov"))
        self.at(58, lambda: self._release("eve", "src/api/routes.py"))
        self.at(92, lambda: self.of("lead").run_phase("execution", run="checkout-v2"))
        for minutes, task, why in (
            (48, "email-sync", "SMTP sandbox refuses the login"), (44, "pdf-export", "the licence forbids it"),
        ):  # fmt: skip
            self.at(minutes, self._take, "hana", task)
            self.at(minutes - 3, self._fail, "hana", task, why)

    def _now(self) -> None:
        """What is held."""
        for agent, task, begun, percent, paths in (
            ("ivo", "infra-dns", 38, 80, ("infra/terraform", "deploy:staging")),
            ("eve", "checkout-form", 34, 50, ("src/web/checkout", "src/web/styles/form.css")),
            ("cleo", "orders-schema", 30, 60, ("src/db", "migrations/0042_orders.sql")),
            ("dov", "session-tokens", 27, 45, ("src/api/auth.py", "src/api/session.py")),
            ("finn", "search-facets", 25, 55, ("src/search/index.py", "tests/search")),
            ("ben", "refunds", 22, 35, ("src/billing/refund.py", "tests/billing/test_refund.py")),
            ("ada", "invoice-minor", 19, 70, ("src/billing/invoice.py", "src/billing/rounding.py")),
        ):  # fmt: skip
            self.at(begun, self._take, agent, task)
            for number, path in enumerate(paths):
                long = "45m" if agent == "ivo" else "40m"
                self.at(begun - 0.7 * (number + 1), self._hold, agent, path, reason=task, ttl=long)
            # an act of its holder renews a task's claim; ivo says nothing any more
            for later in (begun - 3, 12.0) if agent == "ivo" else (begun - 3, 12.0, 0.5):
                self.at(later, self.of(agent).task_progress, task, percent)
        self.at(16, lambda: self._hold("ada", "src/billing/tax.py", mode="read", reason="rates"))
        self.at(16, lambda: self._hold("lead", "docs/PLAN.md", reason="the plan"))
        self.at(14, lambda: self.tried(lambda: self.of("ben").claim("src/billing/invoice.py")))
        self.at(13, lambda: self.tried(lambda: self.of("hana").claim("src/billing/rounding.py")))
        self.at(0.4, lambda: self.of("lead").send("type:coder", "freeze of src/api at three"))

    def _wait_for_each_other(self) -> None:
        """A deadlock, refused to the agent that would have closed it; and one that waits by itself."""
        self._wait("dov", "src/db/schema.py")
        self._wait("eve", "src/api/auth.py")
        self._wait("ben", "src/billing/invoice.py")
        end = time.monotonic() + 20
        while len(self.of("lead").status()["waiting"]) < 3 and time.monotonic() < end:
            time.sleep(0.1)
        self.tried(lambda: self.of("cleo").claim("src/web/checkout/cart.tsx", wait="5s"))

    def _wait(self, agent: str, path: str) -> None:
        thread = threading.Thread(
            target=lambda: self.tried(lambda: self.of(agent).claim(path, wait="10m")), daemon=True
        )
        thread.start()
        self._threads.append(thread)


if __name__ == "__main__":
    with Scene(Path(sys.argv[1])):
        print("ready", flush=True)
        sys.stdin.read()
