"""What a kubeconfig out of an API object may not say.

Somebody else wrote it, and we would act on it with our rights and on our machine. So it is data only: nothing
in it may start a program or name a file. That holds for every entry, also for those that the current context
does not use.
"""

from __future__ import annotations

from collections.abc import Mapping

from mooring.kube.errors import ConfigError

_REFUSED: dict[str, dict[str, tuple[str, ...]]] = {
    "clusters": {"cluster": ("certificate-authority",)},
    "users": {"user": ("exec", "auth-provider", "tokenFile", "client-certificate", "client-key")},
}
_INSTEAD = {
    "exec": "Put a token or client certificate data there",
    "auth-provider": "Put a token or client certificate data there",
    "tokenFile": "Put the token itself under token",
    "certificate-authority": "Put the certificate itself under certificate-authority-data",
    "client-certificate": "Put the certificate itself under client-certificate-data",
    "client-key": "Put the key itself under client-key-data",
}


def refuse_all_but_data(document: object) -> None:
    """Raise a ConfigError naming the first field that reaches beyond the document."""
    if not isinstance(document, Mapping):
        return  # not a kubeconfig at all, which the check of its form says better
    for section, bodies in _REFUSED.items():
        entries = document.get(section)
        for index, entry in enumerate(entries if isinstance(entries, list) else ()):
            for body, fields in bodies.items():
                _refuse(entry, body, fields, where=f"{section}[{index}].{body}")


def _refuse(entry: object, body: str, fields: tuple[str, ...], *, where: str) -> None:
    said = entry.get(body) if isinstance(entry, Mapping) else None
    if not isinstance(said, Mapping):
        return
    for field in fields:
        # Present but null says nothing; the same for the empty text that some writers leave behind.
        if said.get(field) not in (None, ""):
            raise ConfigError(
                "refused: a kubeconfig out of an API object is data only, no programs, no files",
                field=f"{where}.{field}",
                remedy=_INSTEAD[field],
            )
