"""The parts of `.dibs/config.toml` about tasks, messages, runs, alerts and the log. Loaded when the file changed."""

from __future__ import annotations

from dibs.errors import Invalid
from dibs.machine import durations
from dibs.operations.core.policy import STRATEGIES, WORK, check_duration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.operations.core.policy import WorkSettings
    from dibs.stores.seam import Json
    from dibs.workspace.config import Table

COUNTS = {  # settings that are whole numbers, and the largest that makes sense
    "max_tasks": 1_000, "max_attempts": 1_000, "breaker_failures": 1_000, "inbox": 100_000, "from_one": 100_000,
    "batch": 64,
    "events": 1_000_000_000, "archives": 1 << 50,
}  # fmt: skip


def read(text: Table, path: str) -> WorkSettings:
    """What is said about work, complete: what the file does not say is as WORK has it."""
    tables: Json = WORK  # read by their names, which are those of the file
    found: Json = {}
    for title, defaults in tables.items():
        table = text.get(title, {})
        if not isinstance(table, dict):
            raise Invalid(f"{path}: [{title}] is a table", path=path)
        for name in table:
            if name not in defaults:
                raise Invalid(f"{path}: there is no {title}.{name}; there are {', '.join(defaults)}", path=path)
        found[title] = {name: _value(table.get(name), name, title, default, path) for name, default in defaults.items()}
    settings: WorkSettings = found
    return settings


TEXTS = ("command", "webhook", "secret_file", "branch", "check", "remote")
CHOICES = {"strategy": STRATEGIES, "min_severity": ("info", "warning", "error"),
           "method": ("merge", "rebase", "squash"), "green": ("each", "every", "last"),
           "sign": ("git", "never"), "unfinished": ("tell", "refuse"),
           "limited": ("wait", "offer")}  # fmt: skip
GATES = ("off", "remind", "commit", "land")
VERIFY = "verify:"  # before the command of a gate
MAX_BRANCHES = 200  # of `radar.branches`: each is merged with each other one
MAX_TEXT = 2_000  # letters
LOOPBACK = ("http://127.0.0.1", "http://localhost", "http://[::1]")


def _text(given: Json, name: str, title: str, path: str) -> str:
    """A command, an address or a file's name."""
    if not isinstance(given, str) or len(given) > MAX_TEXT or not given.isprintable():
        raise Invalid(f"{path}: {title}.{name} is a text of at most {MAX_TEXT} letters on one line", path=path)
    near = any(given.startswith((f"{host}:", f"{host}/")) for host in LOOPBACK)
    if name == "webhook" and given and not given.startswith("https://") and not near:
        raise Invalid(f"{path}: {title}.{name} is an https:// address, or http:// on this machine", path=path)
    return given


def _gate(given: Json, path: str) -> str:
    """A gate by its name, or with the command that it runs."""
    text = _text(given, "stop", "gates", path)
    if text in GATES or (text.startswith(VERIFY) and text.removeprefix(VERIFY).strip()):
        return text
    raise Invalid(f'{path}: gates.stop is one of {", ".join(GATES)} or "{VERIFY} COMMAND", not {text!r}', path=path)


def _value(given: Json, name: str, title: str, default: Json, path: str) -> Json:  # noqa: PLR0911 - one a kind
    if given is None:
        return default
    allowed = (True, False) if isinstance(default, bool) else CHOICES.get(name)
    if allowed is not None:
        if given not in allowed or isinstance(given, bool) is not isinstance(default, bool):
            some = "true or false" if isinstance(default, bool) else f"one of {', '.join(CHOICES[name])}"
            raise Invalid(f"{path}: {title}.{name} is {some}, not {given!r}", path=path)
        return given
    if name == "ignore":
        if not isinstance(given, list) or not all(isinstance(one, str) and one for one in given):
            raise Invalid(f"{path}: {title}.{name} is a list of branches", path=path)
        return given
    if name == "branches":
        if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given <= MAX_BRANCHES:
            raise Invalid(f"{path}: {title}.{name} is a whole number from 0 to {MAX_BRANCHES}", path=path)
        return given
    if name == "every" and given in {0, "0"}:
        return 0
    if name == "stop":
        return _gate(given, path)
    if name in TEXTS:
        return _text(given, name, title, path)
    if name in COUNTS:
        if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= COUNTS[name]:
            raise Invalid(f"{path}: {title}.{name} is a whole number from 1 to {COUNTS[name]}", path=path)
        return given
    return check_duration(durations.parse(str(given), f"{path}: {title}.{name}"), f"{path}: {title}.{name}")
