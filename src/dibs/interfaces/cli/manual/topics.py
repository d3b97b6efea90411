"""`dibs help TOPIC`: the documents, in the terminal. The wheel has them in `dibs/docs`, a clone in its folder `docs`.

A topic is a page's name (`redis`) or its path (`guides/undo`). A command of the same name is explained first, and names
its page. Only `dibs help` loads this.
"""

from __future__ import annotations

import sys
from importlib import resources

from dibs import jsontext
from dibs.errors import YES, Invalid
from dibs.interfaces.cli import suggest, terminal
from dibs.interfaces.cli.command import names
from dibs.interfaces.cli.help import MAX_COLUMNS
from dibs.interfaces.cli.help import TOPICS as COMMON
from dibs.interfaces.cli.manual import pages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

TOPIC_COLUMNS = 24  # of the list, so that its parts line up
LIST = "topics"  # `dibs help topics`
PARTS = {"start": "Start", "guides": "Guides", "reference": "Reference", "internals": "Internals"}


def folder() -> Traversable:
    """Where the documents are."""
    package = resources.files("dibs")
    installed = package / "docs"
    if installed.is_dir():
        return installed
    from pathlib import Path

    return Path(str(package)).parent.parent / "docs"


def files() -> dict[str, Traversable]:
    """Every page by its path: `guides/undo`."""
    there = folder()
    return {
        f"{part}/{file.name.removesuffix('.md')}": file
        for part in PARTS
        if (there / part).is_dir()
        for file in sorted((there / part).iterdir(), key=lambda file: file.name)
        if file.name.endswith(".md")
    }


def topics() -> dict[str, str]:
    """Each topic as it is typed, and its path: the short name, unless a command or an earlier page has it."""
    found: dict[str, str] = {}
    taken = {LIST, *COMMON, *[name.partition(" ")[0] for name in names()]}
    for path in files():
        short = path.partition("/")[2]
        found[path if short in taken or short in found else short] = path
    return found


def titles() -> list[tuple[str, str, str]]:
    """Each topic with its part and its title."""
    there = files()
    return [(topic, path.partition("/")[0], _title(there[path].read_text("utf-8"))) for topic, path in topics().items()]


def completions() -> list[tuple[str, str]]:
    """The words that `dibs help` takes besides commands, with their meaning."""
    common = [(word, "what all commands have in common") for word in COMMON]
    return [(LIST, "list the documents"), *common, *[(topic, title) for topic, _, title in titles()]]


def _title(text: str) -> str:
    return text.partition("\n")[0].removeprefix("# ").replace("`", "")


def path_of(word: str) -> str:
    """The path of a topic, typed short or in full; "" if there is none."""
    return topics().get(word, word if word in files() else "")


def pointer(command: str) -> list[str]:
    """The last line of a command's help, if a page has its name."""
    return [f"More: `dibs help {path}`" for path in files() if path.partition("/")[2] == command][:1]


def show(words: list[str], *, as_json: bool) -> int:
    """Show a page, or the list of pages; an unknown word is an error that names the nearest one."""
    word = " ".join(words)
    if word == LIST:
        return _list(as_json=as_json)
    path = path_of(word)
    if not path:
        near = suggest.closest(word, sorted(topics()))
        if near:
            raise Invalid(f"there is no topic {word!r}; did you mean `dibs help {near}`?", command=word)
        suggest.no_command(words[0], words[1:])
    text = files()[path].read_text("utf-8")
    if as_json:
        return _print_json(topic=path, title=_title(text), text=text)
    from dibs.interfaces.cli.manual import pager

    links = {path: topic for topic, path in topics().items()}
    return pager.show(pages.rendered(text, _columns(), path, links))


def _list(*, as_json: bool) -> int:
    found = titles()
    if as_json:
        return _print_json(topics=[{"topic": topic, "part": part, "title": title} for topic, part, title in found])
    lines: list[str | terminal.Table] = []
    for part, name in PARTS.items():
        rows = [[f"  {topic}".ljust(TOPIC_COLUMNS), title] for topic, its, title in found if its == part]
        lines += [terminal.Line(f"{name}:", "bold"), *pages.table([["", ""], *rows], _columns()), ""]
    common = ", ".join(f"`dibs help {word}`" for word in COMMON)
    terminal.write([*lines, "`dibs help TOPIC` shows one.", f"What all commands have in common: {common}."])
    return YES


def _columns() -> int:
    return min(MAX_COLUMNS, terminal.width())


def _print_json(**found: object) -> int:
    sys.stdout.write(jsontext.encode({"ok": True, **found}) + "\n")
    return YES
