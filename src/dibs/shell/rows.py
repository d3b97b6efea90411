"""The facts in a row of the table of programs (programs.py, tools.py).

Types alone, which nothing loads at run time. Lists are texts with blanks between the words. A fact that is not in a row
does not hold.
"""

from __future__ import annotations

from typing import TypedDict


class Wrapper(TypedDict, total=False):
    """A program whose words contain another command."""

    short: str  # its short options with a value
    long: str  # its long options with a value
    operands: int  # words between its options and the command
    dash: bool  # a dash alone is one of its options
    default: str  # the command gets words from the input as well; without a command, this one does
    detaches: bool  # the command outlives the shell
    folder: str  # options that name the directory of the command
    locates: str  # options with which it only tells where the command is
    named: bool  # a name may stand before a block
    output: str  # options that name a file it writes
    splits: str  # options whose value is split into words of the command
    text: str  # its words are a text for a shell: after this option, or always (`*`)


class Formatter(TypedDict, total=False):
    """A program that rewrites the files it is given, or finds: see formatters.py."""

    here: bool  # without operands it takes the directory
    kinds: str  # how the names of its files end; none: not known; `*`: anyhow
    long: str  # its long options with a value
    never: str  # options with which it does not write
    no_output: str  # values of its output option with which it does not write
    only: str  # if given, it writes only with one of these options
    packages: bool  # it takes packages, not files, and builds them
    short: str  # its short options with a value
    single_dash: bool  # its long options have one dash
    skip: int  # operands before the files
    verbs: str  # its subcommands that format; none: it has no subcommands


class Manifest(TypedDict, total=False):
    """The files of a package manager: see managers.py."""

    always: str  # subcommands that write the manifest and the locks in any case; `mod+tidy`: two words
    bare: bool  # without a subcommand it installs
    climbs: bool  # it takes the nearest manifest, in the directory or above it
    folder: str  # options that name its directory
    locks: str  # the lock files
    manifest: str  # the manifest
    project: str  # options that name the folder of the manifest, or the manifest itself
    verbs: str  # subcommands that write both if they have operands, else the locks


class Program(TypedDict, total=False):
    """What is known of one program. A fact that is not there does not hold."""

    # How it runs
    builtin: str  # a builtin of the shell: the function that changes the shell's state
    shell: bool  # it runs a text as a script
    wraps: Wrapper  # its words contain another command
    runs: tuple[str, ...]  # it may run another program, or a text: the function that finds it
    module: bool  # `python -m` runs it as well
    leaves: tuple[str, str]  # it keeps running with one of these words and one of these options; "": with any
    switches: str  # with these words it changes the branch by git

    # May it write files that it does not name?
    look: bool  # never, whatever its words; one of the most frequent programs
    harmless: bool  # never, whatever its words
    verbs: str  # not with one of these subcommands
    unless: str  # only with one of these words
    only_with: str  # not with one of these words
    rule: tuple[str, ...]  # the function that tells
    quick_verbs: str  # not if its first word is one of these; asked before the rule, which takes time to load
    formatter: Formatter
    fixers: dict[str, Formatter]  # subcommands that write only with an option of their own
    manages: Manifest
    outputs: tuple[str, str]  # further options that name an output file; only if this word is there ("": always)

    # The files that it writes by name
    writes: tuple[str, ...]  # the function that finds them
    operands: int  # with fewer operands it writes to its output
    acts: str  # the function that finds what it does beside looking
    in_place: bool  # with -i it writes the files that it reads
    downloads: bool  # it often only prints what it gets

    # What it reads and prints
    reads: tuple[str, str, int]  # the files it names: options with a value, short and long; operands before them
    shows: bool  # its output shows the content of what it reads
    passes: bool  # its output shows enough of its input
    search: str  # it searches for a pattern, of this kind (regexes.py); `perl`: in the directory, without operands
    silent: bool  # it prints nothing on success
    lists: bool  # without words it prints the shell's state
    exec_names: bool  # run by `find -exec`, it prints nothing but names that `find` has found
    # `plain`: a number, a date, a name; nothing that leads out of a folder. `copy`: its input. `lines`: lines of
    # its input. `edited`, `columns`, `fields`, `changed`: something made from it. Else the function that tells.
    prints: str
