"""`.dibs/config.toml`, read once and kept in a form that loads fast.

`tomllib` costs 17 ms; the hook path has 6 in all. What was read is kept as JSON in `.dibs/local/`, together with the
file's signature (inode, size, time of change), and read again when that differs.
"""

from __future__ import annotations

import os

from dibs import jsontext
from dibs.errors import Invalid
from dibs.operations.core.policy import Policy, check_duration
from dibs.workspace import paths
from dibs.workspace.known_clients import DIGEST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Final, Literal, NotRequired, TypedDict

    from dibs.operations.core.policy import Durations, EnvSettings, GuardSettings, Lifetimes, WorkSettings
    from dibs.operations.pools.shapes import PoolSettings
    from dibs.stores.seam import Json

    Table = dict[str, Any]  # of the TOML file, before it is checked

    class PolicySettings(Durations):
        """The parameters of a `Policy`."""

        ordering: str
        patterns: list[Lifetimes]
        guards: GuardSettings
        work: WorkSettings
        pools: PoolSettings
        env: EnvSettings

    class Settings(TypedDict):
        """The file, checked and complete, as it is kept."""

        id: str
        store: str
        fold: NotRequired[bool]  # does the filesystem fold case? added before it is kept
        policy: PolicySettings
        server: Json  # config_server.py has the settings

    from dibs.workspace.config_server import ServerSettings

NAME = "config.toml"
VERSION = f"11 {DIGEST}"  # of the kept form, and of the clients' files that are strict; another one is read anew

DURATIONS: Final = ("ttl", "max_ttl", "max_life", "expected")
ORDERINGS = ("off", "enforce")
KNOWN = ("id", "store", "claims", "guards", "roles", "files", "deploy", "tasks", "messages", "agents", "runs",
         "gates", "alerts", "land", "radar", "log", "pools", "server", "env")  # fmt: skip

TEMPLATE = """\
# dibs: settings of this workspace. Commit this file; it names no machine.

id = "{id}"            # names this workspace on a shared store

# store = "sqlite:"              # in .dibs/local/; "redis://HOST:PORT" for several machines: `dibs help redis`;
#                                # DIBS_STORE overrides it, which keeps a password out of this file

[claims]
# ttl = "30m"                    # how long a claim lasts without renewal
# max_ttl = "8h"                 # the longest --ttl
# max_life = "8h"                # how long a claim can be renewed; an idle agent whose process runs keeps its
#                                # unfinished files that long
# expected = "15m"               # what a hold is taken to last; waiting twice that raises an alert
# ordering = "off"               # "enforce": claims must be taken in the order of their names

# Lifetimes by resource; the first pattern that matches wins.
# [[claims.patterns]]
# match = "migrations/**"        # a path, a glob or a name
# ttl = "10m"                    # how long a claim on it lasts; max_ttl and expected can be set, too
# max_life = "1h"                # how long a claim on it can be renewed

[guards]
# on_doubt = "deny"              # "allow": what a guard cannot decide passes, and is logged
# free = []                      # paths that need no claim, in addition to those that git ignores
# across_worktrees = "warn"      # the same path, changed in two working trees: or "block", "ignore"
# wait = "90s"                   # an edit of a held file waits in line that long in its hook before it is refused
#                                # (default 0; Claude Code, Codex, Gemini; then run `dibs init` again)
# keep = "7d"                    # how long contents of changed files and states of working trees are kept
# states = 1073741824            # bytes of these states in git's directory; the oldest go first. 0: none are kept
# strict = ["deploy/"]           # an explicit claim first, as for this config, the rules, the clients' settings and
#                                # migrations, which are always strict (`"!**/migrations/**"` takes one of them out)

# Roles: viewer, worker, agent, orchestrator, and your own. A viewer only reads; a worker writes only to its scratch
# folder (`dibs scratch`); an orchestrator integrates, commits, deploys, and may act on others' tasks and claims.
# [roles]
# default = "worker"             # every agent that is not named below; a person at a terminal has no default role
# [roles.assign]                 # an agent's id (with one *), "type:T", "client:C" or "subagents"; the first wins
# "lead" = "orchestrator"        # pattern and role
# [roles.worker]
# write = ["reports/"]           # in addition to the scratch folder
# tools = ["WebFetch"]           # tools that are refused before they run, whatever they do
# commit = false                 # may it commit?
# deploy = false                 # may it deploy, and push to protected branches?
# [roles.reviewer]               # a role of your own
# may = "worker"                 # counts as: viewer, worker, agent (default) or orchestrator

# Pointed out to every agent at boot, and strict.
# [files]
# state = "docs/STATE.md"        # where the work stands
# decisions = "docs/DECISIONS.md"  # what was decided, and why
# lessons = "docs/LESSONS.md"    # what went wrong before

# [tasks]
# max_tasks = 1                  # live tasks of one agent
# max_attempts = 5               # after this many failed or lost attempts a task is quarantined
# backoff = "1s"                 # before the second attempt; doubled before each further one, up to max_backoff
# max_backoff = "5m"             # the longest pause before an attempt
# strategy = "priority"          # or round_robin, load_balanced, capability, sticky, auction, preemptive
# bid_window = "10s"             # how long an auction collects bids
# assign_wait = "2m"             # an assigned task that is not picked up goes to others
# breaker_failures = 5           # failures in a row after which an agent gets no work for breaker_pause
# breaker_pause = "1m"           # how long it gets none
# keep = "30d"                   # a finished task outside any run is forgotten after this; a run's go with the run
# unfinished = "tell"            # or "refuse": `task done` of an agent with uncommitted files of that task

# [messages]
# visibility = "1m"              # a message that wants an acknowledgement is delivered again after this
# life = "7d"                    # how long a message is kept
# inbox = 1000                   # messages kept for one recipient
# from_one = 250                 # messages kept for one recipient from one sender

# [agents]
# keep = "7d"                    # `dibs sweep` forgets an agent that is gone and was not seen for this long
# prompts = true                 # the first words (60 letters) of its last prompt tell people, and the agents that it
#                                # blocks, what an agent is doing; false: no word of a prompt is stored
# stalled = "10m"                # no hook and no CPU time for this long, in the middle of a turn: it is stalled
# limited = "wait"               # or "offer": tasks of an agent at its usage limit go to others, after offer_after
# offer_after = "15m"            # how long they stay; longer than the limit lasts: they stay all that time

# [gates]                        # done means done: `dibs help guards`
# stop = "remind"                # a turn that ends with unfinished work: the person is told; "commit", "land" or
#                                # "verify: make test": the agent is sent back, twice at most; or "off"
# verify_timeout = "10m"         # how long that command may take, in the background

# [runs]
# keep = "7d"                    # an ended run and its tasks are dropped after this
# archives = 1073741824          # bytes in .dibs/local/runs/; the oldest reports and archives of runs go first

# [alerts]                       # what needs attention: `dibs alerts`, `dibs help guides/alerts`
# command = "notify-send dibs"   # run for each alert, which is JSON on its standard input
# webhook = "https://…"          # each alert is posted there, signed with the content of secret_file
# secret_file = ".dibs/local/alerts.secret"  # the key of the webhook's signature (HMAC-SHA256)
# min_severity = "warning"       # what is delivered: or "error"; "info": also what nobody has to act on
# silent = "10m"                 # a holder that gave no sign for this long, while others wait, raises an alert
# rules = "10m"                  # an active agent that was not told new rules within this time does, too
# keep = "7d"                    # how long a cleared alert stays

# [land]                         # `dibs land`, `dibs help worktrees`
# branch = "main"                # what branches land on
# check = "make test"            # must pass in a clean working tree before they do
# method = "merge"               # or "rebase", "squash"
# batch = 4                      # branches that are checked together; a failing batch is bisected
# green = "each"                 # of rebase and squash: "last" checks only the last commit of a batch
# check_timeout = "30m"          # how long the check may take
# sign = "git"                   # landed commits are signed if git's commit.gpgsign says so; or "never"
# server = true                  # a server lands what is queued
# remote = "origin"              # pushed there as well; else nowhere
# remote_timeout = "1m"          # how long the remote may take
# wait = "1h"                    # how long `dibs land` waits

# [radar]                        # `dibs radar`, `dibs help worktrees`
# every = "10s"                  # how often a server looks; 0: never
# branches = 30                  # branches without a working tree that are looked at, the newest first
# recent = "14d"                 # a branch whose last commit is older is not looked at
# ignore = ["gh-pages", "release/*"]  # branches that it does not look at

# [pools]                        # units that agents share: `dibs claim pool:NAME` takes one
# build = {{ size = 2 }}           # units "0" and "1"; size = "cpus" or "cpus/2": as many as there are processors
# port = {{ range = "3100-3199" }} # a port each; one that something listens on is not given out
# gpu = {{ units = ["0", "1"] }}   # named ones
# db = {{ names = "app_{{n}}", size = 4 }}  # app_0 … app_3
# api = {{ rate = "30/min", burst = 5 }}  # so many claims in a time, and so many at once
# heavy = {{ size = 1, wait = "10m", on_timeout = "refuse", ttl = "30m", scope = "machine", pressure = "io 40" }}  # how
#                                # long a hook holds a command, and whether it then passes ("pass"); how long a claim
#                                # lasts; units of each machine's own; none while its pressure (Linux: io, cpu, memory,
#                                # in percent) is above this
# [[pools.use]]                  # commands that need a unit
# match = ["pytest", "npm test"] # as they are typed; `*` stands for any words
# pool = "build"                 # of this pool
# units = 1                      # so many

# [env]                          # what each working tree gets to run next to others: `dibs env`, `dibs help machine`
# idle = "7d"                    # a tree that nobody used for this long loses it
# [env.vars]                     # name = text; {{repo}}, {{tree}}, {{tree_path}}, {{tree_id}}, {{PORT}}
# PORT = "pool:port"             # a unit of a pool that this tree alone has; "pool:port*4": four, one after the other
# DATABASE_URL = "postgres://localhost/{{pool:db}}"
# COMPOSE_PROJECT_NAME = "{{repo}}-{{tree}}"

# [log]
# keep = "30d"                   # older events go to archives in .dibs/local/archive/, `dibs help housekeeping`
# events = 100000                # in the store; beyond that the oldest go to archives before they are that old
# archives = 1073741824          # bytes of archives; the oldest go first

# [server]                       # `dibs serve`, `dibs help server`
# host = "127.0.0.1"             # another address needs TLS (--tls-cert, --tls-key)
# port = 0                       # 0: the last one, or any that is free
# names = []                     # other host names by which callers reach it
# start = "off"                  # "auto": the first session starts one
# idle = "10m"                   # one that was started so ends when nobody called for this long
# rate = 1000                    # calls a second of one credential
# body = 1048576                 # bytes of one request
# connections = 1024             # connections at once
# waits = 256                    # requests that wait at once
# streams = 1000                 # listeners of /events at once

# [deploy]
# branch = "main"                # what a deploy must contain (default: the remote's default branch)
# remote = "origin"              # where that branch is
# protected = ["main", "master"] # branches whose push is a deploy
# placeholders = ["TODO", "TBD", "coming soon"]  # texts that must not be in what is deployed
# fetch_timeout = 20             # seconds for the remote to answer
# verify_timeout = 120           # seconds in which the verification is retried
# commands = {{ "make ship" = "prod" }}  # in an agent's shell they need `dibs deploy`, as do those that dibs knows
# [deploy.targets.prod]
# verify = "curl -fsS https://example.com/healthz"  # must succeed before the deploy counts as done
# branch = "main"                # what a deploy there must contain
# remote = "origin"              # where that branch is
# ships = ["site/**"]            # what is deployed there: only this is checked
"""


class Config:
    """What the file says."""

    __slots__ = ("error", "fold", "id", "policy", "server", "store")

    def __init__(self, read: Settings) -> None:
        self.error: Invalid | None = None  # why the file itself is not valid; then this is what it said before
        self.id = read["id"]
        self.store = read["store"]
        self.fold = read["fold"]  # does the filesystem fold case? looked at once, kept with the rest
        self.policy = Policy(**read["policy"])
        self.server: ServerSettings = read["server"]  # config_server.py has the settings

    @property
    def problem(self) -> str:
        """Why the file is not valid, for people; "" if it is."""
        return f"{self.error.message}. What it said before stays in force until it is fixed." if self.error else ""


def signature(path: str) -> tuple[object, ...]:
    """What tells one state of the file from another, for a process that keeps what it has read."""
    try:
        status = os.stat(path)
    except OSError as error:
        return (path, error.errno)
    return (path, status.st_ino, status.st_size, status.st_mtime_ns)


def load(path: str, local: str, top: str, shared: str = "") -> Config:
    """The settings in `path`, through what is kept in `local`.

    On a branch from before dibs neither the config nor the launcher is there; then what they last said, kept in
    `shared`, stays in force: a change of branches must not free an agent of its role. The same holds while the file is
    not valid (a merge left its marks in it): else every agent would be shut out, also the one that fixes it.
    """
    try:
        status = os.stat(path)
        known_by = [VERSION, path, status.st_ino, status.st_size, status.st_mtime_ns]
        name = f"config-{status.st_ino}.json"
    except FileNotFoundError:
        kept = f"{shared}/{NAME}"
        if shared and path != kept and not os.path.exists(f"{path[: -len(NAME)]}hook") and os.path.exists(kept):
            return load(kept, local, top, shared)
        known_by, name = [VERSION, path, 0, 0, 0], "config-none.json"
    except OSError as error:
        raise Invalid(f"{path} cannot be read: {error.strerror}", path=path) from None
    kept = f"{local}/{name}"
    try:
        with open(kept, encoding="utf-8") as file:
            known = jsontext.decode(file.read())
        if known["signature"] == known_by:
            return Config(known["read"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    try:
        read = parse(path)
    except Invalid as error:
        valid = f"{shared}/{NAME}"
        if not shared or path == valid or not os.path.exists(valid):
            raise
        last = load(valid, local, top, shared)
        last.error = error
        strict = last.policy.guards["strict"]
        last.policy.guards["strict"] = [one for one in strict if one != f".dibs/{NAME}"]  # whoever can fixes it
        return last
    read["fold"] = paths.folds_case(top)
    _keep(kept, {"signature": known_by, "read": read})
    if shared and known_by[2] and path == f"{local[: -len('local')]}{NAME}":  # the main working tree's
        _keep_text(path, f"{shared}/{NAME}")
    return Config(read)


def parse(path: str) -> Settings:
    """The file itself, checked."""
    import tomllib

    try:
        with open(path, "rb") as file:
            text = tomllib.load(file)
    except FileNotFoundError:
        text = {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        from dibs.error_subtypes import InvalidSyntax

        raise InvalidSyntax(f"{path} is not valid TOML: {error}", path=path) from None
    except OSError as error:
        raise Invalid(f"{path} cannot be read: {error.strerror}", path=path) from None
    for name in text:
        if name not in KNOWN:  # a misspelt table would silently guard nothing
            raise Invalid(f"{path}: there is no setting {name!r}; there are {', '.join(KNOWN)}", path=path)
    claims = _table(text, "claims", path)
    durations = _durations(claims, path)
    ordering = claims.get("ordering", "off")
    if ordering not in ORDERINGS:
        raise Invalid(f"{path}: claims.ordering is one of {', '.join(ORDERINGS)}, not {ordering!r}", path=path)
    patterns: list[Lifetimes] = []
    listed = claims.get("patterns", [])
    if not isinstance(listed, list):
        raise Invalid(f"{path}: claims.patterns is a list of tables, `[[claims.patterns]]`", path=path)
    for place, entry in enumerate(listed):
        if not isinstance(entry, dict) or not isinstance(entry.get("match"), str) or not entry["match"]:
            raise Invalid(f"{path}: claims.patterns[{place}] needs `match`, a path, glob or name", path=path)
        patterns.append({"match": entry["match"], **_durations(entry, path)})
    from dibs.workspace import config_env, config_guards, config_pools, config_server, config_work

    policy: PolicySettings = {
        **durations, "ordering": ordering, "patterns": patterns, "guards": config_guards.read(text, path),
        "work": config_work.read(text, path), "pools": config_pools.read(text, path),
        "env": config_env.read(text, path),
    }  # fmt: skip
    store = text.get("store", "sqlite:")
    if not isinstance(store, str):
        raise Invalid(f'{path}: store is a text such as "sqlite:"', path=path)
    server = config_server.read(text, path)
    return {"id": str(text.get("id", "")), "store": store, "policy": policy, "server": server}


def _durations(table: Table, path: str) -> Durations:
    from dibs.machine import durations

    found: Durations = {}
    name: Literal["ttl", "max_ttl", "max_life", "expected"]
    for name in DURATIONS:
        if name in table:
            value = durations.parse(str(table[name]), f"{path}: {name}")
            found[name] = check_duration(value, f"{path}: {name}")
    return found


def _table(text: Table, name: str, path: str) -> Table:
    found = text.get(name, {})
    if not isinstance(found, dict):
        raise Invalid(f"{path}: [{name}] is a table", path=path)
    return found


def _keep_text(path: str, kept: str) -> None:
    """Keep the file itself, as it was just read."""
    from dibs.machine import atomic_write

    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        atomic_write.replace(kept, text)
    except (OSError, ValueError):
        pass  # no such folder, or a sandbox; the file that was read counts


def _keep(path: str, what: Mapping[str, object]) -> None:
    """Write what was read, for the next call. Where that cannot be done, the next call reads the file again."""
    from dibs.machine import atomic_write

    try:
        atomic_write.replace(path, jsontext.encode(what))
    except OSError:
        pass
