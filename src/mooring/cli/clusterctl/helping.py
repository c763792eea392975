"""Help for a word of the tree."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from mooring.cli.clusterctl.tree import HELP, Command, Flag, Form

_WIDTH = 100


def help_text(path: Sequence[str], command: Command, everywhere: Sequence[Flag]) -> str:
    """All that there is to know about one word."""
    return "\n".join(_lines(" ".join(path), command, everywhere))


def _lines(words: str, command: Command, everywhere: Sequence[Flag]) -> Iterator[str]:
    yield from textwrap.wrap(command.short, _WIDTH)
    if command.long:
        yield ""
        yield textwrap.dedent(command.long).strip()
    yield ""
    yield "Usage:"
    if command.run is not None:
        yield f"  {words} {command.arguments} [flags]".replace("  [", " [")
    below = [one for one in command.words if not one.hidden]
    if below:
        yield f"  {words} COMMAND"
    if command.aliases:
        yield ""
        yield f"Also called: {', '.join(command.aliases)}"
    if command.examples:
        yield ""
        yield "Examples:"
        yield textwrap.indent(textwrap.dedent(command.examples).strip("\n"), "  ")
    if below:
        yield ""
        yield "Commands:"
        width = max(len(one.name) for one in below)
        yield from (f"  {one.name:<{width}}  {one.short}" for one in below)
    yield from _flag_lines("Flags:", [*command.flags, HELP])
    yield from _flag_lines("Flags of all commands:", everywhere)
    if below:
        yield ""
        yield f'"{words} COMMAND --help" tells more about one.'


def _flag_lines(title: str, flags: Sequence[Flag]) -> Iterator[str]:
    shown = sorted((one for one in flags if not one.hidden), key=lambda one: one.name)
    if not shown:
        return
    yield ""
    yield title
    names = [f"{f'-{one.letter}, ' if one.letter else '    '}--{one.name} {one.form.value}".rstrip() for one in shown]
    width = max(map(len, names))
    for name, one in zip(names, shown, strict=True):
        lines = textwrap.wrap(_about(one), max(_WIDTH - width - 6, 40)) or [""]
        yield f"  {name:<{width}}   {lines[0]}".rstrip()
        yield from (f"  {'':<{width}}   {line}" for line in lines[1:])


def _about(flag: Flag) -> str:
    text = flag.help
    if flag.deprecated:
        text = f"{text} (Deprecated: {flag.deprecated})"
    if "[default:" in text or flag.default in (None, "", (), False):
        return text
    shown = {Form.SWITCH: str(flag.default).lower()}.get(flag.form, flag.default)
    shown = ",".join(shown) if isinstance(shown, tuple) else shown
    return f"{text} [default: {shown}]"
