"""A Redis server's own description, and what it means for the workspace. For `doctor` and `status`.

A setting that a person should change is a warning; what keeps dibs from working is an error.
"""

from __future__ import annotations

from dibs.error_subtypes import AccessDenied
from dibs.errors import DibsError, counted
from dibs.stores.redis.wire import LOOPBACK, SCHEMES_WITHOUT_LIBRARY
from dibs.stores.seam import ERROR, WARNING
from dibs.stores.urls import hidden

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from dibs.stores.redis.store import RedisStore
    from dibs.stores.seam import Check, Description

MEGABYTE = 1 << 20
DAY_S, DAY_MS = 86_400, 86_400_000
SETTINGS = ("appendonly", "appendfsync", "save", "maxmemory", "maxmemory-policy", "min-replicas-max-lag")
# Which answered commits can be lost, by appendfsync.
FSYNC = {
    "always": "appendfsync always: what was answered is on the disk; a restart keeps the claims",
    "everysec": "appendfsync everysec: a crash of the machine can lose the last second or two of answered commits; "
    "after any restart of the server claims are void",
    "no": "appendfsync no: a crash of the machine can lose what the system has not written yet (on Linux some 30 "
    "seconds); after any restart of the server claims are void",
}


UNKNOWN = "could not be asked (INFO)"


class Facts:
    """One server's own description. Values it does not give are empty."""

    def __init__(self, store: RedisStore) -> None:
        try:
            text = store.ask("INFO")
        except AccessDenied:
            text = b""  # this user may not ask
        lines = text.decode(errors="replace").splitlines() if isinstance(text, bytes) else []
        self.info = dict(line.split(":", 1) for line in lines if ":" in line)
        self.settings: dict[str, str] = {}
        for name in SETTINGS:  # one by one: a server before version 7 takes one name at a time
            try:
                found: Any = store.ask("CONFIG", "GET", name)
            except DibsError:  # this user may not ask
                break
            pairs = list(found.items()) if isinstance(found, dict) else list(zip(found[::2], found[1::2], strict=True))
            self.settings |= {bytes(key).decode(): bytes(value).decode() for key, value in pairs}
        self.url = store.wire.url

    @property
    def version(self) -> str:
        """Which server, and its version."""
        if not self.info:
            return "a server that this user may not ask (INFO)"
        valkey = self.info.get("valkey_version")
        return f"Valkey {valkey}" if valkey else f"Redis {self.info.get('redis_version', '?')}"

    @property
    def append_only(self) -> bool:
        """Does it write each command to a file?"""
        known = "yes" if self.info.get("aof_enabled", "1") == "1" else "no"
        return self.settings.get("appendonly", known) == "yes"

    @property
    def evicts(self) -> bool:
        """May it drop keys when its memory is full?"""
        return (self.settings.get("maxmemory-policy") or self.info.get("maxmemory_policy", "")) not in {
            "noeviction",
            "",
        }

    def losses(self) -> str:
        """Which answered commits can be lost, in one sentence."""
        if self.append_only:
            fsync = self.settings.get("appendfsync", "")
            return FSYNC.get(fsync, "append-only file; how often it is synced could not be asked (CONFIG GET)")
        if "save" not in self.settings:
            return "no append-only file; its snapshots could not be asked for (CONFIG GET)"
        if self.settings["save"]:
            return (
                f"snapshots only (save {self.settings['save']}): a restart loses every commit since the last one, and "
                "claims are void"
            )
        return "it keeps nothing on disk: a restart loses the whole workspace"

    @property
    def keeps_nothing(self) -> bool:
        """Does everything end with the server process?"""
        return not self.append_only and self.settings.get("save", "?") == ""

    def warnings(self) -> list[str]:
        """What a person should change."""
        found = []
        if self.keeps_nothing:
            found.append(
                "the server keeps nothing on disk: a restart loses the whole workspace. Set `appendonly yes` there."
            )
        if self.evicts:
            policy = self.settings.get("maxmemory-policy") or self.info.get("maxmemory_policy")
            found.append(
                f"the server drops keys when its memory is full (maxmemory-policy {policy}), which would damage the "
                "workspace. Set it to noeviction."
            )
        if self.info.get("aof_last_write_status", "ok") != "ok" or self.info.get("aof_last_bgrewrite_status") == "err":
            found.append("the server could not write its append-only file. Look at its log and its disk.")
        return found


def describe(store: RedisStore) -> Description:
    """What people should know about this store."""
    facts = Facts(store)
    info = facts.info
    names = ("used_memory", "maxmemory", "evicted_keys", "uptime_in_seconds", "connected_slaves")
    return {
        "engine": facts.version,
        "address": hidden(facts.url),
        "persistence": facts.losses(),
        "warnings": facts.warnings(),
        "figures": {name: int(info[name]) for name in names if info.get(name, "").isdigit()},
    }


def check(store: RedisStore) -> Iterator[Check]:
    """Run each check; only one if the server does not answer."""
    try:
        facts = Facts(store)
    except DibsError as error:
        yield "server", False, error.message, ERROR
        return
    days = int(facts.info.get("uptime_in_seconds", "0")) // DAY_S
    yield "server", True, f"{hidden(facts.url)}: {facts.version}, up {days} days", ERROR
    yield "persistence", not facts.keeps_nothing, facts.losses(), WARNING
    for name, look in (("memory", _memory), ("replication", _replication), ("protection", _protection)):
        ok, message = look(facts)
        yield name, ok, message, WARNING
    try:
        yield "database", True, _workspace(store), ERROR
    except DibsError as error:
        yield "database", False, error.message, ERROR


def _memory(facts: Facts) -> tuple[bool, str]:
    if not facts.info:
        return True, UNKNOWN
    used = int(facts.info.get("used_memory", "0")) / MEGABYTE
    most = int(facts.settings.get("maxmemory") or facts.info.get("maxmemory", "0")) / MEGABYTE
    policy = facts.settings.get("maxmemory-policy") or facts.info.get("maxmemory_policy", "?")
    text = f"{used:.1f} MB used{f' of {most:.0f} MB' if most else ', no limit'}, maxmemory-policy {policy}"
    evicted = int(facts.info.get("evicted_keys", "0"))
    if facts.evicts:
        return False, f"{text}: keys can be dropped when it is full ({evicted} were since its start); set noeviction"
    return True, text


def _replication(facts: Facts) -> tuple[bool, str]:
    if not facts.info:
        return True, f"{UNKNOWN}; claims are void after each restart and failover"
    role, replicas = facts.info.get("role", "?"), int(facts.info.get("connected_slaves", "0"))
    if role != "master":
        return False, f"this is a {role}: it takes no writes; name the primary, or Sentinel"
    if not replicas and not facts.url.startswith("redis+sentinel:"):
        return True, "no replicas: nothing takes over when this server fails"
    text = (
        f"primary with {counted(replicas, 'replica')}: a failover loses what had not reached the "
        "replica, and claims are void after it"
    )
    if "min_slaves_good_slaves" in facts.info:
        lag = facts.settings.get("min-replicas-max-lag", "?")
        return True, f"{text}. Cut off from its replicas, it takes no writes after {lag} s (min-replicas-to-write)"
    return False, (
        f"{text}. Cut off from its replicas, it continues to grant what the promoted one grants as well: set "
        "`min-replicas-to-write 1`, and `min-replicas-max-lag` below the time after which a replica is promoted"
    )


def _protection(facts: Facts) -> tuple[bool, str]:
    tls = facts.url.startswith("rediss:") or "ssl=true" in facts.url
    place = _on_this_machine(facts.url)
    password = "@" in facts.url
    said = f"TLS {'yes' if tls else 'no'}, password {'yes' if password else 'no'}"
    if place:
        return True, f"{said}; {place}: only this machine can connect"
    if not tls or not password:
        return False, f"{said}: anyone on that network can read or change the workspace"
    return True, said


def _on_this_machine(url: str) -> str:
    """How the server is limited to this machine; "" if other machines can connect."""
    if url.partition(":")[0] not in SCHEMES_WITHOUT_LIBRARY:
        return ""
    from dibs.stores.redis import plain_socket

    (family, address), *_ = plain_socket.parse(url)
    if family is not None:
        return "a Unix socket"
    return "loopback" if address[0] in LOOPBACK else ""


def _workspace(store: RedisStore) -> str:
    head = store.head()
    expire = store.ask("HGET", store.keys[4], "expire")
    goes = f"; expires after {int(expire) // DAY_MS} days without a commit" if expire else ""
    return f"{store.tag.strip('{}:')}: commit {head.commit}, event {head.seq}{goes}"
