"""Who stands where, in memory that all processes of a scene share: were two ever let in together, one of them sees it.

A file that is mapped: looking and standing cost no call of the system, so what is measured is who let them in.
"""

from __future__ import annotations

import mmap
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

WIDTH = 64  # bytes for a name and a token
NOBODY = "nobody"


class Overlapped(Exception):
    """Two held a path at once, or a token went down. The one thing that must never be seen."""


class Guard:
    """What is held, place by place."""

    def __init__(self, path: str, places: int) -> None:
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        os.ftruncate(fd, places * WIDTH)
        self._memory = mmap.mmap(fd, places * WIDTH)
        os.close(fd)

    @contextmanager
    def standing(self, place: int, name: str, token: int) -> Iterator[None]:
        """Stand there for a while; nobody else may, before, meanwhile or after, with a token that is not above."""
        inside, last = self._look(place)
        if inside != NOBODY or last >= token:
            message = f"{name} was granted token {token} while {inside} stood there with {last}"
            raise Overlapped(message)
        self._stand(place, name, token)
        yield
        if self._look(place) != (name, token):
            message = f"somebody came in beside {name} with token {token}"
            raise Overlapped(message)
        self._stand(place, NOBODY, token)

    def _look(self, place: int) -> tuple[str, int]:
        name, _, token = self._memory[place * WIDTH : (place + 1) * WIDTH].rstrip(b" \0").decode().partition(" ")
        return name or NOBODY, int(token or 0)

    def _stand(self, place: int, name: str, token: int) -> None:
        self._memory[place * WIDTH : (place + 1) * WIDTH] = f"{name} {token}".encode().ljust(WIDTH)
