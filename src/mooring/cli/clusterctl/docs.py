"""``docs``: the documentation that the provider contract asks of a provider."""

from __future__ import annotations

from mooring.cli.clusterctl.tree import Command, Flag, Given


def _docs(given: Given) -> None:
    from pathlib import Path

    from mooring.clusterctl.documenting import documented
    from mooring.clusterctl.errors import ClusterctlError
    from mooring.clusterctl.lint import read_material

    material = read_material(Path(given.arguments[0].removeprefix("file://")))
    if not material.releases:
        raise ClusterctlError(
            f"{material.folder} is not a provider's folder with releases: 'mooring clusterctl lint' tells why"
        )
    text = documented(material.releases[-1])
    if given["write-to"]:
        Path(given["write-to"]).write_text(text, encoding="utf-8")
    else:
        given.out.write(text)


COMMAND = Command(
    "docs",
    "Write a provider's documentation: variables with defaults, flavors, what move leaves out.",
    _docs,
    [Flag("write-to", "The file to write. [default: standard output]")],
    arguments="REPOSITORY",
    least=1,
    most=1,
    long="""
        REPOSITORY is the folder of a provider in a local repository, whose newest release is documented, or the folder
        of one version. The text is Markdown, with a TODO wherever only the author knows what to say.
    """,
)
