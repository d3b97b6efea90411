"""The served workspace of tests/interfaces/http."""

from __future__ import annotations

from tests.interfaces.http.conftest import shared, web

__all__ = ("shared", "web")
