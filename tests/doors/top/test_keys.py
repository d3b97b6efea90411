"""What a terminal sends becomes keys, whole or in pieces; what is typed becomes text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.doors.top.keys import Decoder, Input


@pytest.mark.parametrize(
    ("sent", "keys"),
    [
        (b"jk", ["j", "k"]), (b"\x1b[A\x1bOB", ["up", "down"]), (b"\x1b[5~\x1b[6~", ["page-up", "page-down"]),
        (b"\x1b[Z\t\r", ["back-tab", "tab", "enter"]), (b"\x03\x7f", ["ctrl-c", "backspace"]),
        ("ü日".encode(), ["ü", "日"]), (b"\x1b[1;5C", ["right"]), (b"\x1b[200~a\nb\x1b[201~x", ["paste:a\nb", "x"]),
        (b"\x1b[99~\x1b[<0;1;1M", []), (b"\x1bx", ["escape", "x"]),
    ],
)  # fmt: skip
def test_keys_are_read_whole_and_in_pieces(sent: bytes, keys: list[str]) -> None:
    assert Decoder().feed(sent) == keys
    decoder = Decoder()
    assert [key for place in range(len(sent)) for key in decoder.feed(sent[place : place + 1])] == keys


def test_an_escape_that_nothing_follows_is_the_key() -> None:
    decoder = Decoder()
    assert decoder.feed(b"\x1b") == []
    assert decoder.is_pending
    assert decoder.flush() == ["escape"]
    assert decoder.flush() == []


@given(st.binary(max_size=60))
def test_no_bytes_break_it_and_none_becomes_a_control_character(sent: bytes) -> None:
    decoder = Decoder()
    for key in [*decoder.feed(sent), *decoder.flush()]:
        assert key.startswith("paste:") or key.isprintable()


def test_a_line_is_edited_as_in_a_shell() -> None:
    line = Input()
    for key in ["a", "b", " ", "c", "left", "x", "home", "delete", "end", "ctrl-w"]:
        assert line.take(key)
    assert line.text == "b "
    assert line.take("paste:p\x1bq\nr")
    assert line.text == "b p q r"
    line.take("home")
    line.take("right")
    line.take("ctrl-u")
    assert (line.text, line.place) == (" p q r", 0)
    assert not line.take("enter")
    short = Input("abc", 4)
    short.take("paste:defg")
    assert short.text == "abcd"
