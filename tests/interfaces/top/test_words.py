"""The words of `top` are those of the page, and nothing that agents wrote reaches a terminal as it is."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import dibs
from dibs.interfaces.cli.terminal import cut_path
from dibs.interfaces.top import actions, app, dialogs, event_texts, keys, picture, words
from dibs.interfaces.top.draw import bar, between, fit, text_of, width_of, window, wrapped

PAGE = Path(dibs.__file__).parent / "interfaces" / "page"


def test_alerts_are_called_the_same_as_on_the_page() -> None:
    table = re.search(r"ALERTS = \{(.*?)\n\};", (PAGE / "alerts.js").read_text(), re.DOTALL)
    assert table is not None
    assert dict(re.findall(r'(\w+): \["([^"]+)"', table[1])) == words.ALERTS


@pytest.mark.parametrize("phrase", [
    "it is not asked first", "Every call it makes is refused until it is revived. Reviving does not restore its claims",
    "Every call they make is refused until `dibs revive all`", ", held by ",
    "loses it now and is notified, with the reason",
    "loses its claim on it and is notified", "Can be requeued by hand", "Requeue ", "The earlier content is kept.",
    "The present content is kept, too: the restore can be undone",
])  # fmt: skip
def test_actions_say_what_they_do_as_on_the_page(phrase: str) -> None:
    assert phrase in (PAGE / "actions.js").read_text()
    assert phrase in Path(actions.__file__).read_text()


@pytest.mark.parametrize(
    ("file", "phrase", "module"),
    [("empty.js", "No agents yet", picture),
     ("empty.js", "Install the hooks: for your clients and for git.", picture),
     ("empty.js", "Check that each guard refuses a forbidden write.", picture),
     ("dialogs.js", "keyboard shortcuts", keys), ("dialogs.js", '"Cancel"', dialogs),
     ("app.js", ". The log keeps ", app)],
)  # fmt: skip
def test_headings_keys_and_buttons_are_those_of_the_page(file: str, phrase: str, module: ModuleType) -> None:
    assert phrase in (PAGE / file).read_text()
    assert phrase in Path(str(module.__file__)).read_text()


@pytest.mark.parametrize(
    ("seconds", "fine", "said"),
    [(0, False, "0s"), (59, False, "59s"), (74, False, "1m14s"), (554, False, "9m"), (554, True, "9m14s"),
     (3725, False, "1h02m"), (3600 * 50, False, "2d2h"), (-5, False, "0s")],
)  # fmt: skip
def test_lengths_are_told_in_one_or_two_units(seconds: int, fine: bool, said: str) -> None:
    assert words.length(seconds * 1000, fine=fine) == said


def test_control_characters_and_endless_texts_are_harmless() -> None:
    found = words.plain("a\x1b[2Jb\x07\u202ec\nd" + "x" * 10_000)
    assert found.isprintable()
    assert "\\x1b[2J" in found
    assert len(found) < 500


def test_an_event_without_a_sentence_is_told_all_the_same() -> None:
    event: Any = {"kind": "a.kind", "agent": "a", "name": "ada", "subject": "s\x1b", "data": {}}
    assert event_texts.says(event) == "ada: a.kind s\\x1b."
    event["text"] = "ada did it."
    assert event_texts.says(event) == "ada did it."


def test_names_and_paths_are_told_apart() -> None:
    assert [one for one in ("deploy:prod", "src/a.py", "C:/x", "a b:c", ":x", "git:index") if words.is_name(one)] == [
        "deploy:prod", "git:index",
    ]  # fmt: skip


def test_lines_have_exactly_the_columns_they_are_given() -> None:
    for columns in (1, 5, 12, 40):
        for text in ("", "short", "a long text that has to be cut", "日本語のとても長い名前です", "e\u0301" * 30):
            assert width_of(fit([(text, "")], columns)) == columns
            assert width_of(between([(text, "")], [("end", "")], max(8, columns))) == max(8, columns)
    assert cut_path("src/billing/very/deep/invoice.py", 20).endswith("/invoice.py")
    assert cut_path("a_very_long_name_without_folder.py", 10) == "a_very_lo…"
    assert bar(0.5, 8, "#") == "####----"
    assert text_of([[("a ", ""), (" ", "")]]) == "a\n"


def test_a_window_keeps_the_selected_row_in_sight() -> None:
    assert window(100, 10, 0, 0) == 0
    assert window(100, 10, 10, 0) == 1
    assert window(100, 10, 99, 0) == 90
    assert window(100, 10, 50, 90) == 50
    assert window(5, 10, 4, 3) == 0


def test_a_wrapped_text_loses_no_word_but_at_its_end() -> None:
    assert wrapped("one two three four", 9, 3) == ["one two", "three", "four"]
    assert wrapped("one two three four", 9, 2) == ["one two", "three fo…"]
