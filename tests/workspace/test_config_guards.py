"""What `.dibs/config.toml` says to the guards: the defaults, every setting, and errors that name the setting."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, cast

import pytest

from dibs.errors import Invalid
from dibs.operations.core.policy import GUARDS, WORK
from dibs.workspace import config, config_guards, config_server
from dibs.workspace import known_clients as index
from tests.scratch import Shell

STRICT = [*GUARDS["strict"], *index.STRICT]


def read(folder: Path, text: str) -> dict[str, Any]:
    """What the guards are told by a config with this text."""
    path = folder / "config.toml"
    path.write_text(text)
    return cast("dict[str, Any]", config.parse(str(path))["policy"]["guards"])


def uncommented(template: str) -> str:
    """The template with all of its examples switched on: what stands behind `# ` and looks like a setting."""
    lines = []
    for line in template.splitlines():
        bare = line.removeprefix("# ")
        setting = bare.startswith(("[", '"')) or bare.partition(" = ")[0].isidentifier()
        lines.append(bare if setting else line)
    return "\n".join(lines)


# --- what holds where the file says nothing


def test_an_empty_file_and_no_file_give_the_defaults(tmp_path: Path) -> None:
    empty = read(tmp_path, "")
    assert empty == config.parse(str(tmp_path / "missing.toml"))["policy"]["guards"]
    assert {**empty, "deploy": {}} == {**GUARDS, "strict": STRICT}
    assert {".claude/settings.json", ".codex/rules"} <= set(empty["strict"]), "the clients' own files are strict too"
    assert (empty["on_doubt"], empty["across_worktrees"], empty["free"]) == ("deny", "warn", [])
    assert {".dibs/config.toml", ".dibs/rules.md", ".dibs/hook", "**/migrations/**"} <= set(empty["strict"])
    assert cast("object", empty["roles"]) == {"default": "", "assign": [], "named": {}}
    assert empty["deploy"] == config_guards.DEPLOY
    assert empty["deploy"]["commands"]["wrangler deploy"] == "wrangler"
    assert empty["deploy"]["protected"] == ["main", "master"]


def test_the_template_says_nothing_but_the_defaults(tmp_path: Path) -> None:
    made = config.TEMPLATE.format(id="w-1")
    assert read(tmp_path, made) == read(tmp_path, "")


def test_the_template_names_every_setting() -> None:
    """A setting that is not in the file that `dibs init` writes is found by nobody."""
    named = tomllib.loads(uncommented(config.TEMPLATE.format(id="w-1")))
    tables: dict[str, Any] = {**WORK, "deploy": config_guards.DEPLOY, "server": config_server.read({}, "config.toml")}
    assert [f"{name}.{key}" for name, table in tables.items() for key in table if key not in named[name]] == []


def test_every_example_in_the_template_is_a_setting_that_works(tmp_path: Path) -> None:
    guards = read(tmp_path, uncommented(config.TEMPLATE.format(id="w-1")))
    for key in ("on_doubt", "free", "across_worktrees"):
        assert guards[key] == GUARDS[key]
    assert guards["strict"] == [*STRICT, "deploy/"]
    assert guards["roles"] == {
        "default": "worker",
        "assign": [["lead", "orchestrator"]],
        "named": {
            "worker": {"write": ["reports/"], "tools": ["WebFetch"], "commit": False, "deploy": False},
            "reviewer": {"may": "worker"},
        },
    }
    assert set(guards["files"]) == set(config_guards.FILES)
    assert guards["deploy"]["commands"]["make ship"] == "prod"
    target = guards["deploy"]["targets"]["prod"]
    assert (target["branch"], target["ships"]) == ("main", ["site/**"])
    assert target["verify"].startswith("curl ")


# --- what it can say


def test_every_setting_arrives_as_it_was_written(tmp_path: Path) -> None:
    guards = read(
        tmp_path,
        """
        [guards]
        on_doubt = "allow"
        free = ["notes/", "**/*.log"]
        strict = ["deploy/", "!**/migrations/**"]
        across_worktrees = "block"
        keep = "14d"
        states = 5000000
        wait = "90s"
        [files]
        state = "docs/STATE.md"
        [roles]
        default = "worker"
        [roles.assign]
        "type:planner" = "orchestrator"
        "client:codex" = "writer"
        "subagents" = "worker"
        [roles.writer]
        write = ["docs/"]
        tools = ["Write"]
        commit = true
        deploy = false
        [deploy]
        commands = { "make ship" = "prod" }
        protected = ["release"]
        placeholders = []
        fetch_timeout = 5
        verify_timeout = 3600
        branch = "trunk"
        [deploy.targets.prod]
        verify = "make check"
        branch = "release"
        remote = "upstream"
        ships = ["site/**"]
        [deploy.targets.bare]
        """,
    )
    assert guards == {
        "on_doubt": "allow",
        "free": ["notes/", "**/*.log"],
        "strict": [*[pattern for pattern in STRICT if pattern != "**/migrations/**"], "deploy/"],
        "across_worktrees": "block",
        "keep": 14 * 86_400_000,
        "states": 5_000_000,
        "wait": 90_000,
        "files": {"state": "docs/STATE.md"},
        "roles": {
            "default": "worker",
            "assign": [["type:planner", "orchestrator"], ["client:codex", "writer"], ["subagents", "worker"]],
            "named": {"writer": {"write": ["docs/"], "tools": ["Write"], "commit": True, "deploy": False}},
        },
        "deploy": {
            "branch": "trunk",
            "remote": "",
            "commands": {**config_guards.COMMANDS, "make ship": "prod"},
            "protected": ["release"],
            "placeholders": [],
            "fetch_timeout": 5,
            "verify_timeout": 3600,
            "targets": {
                "prod": {"verify": "make check", "branch": "release", "remote": "upstream", "ships": ["site/**"]},
                "bare": {},
            },
        },
    }


@pytest.mark.parametrize("value", ["warn", "block", "ignore"])
def test_each_choice_for_working_trees_is_known(tmp_path: Path, value: str) -> None:
    assert read(tmp_path, f'guards.across_worktrees = "{value}"')["across_worktrees"] == value


def test_the_order_of_the_assignments_is_the_order_of_the_file(tmp_path: Path) -> None:
    names = ["z", "a", "subagents", "m*", "type:t", "client:c"]
    lines = "\n".join(f'"{name}" = "worker"' for name in names)
    assert [pattern for pattern, _ in read(tmp_path, f"[roles.assign]\n{lines}\n")["roles"]["assign"]] == names


def test_what_was_read_is_kept_and_read_again_when_the_file_changes(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"

    def load() -> Any:
        return config.load(str(path), str(tmp_path), str(tmp_path)).policy.guards

    path.write_text('[guards]\nfree = ["one/"]\n[roles.assign]\n"b" = "worker"\n"a" = "orchestrator"\n')
    first = load()
    assert first == load()  # the second comes from what was kept
    assert first["roles"]["assign"] == [["b", "worker"], ["a", "orchestrator"]]
    assert len(list(tmp_path.glob("config-*.json"))) == 1
    path.write_text('[guards]\nfree = ["one/", "two/"]\n')
    assert load()["free"] == ["one/", "two/"]


# --- what it cannot say

BAD = [
    ("guards = 5", "[guards] is a table"),
    ("[guards]\non_doubt = 'maybe'", "guards.on_doubt is one of deny, allow, not 'maybe'"),
    ("[guards]\non_doubt = ['deny']", "guards.on_doubt is one of deny, allow"),
    ("[guards]\nacross_worktrees = true", "guards.across_worktrees is one of warn, block, ignore, not True"),
    ("[guards]\nfree = 'docs/'", "guards.free is a list of texts"),
    ("[guards]\nfree = ['']", "guards.free is a list of texts"),
    ("[guards]\nstrict = [1]", "guards.strict is a list of texts"),
    ("[guards]\nstrct = ['a']", "[guards] has no setting 'strct'; it has on_doubt, free, strict, across_worktrees"),
    ("files = []", "[files] is a table"),
    ("[files]\nstate = 1", "files.state is a path below the repository's top"),
    ("[files]\nstate = ''", "files.state is a path below the repository's top"),
    ("[files]\nlessons = '/etc/passwd'", "files.lessons is a path below the repository's top"),
    ("[files]\ndecisions = 'docs/../../x'", "files.decisions is a path below the repository's top"),
    ("[files]\nplan = 'PLAN.md'", "[files] has no setting 'plan'; it has state, decisions, lessons"),
    ("roles = 'worker'", "[roles] is a table"),
    ("[roles]\ndefault = ['worker']", "roles.default is the name of a role"),
    ("[roles]\ndefault = 'wroker'", "there is no [roles.wroker]"),
    ("[roles]\nassign = ['lead']", "[roles.assign] has lines such as"),
    ("[roles.assign]\nlead = 1", "[roles.assign] has lines such as"),
    ("[roles.assign]\nlead = 'chief'", "there is no [roles.chief]"),
    ("[roles]\nworker = 'x'", "[roles.worker] is a table"),
    (
        "[roles.worker]\nwrites = ['x']",
        "[roles.worker] has no setting 'writes'; it has may, write, tools, commit, deploy",
    ),
    ("[roles.worker]\nwrite = 'x'", "roles.worker.write is a list of texts"),
    ("[roles.worker]\ntools = [1]", "roles.worker.tools is a list of texts"),
    ("[roles.worker]\ncommit = 'no'", "roles.worker.commit is true or false"),
    ("[roles.worker]\ndeploy = 0", "roles.worker.deploy is true or false"),
    ("deploy = 1", "[deploy] is a table"),
    ("[deploy]\nprotect = ['main']", "[deploy] has no setting 'protect'"),
    ("[deploy]\ncommands = ['make ship']", "deploy.commands has pairs such as"),
    ("[deploy]\ncommands = { 'make ship' = 3 }", "deploy.commands has pairs such as"),
    ("[deploy]\nprotected = 'main'", "deploy.protected is a list of texts"),
    ("[deploy]\nplaceholders = [true]", "deploy.placeholders is a list of texts"),
    ("[deploy]\nfetch_timeout = 0", "deploy.fetch_timeout is a number of seconds up to 3600"),
    ("[deploy]\nfetch_timeout = true", "deploy.fetch_timeout is a number of seconds up to 3600"),
    ("[deploy]\nverify_timeout = 3601", "deploy.verify_timeout is a number of seconds up to 3600"),
    ("[deploy]\nverify_timeout = '2m'", "deploy.verify_timeout is a number of seconds up to 3600"),
    ("[deploy]\ntargets = []", "[deploy.targets] is a table"),
    ("[deploy.targets]\nprod = 'x'", "[deploy.targets.prod] is a table"),
    ("[deploy.targets.prod]\nverfy = 'x'", "[deploy.targets.prod] has no setting 'verfy'"),
    ("[deploy.targets.prod]\nverify = ''", "deploy.targets.prod.verify is a text"),
    ("[deploy.targets.prod]\nbranch = 1", "deploy.targets.prod.branch is a text"),
    ("[deploy.targets.prod]\nships = 'site'", "deploy.targets.prod.ships is a list of texts"),
]


@pytest.mark.parametrize(("text", "said"), BAD)
def test_a_setting_that_makes_no_sense_is_named_with_its_file(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(Invalid) as refusal:
        read(tmp_path, text)
    path = str(tmp_path / "config.toml")
    assert refusal.value.message.startswith(f"{path}: ")
    assert said in refusal.value.message
    assert refusal.value.path == path


def test_a_bad_setting_refuses_every_command_with_its_name_and_changes_nothing(shell: Shell) -> None:
    path = shell.folder / ".dibs" / "config.toml"
    before = path.read_text()
    changed = before.replace("[guards]\n", '[guards]\non_doubt = "maybe"\n')
    assert changed != before
    path.write_text(changed)
    refused = shell.json("claim", "x.py", "--as", "a", exit=64)
    assert refused["error"]["code"] == "invalid"
    assert "guards.on_doubt is one of deny, allow, not 'maybe'" in refused["error"]["message"]
    path.write_text(before)
    assert shell.json("status", exit=0)["claims"] == []
