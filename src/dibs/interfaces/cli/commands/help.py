"""`dibs help`: what interfaces/cli/help.py makes from the declarations."""

from __future__ import annotations

from dibs.interfaces.cli import help
from dibs.interfaces.cli.command import Command, family_of, names
from dibs.interfaces.cli.dispatch import OLD
from dibs.operations.core.declare import Field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.interfaces.cli.parse import Words

FIELDS = (
    Field("all", "flag", "list every command that people and agents type, by whom it is for", default=False),
    Field("plumbing", "flag", "list what hooks, servers and scripts run", default=False),
    Field("command", "resources", "the command or the topic to explain (`dibs help topics`)", positional=True,
          default=(), metavar="COMMAND"),
)  # fmt: skip


def run(words: Words) -> int:
    """Print help on everything, on a family of commands, or on one."""
    given: list[str] = words.fields.get("command", [])
    if not given:
        every, plumbing = bool(words.fields.get("all")), bool(words.fields.get("plumbing"))
        return help.overview(every=every, plumbing=plumbing, as_json=words.json)
    if given[0] in help.TOPICS and len(given) == 1:
        return help.show_topic(given[0], as_json=words.json)
    for name in (" ".join(given[:2]), given[0]):
        name = OLD.get(name, name).partition(" --")[0]  # noqa: PLW2901 - an old spelling: its new command
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
        ("dibs help", "the commands that people need"),
        ("dibs help --all", "every command, by whom it is for"),
        ("dibs help task add", "one command, with examples"),
        ("dibs help topics", "the documents: guides, reference, troubleshooting"),
        ("dibs help config", "every key of the config, with its default"),
    ),
    json="commands[], topics[]; or topic, title, text; or command, group, for, help, usage, options[], examples[], "
    "refusals[]",
)
