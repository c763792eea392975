"""Checks of what all instances of a provider share: webhooks, and what serves them. That was so in v1alpha3 only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from mooring.clusterctl.lint.contents import WEBHOOKS, WORKLOADS, is_old
from mooring.clusterctl.lint.material import Release, mappings
from mooring.clusterctl.objects import at, described, kind_of, name_of, namespace_of, text_at

if TYPE_CHECKING:
    from mooring.kube import Object

_CONFIGURATIONS: Final = frozenset({"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"})


def in_their_namespace(release: Release) -> Iterator[str]:
    if not is_old(release):
        return
    services: set[str] = set()
    for one in release.objects:
        for service in _services(one):
            services.add(text_at(service, "name"))
            where = text_at(service, "namespace")
            if where and where != WEBHOOKS:
                yield f"{described(one)} is served from {where}, and not from {WEBHOOKS}"
    for one in _serving(release.objects, services):
        if namespace_of(one) != WEBHOOKS:
            where = namespace_of(one) or "no namespace"
            yield f"{described(one)} serves webhooks from {where}, and not from {WEBHOOKS}"


def _services(one: Object) -> Iterator[Any]:
    """What a webhook, or the conversion of a definition, is asked at."""
    if kind_of(one) in _CONFIGURATIONS:
        yield from (at(hook, "clientConfig", "service") for hook in mappings(at(one, "webhooks")))
    elif kind_of(one) == "CustomResourceDefinition":
        yield at(one, "spec", "conversion", "webhook", "clientConfig", "service")
        yield at(one, "spec", "conversion", "webhookClientConfig", "service")  # as it was in v1beta1


def _serving(objects: Iterable[Object], services: set[str]) -> Iterator[Object]:
    """These Services, the workloads behind them, and their certificates."""
    objects = list(objects)
    found = [one for one in objects if kind_of(one) == "Service" and name_of(one) in services]
    selectors = [selector for one in found if isinstance(selector := at(one, "spec", "selector"), dict) and selector]
    yield from found
    for one in objects:
        labels = at(one, "spec", "template", "metadata", "labels")
        if kind_of(one) in WORKLOADS and isinstance(labels, dict):
            if any(selector.items() <= labels.items() for selector in selectors):
                yield one
        elif kind_of(one) == "Certificate":
            names = at(one, "spec", "dnsNames")
            if any(str(name).partition(".")[0] in services for name in (names if isinstance(names, list) else [])):
                yield one
