"""`dibs completion SHELL`: a script that asks `dibs __complete` for what can be typed next."""

from __future__ import annotations

import sys

from dibs import jsontext
from dibs.errors import YES
from dibs.interfaces.cli.command import Command
from dibs.operations.core.declare import Field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.interfaces.cli.parse import Words

SHELLS = ("bash", "zsh", "fish")
FIELDS = (
    Field("shell", "choice", "your shell", positional=True, required=True, choices=SHELLS, metavar="SHELL"),
)  # fmt: skip

# Colons part words in bash; what was typed up to the last one is already there.
BASH = """_dibs() {
  local current="${COMP_LINE:0:COMP_POINT}" word
  current="${current##* }"
  local -a words=()
  while IFS= read -r word; do words+=("$word"); done \\
    < <(xargs -n1 printf '%s\\n' 2>/dev/null <<< "${COMP_LINE:0:COMP_POINT-${#current}}")
  COMPREPLY=()
  while IFS= read -r word; do COMPREPLY+=("${word%%$'\\t'*}"); done \\
    < <(dibs __complete "${words[@]:1}" "$current" 2>/dev/null)
  if [[ $current == *:* && $COMP_WORDBREAKS == *:* ]]; then
    word="${current%"${current##*:}"}"; COMPREPLY=("${COMPREPLY[@]#"$word"}")
  fi
}
complete -o default -o bashdefault -F _dibs dibs
"""
ZSH = """#compdef dibs
_dibs() {
  local -a lines values
  lines=("${(@f)$(dibs __complete "${(@)words[2,CURRENT-1]}" "${words[CURRENT]}" 2>/dev/null)}")
  values=("${(@)lines%%$'\\t'*}")
  values=("${(@)values:#}")
  if (( $#values )); then compadd -- "${values[@]}"; else _files; fi
}
compdef _dibs dibs
"""
FISH = """function __dibs_complete
  set -l words (commandline -opc)
  set -l found (dibs __complete $words[2..-1] (commandline -ct) 2>/dev/null)
  if set -q found[1]
    printf '%s\\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c dibs -f -a '(__dibs_complete)'
"""
SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


def run(words: Words) -> int:
    """Print the script of a shell."""
    shell: str = FIELDS[0].check(words.fields["shell"])
    if words.json:
        sys.stdout.write(jsontext.encode({"ok": True, "shell": shell, "script": SCRIPTS[shell]}) + "\n")
    else:
        sys.stdout.write(SCRIPTS[shell])
    return YES


COMMAND = Command(
    "completion",
    "Print a completion script for your shell: commands, options, agents, tasks, held paths.",
    run=run,
    group="about",
    fields=FIELDS,
    examples=(
        ('eval "$(dibs completion bash)"', "in ~/.bashrc"),
        ('eval "$(dibs completion zsh)"', "in ~/.zshrc, after compinit"),
        ("dibs completion fish | source", "in ~/.config/fish/config.fish"),
    ),
    json="shell, script",
)
