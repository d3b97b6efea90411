"""What is known of the tools of development: package managers, formatters, linters, interpreters, clients of services.

Rows like those of programs.py; rows.py says what they mean.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.shell.rows import Program

_COMPOSE = "ps logs config images top stop down port"
_DETACHES = "-d --detach -dm -dmS -D --daemonize --daemon -itd -dit -td -di -dt -id"
_HUB = "auth api issue label search status workflow secret variable config"
_INSTALLS = "add dedupe i install link remove rm un uninstall up update upgrade version"
_CHANGES = "audit+fix init pkg+delete pkg+fix pkg+set"
_SCRIPTS = ".js .jsx .ts .tsx .mjs .cjs .mts .cts .vue .svelte .astro"
_STYLES = ".css .scss .less"
_PYTHON = ".py .pyi"
_RUFF = "config line-length target-version select ignore extend-select"
_RUST = "p package manifest-path color target features"

_ROWS: dict[str, Program] = {
    (
        "actionlint cloc cppcheck cpplint csvcut csvlook csvstat delta difft dust exa eza figlet golint hadolint "
        "hexyl jshint jsonlint luacheck mysql nvidia-smi pyflakes radon shellcheck sloccount staticcheck tflint "
        "theme tldr tokei ty vulture yamllint"
    ): {"harmless": True},
    "2to3": {"formatter": {"only": "w write", "short": "fjxo", "long": "fix nofix output-dir", "kinds": ".py"}},
    "add-trailing-comma pyupgrade": {"formatter": {}},
    "apply_patch applypatch": {"writes": ("archives.apply_patch",)},
    "ast-grep sg": {"unless": "-U --update-all -i --interactive new"},
    "autoflake autopep8 cmake-format docformatter": {"formatter": {
        "only": "i in-place inplace", "long": "style config line-length max-line-length", "kinds": _PYTHON,
    }},
    "bandit flake8 mypy pycodestyle pydocstyle pylint pyright": {"harmless": True, "module": True},
    "biome": {"formatter": {
        "only": "write apply fix unsafe apply-unsafe", "long": "config-path stdin-file-path",
        "verbs": "format check lint", "kinds": f"{_SCRIPTS} {_STYLES} .json .jsonc .graphql", "here": True,
    }},
    "black": {"formatter": {
        "never": "check diff", "short": "lt", "long": "line-length target-version config exclude include workers code",
        "kinds": f"{_PYTHON} .ipynb",
    }},
    "brew": {"verbs": "list info search deps outdated config doctor --prefix"},
    "buf": {"formatter": {
        "only": "w write", "never": "d diff", "long": "config", "verbs": "format", "kinds": ".proto", "here": True,
    }},
    "bun": {
        "verbs": "pm",
        "manages": {
            "manifest": "package.json", "locks": "bun.lock bun.lockb", "verbs": _INSTALLS, "always": _CHANGES,
            "climbs": True, "folder": "--cwd",
        },
        "runs": ("runners.inline_program", "-e --eval", "x"),
    },
    "bundle": {
        "verbs": "list info show outdated check",
        "manages": {
            "manifest": "Gemfile", "locks": "Gemfile.lock", "verbs": "add install lock remove update", "always": "init",
            "bare": True, "climbs": True, "project": "--gemfile",
        },
        "runs": ("runners.subcommand", "exec"),
    },
    "bunx npx uvx": {"runs": ("runners.package",)},
    "cargo": {
        "verbs": "tree metadata search locate-project pkgid verify-project info", "only_with": "--check",
        "formatter": {
            "never": "check", "short": "p", "long": _RUST, "verbs": "fmt", "kinds": ".rs", "here": True,
            "packages": True,
        },
        "fixers": {
            "clippy": {"only": "fix", "short": "p", "long": _RUST, "kinds": ".rs", "here": True, "packages": True},
            "fix": {"short": "p", "long": _RUST, "kinds": ".rs", "here": True, "packages": True},
        },
        "manages": {
            "manifest": "Cargo.toml", "locks": "Cargo.lock",
            "verbs": "add generate-lockfile remove rm set-version update", "climbs": True, "project": "--manifest-path",
        },
    },
    "clang-format": {"formatter": {"only": "i", "never": "n dry-run", "long": "style assume-filename lines"}},
    "codespell": {
        "formatter": {
            "only": "w write-changes", "short": "LDIxSi", "long": "skip ignore-words-list", "kinds": "*", "here": True,
        },
        "module": True,
    },
    "codex": {"runs": ("runners.tool", "apply_patch applypatch")},
    "composer": {
        "verbs": "show info outdated validate licenses",
        "manages": {
            "manifest": "composer.json", "locks": "composer.lock", "verbs": "bump remove require update",
            "always": "init", "folder": "-d --working-dir",
        },
    },
    "conda": {"verbs": "list info env search config", "rule": ("harmless.conda",), "outputs": ("-f --file", "export")},
    "dart": {"formatter": {
        "never": "dry-run", "short": "ol", "long": "output line-length", "verbs": "format fix", "kinds": ".dart",
        "no_output": "none show json",
    }},
    "deno": {
        "formatter": {
            "never": "check", "short": "c", "long": "config ext ignore line-width indent-width", "verbs": "fmt",
            "kinds": f"{_SCRIPTS} {_STYLES} .json .jsonc .md .yaml .yml .html", "here": True,
        },
        "runs": ("runners.inline_program", "eval"),
    },
    "djhtml": {"formatter": {"never": "c check", "short": "t", "long": "tabwidth", "kinds": ".html"}},
    "djlint": {"formatter": {
        "only": "reformat", "never": "check", "short": "eip", "long": "extension indent profile",
        "kinds": ".html .jinja .j2 .hbs .njk",
    }},
    "docker": {
        "verbs": (
            "ps logs images inspect info version stats top port history diff search stop kill rm rmi pause unpause "
            "restart start pull push tag events wait network volume context system"
        ),
        "rule": ("harmless.docker", _COMPOSE), "leaves": ("up run exec", _DETACHES),
    },
    "docker-compose": {"verbs": _COMPOSE, "leaves": ("up run exec", _DETACHES)},
    "dprint": {"formatter": {"never": "check", "short": "c", "long": "config", "verbs": "fmt"}},
    "eslint eslint_d": {"formatter": {
        "only": "fix", "short": "cfo",
        "long": "config format output-file ext rulesdir parser plugin rule ignore-path max-warnings", "kinds": _SCRIPTS,
    }},
    "exiftool": {"unless": "-overwrite_original"},
    "gem": {"verbs": "list search info env outdated which"},
    "gh": {"verbs": _HUB, "rule": ("harmless.hub",), "outputs": ("-O", ""), "switches": "pr checkout"},
    "glab": {"verbs": _HUB, "rule": ("harmless.hub",), "switches": "mr checkout"},
    "go": {
        "verbs": "version env list doc vet help tool",
        "formatter": {"never": "n", "verbs": "fmt", "kinds": ".go", "here": True},
        "manages": {
            "manifest": "go.mod", "locks": "go.sum", "verbs": "get", "always": "mod+edit mod+init mod+tidy",
            "climbs": True, "folder": "-C",
        },
    },
    "gofmt gofumpt goimports golines": {"formatter": {
        "only": "w", "never": "l d", "short": "r", "long": "r local lang", "kinds": ".go",
    }},
    "google-java-format": {"formatter": {"only": "i replace r", "never": "n dry-run", "long": "lines"}},
    "hatch": {"runs": ("runners.subcommand", "run", "e", "env")},
    "helm": {"verbs": "list status history get show search version env template lint"},
    "heroku": {"verbs": "logs ps apps config releases info"},
    "http https": {"unless": "-d --download -o --output"},
    "isort": {"formatter": {
        "never": "c check check-only diff", "short": "lp", "long": "line-length profile settings-path sp",
        "kinds": _PYTHON,
    }},
    "jscodeshift": {"formatter": {
        "never": "d dry", "short": "tv", "long": "transform parser extensions ignore-pattern", "kinds": _SCRIPTS,
    }},
    "ktlint": {"formatter": {"only": "F format", "kinds": ".kt .kts", "here": True}},
    "kubectl": {"verbs": (
        "get describe logs top explain version api-resources api-versions cluster-info config auth events diff "
        "rollout wait scale delete apply port-forward"
    )},
    "markdownlint": {"formatter": {"only": "f fix", "short": "ci", "long": "config ignore", "kinds": ".md"}},
    "mix": {
        "formatter": {"never": "check-formatted dry-run", "verbs": "format", "kinds": ".ex .exs .heex", "here": True},
        "manages": {"manifest": "mix.exs", "locks": "mix.lock", "verbs": "deps.get deps.unlock deps.update"},
    },
    "mvn": {"verbs": "dependency:tree help:effective-pom -version"},
    "mysqldump": {"outputs": ("-r", "")},
    "nerdctl podman": {"leaves": ("up run exec", _DETACHES)},
    "nixfmt": {"formatter": {"never": "c check", "short": "w", "long": "width", "kinds": ".nix"}},
    "node": {"runs": ("runners.node",)},
    "npm": {
        "verbs": (
            "ls list view info show outdated config root prefix bin search whoami ping explain why fund docs repo "
            "owner token help query la ll"
        ),
        "manages": {
            "manifest": "package.json", "locks": "package-lock.json npm-shrinkwrap.json", "verbs": _INSTALLS,
            "always": _CHANGES, "climbs": True, "project": "--prefix -C",
        },
        "runs": ("runners.subcommand", "exec x", "p", "package prefix"),
    },
    "nvm": {"unless": "install uninstall"},
    "pdm": {"runs": ("runners.subcommand", "run", "p", "project")},
    "pg_dump": {"outputs": ("-f --file", "")},
    "php": {"runs": ("runners.inline_program", "-r")},
    "php-cs-fixer": {"formatter": {
        "never": "dry-run", "long": "config rules", "verbs": "fix", "kinds": ".php", "here": True,
    }},
    "phpcbf": {"formatter": {"long": "standard extensions", "kinds": ".php"}},
    "pip pip3": {"verbs": "list show freeze check index config debug inspect help search", "module": True},
    "pipenv": {
        "verbs": "graph check verify",
        "manages": {
            "manifest": "Pipfile", "locks": "Pipfile.lock", "verbs": "install lock uninstall update upgrade",
            "climbs": True,
        },
        "runs": ("runners.subcommand", "run", "", "python"),
    },
    "pipx": {"runs": ("runners.subcommand", "run", "", "spec")},
    "pm2": {"leaves": ("start restart reload", "")},
    "pnpm": {
        "verbs": "ls list view info outdated why root bin licenses",
        "manages": {
            "manifest": "package.json", "locks": "pnpm-lock.yaml", "verbs": _INSTALLS, "always": _CHANGES,
            "climbs": True, "folder": "-C --dir",
        },
        "runs": ("runners.subcommand", "exec dlx", "CF", "dir filter"),
    },
    "poetry": {
        "verbs": "show check env about search config",
        "manages": {
            "manifest": "pyproject.toml", "locks": "poetry.lock", "verbs": "add lock remove update version",
            "always": "init", "climbs": True, "folder": "-C --directory", "project": "-P --project",
        },
        "runs": ("runners.subcommand", "run", "CP", "directory project"),
    },
    "prettier prettierd": {"formatter": {
        "only": "w write", "never": "check c l list-different",
        "long": "config parser plugin ignore-path print-width tab-width log-level",
        "kinds": f"{_SCRIPTS} {_STYLES} .json .jsonc .json5 .html .md .mdx .yaml .yml .graphql .hbs",
    }},
    "psql": {"unless": "-o --output -L"},
    "python python3": {"runs": ("runners.python",)},
    "redis-cli": {"verbs": "ping get keys info scan ttl type"},
    "rubocop": {"formatter": {
        "only": "a A x autocorrect autocorrect-all fix-layout fix", "short": "cfo",
        "long": "config format out only except", "kinds": ".rb .rake .gemspec", "here": True,
    }},
    "ruby": {"runs": ("runners.ruby",)},
    "ruff": {
        "unless": "--add-noqa -w --watch -o --output-file",
        "formatter": {
            "never": "check diff", "long": _RUFF, "verbs": "format", "kinds": f"{_PYTHON} .ipynb", "here": True,
        },
        "fixers": {"check": {
            "only": "fix fix-only", "never": "no-fix diff", "long": _RUFF, "kinds": f"{_PYTHON} .ipynb", "here": True,
        }},
    },
    "rustfmt": {"formatter": {"never": "check", "long": "edition config config-path emit"}},
    "rustup": {"verbs": "show toolchain which component target check"},
    "rye": {"runs": ("runners.subcommand", "run")},
    "screen": {"leaves": ("", _DETACHES)},
    "sd": {"formatter": {"never": "p preview", "short": "nf", "long": "max-replacements flags", "skip": 2}},
    "shfmt": {"formatter": {
        "only": "w", "never": "d l", "short": "il", "long": "indent language-dialect", "kinds": ".sh .bash",
    }},
    "sort-package-json": {"formatter": {"never": "check"}},
    "sqlfluff": {"formatter": {"long": "dialect config", "verbs": "fix format", "kinds": ".sql"}},
    "standard xo": {"formatter": {
        "only": "fix", "long": "parser plugin env global ext", "kinds": _SCRIPTS, "here": True,
    }},
    "stylelint": {"formatter": {
        "only": "fix", "short": "cfo", "long": "config format output-file ignore-path max-warnings", "kinds": _STYLES,
    }},
    "stylua": {"formatter": {"never": "check c", "short": "fg", "long": "config-path", "kinds": ".lua .luau"}},
    "swiftformat": {"formatter": {"never": "lint dryrun", "long": "config swiftversion", "kinds": ".swift"}},
    "taplo": {"formatter": {
        "never": "check diff", "short": "oc", "long": "option config", "verbs": "fmt format", "kinds": ".toml",
        "here": True,
    }},
    "terraform": {
        "verbs": "version show output validate state providers graph",
        "formatter": {"never": "check", "verbs": "fmt", "kinds": ".tf .tfvars .hcl", "here": True, "single_dash": True},
    },
    "tmux": {
        "verbs": (
            "ls list-sessions list-panes list-windows capture-pane kill-session kill-server has-session "
            "display-message"
        ),
        "leaves": ("", _DETACHES),
    },
    "tofu": {"formatter": {
        "never": "check", "verbs": "fmt", "kinds": ".tf .tfvars .hcl", "here": True, "single_dash": True,
    }},
    "tsc": {"only_with": "--noEmit --showConfig --listFiles"},
    "uv": {
        "verbs": "tree version cache python self",
        "manages": {
            "manifest": "pyproject.toml", "locks": "uv.lock", "verbs": "add lock remove sync version", "always": "init",
            "climbs": True, "folder": "--directory", "project": "--project",
        },
        "runs": (
            "runners.subcommand", "run", "p",
            "python with extra group package project directory env-file index-url with-requirements",
        ),
    },
    "vue-tsc": {"only_with": "--noEmit"},
    "yapf": {"formatter": {
        "only": "i in-place", "never": "d diff q", "short": "l", "long": "style lines", "kinds": _PYTHON,
    }},
    "yarn": {
        "verbs": "list info why outdated versions config",
        "manages": {
            "manifest": "package.json", "locks": "yarn.lock", "verbs": _INSTALLS, "always": _CHANGES, "bare": True,
            "climbs": True, "folder": "--cwd",
        },
        "runs": ("runners.yarn",),
    },
    "yq": {"writes": ("writers.yq",), "reads": ("pos", "input-format output-format split-exp from-file", 1)},
    "zig": {"formatter": {"never": "check", "verbs": "fmt", "kinds": ".zig"}},
}  # fmt: skip
TOOLS: dict[str, Program] = {name: row for names, row in _ROWS.items() for name in names.split()}
