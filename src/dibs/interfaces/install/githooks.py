"""dibs in git's hooks, next to existing ones: husky, the pre-commit framework, lefthook, or people's own scripts.

A hook that sh can read gets a marked block right after its first line, so that an `exec` or `exit` further down does
not hide it. A hook in another language is moved aside and called from ours. A folder of hooks outside the repository
belongs to a person's whole machine and is not touched. Pure decisions about texts; `plan.py` reads and writes.
"""

from __future__ import annotations

import os

from dibs.errors import DibsError
from dibs.git import queries as git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.workspace.location import Place

NAMES = ("pre-commit", "pre-merge-commit", "prepare-commit-msg", "post-commit", "post-merge", "pre-push")
BEGIN = "# dibs:begin (made by `dibs init`; `dibs init --uninstall` takes it out)"
END = "# dibs:end"
KEPT_FOLDER = "dibs-kept"  # a folder, so that a kept hook keeps its name: some check by which name they were called
SHELLS = ("sh", "bash", "dash", "ksh", "zsh", "ash")

CALL = """\
dibs_hook=.dibs/hook
[ -f "$dibs_hook" ] || dibs_hook=${{0%/*}}/{root}/.dibs/hook
[ -f "$dibs_hook" ] || dibs_hook=$(git rev-parse --git-common-dir)/dibs/hook
if [ -f "$dibs_hook" ]; then
    "$dibs_hook" git {name} "$@" </dev/null || {otherwise}
fi
"""
# Git gives a pre-push its refs on stdin; the hooks after ours must get them too.
CALL_PUSH = """\
dibs_hook=.dibs/hook
[ -f "$dibs_hook" ] || dibs_hook=${{0%/*}}/{root}/.dibs/hook
[ -f "$dibs_hook" ] || dibs_hook=$(git rev-parse --git-common-dir)/dibs/hook
if [ -f "$dibs_hook" ]; then
    dibs_input=$(cat)
    if [ -n "$dibs_input" ]; then
        printf '%s\\n' "$dibs_input" | "$dibs_hook" git {name} "$@" || {otherwise}
        exec <<dibs_input_ends
$dibs_input
dibs_input_ends
    else
        "$dibs_hook" git {name} "$@" </dev/null || {otherwise}
        exec </dev/null
    fi
fi
"""
CALL_KEPT_HOOK = '[ ! -x "${{0%/*}}/{kept}/{name}" ] || exec "${{0%/*}}/{kept}/{name}" "$@"\n'


def folder(place: Place) -> str:
    """The folder that git takes hooks from, where a person would write them; "" without git."""
    if not place.common:
        return ""
    said = ask(place, "rev-parse", "--git-path", "hooks").rstrip("\n")
    if not said:
        return ""
    found = os.path.realpath(os.path.join(place.top, said))
    parent = os.path.dirname(found)
    if os.path.basename(found) == "_" and os.path.basename(parent) == ".husky":
        return parent  # husky recreates the folder `_` each time; people's own hooks are above it
    return found


def ask(place: Place, *words: str) -> str:
    """Git's output, "" if it fails or is missing."""
    try:
        return os.fsdecode(git.ask(place.top, *words).out)
    except DibsError:
        return ""


def is_ours_to_write(hooks: str, place: Place) -> bool:
    """Does a folder of hooks belong to this repository?"""
    return any(hooks == top or hooks.startswith(top.rstrip("/") + "/") for top in (place.common, place.root, place.top))


def is_husky(hooks: str) -> bool:
    """Husky runs its hooks itself, executable or not."""
    return os.path.basename(hooks) == ".husky" and os.path.isdir(os.path.join(hooks, "_"))


def block(name: str, root: str, *, kept: bool = False) -> str:
    """Our lines of a hook; `root` is the path from the folder of hooks to the workspace."""
    template = CALL_PUSH if name == "pre-push" else CALL
    otherwise = ":" if name in {"post-commit", "post-merge"} else "exit 1"
    text = template.format(name=name, root=root, otherwise=otherwise)
    if kept:
        text += CALL_KEPT_HOOK.format(name=name, kept=KEPT_FOLDER)
    return f"{BEGIN}\n{text}{END}\n"


def whole(name: str, root: str, *, kept: bool = False) -> str:
    """A hook of only our lines."""
    return "#!/bin/sh\n" + block(name, root, kept=kept)


def is_sh(content: bytes) -> bool:
    """Can our lines go into this file? Without a first line that names an interpreter, git and husky use sh."""
    if b"\0" in content[:1024]:
        return False
    first = content.split(b"\n", 1)[0].decode("utf-8", "replace").strip()
    if not first.startswith("#!"):
        return True
    words = [word for word in first[2:].split() if not word.startswith("-") and "=" not in word]
    if words and os.path.basename(words[0]) == "env":
        words = words[1:]
    return bool(words) and os.path.basename(words[0]) in SHELLS


def has_block(content: bytes) -> bool:
    """Does it have our lines?"""
    return BEGIN.encode() in content


def merged(content: bytes, name: str, root: str) -> bytes:
    """A person's sh hook with our lines after its first one, or with our lines updated."""
    end = b"\r\n" if b"\r\n" in content else b"\n"
    ours = block(name, root).encode().replace(b"\n", end)
    if has_block(content):
        kept = CALL_KEPT_HOOK.format(name=name, kept=KEPT_FOLDER).encode().strip() in content
        start, stop = _bounds(content)
        return content[:start] + block(name, root, kept=kept).encode().replace(b"\n", end) + content[stop:]
    if not content.startswith(b"#!"):
        return ours + content
    first, newline, rest = content.partition(b"\n")
    return first + (newline or end) + ours + rest


def cleaned(content: bytes) -> bytes | None:
    """A hook without our lines; None if only the first line is left."""
    if not has_block(content):
        return content
    start, stop = _bounds(content)
    left = content[:start] + content[stop:]
    return None if left.strip() in {b"", b"#!/bin/sh"} else left


def _bounds(content: bytes) -> tuple[int, int]:
    start = content.index(BEGIN.encode())
    stop = content.find(END.encode() + b"\n", start)
    if stop >= 0:
        return start, stop + len(END) + 1
    stop = content.find(END.encode(), start)
    if stop < 0:
        return start, start + len(BEGIN)  # the block was cut; only what is certainly ours is removed
    stop += len(END)
    return start, stop + (2 if content[stop : stop + 2] == b"\r\n" else 0)
