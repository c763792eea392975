"""Substitution of ``${…}``: byte for byte what the library does that clusterctl uses, github.com/drone/envsubst.

`parse` reads a text once, `Template.expand` fills it in. A text is a ``str``, as everywhere; bytes that are not UTF-8
travel in it as lone surrogates (``surrogateescape``), because lengths, substrings and replacements count bytes.

What can be said is in docs/reference/clusterctl-templates.md: ``${v}``, ``${#v}``, ``${v^}``, ``${v,,}``, ``${v:1:2}``,
``${v#glob}``, ``${v%%glob}``, ``${v//old/new}``, ``${v:=default}``, nested in each other, and ``$$`` for a plain
dollar sign. Neighbours: `grammar` reads, `operators` acts, `globs` trims, `runes` knows Unicode the way Go does.
Nothing here recurses, so no text is nested too deep.
"""

from mooring.clusterctl.envsubst.faults import BadSubstitution, Fault
from mooring.clusterctl.envsubst.template import Template, parse

__all__ = ["BadSubstitution", "Fault", "Template", "parse"]
