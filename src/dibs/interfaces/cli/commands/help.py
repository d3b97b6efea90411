"""`dibs help`: what interfaces/cli/help.py makes from the declarations."""

from __future__ import annotations

from dibs.interfaces.cli import help
from dibs.interfaces.cli.command import Command, family_of, names
from dibs.operations.core.declare import Field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.interfaces.cli.parse import Words

FIELDS = (
    Field("all", "flag", "list every command, by group", default=False),
    Field(
        "command", "resources", "the command or the topic to explain", positional=True, default=(), metavar="COMMAND"
    ),
)


def run(words: Words) -> int:
    """Print help on everything, on a family of commands, or on one."""
    given: list[str] = words.fields.get("command", [])
    if not given:
        return help.overview(every=bool(words.fields.get("all")), as_json=words.json)
    for name in (" ".join(given[:2]), given[0]):
        if name in names():
            return help.show(name, as_json=words.json)
    if family_of(given[0]) and len(given) == 1:
        return help.show_family(given[0], as_json=words.json)
    from dibs.interfaces.cli.manual import topics

    return topics.show(given, as_json=words.json)


COMMAND = Command(
    "help",
    "Explain dibs, a command, or a topic: `dibs help topics` lists the guides and the reference.",
    run=run,
    group="about",
    fields=FIELDS,
    examples=(
        ("dibs help", "the commands for every day"),
        ("dibs help --all", "every command, by group"),
        ("dibs help task add", "one command, with examples"),
        ("dibs help topics", "the documents: guides, reference, troubleshooting"),
        ("dibs help config", "every key of the config, with its default"),
    ),
    json="commands[], or command, group, help, usage, options[], examples[], refusals[], topics[], topic, title, text",
)
