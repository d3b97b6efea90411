"""What a Redis server says of itself, and what that means for who relies on it. For `doctor` and `status`."""

from __future__ import annotations

from dibs.errors import DibsError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.stores.redis.store import RedisStore

ASKED = ("appendonly", "appendfsync", "save", "maxmemory", "maxmemory-policy")
# What can be lost of that which was answered, by appendfsync.
FSYNC = {
    "always": "appendfsync always: what was answered is on the disk; a restart keeps the claims",
    "everysec": "appendfsync everysec: a crash of the machine can lose the last second or two of answered commits; "
    "after any restart of the server claims are void",
    "no": "appendfsync no: a crash of the machine can lose what the system has not written yet (on Linux some 30 "
    "seconds); after any restart of the server claims are void",
}


class Facts:
    """One server, as it describes itself. What it does not tell is empty."""

    def __init__(self, store: RedisStore) -> None:
        text = store.ask("INFO")
        lines = text.decode(errors="replace").splitlines() if isinstance(text, bytes) else []
        self.info = dict(line.split(":", 1) for line in lines if ":" in line)
        self.settings: dict[str, str] = {}
        for name in ASKED:  # one by one: a server before version 7 takes one name at a time
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
        valkey = self.info.get("valkey_version")
        return f"Valkey {valkey}" if valkey else f"Redis {self.info.get('redis_version', '?')}"

    @property
    def append_only(self) -> bool:
        """Does it write each command to a file?"""
        return self.settings.get("appendonly", "yes" if self.info.get("aof_enabled") == "1" else "no") == "yes"

    @property
    def evicts(self) -> bool:
        """May it drop keys when its memory is full?"""
        return (self.settings.get("maxmemory-policy") or self.info.get("maxmemory_policy", "")) not in {
            "noeviction",
            "",
        }

    def losses(self) -> str:
        """What of that which was answered can be lost, in one sentence."""
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
        """Is all of it gone with the process?"""
        return not self.append_only and self.settings.get("save", "?") == ""

    def warnings(self) -> list[str]:
        """What somebody should change."""
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


def of(store: RedisStore) -> Facts:
    """Ask the server."""
    return Facts(store)
