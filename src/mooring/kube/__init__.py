"""The wire: how Mooring speaks to Kubernetes API servers. The only room with sockets to them.

`load_connection` finds out how to reach a server and as whom, `Client` has the verbs, `watching` tells what
changes and survives every fault, `errors` is the tree of what can go wrong. A kubeconfig out of an API object
goes through `connection_from_untrusted` and nothing else.
"""

from mooring.kube import errors
from mooring.kube.client import Client
from mooring.kube.config import connection_from_document, connection_from_untrusted, load_connection
from mooring.kube.connection import Connection, Impersonation
from mooring.kube.errors import KubeError
from mooring.kube.events import Changed, Deleted, Event, Interrupted, Relisted, Undecodable
from mooring.kube.lists import Listing
from mooring.kube.objects import ObjectKey, key_of, revision_of, uid_of
from mooring.kube.patch import Apply, JsonPatch, MergePatch
from mooring.kube.picture import Change, Picture
from mooring.kube.resources import Bare, Object, Resource, metadata_of, typed, untyped
from mooring.kube.timeouts import Timeouts
from mooring.kube.watch import watching

__all__ = [
    "Apply",
    "Bare",
    "Change",
    "Changed",
    "Client",
    "Connection",
    "Deleted",
    "Event",
    "Impersonation",
    "Interrupted",
    "JsonPatch",
    "KubeError",
    "Listing",
    "MergePatch",
    "Object",
    "ObjectKey",
    "Picture",
    "Relisted",
    "Resource",
    "Timeouts",
    "Undecodable",
    "connection_from_document",
    "connection_from_untrusted",
    "errors",
    "key_of",
    "load_connection",
    "metadata_of",
    "revision_of",
    "typed",
    "uid_of",
    "untyped",
    "watching",
]
