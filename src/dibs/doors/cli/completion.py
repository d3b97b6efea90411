"""`dibs completion SHELL`: completion made from the declarations."""

from __future__ import annotations

import sys

from dibs.doors.cli import parse
from dibs.doors.cli import run as commands
from dibs.errors import YES, Invalid
from dibs.operations.core import index
from dibs.operations.core.declare import Field
from dibs.session import catalogue

FIELDS = (
    Field(
        "shell",
        "choice",
        "which shell",
        positional=True,
        required=True,
        choices=("bash", "zsh", "fish"),
        metavar="SHELL",
    ),
)
HELP = "Print completion for your shell: bash, zsh or fish."


def run(arguments: list[str]) -> int:
    """Print a script; `source <(dibs completion bash)` uses it."""
    words = parse.parse("completion", FIELDS, arguments)
    if words.help:
        from dibs.doors.cli import help

        return help.of_command("completion", HELP, FIELDS)
    shell = words.fields["shell"]
    if shell not in FIELDS[0].choices:
        raise Invalid(f"shell: one of {', '.join(FIELDS[0].choices)}, not {shell!r}", field="shell")
    sys.stdout.write(_fish() if shell == "fish" else _bash(zsh=shell == "zsh"))
    return YES


def options(name: str) -> list[str]:
    """The options of one command."""
    from dibs.doors.cli import help

    declared = catalogue.operation(name).fields if name in index.FILES else help.fields_of(name)
    fields = (*declared, *help.extra_of(name))
    own = [f"--{field.name.replace('_', '-')}" for field in fields if not field.positional and not field.internal]
    return own + [f"--{name}" for name in (*parse.COMMON, *parse.SWITCHES)]


def _bash(*, zsh: bool) -> str:
    names = sorted([*index.FILES, *commands.OTHERS])
    first = sorted({name.partition(" ")[0] for name in names})
    cases = "\n".join(
        f"    '{name}{'' if ' ' in name else ' '}'*) words='{' '.join(options(name))}' ;;" for name in names
    )
    families = {one: [name.partition(" ")[2] for name in commands.family_of(one)] for one in first}
    second = "\n".join(
        f"      {one}) COMPREPLY=($(compgen -W '{' '.join(family)}' -- \"$current\")); return ;;"
        for one, family in families.items()
        if family
    )
    start = "autoload -U +X bashcompinit && bashcompinit\n" if zsh else ""
    return f"""{start}_dibs() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" words=''
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '{" ".join(first)}' -- "$current")); return
  elif [ "$COMP_CWORD" -eq 2 ]; then
    case "${{COMP_WORDS[1]}}" in
{second}
    esac
  fi
  case "${{COMP_WORDS[1]}} ${{COMP_WORDS[2]}}" in
{cases}
  esac
  case "$current" in
    -*) COMPREPLY=($(compgen -W "$words" -- "$current")) ;;
    *) COMPREPLY=($(compgen -f -- "$current")) ;;
  esac
}}
complete -o filenames -F _dibs dibs
"""


def _fish() -> str:
    from dibs.doors.cli import help

    lines = ["complete -c dibs -f -n __fish_use_subcommand"]
    for name in sorted([*index.FILES, *commands.OTHERS]):
        text = help.summary(name).replace("'", "\\'")
        first, _, second = name.partition(" ")
        there = f"__fish_seen_subcommand_from {first}"
        if second:
            lines.append(f"complete -c dibs -n __fish_use_subcommand -a {first} -d '{help.FAMILIES[first]}'")
            lines.append(f"complete -c dibs -f -n '{there}' -a {second} -d '{text}'  # dibs {name}")
            there += f"; and __fish_seen_subcommand_from {second}"
        else:
            lines.append(f"complete -c dibs -n __fish_use_subcommand -a {name} -d '{text}'")
        lines += [f"complete -c dibs -n '{there}' -l {option[2:]}" for option in options(name)]
    return "\n".join(lines) + "\n"
