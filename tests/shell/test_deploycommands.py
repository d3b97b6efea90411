"""Deploy commands are recognised, in scripts too, and ordinary work is not taken for one: tests/corpora/deploys.txt."""

from __future__ import annotations

import builtins
import json
from pathlib import Path
from typing import Any

import pytest

from dibs import shell
from dibs.shell import deploy_commands
from dibs.workspace.config_guards import COMMANDS

CORPUS = Path(__file__).resolve().parent.parent / "corpora" / "deploys.txt"
SCRIPTS = {
    "build": "tsc -p . && node scripts/build.js", "test": "vitest run", "dev": "wrangler dev", "lint": "eslint .",
    "deploy": "npm run build && wrangler deploy", "deploy:prod": "node scripts/ship.js", "ship": "npm run deploy",
    "release": "standard-version && git push && npm publish", "deploy:check": "node scripts/check.js",
    "deploy:safe": "dibs deploy prod -- wrangler deploy", "predev": "echo dev",
}  # fmt: skip
MAKEFILE = """\
KUBECTL ?= kubectl
IMAGE := app:1
.PHONY: all test build deploy ship release safe
all: build test

build: src/app.py
\tdocker build -t $(IMAGE) .
test:
\tpytest -q $(ARGS)
deploy: build
\t./scripts/upload $(IMAGE)
ship: test
\t@$(KUBECTL) apply \\
\t  -f k8s/
release: build push
push: ; docker push $(IMAGE)
deploy-docs:
\tmkdocs build
safe:
\tdibs deploy prod -- kubectl apply -f k8s/
"""
JUSTFILE = "test:\n    pytest\n\nship env='prod': test\n    fly deploy -c {{env}}.toml\n"
FILES = {
    "package.json": json.dumps({"name": "app", "scripts": SCRIPTS}),
    "Makefile": MAKEFILE,
    "justfile": JUSTFILE,
    "deploy.sh": "#!/bin/sh\nrsync -a build/ host:/srv/app\n",
    "scripts/deploy.sh": "#!/bin/bash\nset -e\nkubectl apply -f k8s/\n",
    "scripts/deploy-prod.sh": "ssh host restart\n",
    "scripts/push-live.sh": "#!/usr/bin/env bash\nset -e\nnpm run build\nwrangler deploy\n",
    "scripts/safe-deploy.sh": "#!/bin/sh\ndibs deploy prod -- kubectl apply -f k8s/\n",
    "scripts/test.sh": "#!/bin/sh\n# kubectl apply comes later\npytest\n",
    "scripts/ci.sh": '#!/bin/sh\nif [ "$1" = live ]; then\n  kubectl apply -f k8s/\nfi\npytest\n',
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    made = tmp_path_factory.mktemp("app")
    for name, text in FILES.items():
        (made / name).parent.mkdir(exist_ok=True)
        (made / name).write_text(text)
    return str(made)


def corpus(sign: str) -> list[str]:
    """The lines of one kind."""
    return [line[2:] for line in CORPUS.read_text().splitlines() if line.startswith(f"{sign} ")]


def deploys(command: str, folder: str, patterns: dict[str, str] | None = None) -> list[list[str]]:
    """What the shell guard finds."""
    known = COMMANDS if patterns is None else patterns
    programs = deploy_commands.names(known)
    worth = [one for one in shell.read(command, folder).commands if deploy_commands.may_be(one, programs)]
    return deploy_commands.find(worth, known, folder)


def test_what_deploys_is_recognised(folder: str) -> None:
    assert [line for line in corpus("+") if not deploys(line, folder)] == []


def test_ordinary_commands_are_not_taken_for_deploys(folder: str) -> None:
    assert [(line, deploys(line, folder)) for line in corpus("-") if deploys(line, folder)] == []


def test_the_corpus_is_large_enough_to_say_something() -> None:
    assert len(corpus("+")) >= 60
    assert len(corpus("-")) >= 40
    lines = [*corpus("+"), *corpus("-")]
    assert len(set(lines)) == len(lines)


def test_the_target_is_that_of_what_the_script_runs(folder: str) -> None:
    assert deploys("make ship", folder) == [["make ship", "kubernetes"]]
    assert deploys("npm run ship", folder) == [["npm run ship", "wrangler"]]
    assert deploys("./deploy.sh", folder) == [["./deploy.sh", "server"]]
    assert deploys("scripts/deploy-prod.sh", folder) == [["scripts/deploy-prod.sh", deploy_commands.TARGET_BY_NAME]]


def test_a_pattern_of_the_config_counts_in_scripts_too(folder: str) -> None:
    assert deploys("make deploy-docs", folder, {"mkdocs build": "docs"}) == [["make deploy-docs", "docs"]]


def test_no_file_is_read_for_a_command_that_names_none(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Any] = []
    real = builtins.open

    def noted(path: Any, *more: Any, **named: Any) -> Any:
        read.append(path)
        return real(path, *more, **named)

    monkeypatch.setattr(builtins, "open", noted)
    for line in ("ls -la", "git status", "pytest -q", "kubectl get pods", "cat deploy.sh", "npm install", "npm ci"):
        deploys(line, folder)
    assert read == []


def test_scripts_that_call_each_other_in_a_circle_come_to_an_end(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text(json.dumps({"scripts": {"a": "npm run b", "b": "npm run a"}}))
    (tmp_path / "Makefile").write_text("a: b\n\tmake b\nb: a\n\tmake a\n")
    assert deploys("npm run a", str(tmp_path)) == []
    assert deploys("make a", str(tmp_path)) == []


@pytest.mark.parametrize("text", ["{", "[]", '{"scripts": 3}', '{"scripts": {"deploy": 7}}'])
def test_a_package_json_that_makes_no_sense_is_no_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "package.json").write_text(text)
    assert deploys("npm run build", str(tmp_path)) == []
    assert deploys("npm run deploy", str(tmp_path)) == deploys("npm run deploy", str(tmp_path / "nowhere"))


def test_a_star_at_the_end_of_a_word_means_whatever_follows() -> None:
    assert deploy_commands.spelled({"./ship.sh*": "prod", "gcloud * deploy*": "p"}) == {
        "./ship.sh": "prod",
        "gcloud * deploy": "p",
    }
