"""Programs that rewrite the files they are given: formatters, and linters with fixes.

With file names they are writers that merge: the file keeps its content in another format. With folders, or no operands,
they may write any file they find: then the command is open.
"""

from __future__ import annotations

import os

from dibs.facts.shell.options import leading, options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.facts.shell.commands import Call


class Formatter:
    """The options that make a formatter write."""

    __slots__ = ("long", "never", "only", "short", "sub")

    def __init__(self, only: str = "", never: str = "", short: str = "", long: str = "", sub: str = "") -> None:
        self.only = frozenset(only.split())  # if not empty, it writes only with one of these options
        self.never = frozenset(never.split())  # with one of these it does not write
        self.short, self.long = short, tuple(long.split())  # options with a value
        self.sub = frozenset(sub.split())  # its subcommands that format


_BIOME = Formatter("write apply fix unsafe apply-unsafe", "", "", "config-path stdin-file-path", "format check lint")
_ESLINT = Formatter(
    "fix", "", "cfo", "config format output-file ext rulesdir parser plugin rule ignore-path max-warnings"
)
_INPLACE = Formatter("i in-place inplace", "", "", "style config line-length max-line-length")
_PRETTIER = Formatter(
    "w write", "check c l list-different", "", "config parser plugin ignore-path print-width tab-width log-level"
)
_GO = Formatter("w", "l d", "r", "r local lang")
FORMATTERS: dict[str, Formatter] = {
    "autoflake": _INPLACE,
    "autopep8": _INPLACE,
    "biome": _BIOME,
    "black": Formatter("", "check diff", "lt", "line-length target-version config exclude include workers code"),
    "buf": Formatter("w write", "d diff", "", "config", "format"),
    "clang-format": Formatter("i", "n dry-run", "", "style assume-filename lines"),
    "cmake-format": _INPLACE,
    "deno": Formatter("", "check", "c", "config ext ignore line-width indent-width", "fmt"),
    "docformatter": _INPLACE,
    "dprint": Formatter("", "check", "c", "config", "fmt"),
    "eslint": _ESLINT,
    "eslint_d": _ESLINT,
    "gofmt": _GO,
    "gofumpt": _GO,
    "goimports": _GO,
    "golines": _GO,
    "google-java-format": Formatter("i replace r", "n dry-run", "", "lines"),
    "isort": Formatter("", "c check check-only diff", "lp", "line-length profile settings-path sp"),
    "ktlint": Formatter("F format"),
    "markdownlint": Formatter("f fix", "", "ci", "config ignore"),
    "nixfmt": Formatter("", "c check", "w", "width"),
    "prettier": _PRETTIER,
    "prettierd": _PRETTIER,
    "pyupgrade": Formatter(),
    "rubocop": Formatter(
        "a A x autocorrect autocorrect-all fix-layout fix", "", "cfo", "config format out only except"
    ),
    "ruff": Formatter("", "check diff", "", "config line-length target-version select ignore extend-select", "format"),
    "rustfmt": Formatter("", "check", "", "edition config config-path emit"),
    "shfmt": Formatter("w", "d l", "il", "indent language-dialect"),
    "sqlfluff": Formatter("", "", "", "dialect config", "fix format"),
    "standard": _ESLINT,
    "stylelint": _ESLINT,
    "stylua": Formatter("", "check c", "fg", "config-path"),
    "swiftformat": Formatter("", "lint dryrun", "", "config swiftversion"),
    "taplo": Formatter("", "check diff", "oc", "option config", "fmt format"),
    "terraform": Formatter("", "check", "", "", "fmt"),
    "tofu": Formatter("", "check", "", "", "fmt"),
    "xo": _ESLINT,
    "yapf": Formatter("i in-place", "d diff q", "l", "style lines"),
    "zig": Formatter("", "check", "", "", "fmt"),
}
_RUFF_CHECK = Formatter(
    "fix fix-only", "no-fix diff", "", "config line-length target-version select ignore extend-select"
)


def judge(call: Call) -> str:
    """Name the files that a formatter would write; returns closed, open, harmless, or "" if it does not apply."""
    one = FORMATTERS[call.name]
    words = call.words[1:]
    if one.sub:
        end, _ = leading(call.words, one.short, one.long)
        sub, words = call.words[end] if end < len(call.words) else "", call.words[end + 1 :]
        if call.name == "ruff" and sub == "check":
            one = _RUFF_CHECK
        elif sub not in one.sub:
            return ""
    given, operands = options(words, one.short, one.long)
    names = {option.lstrip("-") for option, _ in given}
    if call.name in {"terraform", "tofu"}:  # `-check`: long options with one dash
        names = {word.lstrip("-").partition("=")[0] for word in words if isinstance(word, str) and word[:1] == "-"}
    if names & one.never or (one.only and not names & one.only) or names & {"help", "version"}:
        return "harmless"
    files = [word for word in operands if isinstance(word, str) and word != "-" and call.cwd is not None]
    folders = [word for word in files if os.path.isdir(call.full(word))]
    for path in files:
        if path not in folders:
            call.write(path, merges=True)
    if operands == ["-"]:
        return "harmless"
    # Unknown files are left to the audit, as with a folder: a formatter keeps a file's content.
    return "closed" if files and not folders and len(files) == len(operands) else "open"
