"""``completion``: scripts with which a shell completes our words."""

from __future__ import annotations

from typing import Final

from mooring.cli.clusterctl.tree import Command, Given, UsageError

_BASH: Final = """\
# For bash: source <(mooring clusterctl completion bash)
_mooring_clusterctl() {
    local IFS=$'\\n'
    local words=("${COMP_WORDS[@]:1:COMP_CWORD}")
    [[ ${words[0]} == clusterctl ]] || return
    COMPREPLY=($(mooring clusterctl __complete -- "${words[@]:1}" 2>/dev/null | cut -f1))
}
complete -o default -F _mooring_clusterctl mooring
"""
_ZSH: Final = """\
#compdef mooring
# For zsh: source <(mooring clusterctl completion zsh)
_mooring_clusterctl() {
    [[ ${words[2]} == clusterctl ]] || return
    local -a found
    found=("${(@f)$(mooring clusterctl __complete -- "${(@)words[3,$CURRENT]}" 2>/dev/null | tr '\\t' ':')}")
    _describe 'mooring clusterctl' found
}
compdef _mooring_clusterctl mooring
"""
_FISH: Final = """\
# For fish: mooring clusterctl completion fish | source
function __mooring_clusterctl
    set -l words (commandline -opc) (commandline -ct)
    test "$words[2]" = clusterctl; and mooring clusterctl __complete -- $words[3..-1] 2>/dev/null
end
complete -c mooring -n 'test (count (commandline -opc)) -gt 1' -a '(__mooring_clusterctl)'
"""
SCRIPTS: Final = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def _completion(given: Given) -> None:
    (shell,) = given.arguments
    if shell not in SCRIPTS:
        raise UsageError(f"unsupported shell type {shell!r}: there are scripts for {', '.join(SCRIPTS)}")
    given.out.write(SCRIPTS[shell])


COMMAND = Command(
    "completion",
    "A script with which a shell completes the words: bash, zsh or fish.",
    _completion,
    arguments="bash|zsh|fish",
    least=1,
    most=1,
    examples="source <(mooring clusterctl completion bash)",
)
