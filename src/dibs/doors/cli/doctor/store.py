"""`dibs doctor` on a workspace whose store is a Redis server: the checks in place of those on the SQLite file.

What the server's settings can lose is in storage/redis_health.py. A setting that a person should change is a warning;
what keeps dibs from working is an error.
"""

from __future__ import annotations

from dibs.errors import DibsError
from dibs.storage import redis_server, workspace_store
from dibs.storage.redis_health import Facts
from dibs.stores.redis.store import RedisStore
from dibs.stores.redis.wire import hidden

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from dibs.session.session import Session

ERROR, WARNING = "error", "warning"
MEGABYTE = 1 << 20


def examine(session: Session) -> Iterator[tuple[str, bool, str, str]]:
    """Each check as name, whether it passes, what it says, how bad it is."""
    try:
        store = session.store
        assert isinstance(store, RedisStore)
        facts = Facts(store)
    except DibsError as error:
        known = redis_server.noted(session.place.local)
        hint = " dibs started one there before; `dibs up` starts it again." if known else " `dibs up` starts one here."
        url = workspace_store.read_pin(session.place.local).url or workspace_store.configured_url(session.config.store)
        local = redis_server.place_of(url) is not None
        yield "server", False, error.message + (hint if local and "unreachable" in error.fields else ""), ERROR
        return
    yield _server(session, facts)
    yield "persistence", not facts.keeps_nothing, facts.losses(), WARNING
    for check in (_memory, _replication, _protection):
        ok, message = check(facts)
        yield check.__name__[1:], ok, message, WARNING
    yield _guarded("database", lambda: _workspace(store))


def _server(session: Session, facts: Facts) -> tuple[str, bool, str, str]:
    known = redis_server.running(session.place.local)
    ours = f"; started by dibs ({known['how']}), data in {known['folder']}" if known else ""
    days = int(facts.info.get("uptime_in_seconds", "0")) // 86_400
    return "server", True, f"{hidden(facts.url)}: {facts.version}, up {days} days{ours}", ERROR


def _memory(facts: Facts) -> tuple[bool, str]:
    used = int(facts.info.get("used_memory", "0")) / MEGABYTE
    most = int(facts.settings.get("maxmemory") or facts.info.get("maxmemory", "0")) / MEGABYTE
    policy = facts.settings.get("maxmemory-policy") or facts.info.get("maxmemory_policy", "?")
    text = f"{used:.1f} MB used{f' of {most:.0f} MB' if most else ', no limit'}, maxmemory-policy {policy}"
    evicted = int(facts.info.get("evicted_keys", "0"))
    if facts.evicts:
        return False, f"{text}: keys can be dropped when it is full ({evicted} were since its start); set noeviction"
    return True, text


def _replication(facts: Facts) -> tuple[bool, str]:
    role, replicas = facts.info.get("role", "?"), int(facts.info.get("connected_slaves", "0"))
    if role != "master":
        return False, f"this is a {role}: it takes no writes; name the primary, or Sentinel"
    if not replicas and not facts.url.startswith("redis+sentinel:"):
        return True, "no replicas: nothing takes over when this server fails"
    return True, (
        f"primary with {replicas} replica{'' if replicas == 1 else 's'}: a failover loses what had not reached the "
        "replica, and claims are void after it"
    )


def _protection(facts: Facts) -> tuple[bool, str]:
    tls = facts.url.startswith("rediss:") or "ssl=true" in facts.url
    place = redis_server.place_of(facts.url)
    password = "@" in facts.url
    said = f"TLS {'yes' if tls else 'no'}, password {'yes' if password else 'no'}"
    if place is not None:
        return True, f"{said}; {'a Unix socket' if place.socket else 'loopback'}: only this machine reaches it"
    if not tls or not password:
        return False, f"{said}: whoever can reach that network can read or change the workspace"
    return True, said


def _workspace(store: RedisStore) -> tuple[bool, str]:
    head = store.head()
    expire = store.ask("HGET", store.keys[4], "expire")
    goes = f"; goes after {int(expire) // 86_400_000} days without a commit" if expire else ""
    return True, f"{store.tag.strip('{}:')}: commit {head.commit}, event {head.seq}{goes}"


def _guarded(name: str, look: Callable[[], tuple[bool, str]]) -> tuple[str, bool, str, Any]:
    try:
        ok, message = look()
    except DibsError as error:
        ok, message = False, error.message
    return name, ok, message, ERROR
