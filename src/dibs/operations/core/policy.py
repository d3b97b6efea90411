"""The workspace's settings: lifetimes of claims by resource pattern, the ordering policy, limits of tasks.

A policy is a plain value that a door reads from `.dibs/config.toml` and passes in; operations only read it.
"""

from __future__ import annotations

from dibs.errors import Invalid, as_written
from dibs.operations.claims import resources

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal, NotRequired, TypedDict, Unpack

    from dibs.operations.pools.shapes import PoolSettings

    class Durations(TypedDict, total=False):
        """Of claims, in ms."""

        ttl: int
        max_ttl: int
        max_life: int
        expected: int

    class EnvPart(TypedDict):
        """A piece of the text of a variable."""

        kind: Literal["text", "fact", "variable", "pool"]
        what: str  # the text itself, or the name of the fact, the variable, the pool
        count: int  # of a pool: its units; of a variable: which of its units, -1 for its whole text

    class EnvVariable(TypedDict):
        """One line of [env.vars], taken apart."""

        name: str
        parts: list[EnvPart]

    class EnvSettings(TypedDict):
        """[env]."""

        idle: int
        vars: list[EnvVariable]

    class Lifetimes(TypedDict):
        """[[claims.patterns]]: the lifetimes of claims on what matches."""

        match: str  # a path, a glob or a name
        ttl: NotRequired[int]  # this and all durations below in ms, unless it says otherwise
        max_ttl: NotRequired[int]
        max_life: NotRequired[int]
        expected: NotRequired[int]

    class Rights(TypedDict, total=False):
        """[roles.NAME]: what the config says about a role; the rest is as the role that it counts as has it."""

        may: str  # the role that it counts as
        write: list[str]
        tools: list[str]  # that are refused
        commit: bool
        deploy: bool

    class Roles(TypedDict):
        """[roles]."""

        default: str
        assign: list[list[str]]  # pattern and role; the first that matches wins
        named: dict[str, Rights]

    class DeployTarget(TypedDict, total=False):
        """[deploy.targets.NAME]."""

        verify: str
        branch: str
        remote: str
        ships: list[str]

    class DeploySettings(TypedDict, total=False):
        """[deploy]; empty where no config was read."""

        commands: dict[str, str]  # command → target
        protected: list[str]
        placeholders: list[str]
        targets: dict[str, DeployTarget]
        fetch_timeout: int  # seconds
        verify_timeout: int  # seconds
        remote: str
        branch: str

    class GuardSettings(TypedDict):
        """What the guards are told: GUARDS says what each means."""

        on_doubt: str
        free: list[str]
        strict: list[str]
        across_worktrees: str
        keep: int
        wait: int
        states: int  # bytes
        files: dict[str, str]
        roles: Roles
        deploy: DeploySettings

    class TaskSettings(TypedDict):
        """[tasks]."""

        max_tasks: int
        max_attempts: int
        backoff: int
        max_backoff: int
        strategy: str
        bid_window: int
        assign_wait: int
        breaker_failures: int
        keep: int
        breaker_pause: int
        unfinished: str

    class MailboxLimits(TypedDict):
        """The part of [messages] that limits one mailbox."""

        inbox: int
        from_one: int

    class MessageSettings(MailboxLimits):
        """[messages]."""

        visibility: int
        life: int

    class AgentSettings(TypedDict):
        """[agents]."""

        keep: int
        prompts: bool
        stalled: int
        limited: str
        offer_after: int

    class GateSettings(TypedDict):
        """[gates]."""

        stop: str
        verify_timeout: int

    class RunSettings(TypedDict):
        """[runs]."""

        keep: int
        archives: int  # bytes

    class AlertSettings(TypedDict):
        """[alerts]."""

        command: str
        webhook: str
        secret_file: str
        min_severity: str
        silent: int
        rules: int
        keep: int

    class LandSettings(TypedDict):
        """[land]."""

        branch: str
        method: str
        check: str
        check_timeout: int
        batch: int
        green: str
        sign: str
        server: bool
        remote: str
        remote_timeout: int
        wait: int

    class RadarSettings(TypedDict):
        """[radar]."""

        every: int
        branches: int
        recent: int
        ignore: list[str]

    class LogSettings(TypedDict):
        """[log]."""

        keep: int
        events: int
        archives: int  # bytes

    class WorkSettings(TypedDict):
        """The tables about tasks, messages, runs and the log: WORK says what each setting means."""

        tasks: TaskSettings
        messages: MessageSettings
        agents: AgentSettings
        gates: GateSettings
        runs: RunSettings
        alerts: AlertSettings
        land: LandSettings
        radar: RadarSettings
        log: LogSettings


SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000

# What a variable of [env.vars] may say of its working tree: the repository's folder, the tree's own name in it (no two
# have the same one), its path, and eight letters that no other tree anywhere has.
ENV_FACTS = ("repo", "tree", "tree_path", "tree_id")
# Without [env.vars] no tree has anything of its own.
ENV: EnvSettings = {"idle": 7 * DAY, "vars": []}

DEFAULT_TTL_MS = 30 * MINUTE  # longer than most edits, short enough that a vanished remote agent blocks nobody for long
MAX_LIFE_MS = 8 * HOUR  # a working day: after it, a claim queues like any other
MAX_TTL_MS = 8 * HOUR
# of a claim without an own estimate; twice that raises an alert for a waiter
EXPECTED_HOLD_MS = 15 * MINUTE
MAX_DURATION_MS = 366 * DAY  # a longer duration is a typing error
MAX_ROOT_GLOBS = 64  # every claim is compared with each glob that begins with a wildcard
HOLDER_CHECK_DELAY_MS = 100  # a waiter checks the holder's process once the claim is this old
MAX_WAITS_PER_AGENT = 16
MAX_UNITS = 4_096  # of a pool: each is a row of the store that a request may have to read
MAX_WAIT_MS = DAY
MAX_HOOK_WAIT_MS = 3_600_000  # inside a hook: a client that holds a call for longer was never seen
# Strategies for the choice of an agent; strategies.py has their meaning. They are here because the config names one
# too.
STRATEGIES = ("priority", "round_robin", "load_balanced", "capability", "sticky", "auction", "preemptive")


# In these folders the migrations are strict: what has a number, a time or a revision in its name, and SQL. A package of
# this name may have code in it that is like any other (`django/db/migrations/recorder.py`).
MIGRATIONS = "**/migrations/**"
MIGRATION_SUFFIXES = (".sql", ".ddl")
REVISION_LETTERS = 12  # of Alembic's ids, which are hexadecimal


# The guards' defaults. The door that reads the config checks the shapes.
GUARDS: GuardSettings = {
    "on_doubt": "deny",  # or "allow": a call that a guard cannot check passes, and the log has it
    "free": [],  # paths that need no claim, in addition to those that git ignores
    "strict": [  # these need an explicit claim: files that all agents depend on; a door adds clients' own
        ".dibs/config.toml",
        ".dibs/rules.md",
        ".dibs/hook",
        ".dibs/dibs",
        MIGRATIONS,
    ],
    "across_worktrees": "warn",  # the same path changed in two working trees: or "block", "ignore"
    "keep": 7 * 86_400_000,  # ms that contents and changes are kept for `dibs undo`
    "wait": 0,  # ms that a hook waits in line for a held file before it refuses
    "states": 1024 * 1024 * 1024,  # bytes of states of working trees; the oldest go
    "files": {},  # state, decisions, lessons: shown at boot, and strict
    "roles": {"default": "", "assign": [], "named": {}},
    "deploy": {},
}


# The defaults for tasks, messages, runs and the log. Durations are milliseconds.
WORK: WorkSettings = {
    "tasks": {
        "max_tasks": 1,  # live tasks of one agent
        "max_attempts": 5,  # failed or lost attempts before a task is quarantined: the task is at fault, not the agents
        "backoff": SECOND,  # before the second attempt; doubled before each further one
        "max_backoff": 5 * MINUTE,
        "strategy": "priority",  # how an agent is chosen, for tasks without a strategy of their own
        "bid_window": 10 * SECOND,  # how long an auction collects bids
        "assign_wait": 2 * MINUTE,  # how long an assigned task waits to be picked up before it goes to other agents
        "breaker_failures": 5,  # failures in a row after which an agent gets no work
        "keep": 30 * DAY,  # how long a finished task outside any run stays known
        "breaker_pause": MINUTE,  # before it gets one task to try; doubled each time that fails, up to 30 minutes
        "unfinished": "tell",  # or "refuse": `task done` of an agent with uncommitted files of that task
    },
    "messages": {
        "visibility": MINUTE,  # an unacknowledged message that wants an acknowledgement is redelivered after this
        "life": 7 * DAY,  # an undelivered message is discarded after a week
        "inbox": 1_000,  # messages kept for one recipient
        "from_one": 250,  # of these from one sender, so that no agent fills another's inbox alone
    },
    "agents": {
        "keep": 7 * DAY,  # how long a gone agent stays known before a sweep forgets it
        "prompts": True,  # the first words of an agent's last prompt are kept, and shown as what it is doing
        "stalled": 10 * MINUTE,  # no hook and no CPU time for this long, in the middle of a turn
        "limited": "wait",  # or "offer": the tasks of an agent at its usage limit go to others
        "offer_after": 15 * MINUTE,  # after this; not at all if the limit ends before
    },
    "gates": {
        "stop": "remind",  # at the end of a turn with unfinished work: or "off", "commit", "land", "verify: COMMAND"
        "verify_timeout": 10 * MINUTE,  # of that command
    },
    "runs": {
        "keep": 7 * DAY,  # how long an ended run and its tasks stay before a sweep drops them
        "archives": 1024 * 1024 * 1024,  # bytes of reports and archives of runs in .dibs/local/runs/; the oldest go
    },
    "alerts": {
        "command": "",  # run with `sh -c` for each alert, which is JSON on its standard input
        "webhook": "",  # an https URL that each alert is posted to
        "secret_file": "",  # by whose content the webhook's requests are signed
        "min_severity": "warning",  # what is delivered: or "error", "info"
        "silent": 10 * MINUTE,  # an agent that holds what others want gives a sign of life more often
        "rules": 10 * MINUTE,  # an active agent is told new rules within this time
        "keep": 7 * DAY,  # how long a cleared alert stays, and how long an open one without an acknowledgement
    },
    "land": {
        "branch": "",  # what is landed on; "": main, or master where there is no main
        "method": "merge",  # or "rebase", "squash"
        "check": "",  # the project's own check, run with `sh -c` in a clean working tree
        "check_timeout": 30 * MINUTE,
        "batch": 4,  # landings that are checked together; a failing batch is bisected
        "green": "each",  # of rebase and squash: each landing is checked by itself; "every": each commit of a rebased
        # branch, too; "last": only a batch's last commit
        "sign": "git",  # what is landed is signed if git's commit.gpgsign says so; or "never"
        "server": True,  # a server lands what is queued
        "remote": "",  # where the target is pushed to; "": nowhere
        "remote_timeout": MINUTE,
        "wait": HOUR,  # how long `dibs land` waits for its landing
    },
    "radar": {
        "every": 10 * SECOND,  # how often a server looks; 0: never
        "branches": 30,  # branches without a working tree that are looked at, the newest first; 0: none
        "recent": 14 * DAY,  # of these only with a commit of this time
        "ignore": [],  # branches that are not looked at, such as "gh-pages" or "release/*"
    },
    "log": {
        "keep": 30 * DAY,  # older events go to archives next to the store
        "events": 100_000,  # in the store: beyond, the oldest go to archives before they are that old
        "archives": 1024 * 1024 * 1024,  # bytes of archives that a machine keeps; the oldest go first
    },
}


NO_POOLS: PoolSettings = {"named": {}, "use": []}


class Policy:
    """A workspace's settings for claims and work."""

    __slots__ = (
        "env", "expected", "guards", "max_life", "max_ttl", "ordering", "patterns", "pools", "shortest", "ttl", "work",
    )  # fmt: skip

    def __init__(
        self,
        ordering: str = "off",
        patterns: Sequence[Lifetimes] = (),
        guards: GuardSettings | None = None,
        work: WorkSettings | None = None,
        pools: PoolSettings | None = None,
        env: EnvSettings | None = None,
        **of_claims: Unpack[Durations],
    ) -> None:
        self.ttl: int = of_claims.get("ttl", DEFAULT_TTL_MS)
        self.max_ttl: int = of_claims.get("max_ttl", MAX_TTL_MS)
        self.max_life: int = of_claims.get("max_life", MAX_LIFE_MS)
        self.expected: int = of_claims.get("expected", EXPECTED_HOLD_MS)
        self.ordering = ordering
        self.guards = guards if guards is not None else GUARDS
        self.work = work if work is not None else WORK
        self.pools = pools if pools is not None else NO_POOLS
        self.env = env if env is not None else ENV
        self.shortest = min([self.ttl, *[pattern["ttl"] for pattern in patterns if "ttl" in pattern]])
        self.patterns = patterns  # the first that matches wins

    def lifetime(self, wanted: Sequence[Sequence[str]], ttl: int | None) -> tuple[int, int]:
        """The ttl of a claim on these resources, and how long it may be renewed: the strictest of them all."""
        given, longest, life = self.ttl, self.max_ttl, self.max_life
        for resource in wanted if self.patterns else ():
            for pattern in self.patterns:
                if matches(pattern["match"], resource):
                    given = min(given, pattern.get("ttl", given))
                    longest = min(longest, pattern.get("max_ttl", longest))
                    life = min(life, pattern.get("max_life", life))
                    break
        if ttl is None:
            return min(given, longest, life), life
        check_duration(ttl, "ttl")
        if ttl > longest:
            raise Invalid(f"ttl: at most {as_written(longest)} for {resources.shown(wanted)[0]}", field="ttl")
        return min(ttl, life), life


def check_duration(value: int, field: str, least: int = 1, most: int = MAX_DURATION_MS) -> int:
    """Refuse durations out of range."""
    if not least <= value <= most:
        text = f"{field}: a duration from {as_written(least)} to {as_written(most)}, not {as_written(value)}"
        raise Invalid(text, field=field)
    return value


def matches(pattern: str, resource: Sequence[str]) -> bool:
    """Does a pattern of the config match this resource, or something that is certainly in it?

    A pattern for any depth (`**/migrations/**`) matches a directory only if that is within: else it would match all.
    """
    kind, text = resource[0], resource[1]
    if kind == "name":
        return pattern == text or (pattern.endswith("*") and text.startswith(pattern[:-1]))
    if kind in resources.LITERAL_KINDS and not _has_sign(pattern):  # as most are; every edit asks for all of them
        plain = pattern.strip("/")
        return text == plain or not (text and plain) or text.startswith(f"{plain}/") or plain.startswith(f"{text}/")
    anywhere = _anywhere(pattern)
    if anywhere and kind in resources.LITERAL_KINDS:
        return f"/{anywhere}/" in f"/{text}/"
    if pattern.startswith("**") and kind == "tree":
        return resources.covers(_parsed(pattern), resource)
    return resources.overlap(_parsed(pattern), resource)


def is_migration(path: str) -> bool:
    """Is a path in a folder called migrations one of these, rather than the code around them? The folder itself is."""
    below = f"/{path.lower()}/".rpartition("/migrations/")[2].strip("/")
    if not below or below.endswith(MIGRATION_SUFFIXES):
        return True
    return any(_is_numbered(name) for name in below.split("/"))


def _is_numbered(name: str) -> bool:
    """`0005_add.py`, `V5__add.sql`, `20260101_init`, `m5_add.php`, `3f2a90c41b7d_add.py`."""
    plain = name[1:] if name.startswith(("v", "m", "r", "u")) else name
    revision = name.partition("_")[0]
    return plain[:1].isdigit() or (len(revision) == REVISION_LETTERS and not revision.strip("0123456789abcdef"))


def covers(pattern: str, resource: Sequence[str]) -> bool:
    """Is all of this resource within a pattern of the config?"""
    anywhere = _anywhere(pattern)
    if anywhere and resource[0] in resources.LITERAL_KINDS:
        return f"/{anywhere}/" in f"/{resource[1]}/"
    return pattern == "**" or resources.covers(_parsed(pattern), resource)


def _anywhere(pattern: str) -> str:
    """The literal middle of a pattern such as `**/migrations/**`: it needs no algebra of globs."""
    if not (pattern.startswith("**/") and pattern.endswith("/**")):
        return ""
    middle = pattern[3:-3]
    return "" if _has_sign(middle) else middle


def _has_sign(pattern: str) -> bool:
    """Is there a sign in it that may make it a glob?"""
    return "*" in pattern or "?" in pattern or "[" in pattern


def _parsed(pattern: str) -> tuple[str, str]:
    if not _has_sign(pattern):  # the algebra of globs is loaded for globs only
        return "tree", pattern.strip("/")
    from dibs.operations.claims import globs

    return globs.simplify(pattern) if globs.is_wild(pattern) else ("tree", pattern.strip("/"))
