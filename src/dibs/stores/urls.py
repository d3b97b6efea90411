"""The URL of a store as text: its options, and how it is shown to people. No engine is loaded for that."""

from __future__ import annotations


def option_of(url: str, name: str) -> str:
    """An option after the `?` of a URL."""
    for part in url.partition("?")[2].split("&"):
        key, _, value = part.partition("=")
        if key == name:
            return value
    return ""


def without_option(url: str, name: str) -> str:
    """A URL without one of its options."""
    front, _, query = url.partition("?")
    rest = "&".join([part for part in query.split("&") if part and part.partition("=")[0] != name])
    return f"{front}?{rest}" if rest else front


def hidden(url: str) -> str:
    """A URL without its password, for people to read."""
    scheme, mark, rest = url.partition("://")
    credentials, at, place = rest.rpartition("@")
    if not at:
        return url
    user, colon, _ = credentials.partition(":")
    return f"{scheme}{mark}{user}{':…' if colon else ''}@{place}"
