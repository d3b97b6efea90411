"""Words and times of `dibs top`: how long, when, how many. No state, no terminal. event_texts.py has the events.

The page says the same in interfaces/page/words.js and frame.js; tests/interfaces/top/test_words.py holds the two to one
wording. All that agents wrote passes through `plain`: one line, no control character, no more of it than a screen can
use.
"""

from __future__ import annotations

import time
from datetime import datetime

from dibs.interfaces.cli.terminal import clean
from dibs.operations.alerts import kinds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

MINUTE, TWO_DAYS = 60, 48  # seconds, hours
FINE_MINUTES = 5  # below this many, seconds are told with the minutes
LONGEST = 400  # letters of one text: more than the widest terminal has columns

ALERTS = {name: kind.label for name, kind in kinds.TABLE.items()}  # kind of an alert → what people call it


def plain(text: object) -> str:
    """Somebody's text as one harmless line."""
    return clean(str(text)[:LONGEST])


def ms(at: str | float | None) -> int:
    """An ISO time as milliseconds since 1970; 0 for none."""
    if not at:
        return 0
    return int(datetime.fromisoformat(at).timestamp() * 1000) if isinstance(at, str) else int(at)


def length(milliseconds: float, *, fine: bool = False) -> str:
    """A length of time; `fine` keeps the seconds of long minutes."""
    seconds = max(0, round(milliseconds / 1000))
    if seconds < MINUTE:
        return f"{seconds}s"
    minutes = seconds // MINUTE
    if minutes < MINUTE:
        return f"{minutes}m{seconds % MINUTE:02d}s" if fine or minutes < FINE_MINUTES else f"{minutes}m"
    hours = minutes // MINUTE
    return f"{hours}h{minutes % MINUTE:02d}m" if hours < TWO_DAYS else f"{hours // 24}d{hours % 24}h"


def clock(milliseconds: float, *, seconds: bool = True) -> str:
    """The wall clock of the person who looks."""
    return time.strftime("%H:%M:%S" if seconds else "%H:%M", time.localtime(milliseconds / 1000))


def count(number: int, one: str, many: str = "") -> str:
    """`1 task`, `2 tasks`."""
    return f"{number} {one if number == 1 else many or f'{one}s'}"


def listed(words: Sequence[str], most: int = 3) -> str:
    """The first few of a list, and how many more there are."""
    if len(words) > most:
        return f"{', '.join(words[:most])} and {len(words) - most} more"
    return ", ".join(words)


def resource_text(resource: object) -> str:
    """A resource as events name it (`["tree", "src/a.py"]`), as `status` does."""
    return str((resource[-1] or ".") if isinstance(resource, list) and resource else resource)


def resources_of(data: Mapping[str, object]) -> list[str]:
    """The resources that an event names; an inode belongs to a file in the list and is left out."""
    found = data.get("resources")
    if not isinstance(found, list):
        return []
    return [resource_text(one) for one in found if not (isinstance(one, list) and one[:1] == ["inode"])]


def is_name(resource: str) -> bool:
    """Is it a name (`deploy:prod`) rather than a path?"""
    head, colon, _ = resource.partition(":")
    return bool(colon and head) and head[0].isalpha() and head.replace("-", "").replace("_", "").isalnum() and (
        head.islower()
    )  # fmt: skip


def covers(path: str, other: str) -> bool:
    """Does a claim on `path` cover `other`, as far as the names tell?"""
    if path == other:
        return True
    return not is_name(other) and (path == "." or other.startswith(path if path.endswith("/") else f"{path}/"))


def touches(path: str, other: str) -> bool:
    """Does one of the two cover the other?"""
    return covers(path, other) or covers(other, path)


def byte_count(number: float) -> str:
    """Bytes for people: `512M`, `1.2G`."""
    return f"{number / 2**30:.1f}G" if number >= 1e9 else f"{round(number / 2**20)}M"  # noqa: PLR2004 - a billion


def joined(words: Iterable[str]) -> str:
    """Names after each other, without repeats."""
    return listed(list(dict.fromkeys(words)))
