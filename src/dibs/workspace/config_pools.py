"""The part of `.dibs/config.toml` about pools, checked. Loaded when the file changed.

A pool of a wrong form would give out units that nobody meant, so every error is refused by name.
"""

from __future__ import annotations

import itertools
import os

from dibs.errors import Invalid
from dibs.machine import durations
from dibs.operations.core.policy import MAX_UNITS, MAX_WAIT_MS, check_duration
from dibs.operations.pools.shapes import size_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.operations.pools.shapes import Pool, PoolSettings, Pressure, Rate, Shape, Use
    from dibs.stores.seam import Json
    from dibs.workspace.config import Table

USE = "use"  # the list of uses stands among the pools
SHAPES = ("size", "range", "units", "names")
KNOWN = (*SHAPES, "rate", "burst", "wait", "on_timeout", "pressure", "ttl", "scope")
WAIT_MS = 600_000  # how long a hook holds a call: the longest suite that agents run in the foreground
MAX_NAME = 64  # letters of a pool's name, and of a unit's
MAX_PORT = 65_535
MAX_TOKENS = 1_000_000  # of a rate, and of its burst
PERIODS = {"s": 1_000, "sec": 1_000, "second": 1_000, "m": 60_000, "min": 60_000, "minute": 60_000, "h": 3_600_000,
           "hour": 3_600_000, "d": 86_400_000, "day": 86_400_000}  # fmt: skip
ON_TIMEOUT = ("refuse", "pass")
SCOPES = ("workspace", "machine")
PRESSURES = ("cpu", "io", "memory")


def read(text: Table, path: str) -> PoolSettings:
    """What is said about pools, complete."""
    table = text.get("pools", {})
    if not isinstance(table, dict):
        raise Invalid(f"{path}: [pools] is a table", path=path)
    named: dict[str, Pool] = {}
    for name, said in table.items():
        if name == USE and isinstance(said, list):
            continue
        if name == USE:
            raise Invalid(
                f"{path}: pools.use is a list of tables, `[[pools.use]]`; no pool can have this name", path=path
            )
        if not _is_name(name) or not name.replace("_", "").replace("-", "").replace(".", "").isalnum():
            raise Invalid(
                f"{path}: a pool's name has letters, digits, `-`, `_` and `.`, at most {MAX_NAME}, not {name!r}",
                path=path,
            )
        named[name] = _pool(said, f"{path}: pools.{name}", path)
    _check_ranges(named, path)
    used = table.get(USE, [])
    return {"named": named, "use": [_use(one, f"{path}: pools.use[{at}]", path, named) for at, one in enumerate(used)]}


def _pool(said: Json, where: str, path: str) -> Pool:
    if not isinstance(said, dict):
        raise Invalid(f"{where} is a table such as {{ size = 2 }}", path=path)
    for key in said:
        if key not in KNOWN:
            raise Invalid(f"{where} has no setting {key!r}; it has {', '.join(KNOWN)}", path=path)
    pool: Pool = {
        **_shape(said, where, path),  # type: ignore[typeddict-item] # the keys of a shape
        "wait": _duration(said.get("wait"), f"{where}.wait", WAIT_MS),
        "on_timeout": _choice(said.get("on_timeout", "refuse"), ON_TIMEOUT, f"{where}.on_timeout", path),
        "scope": _choice(said.get("scope", "workspace"), SCOPES, f"{where}.scope", path),
    }
    if "ttl" in said:
        pool["ttl"] = _duration(said["ttl"], f"{where}.ttl", 0)
    if "rate" in said:
        pool["rate"] = _rate(said, where, path)
    elif "burst" in said:
        raise Invalid(f'{where}.burst belongs to a rate, such as rate = "30/min"', path=path)
    if "pressure" in said:
        pool["pressure"] = _pressure(said["pressure"], f"{where}.pressure", path)
    return pool


def _shape(said: Table, where: str, path: str) -> Shape:
    """Which units it has: exactly one form, where it has no rate."""
    given = [key for key in SHAPES if key in said and not (key == "size" and "names" in said)]
    if len(given) > 1:
        raise Invalid(f"{where} has {' and '.join(given)}; a pool has one of {', '.join(SHAPES)}", path=path)
    if not given:
        if "rate" in said:
            return {}
        raise Invalid(f"{where} says of no units: it needs one of {', '.join(SHAPES)}, or a rate", path=path)
    shape: Shape
    if given[0] == "range":
        shape = {"range": _range(said["range"], f"{where}.range", path)}
    elif given[0] == "units":
        shape = {"units": _units(said["units"], f"{where}.units", path)}
    elif given[0] == "names":
        shape = {"names": _pattern(said, where, path), "size": _size(said["size"], f"{where}.size", path)}
    else:
        shape = {"size": _size(said["size"], f"{where}.size", path)}
    if size_of(shape) > MAX_UNITS:
        raise Invalid(f"{where} has {size_of(shape)} units; a pool has at most {MAX_UNITS}", path=path)
    return shape


def _size(given: Json, where: str, path: str) -> int:
    """A number, or a share of this machine's processors: at least one."""
    if isinstance(given, str):
        word, slash, part = given.replace(" ", "").partition("/")
        if word == "cpus" and (not slash or (part.isascii() and part.isdigit() and int(part) > 0)):
            return max(1, processors() // (int(part) if slash else 1))
    elif isinstance(given, int) and not isinstance(given, bool) and given > 0:
        return given
    raise Invalid(f'{where} is a whole number from 1 to {MAX_UNITS}, "cpus" or "cpus/2", not {given!r}', path=path)


def processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _range(given: Json, where: str, path: str) -> list[int]:
    ends = [one.strip() for one in given.split("-")] if isinstance(given, str) else []
    if len(ends) != 2 or not all(one.isascii() and one.isdigit() for one in ends):  # noqa: PLR2004 - its two ends
        raise Invalid(f'{where} is two ports such as "3100-3199", not {given!r}', path=path)
    first, last = map(int, ends)
    if not 0 < first <= MAX_PORT or last > MAX_PORT:
        raise Invalid(f"{where} is of ports from 1 to {MAX_PORT}, not {given!r}", path=path)
    if last < first:
        raise Invalid(f"{where} is empty: {given!r} ends before it begins", path=path)
    return [first, last]


def _is_name(given: Json) -> bool:
    """Can it be the name of a unit? It stands in a resource after a colon, and in commands."""
    return (
        isinstance(given, str)
        and 0 < len(given) <= MAX_NAME
        and given.isascii()
        and given.isprintable()
        and (" " not in given)
    )


def _units(given: Json, where: str, path: str) -> list[str]:
    if not isinstance(given, list) or not given or not all(map(_is_name, given)):
        raise Invalid(
            f'{where} is a list of names such as ["0", "1"]: of each 1 to {MAX_NAME} ASCII characters, no blanks',
            path=path,
        )
    double = next((unit for at, unit in enumerate(given) if unit in given[:at]), None)
    if double is not None:
        raise Invalid(f"{where} has {double!r} twice", path=path)
    return [*given]


def _pattern(said: Table, where: str, path: str) -> list[str]:
    names = said["names"]
    parts = names.split("{n}") if _is_name(names) else []
    if len(parts) != 2 or "size" not in said:  # noqa: PLR2004 - before and after the number
        raise Invalid(f'{where}.names is a text with one {{n}}, such as "app_{{n}}", and needs a size', path=path)
    return parts


def _rate(said: Table, where: str, path: str) -> Rate:
    given, burst = said["rate"], said.get("burst", 1)
    count, slash, period = given.replace(" ", "").partition("/") if isinstance(given, str) else ("", "", "")
    if not slash or period not in PERIODS or not (count.isascii() and count.isdigit() and 0 < int(count) <= MAX_TOKENS):
        raise Invalid(f'{where}.rate is a number for each s, min, h or day, such as "30/min", not {given!r}', path=path)
    if isinstance(burst, bool) or not isinstance(burst, int) or not 0 < burst <= MAX_TOKENS:
        raise Invalid(f"{where}.burst is a whole number from 1 to {MAX_TOKENS}", path=path)
    return {"count": int(count), "per": PERIODS[period], "burst": burst}


def _pressure(given: Json, where: str, path: str) -> Pressure:
    of, _, most = given.partition(" ") if isinstance(given, str) else ("", "", "")
    if of not in PRESSURES or not (most.isascii() and most.isdigit() and 0 < int(most) <= 100):  # noqa: PLR2004 - %
        raise Invalid(f'{where} is cpu, io or memory and a percentage, such as "io 40", not {given!r}', path=path)
    return {"of": of, "most": int(most)}


def _duration(given: Json, where: str, default: int) -> int:
    if given is None:
        return default
    return check_duration(durations.parse(str(given), where), where, most=MAX_WAIT_MS)


def _choice(given: Json, choices: tuple[str, ...], where: str, path: str) -> Json:
    if given not in choices:
        raise Invalid(f"{where} is one of {', '.join(choices)}, not {given!r}", path=path)
    return given


def _check_ranges(named: dict[str, Pool], path: str) -> None:
    """Two pools must not give out the same port."""
    ranges = sorted((pool["range"], name) for name, pool in named.items() if "range" in pool)
    for (one, name), (other, second) in itertools.pairwise(ranges):
        if other[0] <= one[1]:
            raise Invalid(f"{path}: the ranges of pools.{name} and pools.{second} overlap at {other[0]}", path=path)


def _use(said: Json, where: str, path: str, named: dict[str, Pool]) -> Use:
    if not isinstance(said, dict):
        raise Invalid(f"{where} is a table", path=path)
    for key in said:
        if key not in ("match", "pool", "units"):
            raise Invalid(f"{where} has no setting {key!r}; it has match, pool, units", path=path)
    match, pool, units = said.get("match"), said.get("pool"), said.get("units", 1)
    if not isinstance(match, list) or not match or not all(isinstance(one, str) and one.strip() for one in match):
        raise Invalid(f'{where}.match is a list of commands such as ["pytest", "cargo *"]', path=path)
    if pool not in named:
        known = ", ".join(named) or "none"
        raise Invalid(f"{where}.pool: there is no pool {pool!r}; there are: {known}", path=path)
    most = size_of(named[pool]) or named[pool]["rate"]["burst"]
    if isinstance(units, bool) or not isinstance(units, int) or not 1 <= units <= most:
        raise Invalid(f"{where}.units is a whole number from 1 to {most}: pool {pool} has no more", path=path)
    return {"match": [one.strip() for one in match], "pool": pool, "units": units}
