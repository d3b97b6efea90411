"""Package managers: the manifest and the lock file that they rewrite in the directory, though no word names them.

A file that is there is a doubt: it is refused if another agent holds it, and nothing is claimed for it. What else they
write (packages, caches) is ignored by git, or left to the audit.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.facts.shell.commands import Call

_LOCKS = "package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock bun.lockb"
_INSTALLS = "add dedupe i install link remove rm un uninstall up update upgrade version"
_NPM = ("package.json", _LOCKS, _INSTALLS, "audit+fix init pkg+delete pkg+fix pkg+set")
# The manifest; the lock files; subcommands that write both if they have operands, else the locks; those that always
# write both.
TABLE: dict[str, tuple[str, str, str, str]] = {
    "bun": _NPM,
    "bundle": ("Gemfile", "Gemfile.lock", "add install lock remove update", "init"),
    "cargo": ("Cargo.toml", "Cargo.lock", "add generate-lockfile remove rm set-version update", ""),
    "composer": ("composer.json", "composer.lock", "bump remove require update", "init"),
    "go": ("go.mod", "go.sum", "get", "mod+edit mod+init mod+tidy"),
    "mix": ("mix.exs", "mix.lock", "deps.get deps.unlock deps.update", ""),
    "npm": _NPM,
    "pipenv": ("Pipfile", "Pipfile.lock", "install lock uninstall update upgrade", ""),
    "pnpm": _NPM,
    "poetry": ("pyproject.toml", "poetry.lock", "add lock remove update version", "init"),
    "uv": ("pyproject.toml", "uv.lock", "add lock remove sync version", "init"),
    "yarn": _NPM,
}
_LOOKS = frozenset((
    "--dry-run", "--frozen", "--frozen-lockfile", "--global", "--immutable", "--locked", "--no-save", "-g",
))  # fmt: skip


def rewritten(call: Call) -> None:
    """The manifest and the locks that this command may rewrite."""
    manifest, locks, installs, always = TABLE[call.name]
    words = [word for word in call.words[1:] if isinstance(word, str)]
    operands = [word for word in words if not word.startswith("-")]
    if call.cwd is None or not _LOOKS.isdisjoint(words):
        return
    both = not {*operands[:1], "+".join(operands[:2])}.isdisjoint(always.split())
    if not both and (operands or ["install"])[0] not in installs.split():
        return
    names = [*locks.split(), *([manifest] if both or len(operands) > 1 else [])]
    for name in names:
        if os.path.isfile(call.full(name)):
            call.reading.may_write(call.text, call.full(name))
