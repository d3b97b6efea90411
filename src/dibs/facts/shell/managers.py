"""Package managers: the manifest and the lock file that they rewrite in the directory, though no word names them.

A file that is there is a doubt: the command is refused if another agent holds it or has unfinished work in it, and
holds it while it runs. What else they write (packages, caches) is ignored by git, or left to the audit.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.facts.shell.commands import Call

_INSTALLS = "add dedupe i install link remove rm un uninstall up update upgrade version"
_CHANGES = "audit+fix init pkg+delete pkg+fix pkg+set"
# The manifest; the lock files; subcommands that write both if they have operands, else the locks; those that always
# write both.
TABLE: dict[str, tuple[str, str, str, str]] = {
    "bun": ("package.json", "bun.lock bun.lockb", _INSTALLS, _CHANGES),
    "bundle": ("Gemfile", "Gemfile.lock", "add install lock remove update", "init"),
    "cargo": ("Cargo.toml", "Cargo.lock", "add generate-lockfile remove rm set-version update", ""),
    "composer": ("composer.json", "composer.lock", "bump remove require update", "init"),
    "go": ("go.mod", "go.sum", "get", "mod+edit mod+init mod+tidy"),
    "mix": ("mix.exs", "mix.lock", "deps.get deps.unlock deps.update", ""),
    "npm": ("package.json", "package-lock.json npm-shrinkwrap.json", _INSTALLS, _CHANGES),
    "pipenv": ("Pipfile", "Pipfile.lock", "install lock uninstall update upgrade", ""),
    "pnpm": ("package.json", "pnpm-lock.yaml", _INSTALLS, _CHANGES),
    "poetry": ("pyproject.toml", "poetry.lock", "add lock remove update version", "init"),
    "uv": ("pyproject.toml", "uv.lock", "add lock remove sync version", "init"),
    "yarn": ("package.json", "yarn.lock", _INSTALLS, _CHANGES),
}
_BARE = frozenset(("bundle", "yarn"))  # they install if no subcommand is given
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
    manifest, locks, installs, always = TABLE[call.name]
    words = [word for word in call.words[1:] if isinstance(word, str)]
    operands = [word for word in words if not word.startswith("-")]
    if call.cwd is None or not _LOOKS.isdisjoint(words):
        return
    if operands[:1] == ["init"] and operands[1:]:
        return  # in a new folder
    both = not {*operands[:1], "+".join(operands[:2])}.isdisjoint(always.split())
    first = operands[0] if operands else "install" if call.name in _BARE else ""
    if not both and first not in installs.split():
        return
    names = [] if not _NO_LOCKS.isdisjoint(words) else locks.split()
    names += [manifest] if both or len(operands) > 1 else []
    for name in names:
        if os.path.isfile(call.full(name)):
            call.reading.may_write(call.text, call.full(name))
