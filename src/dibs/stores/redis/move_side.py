"""A workspace on a Redis server as a move sees it: see carry.py for the verbs.

The copy is filled under separate names (`m:ID:…`, same hash tag) until one script renames all of them. These names
expire after a day if the move is abandoned.
"""

from __future__ import annotations

from dibs.errors import Unavailable
from dibs.machine import clock
from dibs.stores.move import moved_mark
from dibs.stores.move.carry import PAGE_ROWS, Frozen
from dibs.stores.redis import epoch
from dibs.stores.redis.wire import ConnectionLost, ServerError
from dibs.stores.seam import Event, Seal
from dibs.stores.urls import hidden

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from dibs.stores.move.carry import Row
    from dibs.stores.redis.store import RedisStore

FREEZE_MS = 30_000  # a freeze expires by itself after this: far longer than the next page takes
STAGED_TTL_MS = 86_400_000  # an unfinished copy expires after this
RETIRED_TTL_MS = 7 * 86_400_000  # what is left of a moved workspace can be read for this long
DURABLE_TIMEOUT_MS = 5_000  # for the mark to reach the disk and the replicas
NAMES = ("v", "k", "i1", "i2", "head", "log", "seals")

# KEYS: head. ARGV: run id, id of the move, ms to hold, destination. Answers the position, or why not.
FREEZE = """
local head = redis.call('HMGET', KEYS[1], 'commit', 'seq', 'link', 'now', 'run', 'since', 'void', 'moved', 'moving',
  'offset')
if not head[1] then return {'empty'} end
if head[8] then return {'moved', head[8]} end
if head[5] ~= ARGV[1] or head[7] then return {'again'} end
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000) + tonumber(head[10] or '0')
if head[9] then
  local id, till = string.match(head[9], '^%S+ (%S+) (%d+)')
  if id ~= ARGV[2] and tonumber(till) > now then return {'moving', head[9]} end
end
local till = string.format('%.0f', now + tonumber(ARGV[3]))
redis.call('HSET', KEYS[1], 'moving', 'moving ' .. ARGV[2] .. ' ' .. till .. ' ' .. ARGV[4])
return {'ok', head[1], head[2], head[3], head[4], string.format('%.0f', now), head[6]}
"""

# KEYS: head. ARGV: id of the move, the number it stood at, the mark.
GIVE_UP = """
local head = redis.call('HMGET', KEYS[1], 'commit', 'moving', 'moved')
if head[3] then return string.match(head[3], '^%S+ (%S+)') == ARGV[1] and 1 or 0 end
if head[1] ~= ARGV[2] or not head[2] or string.match(head[2], '^%S+ (%S+)') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'moved', ARGV[3])
redis.call('HDEL', KEYS[1], 'moving')
redis.call('PERSIST', KEYS[1])
return 1
"""

# KEYS: head. ARGV: id of the move.
THAW = """
local mark = redis.call('HGET', KEYS[1], 'moving')
if mark and string.match(mark, '^%S+ (%S+)') == ARGV[1] then return redis.call('HDEL', KEYS[1], 'moving') end
return 0
"""

# KEYS: v k i1 i2. ARGV: key, number, two entries, text; repeated.
ROWS = """
for at = 1, #ARGV, 5 do
  local key, one, two = ARGV[at], ARGV[at + 2], ARGV[at + 3]
  redis.call('ZADD', KEYS[2], 0, key)
  redis.call('HSET', KEYS[1], key, ARGV[at + 1] .. '\\n' .. one .. '\\n' .. two .. '\\n' .. ARGV[at + 4])
  if one ~= '' then redis.call('ZADD', KEYS[3], 0, one .. '\\0' .. key) end
  if two ~= '' then redis.call('ZADD', KEYS[4], 0, two .. '\\0' .. key) end
end
return 1
"""

# KEYS: log. ARGV: number, commit, now, wall, body, link; repeated. An existing one is left.
EVENTS = """
for at = 1, #ARGV, 6 do
  local id = ARGV[at] .. '-1'
  if #redis.call('XRANGE', KEYS[1], id, id) == 0 then
    redis.call('XADD', KEYS[1], id, 'c', ARGV[at + 1], 'n', ARGV[at + 2], 'b', ARGV[at + 4], 'l', ARGV[at + 5],
      'w', ARGV[at + 3])
  end
end
return 1
"""

# KEYS: k, v. ARGV: from where (as ZRANGEBYLEX takes it), how many.
PAGE_OF = """
local found = {}
for _, key in ipairs(redis.call('ZRANGEBYLEX', KEYS[1], ARGV[1], '+', 'LIMIT', 0, ARGV[2])) do
  found[#found + 1] = key
  found[#found + 1] = redis.call('HGET', KEYS[2], key)
end
return found
"""

# KEYS: the seven of the store, the seven of the copy. ARGV: id of the move, run id, whether a store in charge may be
# set aside, its new name, the least number to continue from, whether the server keeps all answered commits. In one
# step, all or nothing.
PUBLISH = """
local here = redis.call('HMGET', KEYS[5], 'commit', 'moved', 'origin')
if here[3] == ARGV[1] then return {'done'} end
if redis.call('HGET', KEYS[12], 'origin') ~= ARGV[1] then return {'gone'} end
if here[1] and not here[2] and ARGV[3] ~= '1' then return {'used'} end
local aside = here[1] and not here[2]
for n = 1, 7 do
  if aside and redis.call('EXISTS', KEYS[n]) == 1 then
    redis.call('RENAME', KEYS[n], ARGV[4] .. string.match(KEYS[n], '[^:]+$'))
  else
    redis.call('DEL', KEYS[n])
  end
  if redis.call('EXISTS', KEYS[n + 7]) == 1 then
    redis.call('RENAME', KEYS[n + 7], KEYS[n])
    redis.call('PERSIST', KEYS[n])
  end
end
local staged = tonumber(redis.call('HGET', KEYS[5], 'commit'))
local number = math.max(staged, tonumber(ARGV[5]), tonumber(here[1] or '0') + 1)
redis.call('HSET', KEYS[5], 'run', ARGV[2], 'commit', string.format('%.0f', number), 'sure', ARGV[6])
return {'ok', aside and ARGV[4] or '', string.format('%.0f', number)}
"""


class RedisSide:
    """One workspace on one server."""

    def __init__(self, store: RedisStore, *, replaces: bool = False) -> None:
        self.store, self.where = store, hidden(store.wire.url)
        self._replaces = replaces  # may a workspace that is in charge there be set aside? Only after a fallback
        self._head = store.keys[4]

    # --- the old side

    def freeze(self, identifier: str, where: str) -> Frozen:
        """Block writers from this commit on, for a limited time."""
        ticks = clock.since_boot()
        words = [identifier, str(FREEZE_MS), where]
        answer = self.store.script(FREEZE, [self._head], lambda: [self.store.wire.run_id, *words])
        status = answer[0].decode()
        if status != "ok":
            if len(answer) > 1:
                moved_mark.refuse(answer[1].decode(), self.where)
                moved_mark.refuse_write(answer[1].decode(), self.where, 0)
            message = f"{self.where} was restarted or lost something in this moment. Nothing was changed; try again."
            raise Unavailable(message, store=self.where)
        _, commit, seq, link, last, now, since = answer
        return Frozen(int(commit), int(seq), link.decode(), int(last), int(now), int(since or 0), ticks)

    def position(self) -> Frozen:
        """Where it stands."""
        commit, seq, link, last, since, offset = self.store.ask(
            "HMGET", self._head, "commit", "seq", "link", "now", "since", "offset"
        )
        seconds, micros = self.store.ask("TIME")
        now = int(seconds) * 1000 + int(micros) // 1000 + int(offset or 0)
        return Frozen(int(commit), int(seq), link.decode(), int(last), now, int(since or 0), clock.since_boot())

    def thaw(self, identifier: str) -> None:
        """Let writers in again."""
        self.store.script(THAW, [self._head], lambda: [identifier])

    def give_up(self, identifier: str, where: str, commit: int) -> bool:
        """Give up being in charge, if nothing was written since."""
        mark = moved_mark.gone(identifier, where)
        if not self.store.script(GIVE_UP, [self._head], lambda: [identifier, str(commit), mark]):
            return False
        timeout_ms = str(min(DURABLE_TIMEOUT_MS, int(self.store.timeout * 500)))
        try:  # the mark must survive a restart as far as the server's settings allow
            if b"connected_slaves:0" not in self.store.command("INFO", "replication"):
                self.store.command("WAIT", "1", timeout_ms)
            self.store.command("WAITAOF", "1", "0", timeout_ms)
        except (ServerError, ConnectionLost):
            pass  # an older server has no WAITAOF; one that went down kept the mark or lost everything
        return True

    def mark(self) -> str:
        """The store's mark."""
        found = self.store.ask("HMGET", self._head, "moved", "moving")
        return next((one.decode() for one in found if one), "")

    def origin(self) -> str:
        """The move that filled it."""
        found = self.store.ask("HGET", self._head, "origin")
        return found.decode() if found else ""

    def retire(self) -> None:
        """Let the data expire in a week; the mark stays."""
        for name in (*NAMES, "t:0", "t:1"):
            if name != "head":
                self.store.ask("PEXPIRE", self.store.tag + name, str(RETIRED_TTL_MS))

    # --- the new side

    def in_use(self) -> str:
        """A workspace in charge there is not overwritten, unless this machine fell back from it."""
        commit, mark, seq = self.store.ask("HMGET", self._head, "commit", "moved", "seq")
        if not commit or mark or self._replaces or seq == b"0":
            return ""
        return f"this workspace is in use on {self.where} already (event {seq.decode()})"

    def stage(self, identifier: str, frozen: Frozen) -> None:
        """Use separate names; the clock continues from the old store's."""
        self.drop(identifier)
        keys = self._keys(identifier)
        elapsed = clock.since_boot() - frozen.since_boot
        seconds, micros = self.store.ask("TIME")
        offset = frozen.now + elapsed - (int(seconds) * 1000 + int(micros) // 1000)
        head = {
            "commit": frozen.commit, "seq": frozen.seq, "link": frozen.link, "now": frozen.last,
            "id": clock.random_id(), "schema": epoch.SCHEMA, "since": frozen.since,
        }  # fmt: skip
        if offset:
            head["offset"] = offset
        words = [str(word) for pair in head.items() for word in pair]
        self.store.ask("HSET", keys[4], *words)
        self.store.ask("PEXPIRE", keys[4], str(STAGED_TTL_MS))

    def fill(self, identifier: str, rows: list[Row], events: list[Event], seals: list[Seal]) -> None:
        """Write a page in one script; repeating it changes nothing."""
        keys = self._keys(identifier)
        if rows:
            words = [_bytes(part) for row in rows for part in (row[0], str(row[1]), *row[2:])]
            self.store.script(ROWS, keys[:4], lambda: words)
        if events:
            logged = [
                _bytes(str(part)) for e in events for part in (e.seq, e.commit, e.now, e.wall, e.body, e.link)
            ]  # fmt: skip
            self.store.script(EVENTS, [keys[5]], lambda: logged)
        for seal in seals:
            self.store.ask("HSET", keys[6], str(seal.seq), f"{seal.link}\n{seal.body}")
        for key in keys:
            self.store.ask("PEXPIRE", key, str(STAGED_TTL_MS))

    def staged(self, identifier: str) -> bool:
        """Is the copy there, marked complete, and on the server it was compared on?"""
        self.store.ask("PING")
        found = self.store.ask("HMGET", self._keys(identifier)[4], "origin", "run")
        return bool(found[0] == identifier.encode() and found[1] == self.store.wire.run_id.encode())

    def complete(self, identifier: str) -> None:
        """Mark it."""
        self.store.ask("HSET", self._keys(identifier)[4], "origin", identifier, "run", self.store.wire.run_id)

    def drop(self, identifier: str) -> None:
        """Take the keys away."""
        for key in self._keys(identifier) if identifier else ():
            self.store.ask("UNLINK", key)

    def publish(self, identifier: str) -> str:
        """Rename the copy to the workspace's names.

        Numbers continue above all others, in an epoch of this server's time.
        """
        aside = f"{self.store.tag}aside-{clock.wall()}:"
        least, sure = epoch.next_number(self.store), str(int(epoch.keeps_all(self.store)))
        answer = self.store.script(
            PUBLISH,
            [*self._keys(), *self._keys(identifier)],
            lambda: [identifier, self.store.wire.run_id, str(int(self._replaces)), aside, str(least), sure],
        )
        status = answer[0].decode()
        if status == "gone":
            raise Unavailable(f"{self.where} lost what was copied to it. Try again.", store=self.where)
        if status == "used":
            raise Unavailable(f"this workspace is in use on {self.where} now. Nothing was changed.", store=self.where)
        if status != "ok":
            return ""
        self.store.remembered.rise(int(answer[2]))
        epoch.set_expiry(self.store)
        return str(answer[1].decode())

    # --- reading

    def rows(self, identifier: str = "") -> Iterator[Row]:
        """All rows."""
        keys = self._keys(identifier)
        start = b"-"
        while True:
            page = self.store.script(PAGE_OF, [keys[1], keys[0]], lambda start=start: [start, PAGE_ROWS])  # type: ignore[misc]
            for key, value in zip(page[::2], page[1::2], strict=True):
                if not value:
                    raise Unavailable(
                        f"{self.where} has lost a part of this workspace.", store=self.where, damaged=True
                    )
                number, one, two, text = value.split(b"\n", 3)
                yield _text(key), int(number), _text(one), _text(two), _text(text)
            if len(page) < PAGE_ROWS * 2:
                return
            start = b"(" + page[-2]

    def entries(self, identifier: str = "") -> Iterator[tuple[int, str, str]]:
        """The index entries, read from the sorted sets themselves."""
        for index in (1, 2):
            start = b"-"
            while True:
                page = self.store.ask(
                    "ZRANGEBYLEX", self._keys(identifier)[index + 1], start, "+", "LIMIT", "0", str(PAGE_ROWS)
                )
                for member in page:
                    entry, _, key = member.partition(b"\0")
                    yield index, _text(entry), _text(key)
                if len(page) < PAGE_ROWS:
                    break
                start = b"(" + page[-1]

    def events(self, identifier: str = "") -> Iterator[Event]:
        """The log."""
        start = "-"
        while True:
            page = self.store.ask("XRANGE", self._keys(identifier)[5], start, "+", "COUNT", str(PAGE_ROWS))
            seq = 0
            for entry, fields in page:
                said = dict(zip(fields[::2], fields[1::2], strict=True))
                now, seq = int(said[b"n"]), int(entry.partition(b"-")[0])
                wall = int(said.get(b"w", now))
                yield Event(seq, int(said[b"c"]), now, wall, said[b"b"].decode(), said[b"l"].decode())
            if len(page) < PAGE_ROWS:
                return
            start = f"{seq + 1}-1"

    def seals(self, identifier: str = "") -> list[Seal]:
        """The seals."""
        flat: Any = self.store.ask("HGETALL", self._keys(identifier)[6])
        pairs = list(flat.items()) if isinstance(flat, dict) else list(zip(flat[::2], flat[1::2], strict=True))
        found = [Seal(int(seq), *text.decode().split("\n", 1)) for seq, text in pairs]
        return sorted(found, key=lambda seal: seal.seq)

    def close(self) -> None:
        """Close the connection."""
        self.store.close()

    def _keys(self, identifier: str = "") -> list[str]:
        middle = f"m:{identifier}:" if identifier else ""
        return [f"{self.store.tag}{middle}{name}" for name in NAMES]


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


def _text(data: bytes) -> str:
    return data.decode(errors="surrogatepass")
