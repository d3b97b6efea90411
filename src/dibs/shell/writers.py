"""Commands that write files: for each, which of its words are written paths.

Each function takes a `Call` and adds the paths to it. A possible write counts as a write: a copy that would be skipped,
a missing file. A write to a path that the command does not name is a doubt. Commands that only make directories or
change modes and owners write nothing here. Copies, archives, patches and downloads have their own modules.
"""

from __future__ import annotations

import os

from dibs.shell.options import has, last
from dibs.shell.unknown import ANY, Unknown, either

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.shell.call import ProgramCall
    from dibs.shell.options import Fields
    from dibs.shell.unknown import Field


def operands(call: ProgramCall, how: str, short: str = "", long: str = "", merges: str = "") -> None:
    """A command that writes all its operands."""
    for path in call.options(short, tuple(long.split()))[1]:
        call.write(path, how, merges=bool(merges))


def output(call: ProgramCall, short: str, long: str, values: str) -> None:
    """A command that writes the file named by one option."""
    given, _ = call.options(short + values, (long,))
    if has(given, short, long):
        call.write(last(given, short, long))


def second(call: ProgramCall, short: str) -> None:
    """`uniq IN OUT`, `xxd IN OUT`."""
    for path in call.options(short)[1][1:2]:
        call.write(path)


def tee(call: ProgramCall) -> None:
    """Its operands get the input."""
    given, operands = call.options()
    for path in operands:
        target = call.write(path, "append" if has(given, "a", "append") else "write")
        if target and call.stdin:
            target.says(call.stdin.text)


# ------------------------------------------------------------------------------------------------------------------
# In place


def sed(call: ProgramCall) -> None:
    """`sed -i`, as GNU has it (`-i`, `-i.bak`) and as BSD has it (`-i ''`, `-i .bak`)."""
    words = call.words[1:]
    suffix = ""
    inplace = False
    for index, word in enumerate(words):
        if word == "--":
            break
        if not isinstance(word, str):
            continue
        if word.startswith("--in-place") or (
            word.startswith("-") and not word.startswith("--") and "i" in _flags(word, "efEl")
        ):
            inplace = True
            suffix = word.partition("=")[2] if word.startswith("--") else word.partition("i")[2]
            following = words[index + 1] if index + 1 < len(words) else None
            if (
                not suffix
                and isinstance(following, str)
                and (not following or _is_suffix(following, words[index + 2 :]))
            ):
                suffix = following
                words = [*words[:index], "-i", *words[index + 2 :]]
            else:
                words = [
                    *words[:index],
                    word.partition("i")[0].rstrip("-") + "-i" if suffix else word,
                    *words[index + 1 :],
                ]
            break
    call.words[1:] = words
    given, operands = call.options("efl", ("expression", "file", "line-length"))
    scripts: Fields = [value or "" for option, value in given if option in {"e", "expression"}]
    if not has(given, "e", "f", "expression", "file"):
        scripts, operands = operands[:1], operands[1:]
    if any(isinstance(script, str) and any(letter in script for letter in "wWe") for script in scripts):
        from dibs.shell import program_texts as shell_program_texts

        shell_program_texts.sed(call, scripts)
    if not inplace and not has(given, "i", "in-place"):
        return
    _inplace(call, operands, suffix)


def _flags(word: str, values: str) -> str:
    """The letters of a cluster of short options, up to the first that takes a value."""
    for index, letter in enumerate(word[1:], 1):
        if letter in values and letter != "E":
            return word[1:index]
        if letter == "i":
            return word[1 : index + 1]
    return word[1:]


def _is_suffix(word: str, rest: Fields) -> bool:
    """Is this the suffix of a BSD `-i`? Then a script and a file follow."""
    return word.startswith(".") and "/" not in word and len([other for other in rest if other]) > 1


def _inplace(call: ProgramCall, operands: Fields, suffix: str) -> None:
    for path in operands:
        call.write(path, merges=True)
        if suffix and isinstance(path, Unknown):
            call.doubt(path)
        elif suffix and isinstance(path, str):
            name = os.path.basename(path)
            backup = suffix.replace("*", name) if "*" in suffix else name + suffix
            call.write(backup if "/" in backup else os.path.join(os.path.dirname(path), backup))


def perl(call: ProgramCall) -> None:
    """`perl -i`, `perl -pi -e`, `perl -i.bak`."""
    suffix, inplace, script, i = "", False, False, 1
    texts: list[str] = []
    words = call.words
    while i < len(words):
        word = words[i]
        if not isinstance(word, str) or not word.startswith("-") or word in {"-", "--"}:
            i += word == "--"
            break
        letters = word[1:]
        at = 0
        while at < len(letters):
            letter = letters[at]
            if letter == "i":
                inplace, suffix = True, letters[at + 1 :]
                break
            if letter in "eE":
                script = True
                i += at + 1 == len(letters)
                text = letters[at + 1 :] or (words[i] if i < len(words) else "")
                texts += [text] if isinstance(text, str) else []
                break
            if letter in "IMmxCD0lF":
                i += letter == "I" and at + 1 == len(letters)
                if letter not in "0l":
                    break
            at += 1
        i += 1
    if texts:
        from dibs.shell import program_texts as shell_program_texts

        for text in texts:
            shell_program_texts.perl(call, text)
    if inplace:
        _inplace(call, words[i if script else i + 1 :], suffix)


def awk(call: ProgramCall) -> None:
    """What its program writes; with `-i inplace`, its files."""
    given, operands = call.options("fFvil", ("file", "field-separator", "assign", "include", "load"))
    if has(given, "f", "file") or not operands or not isinstance(operands[0], str):
        call.reading.opened = call.reading.opened or bool(operands)
    else:
        from dibs.shell import program_texts as shell_program_texts

        values: dict[str, Field] = {"FILENAME": either(operands[1:]) if operands[1:] else ANY}
        for option, value in given:
            name, _, text = (
                value.partition("=") if option in {"v", "assign"} and isinstance(value, str) else ("", "", "")
            )
            values[name] = text
        shell_program_texts.awk(call, operands[0], values)
    if last(given, "i", "include") == "inplace":
        files = operands if has(given, "f", "file") else operands[1:]
        _inplace(call, [word for word in files if not isinstance(word, str) or "=" not in word], "")


def yq(call: ProgramCall) -> None:
    """With -i, its files."""
    given, operands = call.options("pos", ("input-format", "output-format", "split-exp", "from-file"))
    if has(given, "i", "inplace", "in-place"):
        for path in operands[1:]:
            call.write(path, merges=True)


def vi(call: ProgramCall) -> None:
    """Its files, and those that its commands name."""
    given, operands = call.options("cSTuUwW", ("cmd",))
    commands: Fields = [value or "" for option, value in given if option in {"c", "cmd"}]
    for path in operands:
        if isinstance(path, str) and path.startswith("+"):
            commands.append(path[1:])
        else:
            call.write(path, merges=True)
    _written_from(call, [*commands, *_typed(call)])


def ed(call: ProgramCall) -> None:
    """Its file, and those that its commands name."""
    _, operands = call.options("p", ("prompt",))
    for path in operands:
        call.write(path, merges=True)
    _written_from(call, _typed(call))


def _written_from(call: ProgramCall, commands: Fields) -> None:
    if commands:
        from dibs.shell import program_texts as shell_program_texts

        shell_program_texts.editor(call, commands)


def _typed(call: ProgramCall) -> Fields:
    """The commands on an editor's input."""
    text = (call.stdin.raw or call.stdin.text) if call.stdin else None
    return [text] if text else []


def openssl(call: ProgramCall) -> None:
    """The files of its output options."""
    for option, path in zip(call.words[1:], call.words[2:], strict=False):
        if option in {"-out", "-keyout", "-signature", "-writerand"} and "-verify" not in call.words:
            call.write(path)


def rmdir(call: ProgramCall) -> None:
    """Only empty directories go: with something in it, nothing happens."""
    given, operands = call.options()
    for path in operands:
        full = call.full(path) if isinstance(path, str) else ""
        if has(given, "p", "parents") or not os.path.isdir(full) or call.cwd is None or not _has_entries(full):
            call.write(path, "delete")


def _has_entries(folder: str) -> bool:
    """Is there something in a folder? Nothing, if that cannot be seen: then it counts as one that goes."""
    try:
        with os.scandir(folder) as entries:
            return any(entries)
    except OSError:
        return False


def rename(call: ProgramCall) -> None:
    """The old names are known; the new ones are computed by an expression."""
    given, operands = call.options("e")
    if has(given, "n", "no-act", "nono", "just-print", "dry-run"):
        return
    for path in operands:
        if not isinstance(path, str) or os.path.lexists(call.full(path)):
            call.write(path, "move")
    new = _renamed([*[value or "" for option, value in given if option == "e"], *operands])
    for path in new or ():
        call.write(path)
    if new is None:
        folders = [os.path.dirname(path) if isinstance(path, str) else path for path in operands[1:]]
        call.doubt(*[f"{folder}/" if folder and isinstance(folder, str) else folder for folder in folders])


def _renamed(words: Fields) -> list[str] | None:
    """The new names by `s/a/b/` (Perl's rename), or by a text in place of another (the system's); None if not known."""
    known = [word for word in words if isinstance(word, str)]
    if len(known) < len(words) or not known:
        return None
    from dibs.shell import regexes

    change = regexes.substitution(known[0], regexes.PERL)
    if change is not None:
        return [new for name in known[1:] if (new := change(name)) != name]
    if not known[0].isascii() or any(sign in known[0] for sign in "/{};$\\"):
        return None
    if len(known) < 3:  # noqa: PLR2004 - a text, another one, and files
        return []
    old, new, *names = known
    parts = [name.rpartition("/") for name in names]
    return [f"{folder}{slash}{name.replace(old, new, 1)}" for folder, slash, name in parts if old in name]


# ------------------------------------------------------------------------------------------------------------------
# Output named by an option


def dd(call: ProgramCall) -> None:
    """`of=FILE`."""
    for word in call.words[1:]:
        if isinstance(word, Unknown):
            if word.below is None or any(way == "of=" for way in word.below):
                call.doubt()
            elif any(way.startswith("of=") for way in word.below):
                call.doubt(*[way.removeprefix("of=") for way in word.below])
        elif word.startswith("of="):
            call.write(word[3:])


def sort(call: ProgramCall) -> None:
    """`-o FILE`, which may be one of those that it sorts."""
    long = ("output", "key", "field-separator", "buffer-size", "temporary-directory", "parallel", "files0-from")
    given, operands = call.options("oktST", long)
    if has(given, "o", "output"):
        to = last(given, "o", "output")
        call.write(to, merges=to in operands)
