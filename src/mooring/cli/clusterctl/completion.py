"""``completion``: scripts with which a shell completes our words. Each asks ``__complete`` what could come next.

They leave the other words of ``mooring`` to whoever completes those: ``mooring --install-completion``.
"""

from __future__ import annotations

from typing import Final

from mooring.cli.clusterctl.tree import Command, Given, UsageError

_BASH: Final = """\
# For bash: source <(mooring clusterctl completion bash)
_mooring_clusterctl() {
    if [[ ${COMP_WORDS[1]} != clusterctl || $COMP_CWORD -lt 2 ]]; then
        declare -F _mooring_completion >/dev/null && _mooring_completion "$@"
        return
    fi
    local IFS=$'\\n'
    COMPREPLY=($("${COMP_WORDS[0]}" clusterctl __complete -- "${COMP_WORDS[@]:2:COMP_CWORD-1}" 2>/dev/null | cut -f1))
}
complete -o default -F _mooring_clusterctl mooring
"""
_ZSH: Final = """\
#compdef mooring
# For zsh: source <(mooring clusterctl completion zsh)
_mooring_clusterctl() {
    if [[ ${words[2]} != clusterctl || $CURRENT -lt 3 ]]; then
        (( $+functions[_mooring_completion] )) && _mooring_completion
        return
    fi
    local -a found
    found=("${(@f)$(${words[1]} clusterctl __complete -- "${(@)words[3,$CURRENT]}" 2>/dev/null |
        sed -e 's/:/\\\\:/g' -e 's/\\t/:/')}")
    [[ -n ${found[1]} ]] && _describe 'mooring clusterctl' found || _files
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
# An empty word does not arrive at a program there, so that a new word is told by a flag.
_POWERSHELL: Final = """\
# For PowerShell: mooring clusterctl completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName mooring -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = @($commandAst.CommandElements | Select-Object -Skip 1 | ForEach-Object { $_.Extent.Text })
    if ($words.Count -eq 0 -or $words[0] -ne 'clusterctl') { return }
    $words = @($words | Select-Object -Skip 1)
    $new = if ($wordToComplete) { @() } else { @('--new') }
    mooring clusterctl __complete @new -- @words 2>$null | ForEach-Object {
        $name, $about = $_ -split "`t", 2
        if (-not $about) { $about = $name }
        [System.Management.Automation.CompletionResult]::new($name, $name, 'ParameterValue', $about)
    }
}
"""
SCRIPTS: Final = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH, "powershell": _POWERSHELL}


def _completion(given: Given) -> None:
    (shell,) = given.arguments
    if shell not in SCRIPTS:
        raise UsageError(f"unsupported shell type {shell!r}: there are scripts for {', '.join(SCRIPTS)}")
    given.out.write(SCRIPTS[shell])


COMMAND = Command(
    "completion",
    "A script with which a shell completes the words: bash, zsh, fish or powershell.",
    _completion,
    arguments="bash|zsh|fish|powershell",
    least=1,
    most=1,
    examples="source <(mooring clusterctl completion bash)",
)
