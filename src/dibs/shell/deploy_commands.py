"""Recognises deploy commands: by their own words, and in the scripts that run them.

The words of a command are compared with patterns (`kubectl apply`, `gcloud * deploy`: the config has them). `npm run`,
`make X`, `just X`, `bash F` and `./F` are looked up in package.json, the Makefile, the justfile and the file; the
commands they run are read like typed commands. A script whose name says deploy counts too, because its commands may be
in no table. A script that runs `dibs deploy` itself does not count: that is the guarded way.

Read-only. A file is read only for a command that names it, and parsed only if the name of a deploy program is in it.
"""

from __future__ import annotations

import os

from dibs import shell
from dibs.machine import caller
from dibs.shell import Simple
from dibs.shell.programs import SHELLS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    Words = list[str]

ANY_WORDS = "*"  # in a pattern: any words
TARGET_BY_NAME = "production"  # the target of a script that is a deploy by its name alone
MAX_SCRIPT_BYTES = 200_000  # of a script that are searched
MAX_SCRIPT_DEPTH = 4  # scripts that run scripts
MAX_PARENT_FOLDERS = 12  # searched upward for a package.json or a Makefile
DEPLOY_WORDS = frozenset(("deploy", "redeploy", "rollout"))  # words that make a script's name a deploy
# … unless one of these is also a word of the name, or an argument,
TRIES = frozenset((
    "build", "check", "clean", "config", "dev", "diff", "docs", "dry", "help", "lint", "list", "local", "logs", "plan",
    "preview", "setup", "status", "test", "tests", "validate",
))  # fmt: skip
# … or one of these a word of the name: a part of a program, or what it makes.
PARTS = frozenset((
    "fixture", "fixtures", "helper", "helpers", "lib", "mock", "notes", "report", "schema", "spec", "types", "util",
    "utils",
))  # fmt: skip
DRY = (
    "--dry-run", "--dryrun", "--dry", "--help", "-h", "-help", "--version", "--check", "--syntax-check", "--build-only",
    "--list-tasks", "--list-hosts", "--noop", "--what-if", "--diff-only", "--no-execute-changeset",
)  # fmt: skip
REAL = frozenset(("none", "false", "no", "0"))  # values of such an option that switch it off
# Programs with words of their own for a try.
DRY_OF = {
    "ansible-playbook": ("-C",), "goreleaser": ("--snapshot",), "gh": ("--draft",), "vercel": ("-v",),
    "surge": ("list", "login", "logout", "plus", "token", "whoami"),
}  # fmt: skip
# Other names of a program: those of its package, of its wrapper, short ones.
ALIASES = {
    "aws-cdk": "cdk", "firebase-tools": "firebase", "flyctl": "fly", "gradlew": "gradle", "mvnw": "mvn",
    "netlify-cli": "netlify", "ntl": "netlify", "vc": "vercel",
}  # fmt: skip
INTERPRETERS = frozenset(("deno", "node", "perl", "php", "python", "python3", "ruby", "ts-node", "tsx"))
PACKAGES = frozenset(("npm", "yarn", "pnpm", "bun"))
MAKES = {
    "make": ("GNUmakefile", "makefile", "Makefile"), "gmake": ("GNUmakefile", "makefile", "Makefile"),
    "just": ("justfile", "Justfile", ".justfile"), "task": (), "mise": (), "rake": (), "invoke": (),
}  # fmt: skip
RUN = frozenset(("run", "run-script", "rum", "urn"))
SCRIPTS = frozenset((*PACKAGES, *MAKES, *SHELLS))  # programs that run scripts
CALLERS = frozenset((*PACKAGES, *MAKES))  # programs that run a script by its name, without a file name
# A deploy only with such a destination, and of more than one file.
UPLOADS = {"aws": "s3://", "gsutil": "gs://", "gcloud": "gs://"}
WHOLE_FOLDERS = frozenset(("-r", "-R", "--recursive", "sync", "rsync"))
VERCEL_VALUES = (
    "-t",
    "--token",
    "-S",
    "--scope",
    "--cwd",
    "-A",
    "--local-config",
    "-e",
    "--env",
    "-b",
    "--build-env",
    "-m",
)
SERVED = frozenset(("www", "html", "htdocs", "nginx", "public_html", "srv"))  # folders of a host that a server serves
LIVE = frozenset((
    "daemonset", "deploy", "deployment", "deployments", "ds", "ingress", "service", "statefulset", "sts", "svc",
))  # fmt: skip
PUSHED = frozenset(("heroku", "dokku", "piku", "production", "prod", "staging", "clever", "gigalixir", "scalingo"))


def spelled(patterns: Mapping[str, str]) -> dict[str, str]:
    """The patterns with each word normalised for comparison: `./ship.sh*` means `./ship.sh`."""
    return {
        " ".join(word.rstrip(ANY_WORDS) or ANY_WORDS for word in pattern.split()): to
        for pattern, to in patterns.items()
    }


def names(patterns: Mapping[str, str]) -> set[str]:
    """The programs that the patterns begin with."""
    return {pattern.split(None, 1)[0].rpartition("/")[2] for pattern in patterns if pattern.strip()}


def may_be(simple: Simple, programs: set[str]) -> bool:
    """May this be a deploy? A cheap first test that reads no file."""
    first = simple.words[0] if simple.words else None
    if not first:
        return False
    if first in programs or ALIASES.get(first) in programs or first in SCRIPTS or first == "git":
        return True
    return first in INTERPRETERS or _is_file(first, simple.text)


def find(commands: Sequence[Simple], patterns: Mapping[str, str], here: str, depth: int = 0) -> list[list[str]]:
    """The commands that deploy, as typed, with their targets."""
    found = []
    for simple in commands:
        target = _target(simple, patterns, here, depth)
        if target:
            words = [word if word is not None else "…" for word in simple.words]
            found.append([simple.text or " ".join(words), target])
    return found


def _target(simple: Simple, patterns: Mapping[str, str], here: str, depth: int) -> str:
    """Where a command deploys to; "" if it does not."""
    words = [word if word is not None else "…" for word in simple.words]
    words = _as_called(words)
    if not words or any(map(_is_dry, words[1:])) or not set(words[1:]).isdisjoint(DRY_OF.get(words[0], ())):
        return ""
    for pattern, target in patterns.items():
        if target and _speaks_of(pattern.split(), words) and _really(pattern, words, simple.assignments):
            return target
    cwd = simple.cwd or here
    if depth >= MAX_SCRIPT_DEPTH:
        return ""
    if words[0] in PACKAGES:
        return _package(words, patterns, cwd, depth)
    if words[0] in MAKES:
        return _made(words, patterns, cwd, depth)
    if words[0] == "git":
        return _pushed(words)
    if words[0] in INTERPRETERS:
        return _interpreted(words, cwd)
    path = _script(words, simple.text, cwd)
    return _file(path, words, patterns, cwd, depth) if path else ""


def _as_called(words: Words) -> Words:
    """The program by its usual name: without a folder, behind `python -m`, for the name of its package."""
    if not words:
        return words
    first = words[0].rpartition("/")[2]
    if first in {"python", "python3"} and words[1:2] == ["-m"] and len(words) > 2:  # noqa: PLR2004
        return words[2:]
    return [ALIASES.get(first, first), *words[1:]]


def _is_dry(word: str) -> bool:
    name, sign, value = word.partition("=")
    return name in DRY and not (sign and value in REAL)


def _speaks_of(wanted: Sequence[str], words: Words) -> bool:
    """Do the words begin with the pattern?"""
    return matched_words(wanted, words, str.__eq__) >= len(wanted)


def matched_words(pattern: Sequence[str], words: Words, fits: Callable[[str, str], bool]) -> int:
    """How far the words go along a pattern before something else comes; -1 if another word is in between.

    Options and their values in between are ignored.
    """
    if not pattern or not fits(pattern[0].rpartition("/")[2], words[0]):
        return -1
    place, skip, after_option = 1, False, False
    for word in words[1:]:
        while place < len(pattern) and pattern[place] == ANY_WORDS:
            place, skip = place + 1, True
        if place >= len(pattern):
            break
        if fits(pattern[place], word):
            place, skip, after_option = place + 1, False, False
        elif word.startswith("-"):
            after_option = "=" not in word
        elif skip or after_option:
            after_option = False
        else:
            return -1
    return place


def _really(pattern: str, words: Words, assignments: Mapping[str, str | None]) -> bool:
    """The target, for commands whose pattern alone does not give it."""
    last = pattern.rsplit(maxsplit=1)[-1]
    operands = [word for word in words[1:] if not word.startswith("-")]
    if words[0] in UPLOADS and last in {"sync", "rsync", "cp"}:
        to = next((word for word in reversed(operands) if "/" in word or word == "…"), "")
        bucket = to.startswith(UPLOADS[words[0]]) or to == "…" or "$" in to
        return bucket and not WHOLE_FOLDERS.isdisjoint(words)
    if words[0] in {"rsync", "scp"}:
        return _is_served(operands[-1] if operands else "") and not any(
            word[:1] == "-" and word[:2] != "--" and "n" in word for word in words
        )
    if words[0] == "kubectl" and last in {"create", "delete"}:  # of what runs there, not of a pod to look at things
        files = any(word in {"-f", "-k"} or word.startswith(("--filename", "--kustomize")) for word in words)
        return files or (last == "delete" and any(word.partition("/")[0] in LIVE for word in operands))
    if pattern == "gh workflow run":
        return any(map(_is_deploy, operands[2:]))
    if words[0] in {"docker", "docker-compose"} and "up" in pattern.split():
        remote = ("--context", "-c", "-H", "--host")
        given = [word.partition("=")[0] for word in words[1:]]
        end = given.index("up") if "up" in given else len(given)
        set_ = ("DOCKER_HOST", "DOCKER_CONTEXT")
        return any(word in remote for word in given[:end]) or any(name in assignments for name in set_)
    if pattern == "vercel":  # without a command of its own, or with a folder: `vercel build` builds
        place = next(iter(_operands(words, VERCEL_VALUES)), ".")
        return place == "." or "/" in place
    return True


def _is_served(place: str) -> bool:
    """`host:/var/www/app`: a folder of another machine that a server serves."""
    host, colon, path = place.partition(":")
    return bool(colon) and "/" not in host and not SERVED.isdisjoint(path.split("/"))


def _pushed(words: Words) -> str:
    """`git push heroku main`: a remote that is a platform."""
    operands = [word for word in words[1:] if not word.startswith("-")]
    at = operands.index("push") if "push" in operands else -1
    remote = operands[at + 1] if 0 <= at < len(operands) - 1 else ""
    return remote if remote in PUSHED and "-n" not in words else ""


# --- the lines of scripts, for whoever looks for other commands in them


def lines_of(words: Words, text: str, cwd: str) -> list[str]:
    """The lines that a command runs by naming a script: of package.json, a Makefile, a justfile, a shell script."""
    words = _as_called(words)
    if words[0] in PACKAGES:
        name, _ = _named_script(words)
        scripts = _package_scripts(cwd) if name else None
        return [scripts[one] for one in (f"pre{name}", name, f"post{name}") if one in scripts] if scripts else []
    if words[0] in MAKES:
        return _recipe_lines(words, cwd)[0]
    path = _script(words, text, cwd)
    script = _read(path) if path else None
    if script is None or (not script.startswith("#!") and not path.endswith((".sh", ".bash"))):
        return []
    if script.startswith("#!") and "sh" not in script.partition("\n")[0]:
        return []
    return [line for line in map(str.strip, script.replace("\\\n", " ").split("\n")) if line[:1] not in {"#", ""}]


def _named_script(words: Words) -> tuple[str, bool]:
    """The script that a package manager runs, and whether it says `run`. npm's own: `npm test`, `npm start`."""
    operands = _operands(words, ("-w", "--workspace", "--prefix", "-C", "--dir", "--cwd", "-F", "--filter"))
    runs = bool(operands) and operands[0] in RUN
    name = operands[1] if runs and len(operands) > 1 else operands[0] if operands and not runs else ""
    return name, runs


# --- scripts by name


def _is_deploy(name: str) -> bool:
    """Does this name say deploy?"""
    stem = name.rpartition("/")[2].lower()
    for sign in "-_:.":
        stem = stem.replace(sign, " ")
    parts = set(stem.split())
    return bool(parts & DEPLOY_WORDS) and not parts & TRIES and not parts & PARTS


def _package(words: Words, patterns: Mapping[str, str], cwd: str, depth: int) -> str:
    """`npm run X`, `yarn X`: package.json's script X."""
    operands = _operands(words, ("-w", "--workspace", "--prefix", "-C", "--dir", "--cwd", "-F", "--filter"))
    name, runs = _named_script(words)
    if operands[:1] in (["dlx"], ["exec"]):  # a program by its package: `wrangler@3`
        rest = words[words.index(operands[0]) + 1 :]
        program = next((word for word in rest if not word.startswith("-")), "")
        return _target(Simple([program.partition("@")[0], *rest[rest.index(program) + 1 :]], cwd, "", {}), patterns,
                       cwd, depth + 1) if program else ""  # fmt: skip
    if not name or (not runs and words[0] == "npm"):
        return ""
    scripts = _package_scripts(cwd)
    if scripts is None:
        return TARGET_BY_NAME if runs and _is_deploy(name) else ""
    if name not in scripts and words[0] != "npm":  # `yarn wrangler`: a program of the packages
        return _target(Simple([*words[words.index(name) :]], cwd, "", {}), patterns, cwd, depth + 1)
    lines = [scripts[one] for one in (f"pre{name}", name, f"post{name}") if one in scripts]
    return _text("\n".join(lines), patterns, cwd, depth) or (
        TARGET_BY_NAME if name in scripts and _by_name(name, lines) else ""
    )


def _by_name(name: str, lines: Sequence[str]) -> bool:
    return _is_deploy(name) and not any("dibs deploy" in line for line in lines)


def _package_scripts(cwd: str) -> dict[str, str] | None:
    """The scripts of the nearest package.json; None if there is none."""
    text = _upward(cwd, ("package.json",))
    if text is None:
        return None
    from dibs import jsontext

    try:
        scripts = jsontext.decode(text).get("scripts", {})
    except (ValueError, AttributeError):
        return None
    return {name: line for name, line in scripts.items() if isinstance(line, str)} if isinstance(scripts, dict) else {}


def _made(words: Words, patterns: Mapping[str, str], cwd: str, depth: int) -> str:
    """`make X`, `just X`: the recipe of X and of its prerequisites."""
    lines, goals = _recipe_lines(words, cwd)
    found = _text("\n".join(lines), patterns, cwd, depth)
    return found or (TARGET_BY_NAME if any(_by_name(goal, lines) for goal in goals) else "")


def _recipe_lines(words: Words, cwd: str) -> tuple[list[str], list[str]]:
    """The lines of the goals' recipes and of their prerequisites'; the goals."""
    if words[0] in {"make", "gmake"} and any(word in {"-n", "--just-print", "--recon", "-q"} for word in words):
        return [], []
    folder = _option(words, ("-C", "--directory", "-d", "--working-directory"))
    cwd = os.path.join(cwd, folder) if folder else cwd
    goals = [
        word
        for word in _operands(words, ("-C", "-f", "--file", "--directory", "-j", "-I", "-d", "-t"))
        if "=" not in word
    ]
    file = _option(words, ("-f", "--file", "--justfile"))
    text = (
        _upward(cwd, (file,) if file else MAKES[words[0]], up=words[0] == "just") if file or MAKES[words[0]] else None
    )
    recipes = dict(_recipes(text)) if text else {}
    if text and not goals and words[0] in {"make", "gmake"}:
        goals = [name for name in recipes if not name.startswith(".")][:1]
    wanted = list(goals)
    seen: set[str] = set()
    lines: list[str] = []
    while wanted and len(seen) < 100:  # noqa: PLR2004 - prerequisites, and their prerequisites
        name = wanted.pop(0)
        if name in recipes and name not in seen:
            needs, recipe = recipes[name]
            wanted += needs
            lines += recipe
        seen.add(name)
    return lines, goals


def _recipes(text: str) -> Iterator[tuple[str, tuple[list[str], list[str]]]]:
    """The rules of a Makefile or a justfile: name → prerequisites, and lines with simple variables expanded."""
    values: dict[str, str] = {}
    names_: list[str] = []
    needs: list[str] = []
    lines: list[str] = []
    for line in [*text.replace("\\\n", " ").split("\n"), "end:"]:
        if line[:1] in {"\t", " "} and names_ and line.strip():
            lines.append(_filled(line.strip().lstrip("@-+ "), values))
            continue
        bare = line.partition("#")[0].rstrip()
        head, sign, rest = bare.partition(":")
        name, equals, value = bare.removeprefix("export ").partition("=")
        name = name.rstrip(":?+! ")
        if equals and not any(mark in name for mark in " :"):
            values[name] = value.strip().strip("'\"")
        elif sign:
            for one in names_:
                yield one, (needs, lines)
            # a justfile's recipe has parameters after its name
            names_, needs, lines = head.lstrip("@").split(), rest.partition(";")[0].replace("|", " ").split(), []
            if ";" in rest:
                lines = [_filled(rest.partition(";")[2].strip(), values)]


def _filled(line: str, values: Mapping[str, str]) -> str:
    """A line of a recipe as the shell gets it: known variables of make expanded, others left out."""
    line = line.replace("$$", "\0")
    for opening, closing in (("$(", ")"), ("${", "}"), ("{{", "}}")):
        parts = line.split(opening)
        for place, part in enumerate(parts[1:], 1):
            name, found, rest = part.partition(closing)
            parts[place] = values.get(name.strip(), "") + rest if found else part
        line = "".join(parts)
    return line.replace("\0", "$")


# --- script files


def _is_file(first: str, text: str) -> bool:
    return first.endswith((".sh", ".bash")) or f"/{first}" in text or _is_deploy(first)


def _script(words: Words, text: str, cwd: str) -> str:
    """The file that `bash F` or `./F` runs; "" if none."""
    if words[0] in SHELLS:
        operands = [word for word in words[1:] if not word.startswith(("-", "+"))]
        inline = any(word.startswith("-") and not word.startswith("--") and set(word) & set("cn") for word in words[1:])
        return os.path.join(cwd, operands[0]) if operands and not inline else ""
    for word in text.split():
        if word.rpartition("/")[2] == words[0] and "/" in word:
            return os.path.join(cwd, _at_home(word))
    return os.path.join(cwd, words[0]) if words[0].endswith((".sh", ".bash")) else ""


def _at_home(word: str) -> str:
    """A word with the caller's home folder for `~/`."""
    home = caller.environ().get("HOME", "")
    return home.rstrip("/") + word[1:] if home and word.startswith("~/") else os.path.expanduser(word)


def _interpreted(words: Words, cwd: str) -> str:
    """`node scripts/deploy.js`, `python deploy.py`: a program whose name says deploy."""
    file = next((word for word in words[1:] if not word.startswith("-") and word != "run"), "")
    inline = any(word in {"-c", "-e", "-m", "-p"} for word in words[1:2])
    if inline or "." not in file or not _is_deploy(file) or any(word in TRIES for word in words[2:]):
        return ""
    return "" if "dibs deploy" in (_read(os.path.join(cwd, file)) or "") else TARGET_BY_NAME


def _file(path: str, words: Words, patterns: Mapping[str, str], cwd: str, depth: int) -> str:
    """The target of a shell script, from the commands it certainly runs or from its name."""
    if any(word in TRIES for word in words[1:]):
        return ""
    text = _read(path)
    if text is None:
        return (
            TARGET_BY_NAME if _is_deploy(path) and not os.path.exists(path) and path.endswith((".sh", ".bash")) else ""
        )
    if "dibs deploy" in text or (not text.startswith("#!") and not path.endswith((".sh", ".bash"))):
        return ""
    if _is_deploy(path):
        return _text(text, patterns, cwd, depth) or TARGET_BY_NAME
    if text.startswith("#!") and "sh" not in text.partition("\n")[0]:
        return ""
    # An indented line is in a branch or a function, which may not run.
    sure = [line for line in text.replace("\\\n", " ").split("\n") if line[:1] not in {" ", "\t", "#", ""}]
    for line in sure:
        found = _text(line, patterns, cwd, depth)
        if found:
            return found
    return ""


def _text(text: str, patterns: Mapping[str, str], cwd: str, depth: int) -> str:
    """Where a script deploys to; "" if it does not."""
    if "dibs deploy" in text:
        return ""
    wanted = [pattern.replace(ANY_WORDS, " ").split() for pattern in patterns]
    for line in text.replace("\\\n", " ").split("\n"):
        if _mentions(line, wanted):
            found = find(shell.read(line, cwd).commands, patterns, cwd, depth + 1)
            if found:
                return found[0][1]
    return ""


def _mentions(line: str, wanted: Sequence[Sequence[str]]) -> bool:
    """Does it contain all words of a pattern, or a call of another script? Only then is it parsed, which is slow."""
    begins = line
    for sign in "|&(`":
        begins = begins.replace(sign, ";")
    for part in begins.split(";"):
        if {word.rpartition("/")[2].lstrip("@") for word in part.split()[:3]} & CALLERS:
            return True
    for sign in "\t;|&()'\"@/`=":
        line = line.replace(sign, " ")
    words = set(line.split(" "))
    if any(_is_deploy(word) or word.endswith(".sh") for word in words):
        return True
    if "git" in words and "push" in words:
        return bool(words & PUSHED)
    return any(pattern[0].rpartition("/")[2] in words and words.issuperset(pattern[1:]) for pattern in wanted)


# --- words and files


def _operands(words: Words, with_value: Sequence[str]) -> Words:
    """The words without options and their values."""
    found, skip = [], False
    for word in words[1:]:
        if word == "--":
            break
        if skip:
            skip = False
        elif word.startswith("-"):
            skip = word in with_value
        else:
            found.append(word)
    return found


def _option(words: Words, given: Sequence[str]) -> str:
    for place, word in enumerate(words[:-1]):
        if word in given:
            return words[place + 1]
    return ""


def _upward(folder: str, files: Sequence[str], *, up: bool = True) -> str | None:
    """The nearest of these files."""
    for _ in range(MAX_PARENT_FOLDERS if up else 1):
        for name in files:
            text = _read(os.path.join(folder, name))
            if text is not None:
                return text
        above = os.path.dirname(folder)
        if above == folder:
            break
        folder = above
    return None


def _read(path: str) -> str | None:
    try:
        with open(path, "rb") as file:
            return file.read(MAX_SCRIPT_BYTES).decode(errors="replace")
    except OSError:
        return None
