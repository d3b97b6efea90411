"""`dibs help TOPIC`: the documents in a terminal."""

from __future__ import annotations

import re
from pathlib import Path

from dibs.interfaces.cli.command import family_of, names
from dibs.interfaces.cli.help import TOPICS
from dibs.interfaces.cli.manual import pages, topics
from tests.documents import DOCUMENTS, TOP, texts_of_dibs
from tests.interfaces.cli.screen import ESCAPE, Screen
from tests.scratch import Shell

TEXT = """# A page

See [Undo](undo.md#later) and [the words](../reference/words.md), or <https://example.org>.
It goes **on**.

- an item that is long enough to need a second line
- another one
  that continues

| key | empty | meaning |
| --- | --- | --- |
| `a|b` | | a text that does not fit into one line of its column |

```sh
dibs status   # a line that is never wrapped, whatever its length is
```
<!-- made: by hand -->
![a fleet](fleet.svg)
"""


def test_a_page_is_wrapped_and_its_links_are_commands() -> None:
    shown = pages.rendered(TEXT, 48, "guides/page", {"guides/undo": "guides/undo", "reference/words": "words"})
    assert shown == [
        "A PAGE",
        "",
        "See Undo (`dibs help guides/undo`) and the words",
        "(`dibs help words`), or <https://example.org>.",
        "It goes on.",
        "",
        "- an item that is long enough to need a second",
        "  line",
        "- another one that continues",
        "",
        "key    meaning",
        "`a|b`  a text that does not fit into one line of",
        "       its column",
        "",
        "    dibs status   # a line that is never wrapped, whatever its length is",
        "",
        "(a picture: a fleet)",
    ]


def test_every_document_can_be_shown_and_fits_a_terminal() -> None:
    links = {path: topic for topic, path in topics.topics().items()}
    for path, file in topics.files().items():
        for line in pages.rendered(file.read_text("utf-8"), 100, path, links):
            assert len(line) <= 100 or getattr(line, "style", "") == "cyan" or " " not in line.strip(), (path, line)
    assert len(links) == len(topics.files()), "each has a name of its own"


def test_topics_are_listed_shown_and_suggested(shell: Shell) -> None:
    listed = shell.json("help", "topics", exit=0)["topics"]
    assert {"topic": "redis", "part": "guides", "title": "Beyond one machine: Redis"} in listed
    assert "guides/undo" in shell.run("help", "topics").stdout
    assert shell.run("help", "redis").stdout.startswith("BEYOND ONE MACHINE: REDIS\n")
    page = shell.json("help", "guides/undo", exit=0)
    assert (page["ok"], page["topic"]) == (True, "guides/undo")
    assert "More: `dibs help guides/undo`" in shell.run("help", "undo").stdout, (
        "a command comes first, and names its page"
    )
    wrong = shell.run("help", "trouble-shooting")
    assert (wrong.returncode, "did you mean `dibs help troubleshooting`?" in wrong.stderr) == (64, True)


def test_a_long_page_goes_through_the_readers_pager(tmp_path: Path) -> None:
    screen = Screen(tmp_path, "help", "redis", rows=24, PAGER="sh -c 'echo paged; cat'")
    code, shown = screen.end()
    assert (code, ESCAPE.sub("", shown).split("\n")[0]) == (0, "paged")
    assert "\x1b[1mBEYOND ONE MACHINE: REDIS" in shown
    code, shown = Screen(tmp_path, "help", "redis", rows=24, PAGER="no-such-pager").end()
    assert (code, "BEYOND ONE MACHINE" in shown) == (0, True)


def test_a_topic_that_a_text_points_to_is_there() -> None:
    """Of help, config, refusals and documents: `dibs help WORD` names a command, a family or a page."""
    wrong = []
    for path in [*(TOP / "src").rglob("*.py"), *DOCUMENTS]:
        for word in re.findall(r"`dibs help ([a-z][\w/-]*)", path.read_text()):
            known = word in names() or family_of(word) or topics.path_of(word) or word in {topics.LIST, *TOPICS}
            wrong += [] if known else [f"{path.name}: {word}"]
    assert wrong == []


def test_no_text_of_dibs_points_to_a_file_that_an_installed_user_does_not_have() -> None:
    """Comments may: they are for people in a clone."""
    found = [
        f"{path.name}:{node.lineno}"
        for path, node, text in texts_of_dibs()
        if re.search(r"docs/(start|guides|reference|internals)/", text)
    ]
    assert found == []
