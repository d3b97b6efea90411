"""Programs that rewrite the files they are given: formatters, and linters with fixes.

With file names they are writers that merge: the file keeps its content in another format. With folders, or no operands,
they may write any file of their kinds that they find there: a doubt for each kind, and the command is open.
"""

from __future__ import annotations

import os

from dibs.facts.shell.options import leading, options
from dibs.facts.shell.unknown import WILDCARDS, Unknown, matches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.facts.shell.commands import Call
    from dibs.facts.shell.unknown import Field


class Formatter:
    """The options that make a formatter write, and the files that it finds in a folder."""

    __slots__ = ("here", "kinds", "long", "never", "only", "short", "skip", "sub")

    def __init__(
        self, only: str = "", never: str = "", short: str = "", long: str = "", sub: str = "",
        *, kinds: str = "", here: bool = False, skip: int = 0,
    ) -> None:  # fmt: skip
        self.only = frozenset(only.split())  # if not empty, it writes only with one of these options
        self.never = frozenset(never.split())  # with one of these it does not write
        self.short, self.long = short, tuple(long.split())  # options with a value
        self.sub = frozenset(sub.split())  # its subcommands that format
        self.kinds = [kind.strip("*") for kind in kinds.split()]  # how their names end; none: not known; `*`: anyhow
        self.here = here  # without operands it takes the directory
        self.skip = skip  # operands before the files


_SCRIPTS = ".js .jsx .ts .tsx .mjs .cjs .mts .cts .vue .svelte .astro"
_STYLES = ".css .scss .less"
_PYTHON = ".py .pyi"
_BIOME = Formatter(
    "write apply fix unsafe apply-unsafe", "", "", "config-path stdin-file-path", "format check lint",
    kinds=f"{_SCRIPTS} {_STYLES} .json .jsonc .graphql", here=True,
)  # fmt: skip
_ESLINT = Formatter(
    "fix", "", "cfo", "config format output-file ext rulesdir parser plugin rule ignore-path max-warnings",
    kinds=_SCRIPTS,
)  # fmt: skip
_WHOLE_ESLINT = Formatter("fix", "", "", "parser plugin env global ext", kinds=_SCRIPTS, here=True)
_STYLELINT = Formatter("fix", "", "cfo", "config format output-file ignore-path max-warnings", kinds=_STYLES)
_INPLACE = Formatter("i in-place inplace", "", "", "style config line-length max-line-length", kinds=_PYTHON)
_PRETTIER = Formatter(
    "w write", "check c l list-different", "", "config parser plugin ignore-path print-width tab-width log-level",
    kinds=f"{_SCRIPTS} {_STYLES} .json .jsonc .json5 .html .md .mdx .yaml .yml .graphql .hbs",
)  # fmt: skip
_GO = Formatter("w", "l d", "r", "r local lang", kinds=".go")
_TERRAFORM = Formatter("", "check", "", "", "fmt", kinds=".tf .tfvars .hcl", here=True)
_RUFF = "config line-length target-version select ignore extend-select"
_RUST = "p package manifest-path color target features"
FORMATTERS: dict[str, Formatter] = {
    "2to3": Formatter("w write", "", "fjxo", "fix nofix output-dir", kinds=".py"),
    "add-trailing-comma": Formatter(),
    "autoflake": _INPLACE,
    "autopep8": _INPLACE,
    "biome": _BIOME,
    "black": Formatter(
        "", "check diff", "lt", "line-length target-version config exclude include workers code",
        kinds=f"{_PYTHON} .ipynb",
    ),
    "buf": Formatter("w write", "d diff", "", "config", "format", kinds=".proto", here=True),
    "cargo": Formatter("", "check", "p", _RUST, "fmt", kinds=".rs", here=True),
    "clang-format": Formatter("i", "n dry-run", "", "style assume-filename lines"),
    "cmake-format": _INPLACE,
    "codespell": Formatter("w write-changes", "", "LDIxSi", "skip ignore-words-list", kinds="*", here=True),
    "dart": Formatter("", "dry-run", "ol", "output line-length", "format fix", kinds=".dart"),
    "deno": Formatter(
        "", "check", "c", "config ext ignore line-width indent-width", "fmt",
        kinds=f"{_SCRIPTS} {_STYLES} .json .jsonc .md .yaml .yml .html", here=True,
    ),
    "djhtml": Formatter("", "c check", "t", "tabwidth", kinds=".html"),
    "djlint": Formatter("reformat", "check", "eip", "extension indent profile", kinds=".html .jinja .j2 .hbs .njk"),
    "docformatter": _INPLACE,
    "dprint": Formatter("", "check", "c", "config", "fmt"),
    "eslint": _ESLINT,
    "eslint_d": _ESLINT,
    "go": Formatter("", "n", "", "", "fmt", kinds=".go", here=True),
    "gofmt": _GO,
    "gofumpt": _GO,
    "goimports": _GO,
    "golines": _GO,
    "google-java-format": Formatter("i replace r", "n dry-run", "", "lines"),
    "isort": Formatter("", "c check check-only diff", "lp", "line-length profile settings-path sp", kinds=_PYTHON),
    "jscodeshift": Formatter("", "d dry", "tv", "transform parser extensions ignore-pattern", kinds=_SCRIPTS),
    "ktlint": Formatter("F format", kinds=".kt .kts", here=True),
    "markdownlint": Formatter("f fix", "", "ci", "config ignore", kinds=".md"),
    "mix": Formatter("", "check-formatted dry-run", "", "", "format", kinds=".ex .exs .heex", here=True),
    "nixfmt": Formatter("", "c check", "w", "width", kinds=".nix"),
    "php-cs-fixer": Formatter("", "dry-run", "", "config rules", "fix", kinds=".php", here=True),
    "phpcbf": Formatter("", "", "", "standard extensions", kinds=".php"),
    "prettier": _PRETTIER,
    "prettierd": _PRETTIER,
    "pyupgrade": Formatter(),
    "rubocop": Formatter(
        "a A x autocorrect autocorrect-all fix-layout fix", "", "cfo", "config format out only except",
        kinds=".rb .rake .gemspec", here=True,
    ),
    "ruff": Formatter("", "check diff", "", _RUFF, "format", kinds=f"{_PYTHON} .ipynb", here=True),
    "rustfmt": Formatter("", "check", "", "edition config config-path emit"),
    "sd": Formatter("", "p preview", "nf", "max-replacements flags", skip=2),
    "shfmt": Formatter("w", "d l", "il", "indent language-dialect", kinds=".sh .bash"),
    "sort-package-json": Formatter("", "check"),
    "sqlfluff": Formatter("", "", "", "dialect config", "fix format", kinds=".sql"),
    "standard": _WHOLE_ESLINT,
    "stylelint": _STYLELINT,
    "stylua": Formatter("", "check c", "fg", "config-path", kinds=".lua .luau"),
    "swiftformat": Formatter("", "lint dryrun", "", "config swiftversion", kinds=".swift"),
    "taplo": Formatter("", "check diff", "oc", "option config", "fmt format", kinds=".toml", here=True),
    "terraform": _TERRAFORM,
    "tofu": _TERRAFORM,
    "xo": _WHOLE_ESLINT,
    "yapf": Formatter("i in-place", "d diff q", "l", "style lines", kinds=_PYTHON),
    "zig": Formatter("", "check", "", "", "fmt", kinds=".zig"),
}  # fmt: skip
# Other subcommands that write only with an option of their own.
_FIXERS: dict[tuple[str, Field], Formatter] = {
    ("cargo", "clippy"): Formatter("fix", "", "p", _RUST, kinds=".rs", here=True),
    ("cargo", "fix"): Formatter("", "", "p", _RUST, kinds=".rs", here=True),
    ("ruff", "check"): Formatter("fix fix-only", "no-fix diff", "", _RUFF, kinds=f"{_PYTHON} .ipynb", here=True),
}


def judge(call: Call) -> str:
    """Name the files that a formatter would write; returns closed, open, harmless, or "" if it does not apply."""
    one = FORMATTERS[call.name]
    words = call.words[1:]
    if one.sub:
        end, _ = leading(call.words, one.short, one.long)
        sub, words = call.words[end] if end < len(call.words) else "", call.words[end + 1 :]
        fixer = _FIXERS.get((call.name, sub))
        if fixer is None and sub not in one.sub:
            return ""
        one = fixer or one
        if call.name == "cargo" and "--" in words:  # the options of rustfmt and of the compiler
            words = [word for word in words if word != "--"]
    given, operands = options(words, one.short, (*one.long, *_LEAVES_OUT))
    if call.name == "cargo":  # `--bin NAME`, `-- -D warnings`: only rustfmt takes files
        operands = [word for word in operands if isinstance(word, str) and word.endswith(".rs")]
    names = {option.lstrip("-") for option, _ in given}
    if call.name == "dart" and any(
        option in {"o", "output"} and value in {"none", "show", "json"} for option, value in given
    ):
        return "harmless"
    if call.name in {"terraform", "tofu"}:  # `-check`: long options with one dash
        names = {word.lstrip("-").partition("=")[0] for word in words if isinstance(word, str) and word[:1] == "-"}
    if names & one.never or (one.only and not names & one.only) or names & {"help", "version"}:
        return "harmless" if call.name != "cargo" else ""  # `cargo clippy` builds
    if operands == ["-"]:
        return "harmless"
    left = [str(value) for option, value in given if option in _LEAVES_OUT]
    left += [word[1:] for word in operands if isinstance(word, str) and word.startswith("!")]
    return _written(call, one, operands[one.skip :], _left_out(call, left))


# Options that name what a formatter leaves out: files, folders, patterns of theirs, several with commas between.
_LEAVES_OUT = (
    "exclude", "extend-exclude", "force-exclude", "skip", "extend-skip", "skip-glob", "extend-skip-glob",
    "ignore-pattern", "ignore-files",
)  # fmt: skip


def _left_out(call: Call, values: list[str]) -> list[str]:
    """The files and folders that are left out, as absolute paths or as names that count everywhere."""
    found: list[str] = []
    for text in ",".join(values).replace("|", ",").split(",") if values and call.cwd is not None else ():
        one = text.strip(" ^$()").replace("\\.", ".").removesuffix("/**").removesuffix("/*").removeprefix("**/")
        one = one.strip("/") if not os.path.isabs(one) or not os.path.lexists(one) else one
        if one and not any(mark in one for mark in "*?[]{}\\"):
            found.append(one if "/" not in one else os.path.normpath(call.full(one)))
    return found


def _written(call: Call, one: Formatter, operands: list[Field], without: list[str]) -> str:
    """The files, and the folders with files of its kinds."""
    folders: list[str] = ["."] if one.here and not operands else []
    named = 0
    for word in operands:
        if not isinstance(word, str) or word == "-" or word.startswith("!") or call.cwd is None:
            continue  # what is not known is left to the audit: a formatter keeps a file's content
        path = word.removesuffix("...") if call.name == "go" else word
        if os.path.isdir(call.full(path)):
            folders.append(path)
        elif any(mark in path for mark in WILDCARDS) and not os.path.lexists(call.full(path)):
            call.write(matches(path))  # `prettier --write "src/**/*.ts"`
        else:
            call.write(path, merges=True)
            named += 1
    for kind in one.kinds:
        for folder in folders:
            place = Unknown((f"{folder.rstrip('/')}/",))
            packages = call.name == "cargo"  # it takes packages
            call.reading.doubt(call.text, place, call.cwd, end=kind, whole=packages, without=without)
    return "closed" if named and named == len(operands) else "open"
