# What can be done here. `make` lists it.

PYTHON ?= python3
JOBS ?= 4
CLIENTS ?= claude codex
FLEETS := tests/e2e/test_fleet.py tests/e2e/test_gates.py tests/e2e/test_waiting.py
TOOLS := tests/e2e/test_mcp.py tests/e2e/test_mcp_conformance.py
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.set-up

# Unless a Python was named, a python3 that is too old makes way for a newer one beside it.
ifeq ($(origin PYTHON),file)
PYTHONS := $(PYTHON) python3.14 python3.13 python3.12 python3.11
else
PYTHONS := $(PYTHON)
endif

# Tests that were compiled once need not be again, by each process of pytest in each run: 7 s of each of them.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo test slow e2e e2e-all frameworks lint format bench race corpus torture mutants generate stored docs site clean

help: ## list what can be done
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: $(STAMP) ## make .venv with dibs (editable) and the tools; PYTHON=… names the interpreter

demo: setup ## show what dibs does
	$(BIN)/dibs demo

test: setup ## run all tests but the slow ones, the torture and the real clients; JOBS=… processes
	$(BIN)/pytest -n $(JOBS) --dist worksteal

slow: setup ## run the tests that play whole programs for seconds: demos, patterns, benchmarks, long fault plays
	$(BIN)/pytest -n $(JOBS) --dist worksteal -m "slow and not torture and not clients"

e2e: setup ## drive the real Claude Code and Codex, which npm installs into .clients, with a scripted model
	$(BIN)/python -m tests.e2e.clients.install $(CLIENTS) mcp axe
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,e2e]'
	@found=0; $(BIN)/python -m tests.e2e.clients.browser || found=$$?; case $$found in \
	    0) $(BIN)/pytest -n 2 --dist worksteal -m clients tests/e2e/test_page.py ;; \
	    75) echo "e2e: the page NOT RUN: no browser could be had" ;; \
	    *) exit $$found ;; \
	esac
	@found=0; $(BIN)/python -m tests.e2e.clients.tmux || found=$$?; case $$found in \
	    0) $(BIN)/pytest -m clients tests/e2e/test_top.py ;; \
	    75) echo "e2e: top NOT RUN: tmux could not be had" ;; \
	    *) exit $$found ;; \
	esac
	$(BIN)/pytest -n 2 --dist worksteal -m clients $(FLEETS) $(CLIENTS:%=tests/e2e/test_%.py) $(TOOLS)

e2e-all: CLIENTS = claude codex gemini copilot opencode
e2e-all: FLEETS = tests/e2e/test_fleet.py tests/e2e/test_gates.py tests/e2e/test_waiting.py tests/e2e/test_fleet_of_four.py \
    tests/e2e/test_ten_worktrees.py
e2e-all: TOOLS += tests/e2e/test_mcp_gemini.py tests/e2e/test_claude_plugin.py tests/e2e/test_frameworks.py
e2e-all: frameworks e2e ## the same with Gemini, Copilot, OpenCode, the Claude Code plugin and the examples of frameworks

frameworks: setup # each in an environment of its own, below .clients
	$(BIN)/python -m tests.e2e.clients.frameworks

lint: setup ## rules, formatting and types; changes nothing
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: setup ## format the code and fix what can be fixed safely
	$(BIN)/ruff check --fix-only --exit-zero
	$(BIN)/ruff format

bench: setup ## measure, on an otherwise quiet machine; ARGS=… are its options (ARGS=--help)
	@$(BIN)/python -m compileall -q src
	$(BIN)/python -m benchmarks $(ARGS)

race: setup ## the same accidents for dibs, its peers from PyPI and the plain ways; ARGS=--write puts the table into docs
	$(BIN)/python -m benchmarks.race $(ARGS)

corpus: setup ## the shell reader and the guards over recorded commands, which are not run; CORPUS=FOLDER, ARGS=--refusals
	$(BIN)/python -m tools.corpus $(CORPUS) $(ARGS)

torture: UNLIMITED = -o faulthandler_exit_on_timeout=false
torture: export DIBS_TORTURE = 1
torture: export DIBS_HYPOTHESIS = torture
torture: setup ## everything with full figures, then what is too heavy for `make test`; takes long
	$(BIN)/pytest -n $(JOBS) $(UNLIMITED) -m "not torture and not clients and not mutants"
	$(BIN)/pytest $(UNLIMITED) -m torture

mutants: setup ## take out the lines that keep the promises, one by one; each time a test must fail
	$(BIN)/pytest -n $(JOBS) --dist worksteal -m mutants tests/mutants

generate: setup ## write the sources that are derived from the declarations of the operations
	$(BIN)/python -m tools.generate

stored: setup ## freeze a workspace of the present version for tests/stored; one that is there stays
	$(BIN)/python -m tests.stored.make

docs: setup ## write the outputs that documents show, and the pictures of the README, anew
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,docs]'
	$(BIN)/python -m tests.documents
	$(BIN)/python -m tools.pictures
	$(BIN)/python -m tools.dashboard

site: setup ## make the site of the documents in build/site; a link that leads nowhere fails it
	@$(BIN)/python -c 'import zensical' 2>/dev/null || \
	    $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[site]'
	$(BIN)/python -m tools.site

clean: ## remove everything that was made here
	rm -rf $(VENV) .clients build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find src tests benchmarks tools -name __pycache__ -type d -prune -exec rm -rf {} +

# --- how setup does it

$(STAMP): pyproject.toml bin/dibs
	@python=; old=; bare=; \
	for candidate in $(PYTHONS); do \
	    version=$$("$$candidate" -c 'import sys; print(*sys.version_info[:2], sep=".")' 2>/dev/null) || continue; \
	    if ! "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then \
	        old="$$old $$candidate ($$version)"; \
	    elif ! "$$candidate" -c 'import ensurepip, venv' 2>/dev/null; then \
	        bare="$$bare $$candidate ($$version)"; \
	    else \
	        python=$$candidate; break; \
	    fi; \
	done; \
	if [ -z "$$python" ]; then \
	    echo "dibs needs Python 3.11 or later with its venv module. Tried: $(PYTHONS)." >&2; \
	    if [ -n "$$old" ]; then echo "Too old:$$old." >&2; fi; \
	    if [ -n "$$bare" ]; then \
	        echo "Without venv or ensurepip:$$bare. On Debian and Ubuntu: apt install python3-venv." >&2; \
	    fi; \
	    echo "Name another one with: make setup PYTHON=/path/to/python3" >&2; \
	    exit 1; \
	fi; \
	if ! $(BIN)/python -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    echo "making $(VENV) with $$python ($$version) …"; \
	    "$$python" -m venv --clear $(VENV) || exit 1; \
	fi
	@echo "installing dibs and its tools into $(VENV) (pip; some 20 seconds the first time) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@$(BIN)/python -m compileall -q src
	@touch $@
	@echo "ready: $(BIN)/dibs"
