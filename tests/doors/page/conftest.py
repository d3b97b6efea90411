"""The served workspace of tests/doors/http."""

from __future__ import annotations

from tests.doors.http.conftest import shared, web

__all__ = ("shared", "web")
