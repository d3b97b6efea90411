"""The part of `.dibs/config.toml` about environments of working trees, checked. Loaded when the file changed.

A variable's text may refer to units of pools (`{pool:port}`, `{pool:port*4}`), to facts of the working tree (`{tree}`)
and to variables before it (`{PORT}`, `{PORTS.0}`); `{{` and `}}` are braces.
"""

from __future__ import annotations

from dibs.errors import Invalid
from dibs.machine import durations
from dibs.operations.core.declare import near
from dibs.operations.core.policy import ENV_FACTS, check_duration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from dibs.operations.core.policy import EnvPart, EnvSettings, EnvVariable
    from dibs.stores.seam import Json
    from dibs.workspace.config import Table

IDLE_MS = 7 * 86_400_000
MIN_IDLE_MS = 60_000  # a tree that is used gives a sign at each prompt of its agent
MAX_VARIABLES = 64
MAX_TEXT = 2_000  # letters
MAX_BLOCK = 256  # units of one variable
OWN_PREFIX = "DIBS_"  # variables that say who calls, and where
POOL = "pool:"


def read(text: Table, path: str) -> EnvSettings:
    """What is said about environments, complete; no variables where the file says nothing."""
    table = text.get("env", {})
    if not isinstance(table, dict):
        raise Invalid(f"{path}: [env] is a table", path=path)
    for name in table:
        if name not in {"idle", "vars"}:
            raise Invalid(f"{path}: there is no env.{name}; there are idle, vars", path=path)
    idle = IDLE_MS
    if "idle" in table:
        idle = durations.parse(str(table["idle"]), f"{path}: env.idle")
        check_duration(idle, f"{path}: env.idle", least=MIN_IDLE_MS)
    given = table.get("vars", {})
    if not isinstance(given, dict):
        raise Invalid(f"{path}: [env.vars] is a table of variables and their texts", path=path)
    if len(given) > MAX_VARIABLES:
        raise Invalid(f"{path}: env.vars has {len(given)} variables, at most {MAX_VARIABLES}", path=path)
    pools = _pools(text)
    variables: list[EnvVariable] = []
    for name, value in given.items():
        variables.append({"name": name, "parts": _Reader(name, value, path, pools, variables).parts()})
    return {"idle": idle, "vars": variables}


def _pools(text: Table) -> dict[str, Json]:
    """The pools that the file names; config_pools.py checks what each of them says."""
    table = text.get("pools", {})
    return {name: one for name, one in table.items() if name != "use"} if isinstance(table, dict) else {}


class _Reader:
    """Reads the text of one variable. `before`: the variables that it may refer to."""

    def __init__(
        self, name: str, value: Json, path: str, pools: dict[str, Json], before: Collection[EnvVariable]
    ) -> None:
        self.where, self.path, self.pools = f"{path}: env.vars.{name}", path, pools
        if not (name.isascii() and name.isidentifier()):
            raise self.error("is no name of a variable: letters, digits and _")
        if name.startswith(OWN_PREFIX):
            raise self.error(f"is dibs' own: a variable that begins with {OWN_PREFIX} says who calls")
        if not isinstance(value, str) or len(value) > MAX_TEXT or not value.isprintable():
            raise self.error(f"is a text of at most {MAX_TEXT} letters on one line")
        self.text = f"{{{value}}}" if value.startswith(POOL) and "{" not in value else value
        self.before = {one["name"]: one for one in before}

    def error(self, what: str) -> Invalid:
        """What is wrong with it, by its name in the file."""
        return Invalid(f"{self.where} {what}", path=self.path)

    def parts(self) -> list[EnvPart]:
        """The text, taken apart."""
        found: list[EnvPart] = []
        rest = self.text
        while rest:
            plain = rest.partition("{")[0].partition("}")[0]
            if plain:
                found.append({"kind": "text", "what": plain, "count": 0})
                rest = rest[len(plain) :]
            elif rest[:2] in {"{{", "}}"}:
                found.append({"kind": "text", "what": rest[0], "count": 0})
                rest = rest[2:]
            else:
                opened = rest[0] == "{"
                word, closed, rest = rest[1:].partition("}")
                if not opened or not closed or "{" in word:
                    raise self.error("has a brace without the other one; `{{` and `}}` are braces themselves")
                found.append(self._reference(word))
        return found

    def _reference(self, word: str) -> EnvPart:
        if word.startswith(POOL):
            return self._pool(word.removeprefix(POOL))
        if word in ENV_FACTS:
            return {"kind": "fact", "what": word, "count": 0}
        name, dot, index = word.partition(".")
        if name not in self.before:
            known = (*ENV_FACTS, *self.before, *[f"{POOL}{pool}" for pool in self.pools])
            hint = near(word, known)
            raise self.error(
                f"refers to {{{word}}}; there are {', '.join(known)} (a variable only below its own){hint}"
            )
        count = _block_of(self.before[name]["parts"])
        if not dot:
            return {"kind": "variable", "what": name, "count": -1}
        if not (index.isascii() and index.isdigit() and int(index) < count):
            raise self.error(f"refers to {{{word}}}; {name} has {count or 'no'} units, counted from 0")
        return {"kind": "variable", "what": name, "count": int(index)}

    def _pool(self, word: str) -> EnvPart:
        name, star, count = word.partition("*")
        if name not in self.pools:
            known = f"there are {', '.join(self.pools)}" if self.pools else "[pools] defines none"
            raise self.error(f"names an unknown pool {name!r}; {known}{near(name, tuple(self.pools))}")
        if star and not (count.isascii() and count.isdigit() and 1 <= int(count) <= MAX_BLOCK):
            raise self.error(f"takes from 1 to {MAX_BLOCK} units of a pool, not {count!r}")
        shape = self.pools[name]
        if isinstance(shape, dict) and "rate" in shape:
            raise self.error(f"takes a unit of {name!r}, which has a rate: its units are for claims that end soon")
        return {"kind": "pool", "what": name, "count": int(count) if star else 1}


def _block_of(parts: list[EnvPart]) -> int:
    """The number of units of a variable that is nothing but units of one pool."""
    return parts[0]["count"] if [part["kind"] for part in parts] == ["pool"] else 0
