"""Rules that speak of kinds, where a request wants that: the cluster is asked what it serves, once for each change."""

from __future__ import annotations

import msgspec

from mooring.api.access import AccessRequest
from mooring.entry.serving import served_by
from mooring.entry.translating import TRANSLATE_ANNOTATION, TranslatedAccess, translated_access
from mooring.kube import ObjectKey, key_of
from mooring.providers.sdk.granting.making import Maker, Visit

_State = tuple[str, int, str]  # the uid and generation of the request, and the uid of the cluster


class Translator:
    """Remembers answers, as long as the request and its cluster are the same. One with gaps is asked for again."""

    def __init__(self, maker: Maker) -> None:
        self._maker = maker
        self._known: dict[ObjectKey, tuple[_State, TranslatedAccess]] = {}

    async def translated(self, visit: Visit) -> TranslatedAccess | None:
        """What the request asks for in the words of RBAC; None if it does not want to be translated."""
        request, wish = visit.request, visit.request.spec.token
        if wish is None or not wants_translation(request):
            self.forget(visit.key)
            return None
        state = (request.metadata.uid, request.metadata.generation, visit.cluster.metadata.uid)
        known = self._known.get(visit.key)
        if known is None or known[0] != state or known[1].unknown:
            async with self._maker.entered(visit) as target:
                known = (state, translated_access(wish, await served_by(target)))
            self._known[visit.key] = known
        return known[1]

    def remembered(self, request: AccessRequest) -> TranslatedAccess | None:
        state, known = self._known.get(key_of(request), (("", 0, ""), None))
        return known if state[:2] == (request.metadata.uid, request.metadata.generation) else None

    def forget(self, key: ObjectKey) -> None:
        self._known.pop(key, None)


def wants_translation(request: AccessRequest) -> bool:
    return request.metadata.annotations.get(TRANSLATE_ANNOTATION) == "true"


def in_its_words(request: AccessRequest, translated: TranslatedAccess | None) -> AccessRequest:
    """The request, as if it had been written so."""
    if translated is None or request.spec.token is None:
        return request
    return msgspec.structs.replace(request, spec=msgspec.structs.replace(request.spec, token=translated.wish))
