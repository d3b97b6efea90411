"""Package managers: the manifest and the lock file that they rewrite in the directory, though no word names them.

A file that is there is a doubt: the command is refused if another agent holds it or has unfinished work in it, and
holds it while it runs. What else they write (packages, caches) is ignored by git, or left to the audit.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.facts.shell.call import Call

# With one of these, neither is written.
_LOOKS = frozenset((
    "--check", "--diff", "--dry-run", "--frozen", "--frozen-lockfile", "--global", "--help", "--immutable", "--locked",
    "--no-save", "--print", "-diff", "-g", "-h", "-json", "-print",
))  # fmt: skip
# With one of these, no lock file is written.
_NO_LOCKS = frozenset((
    "--lockfile=false", "--no-lockfile", "--no-package-lock", "--package-lock=false", "--pure-lockfile",
))  # fmt: skip


def rewritten(call: Call) -> None:
    """The manifest and the locks that this command may rewrite."""
    row = call.program["manages"]
    words = [word for word in call.words[1:] if isinstance(word, str)]
    operands = [word for word in words if not word.startswith("-")]
    if call.cwd is None or not _LOOKS.isdisjoint(words):
        return
    if operands[:1] == ["init"] and operands[1:]:
        return  # in a new folder
    both = not {*operands[:1], "+".join(operands[:2])}.isdisjoint(row.get("always", "").split())
    installs = operands[0] in row["verbs"].split() if operands else "bare" in row
    if not both and not installs:
        return
    names = [] if not _NO_LOCKS.isdisjoint(words) else row["locks"].split()
    names += [row["manifest"]] if both or len(operands) > 1 else []
    for name in names:
        if os.path.isfile(call.full(name)):
            call.reading.may_write(call.text, call.full(name))
