"""The admission policies behind the access policy ``Creator``: the server itself notes down who created a request.

One writes the stamp on creation and on every change of the spec, over whatever is there; the other lets nobody change
it otherwise, and takes no stamp but that of whoever asks. Mooring's own account is exempt from both: it fills in
references without becoming the creator, and carries over the stamp of the object that it acts for.

Caveat: until an API server has read the schema of our kinds (it looks every 5 seconds, from its start and from the
installation of our definitions on), mutating policies make it turn away access requests with 503. Whoever installs
both should wait until a dry run passes.
"""

from __future__ import annotations

from typing import Final

from mooring.api.access import AccessRequest
from mooring.api.kinds import Document
from mooring.api.kyma import KubeconfigRequest
from mooring.api.marks import CREATOR_ANNOTATION
from mooring.entry.creators import ADMISSION, POLICY

ACCOUNT: Final = "system:serviceaccount:mooring-system:mooring"
GROUP: Final = "mooring:controllers"

# Values are quoted one by one, so that no name can pass for something else; sorted, so that both policies say the same.
_LIST: Final = "'[' + {values}.map(one, strings.quote(one)).join(',') + ']'"
_GROUPS: Final = _LIST.format(values="variables.user.?groups.orValue([])")
_EXTRA: Final = (
    "variables.user.?extra.orValue({}).map(name, strings.quote(name) + ':' + "
    + _LIST.format(values="variables.user.extra[name]")
    + ").sort().join(',')"
)
_STAMP: Final = (
    "'{\"user\":' + strings.quote(variables.user.?username.orValue('')) + ',\"uid\":' + "
    "strings.quote(variables.user.?uid.orValue('')) + "
    f"',\"groups\":' + {_GROUPS} + ',\"extra\":{{' + {_EXTRA} + '}}}}'"
)
_ASKS: Final = "request.operation == 'CREATE' || object.?spec != oldObject.?spec"


def admission_objects(*, account: str = ACCOUNT, group: str = GROUP) -> list[Document]:
    """The policies and their bindings, for servers that serve mutating ones (``stamps_are_written``).

    ``account`` and ``group`` are Mooring's own.
    """
    return [
        _object("ValidatingAdmissionPolicy", spec=_freezing(account, group)),
        _object("ValidatingAdmissionPolicyBinding", spec={"policyName": POLICY, "validationActions": ["Deny"]}),
        _object("MutatingAdmissionPolicy", spec=_stamping(account, group)),
        _object("MutatingAdmissionPolicyBinding", spec={"policyName": POLICY}),
    ]


def _stamping(account: str, group: str) -> Document:
    stamped = f'Object{{metadata: Object.metadata{{annotations: {{"{CREATOR_ANNOTATION}": variables.stamp}}}}}}'
    return {
        # A request without a stamp is denied where it matters; elsewhere, nobody is kept from asking.
        "failurePolicy": "Ignore",
        "reinvocationPolicy": "Never",
        "matchConstraints": _matched(),
        "matchConditions": [_others(account, group), {"name": "asks", "expression": _ASKS}],
        "variables": _variables(),
        "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": stamped}}],
    }


def _freezing(account: str, group: str) -> Document:
    message = f"The annotation {CREATOR_ANNOTATION} tells who created the request, and is written by the server alone."
    stamp = f"metadata.?annotations[?'{CREATOR_ANNOTATION}'].orValue('')"
    new, old = f"object.{stamp}", f"oldObject.{stamp}"
    return {
        "failurePolicy": "Fail",
        "matchConstraints": _matched(),
        "matchConditions": [_others(account, group)],
        "variables": _variables(),
        "validations": [
            {
                "expression": f"({_ASKS}) ? {new} == '' || {new} == variables.stamp : {new} == {old}",
                "message": message,
                "reason": "Forbidden",
            }
        ],
    }


def _matched() -> Document:
    """Spelled out as the server stores it, so that a second installation finds everything in place."""
    rules = [
        {
            "apiGroups": [api.group],
            "apiVersions": ["*"],
            "operations": ["CREATE", "UPDATE"],
            "resources": [api.plural],
            "scope": "*",
        }
        for api in (AccessRequest.API, KubeconfigRequest.API)  # the stamp of the second is carried over to the first
    ]
    return {"resourceRules": rules, "matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}}


def _others(account: str, group: str) -> Document:
    """Everybody but ourselves."""
    ours = f"request.userInfo.username == '{account}' || '{group}' in request.userInfo.?groups.orValue([])"
    return {"name": "not-mooring", "expression": f"!({ours})"}


def _variables() -> list[Document]:
    return [{"name": "user", "expression": "request.userInfo"}, {"name": "stamp", "expression": _STAMP}]


def _object(kind: str, **fields: object) -> Document:
    return {"apiVersion": ADMISSION, "kind": kind, "metadata": {"name": POLICY}, **fields}
