"""The commands that write no file of a working tree; any other may write anything.

An agent whose command can write nothing is not suspected when a file has changed. So a missing entry costs a doubt, and
a wrong entry costs a wrong answer. A command that writes only caches which git ignores (a linter's) counts as harmless.
The commands of writers.py name what they write; everything else is open.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.facts.shell.commands import Call

# With any arguments.
NAMES = frozenset((
    ".", ":", "[", "ack", "actionlint", "ag", "alias", "apropos", "arch", "b2sum", "b3sum", "bandit", "base32",
    "base64", "basename", "bat", "batcat", "bc", "bg", "bind", "blkid", "break", "builtin", "bzcat", "cal", "caller",
    "cat", "chgrp", "chmod", "chown", "cksum", "clear", "cloc", "cmp", "column", "comm", "command",
    "compgen", "complete", "compopt", "continue", "cppcheck", "cpplint", "csvcut", "csvlook", "csvstat", "cut",
    "date", "dc", "delta", "df", "diff", "diff3", "diffstat", "difft", "dig", "dircolors", "dirname", "dirs", "dmesg",
    "dmidecode", "dnsdomainname", "dpkg-query", "du", "dust", "echo", "egrep", "enable", "envsubst", "exa", "exit",
    "expand", "expr", "eza", "factor", "false", "fc", "fd", "fdfind", "fg", "fgrep", "figlet", "file", "find",
    "finger", "flake8", "fmt", "fold", "free", "fuser", "fzf", "getconf", "getent", "getfacl", "getopt", "gls",
    "golint", "grep", "groups", "hadolint", "hash", "head", "help", "hexdump", "hexyl", "history", "host", "hostid",
    "hostname", "hostnamectl", "htop", "id", "ifconfig", "info", "iostat", "ip", "ipcs", "jobs", "join", "jq",
    "jshint", "jsonlint", "kill", "killall", "last", "lastlog", "ldd", "less", "let", "locale", "locate", "logger",
    "logname", "look", "ls", "lsattr", "lsb_release", "lsblk", "lscpu", "lshw", "lsmod", "lsns", "lsof", "lspci",
    "lsusb", "luacheck", "man", "markdownlint", "md5", "md5sum", "mdls", "mkdir", "mktemp", "more", "mount",
    "mountpoint", "mpstat", "mypy", "namei", "nc", "netcat", "netstat", "nl", "nm", "nproc", "nslookup", "ntpq",
    "numfmt", "nvidia-smi", "objdump", "od", "otool", "paste", "pathchk", "pbcopy", "pgrep", "pidof", "ping", "pkill",
    "pmap", "popd", "pr", "printenv", "printf", "ps", "pstree", "pushd", "pwd", "pwdx", "pycodestyle", "pydocstyle",
    "pyflakes", "pylint", "pyright", "radon", "readelf", "readlink", "readonly", "realpath", "reset", "return", "rev",
    "rg", "ripgrep", "route", "sdiff", "seq", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "shasum",
    "shellcheck", "shopt", "shuf", "size", "sleep", "sloccount", "source", "ss", "stat", "staticcheck", "strings",
    "stty", "stylelint", "sum", "suspend", "sw_vers", "sync", "sysctl", "tac", "tail", "tempfile", "test", "tflint",
    "theme", "times", "tldr", "tload", "tmutil", "tokei", "top", "tput", "tr", "tracepath", "traceroute", "tree",
    "true", "tsort", "tty", "type", "ulimit", "umask", "unalias", "uname", "unexpand", "uniq", "uptime", "users",
    "uuidgen", "vmstat", "vulture", "w", "wait", "watch", "wc", "whatis", "whence", "whereis", "which", "who",
    "whoami", "whois", "xclip", "xsel", "xxd", "xzcat", "yamllint", "yes", "zcat", "zdiff", "zgrep",
    "zipinfo", "zless", "zmore",
))  # fmt: skip

# The names in the table of formatters.py, which is loaded only for them.
FORMATTERS = frozenset((
    "2to3", "add-trailing-comma", "autoflake", "autopep8", "biome", "black", "buf", "cargo", "clang-format",
    "cmake-format", "codespell", "dart", "deno", "djhtml", "djlint", "docformatter", "dprint", "eslint", "eslint_d",
    "go", "gofmt", "gofumpt", "goimports", "golines", "google-java-format", "isort", "jscodeshift", "ktlint",
    "markdownlint", "mix", "nixfmt", "php-cs-fixer", "phpcbf", "prettier", "prettierd", "pyupgrade", "rubocop",
    "ruff", "rustfmt", "sd", "shfmt", "sort-package-json", "sqlfluff", "standard", "stylelint", "stylua",
    "swiftformat", "taplo", "terraform", "tofu", "xo", "yapf", "zig",
))  # fmt: skip

# The names in the table of managers.py, which is loaded only for them.
MANAGERS = frozenset((
    "bun", "bundle", "cargo", "composer", "go", "mix", "npm", "pipenv", "pnpm", "poetry", "uv", "yarn",
))  # fmt: skip

# Programs with subcommands → those subcommands that only read, or act elsewhere.
COMMANDS: dict[str, frozenset[str]] = {
    "apt": frozenset(("list", "search", "show", "policy", "depends")),
    "apt-cache": frozenset(("search", "show", "policy", "depends", "madison")),
    "brew": frozenset(("list", "info", "search", "deps", "outdated", "config", "doctor", "--prefix")),
    "bun": frozenset(("pm",)),
    "bundle": frozenset(("list", "info", "show", "outdated", "check")),
    "cargo": frozenset(("tree", "metadata", "search", "locate-project", "pkgid", "verify-project", "info")),
    "composer": frozenset(("show", "info", "outdated", "validate", "licenses")),
    "conda": frozenset(("list", "info", "env", "search", "config")),
    "docker": frozenset((
        "ps", "logs", "images", "inspect", "info", "version", "stats", "top", "port", "history", "diff", "search",
        "stop", "kill", "rm", "rmi", "pause", "unpause", "restart", "start", "pull", "push", "tag", "events",
        "wait", "network", "volume", "context", "system",
    )),
    "gem": frozenset(("list", "search", "info", "env", "outdated", "which")),
    "gh": frozenset(("auth", "api", "issue", "label", "search", "status", "workflow", "secret", "variable", "config")),
    "glab": frozenset(("auth", "api", "issue", "label")),
    "go": frozenset(("version", "env", "list", "doc", "vet", "help", "tool")),
    "helm": frozenset(("list", "status", "history", "get", "show", "search", "version", "env", "template", "lint")),
    "heroku": frozenset(("logs", "ps", "apps", "config", "releases", "info")),
    "journalctl": frozenset(),
    "kubectl": frozenset((
        "get", "describe", "logs", "top", "explain", "version", "api-resources", "api-versions", "cluster-info",
        "config", "auth", "events", "diff", "rollout", "wait", "scale", "delete", "apply", "port-forward",
    )),
    "mvn": frozenset(("dependency:tree", "help:effective-pom", "-version")),
    "npm": frozenset((
        "ls", "list", "view", "info", "show", "outdated", "config", "root", "prefix", "bin", "search", "whoami", "ping",
        "explain", "why", "fund", "docs", "repo", "owner", "token", "help", "query", "la", "ll",
    )),
    "pip": frozenset(("list", "show", "freeze", "check", "index", "config", "debug", "inspect", "help", "search")),
    "pipenv": frozenset(("graph", "check", "verify")),
    "pnpm": frozenset(("ls", "list", "view", "info", "outdated", "why", "root", "bin", "licenses")),
    "poetry": frozenset(("show", "check", "env", "about", "search", "config")),
    "redis-cli": frozenset(("ping", "get", "keys", "info", "scan", "ttl", "type")),
    "rustup": frozenset(("show", "toolchain", "which", "component", "target", "check")),
    "systemctl": frozenset((
        "status", "is-active", "is-enabled", "list-units", "show", "cat", "restart", "start", "stop",
    )),
    "terraform": frozenset(("version", "show", "output", "validate", "state", "providers", "graph")),
    "tmux": frozenset((
        "ls", "list-sessions", "list-panes", "list-windows", "capture-pane", "kill-session", "kill-server",
        "has-session", "display-message",
    )),
    "uv": frozenset(("tree", "version", "cache", "python", "self")),
    "yarn": frozenset(("list", "info", "why", "outdated", "versions", "config")),
}  # fmt: skip
COMMANDS["pip3"], COMMANDS["apt-get"], COMMANDS["docker-compose"] = (
    COMMANDS["pip"], COMMANDS["apt"], frozenset(("ps", "logs", "config", "images", "top", "stop", "down", "port")),
)  # fmt: skip

# Programs that only read unless one of these words is among their arguments.
UNLESS: dict[str, tuple[str, ...]] = {
    "ast-grep": ("-U", "--update-all", "-i", "--interactive", "new"),
    "crontab": ("-e", "-r", "-"),
    "dpkg": ("-i", "--install", "-r", "-P", "-x", "--extract", "--unpack", "-b"),
    "eslint": ("--init",),
    "exiftool": ("-overwrite_original",),
    "http": ("-d", "--download", "-o", "--output"),
    "https": ("-d", "--download", "-o", "--output"),
    "journalctl": ("--rotate", "--vacuum-time", "--vacuum-size"),
    "mysql": (),
    "nvm": ("install", "uninstall"),
    "openssl": ("-out", "-keyout"),
    "psql": ("-o", "--output", "-L"),
    "ruff": ("--add-noqa", "-w", "--watch", "-o", "--output-file"),
    "sg": ("-U", "--update-all", "-i", "--interactive", "new"),
    "ssh": (),
    "ssh-add": (),
    "ssh-keygen": ("-f", "-t"),
    "ty": (),
    "xdg-open": (),
    "xmllint": ("-o", "--output"),
    "yq": ("-i", "--inplace"),
}

# Programs that only read if one of these words is among their arguments.
IF: dict[str, tuple[str, ...]] = {
    "cargo": ("--check",),
    "tsc": ("--noEmit", "--showConfig", "--listFiles"),
    "vue-tsc": ("--noEmit",),
}

_ASKS = (["--version"], ["--help"], ["-V"], ["-v"], ["version"], ["-h"], ["help"], ["-version"])
_SOURCED = ("activate", ".bashrc", ".bash_profile", ".profile", ".zshrc", "nvm.sh", ".env", "env", ".envrc", "env.sh")
# dibs commands that run other programs or restore contents.
_DIBS_OPEN = frozenset(
    ("restore", "init", "worker", "lead", "deploy", "up", "undo", "import", "land", "demo", "doctor")
)


def judge(call: Call) -> None:
    """Note whether a command may write files that it does not name, and whether it leaves something running."""
    words = [word if isinstance(word, str) else "" for word in call.words[1:]]
    if call.name in FORMATTERS:
        from dibs.facts.shell import formatters as shell_formatters

        found = shell_formatters.judge(call)
        if found:
            call.reading.opened = call.reading.opened or found == "open"
            return
    if not (_writes_by_name(call, words) or is_harmless(call, words)):
        call.reading.opened = True
        _outputs(call)
        if call.name in MANAGERS:
            from dibs.facts.shell import managers as shell_managers

            shell_managers.rewritten(call)
    if _leaves(call.name, words):
        call.reading.detached = True


def is_harmless(call: Call, words: list[str]) -> bool:
    """Does this command, with these words, write no file of a working tree?"""
    name = call.name
    if words in _ASKS:
        return True
    rule = _RULES.get(name)
    if rule is not None:
        return rule(call, words)
    if name in NAMES:
        return True
    if name in UNLESS:
        return not any(word in words for word in UNLESS[name])
    if name in IF and any(word in words for word in IF[name]):
        return True
    if name in COMMANDS:
        first = next((word for word in words if word and not word.startswith("-")), words[0] if words else "")
        return first in COMMANDS[name]
    return False


def _outputs(call: Call) -> None:
    """The files that an open program is told to write: a doubt for each that is there, and may be another agent's.

    Nothing is claimed for what a compiler makes; and a word after `-o` may be a format (`--output json`).
    """
    more = _MORE_OUTPUTS.get(call.name, ()) if call.name != "conda" or "export" in call.words else ()
    for index, word in enumerate(call.words[1:], 1):
        if not isinstance(word, str) or not word.startswith("-"):
            continue
        option, equals, value = word.partition("=")
        if option in _OUTPUTS or option in more:
            path = value if equals else call.words[index + 1] if index + 1 < len(call.words) else ""
        else:
            path = word[2:] if word.startswith("-o") else ""
        if isinstance(path, str) and path and call.cwd is not None and os.path.isfile(call.full(path)):
            call.reading.may_write(call.text, call.full(path))


_OUTPUTS = frozenset((
    "--junit-xml", "--junitxml", "--log-file", "--out", "--out-file", "--outFile", "--outfile", "--output",
    "--output-file", "--output-path", "--result-file", "-o", "-out",
))  # fmt: skip
_MORE_OUTPUTS = {"conda": ("-f", "--file"), "gh": ("-O",), "mysqldump": ("-r",), "pg_dump": ("-f", "--file"),
                 "ssh-keygen": ("-f",)}  # fmt: skip


def _writes_by_name(call: Call, words: list[str]) -> bool:
    """Is it a program of perl that touches only the files its words name?"""
    program = " ".join(words)
    return call.name == "perl" and not any(sign in program for sign in _PROGRAMS)


# In a program of perl: these start programs, open files or load what does.
_PROGRAMS = (
    "system(", "system ", "exec ", "exec(", "open(", "open ", "unlink", "rename", "print >", "qx", "`", "copy(",
    "move(", "copy ", "move ", "truncate", "link(", "File::", "Path::", "IO::", "rmtree", "make_path", "write_file",
    "spew",
)  # fmt: skip

# ------------------------------------------------------------------------------------------------------------------
# One by one


def _source(_call: Call, words: list[str]) -> bool:
    """`source x`: a file that sets up a shell does not write."""
    return bool(words) and os.path.basename(words[0]) in _SOURCED


def _git(call: Call, _words: list[str]) -> bool:
    """Git: by its effects on files; a commit runs hooks, and a formatter's hook changes files."""
    from dibs.facts.git import effects

    found = effects.effect([word if isinstance(word, str) else None for word in call.words], call.cwd)
    if found is None or found.dry:
        return True
    if found.kind == "unknown":
        return False
    if found.kind in {"rm", "mv"} and not found.unknown and not found.all:
        return True  # edits of the files that it names
    if found.tree and found.paths and not found.unknown and not found.all and found.kind in {"checkout", "restore"}:
        return found.cwd is not None and all(os.path.isfile(os.path.join(found.cwd, path)) for path in found.paths)
    if found.kind == "commit":
        return found.cwd is not None and not _formats(found.cwd)
    return not found.tree and found.kind not in {"push", "submodule", "worktree", "bisect", "filter-branch", "gc"}


_MANAGERS = (".pre-commit-config.yaml", ".husky", "lefthook.yml", "lefthook.yaml", ".lefthook.yml", ".overcommit.yml")


def _formats(cwd: str) -> bool:
    """Does this repository run formatters at a commit?"""
    from dibs.facts.shell.outputs import top

    where = top(cwd)
    if where is None or any(os.path.exists(os.path.join(where, name)) for name in _MANAGERS):
        return True
    from dibs.facts.workspace import common_of

    try:
        with open(f"{common_of(where)}/hooks/pre-commit", encoding="utf-8", errors="replace") as file:
            lines = [line.strip() for line in file]
    except OSError:
        return False
    if "# dibs:end" in lines:  # what follows is the repository's own
        lines = lines[lines.index("# dibs:end") + 1 :]
    return any(line and not line.startswith("#") for line in lines)


def _dibs(_call: Call, words: list[str]) -> bool:
    verb = next((word for word in words if not word.startswith("-")), "")
    return verb not in _DIBS_OPEN


def _gh(_call: Call, words: list[str]) -> bool:
    noun, verb = ([word for word in words if not word.startswith("-")] + ["", ""])[:2]
    if noun in {"pr", "mr"}:
        return verb not in {"checkout", "co", "merge"}
    if noun in {"run", "release", "repo", "gist"}:
        return verb not in {"download", "clone", "sync", "fork"}
    return noun in COMMANDS["gh"]


def _docker(_call: Call, words: list[str]) -> bool:
    plain = [word for word in words if not word.startswith("-")]
    if plain[:1] == ["compose"]:
        return bool(plain[1:]) and plain[1] in COMMANDS["docker-compose"]
    return bool(plain) and plain[0] in COMMANDS["docker"]


def _fd(_call: Call, words: list[str]) -> bool:
    return not any(word in {"-x", "-X", "--exec", "--exec-batch"} for word in words)


def _rg(_call: Call, words: list[str]) -> bool:
    return not any(word.startswith("--pre") for word in words)


def _conda(_call: Call, words: list[str]) -> bool:
    """`conda env export -f FILE` writes it; other subcommands read such a file."""
    plain = [word for word in words if not word.startswith("-")]
    if "export" in plain[:2]:
        return not any(word.startswith(("-f", "--file")) for word in words)
    return bool(plain) and plain[0] in COMMANDS["conda"]


def _watch(_call: Call, _words: list[str]) -> bool:
    return False  # it runs another command again and again


_RULES: dict[str, Callable[[Call, list[str]], bool]] = {
    ".": _source,
    "conda": _conda,
    "dibs": _dibs,
    "docker": _docker,
    "fd": _fd,
    "fdfind": _fd,
    "gh": _gh,
    "git": _git,
    "glab": _gh,
    "rg": _rg,
    "source": _source,
    "watch": _watch,
}

# ------------------------------------------------------------------------------------------------------------------
# What keeps running

_DAEMONS = frozenset(("at", "batch", "daemon", "daemonize", "disown", "start-stop-daemon", "systemd-run"))
_DETACHED = (
    "-d",
    "--detach",
    "-dm",
    "-dmS",
    "-D",
    "--daemonize",
    "--daemon",
    "-itd",
    "-dit",
    "-td",
    "-di",
    "-dt",
    "-id",
)


def _leaves(name: str, words: list[str]) -> bool:
    """Does this command keep running after its shell has ended?"""
    if name in _DAEMONS:
        return True
    if name in {"tmux", "screen"}:
        return any(word in _DETACHED for word in words)
    if name in {"docker", "docker-compose", "podman", "nerdctl"}:
        return any(word in _DETACHED for word in words) and any(word in {"up", "run", "exec"} for word in words)
    return name == "pm2" and words[:1] in (["start"], ["restart"], ["reload"])
