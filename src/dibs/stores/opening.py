"""Finds, pins and opens the store of a workspace. Which engine opens it is in the table of stores/__init__.py.

The first opening pins the store in `.dibs/local/store`; another one named later is refused, because agents on two
stores would not see each other. The pin's first line is the store in use. Further lines name the stores it replaces:
`moved-from URL` after `dibs store move` (a config that still names the old store is accepted), `fallback-from URL`
while another store is the fallback for a local server that does not start (`dibs up --allow-fallback`).

`git clean -x`, `git stash -a` and `rm` delete `.dibs/local/` as a whole. So the pin and the last answered commit are
also kept below git's own directory (`Place.shared`), from the first call that finds the pin. A workspace with a missing
database can then be told from one that never had a database, and is not silently started empty.
"""

from __future__ import annotations

import os

from dibs.errors import Unavailable
from dibs.machine import caller
from dibs.stores import DEFAULT_URL, ENGINES, FAR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.stores.engines import Opener
    from dibs.stores.seam import Store

MOVED, FALLBACK = "moved-from", "fallback-from"
PIN_FILE = "store"
# What this machine remembers of a store that can lose commits: the highest one that was answered; with `-log`, where
# the log ended then. The name is older than the second such engine.
MEMORY_FILE = "redis-commit"
# A local server that is down: wait for its start, refuse meanwhile, or do not start it. A move takes it as it is.
WAIT, REFUSE, LEAVE, AS_IT_IS = "wait", "refuse", "leave", ""


class Opening:
    """Which store is opened, for which workspace, and how."""

    __slots__ = ("is_pinned", "local", "missing", "shared", "short_lived", "timeout", "url", "workspace")

    def __init__(
        self,
        local: str,
        url: str,
        workspace: str = "",
        timeout: float = 5.0,
        *,
        shared: str = "",
        is_pinned: bool = True,
        short_lived: bool = False,
        missing: str = AS_IT_IS,
    ) -> None:
        self.local, self.url, self.workspace, self.timeout = local, url, workspace, timeout
        self.shared = shared  # the folder below git's directory
        self.is_pinned = is_pinned  # it was opened before: a missing one is never made anew
        self.short_lived, self.missing = short_lived, missing

    def second_copy(self, name: str) -> str:
        """The path of a file's second copy, out of the reach of `git clean`; "" without git."""
        return f"{self.shared}/{name}" if self.shared and self.shared != self.local else ""


class Pin:
    """What `.dibs/local/store` says."""

    __slots__ = ("fallback", "former", "url")

    def __init__(self, text: str = "") -> None:
        lines = text.split("\n")
        self.url = lines[0].strip()
        pairs = [line.strip().partition(" ")[::2] for line in lines[1:]]
        self.former = [url for word, url in pairs if word == MOVED]
        self.fallback = next((url for word, url in pairs if word == FALLBACK), "")

    def stands_for(self, url: str) -> bool:
        """Does that URL mean this store?"""
        if url == self.url or url in self.former or url == self.fallback or f"{url}/" == self.url:
            return True
        return "expire=" in url + self.url and bare(url) in map(bare, (self.url, *self.former, self.fallback))

    def text(self) -> str:
        """The pin's text in its file."""
        lines = [self.url, *[f"{MOVED} {url}" for url in self.former]]
        return "\n".join([*lines, *([f"{FALLBACK} {self.fallback}"] if self.fallback else [])]) + "\n"


def configured_url(configured: str) -> str:
    """The store that is asked for here."""
    url = caller.environ().get("DIBS_STORE") or configured or DEFAULT_URL
    return url[:-1] if url.endswith("/") and is_far(url) and not url.endswith("//") else url  # one server, one name


def open_store(
    local: str,
    configured: str,
    workspace: str,
    timeout: float,
    *,
    short_lived: bool = False,
    missing: str = WAIT,
    shared: str = "",
) -> Store:
    """Open the store that this workspace coordinates through, and no other."""
    url = configured_url(configured)
    pin = restored_pin(local, shared)
    if pin.url:
        refuse_other(pin, url)
        if bare(url) != bare(pin.url):
            url = pin.url
    opening = Opening(
        local, url, workspace, timeout,
        shared=shared, is_pinned=bool(pin.url), short_lived=short_lived, missing=missing,
    )  # fmt: skip
    store = _open(opening)
    if not opening.is_pinned:
        write_pin(local, Pin(url))
    return store


def _open(opening: Opening) -> Store:
    opener: Opener = __import__(f"dibs.stores.{folder_of(opening.url)}.store", fromlist=("open_store",))
    return opener.open_store(opening)


def folder_of(url: str) -> str:
    """The folder of the engine for that URL; raises if there is none."""
    for start, folder in ENGINES.items():
        if url.startswith(start):
            return folder
    from dibs.stores.engines import unknown

    raise unknown(url)


def restored_pin(local: str, shared: str) -> Pin:
    """The pin, restored if `.dibs/local/` was deleted; its second copy is written if it is missing."""
    pin = read_pin(local)
    if not shared or shared == local:
        return pin
    try:
        found = read_pin(shared)
    except Unavailable:
        found = Pin()
    if pin.url:
        if found.text() != pin.text():
            keep_pin(shared, pin)
        return pin
    if not found.url.startswith(tuple(ENGINES)):  # damaged, or none: nothing is known
        return pin
    try:
        write_pin(local, found)
    except Unavailable:
        pass  # it counts even so
    return found


def keep_pin(shared: str, pin: Pin) -> None:
    """Write the pin's second copy, if possible: a client's sandbox may forbid writes in git's folder."""
    try:
        os.makedirs(shared, 0o700, exist_ok=True)
        write_pin(shared, pin)
    except (OSError, Unavailable):
        pass


def open_new(local: str) -> Store:
    """A new store in that folder, ignoring the environment; for a scratch workspace."""
    return _open(Opening(local, DEFAULT_URL, is_pinned=False))


def open_pinned(local: str, workspace: str, timeout: float) -> Store:
    """The pinned store, ignoring the configuration; for a move."""
    return _open(Opening(local, read_pin(local).url, workspace, timeout, short_lived=True))


def refuse_other(pin: Pin, url: str) -> None:
    """Refuse a URL that does not mean the pinned store: no two agents may use different stores."""
    if pin.stands_for(url):
        return
    from dibs.stores.urls import hidden

    named = caller.environ().get("DIBS_STORE")
    mend = "Unset DIBS_STORE" if named else "Set `store` in .dibs/config.toml back"
    message = (
        f"this workspace coordinates through {hidden(pin.url)}, not {hidden(url)}: agents on two stores would not see "
        f"each other. {mend}, or move the workspace: `dibs store move URL`."
    )
    raise Unavailable(message, store=hidden(url), pinned=hidden(pin.url))


def is_far(url: str) -> bool:
    """Is that a server of dibs, which has the store?"""
    return url.startswith(FAR)


def read_pin(local: str) -> Pin:
    """The pin of this workspace; without a URL if no store was opened yet."""
    path = f"{local}/{PIN_FILE}"
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return Pin(file.read(16_384))
    except FileNotFoundError:
        return Pin()
    except OSError as error:
        raise Unavailable(f"{path} cannot be read: {error.strerror}. Nothing was changed.", path=path) from None


def write_pin(local: str, pin: Pin) -> None:
    """Pin this workspace to a store: from now on a missing database is an error."""
    from dibs.machine import atomic_write

    path = f"{local}/{PIN_FILE}"
    try:
        atomic_write.replace(path, pin.text(), mode=atomic_write.PRIVATE_MODE, sync=True)
    except OSError as error:
        raise Unavailable(f"{path} cannot be written: {error.strerror}. Nothing was changed.", path=path) from None
    try:  # another store has another log: the witness of the old one does not apply
        os.unlink(f"{local}/{MEMORY_FILE}-log")
    except OSError:
        pass


def bare(url: str) -> str:
    """A URL without its `expire` option, which is no part of the address."""
    if "expire=" not in url:
        return url
    from dibs.stores.urls import without_option

    return without_option(url, "expire")
