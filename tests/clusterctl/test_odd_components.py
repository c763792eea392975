"""Components with what real releases have here and there, through a whole life beside the judge."""

from __future__ import annotations

from pathlib import Path

from lifecycle_kit import SHIPYARD_HOME, Yard, left_by_the_judge
from releases import Object, core, definition, infrastructure
from twins import Twins

SERIES = [(0, 8, "v1beta2"), (0, 9, "v1beta2")]
ADMISSION = "admissionregistration.k8s.io/v1"


def thing(api_version: str, kind: str, name: str, **fields: object) -> Object:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": "anywhere"}, **fields}


def wide(api_version: str, kind: str, name: str, **fields: object) -> Object:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "creationTimestamp": None}, **fields}


def policy(expression: str) -> list[Object]:
    rules = [{"apiGroups": ["a.example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["as"]}]
    spec = {"matchConstraints": {"resourceRules": rules}, "validations": [{"expression": expression}]}
    binding = {"policyName": "shipyard-policy", "validationActions": ["Deny"]}
    return [
        wide(ADMISSION, "ValidatingAdmissionPolicy", "shipyard-policy", spec=spec),
        wide(ADMISSION, "ValidatingAdmissionPolicyBinding", "shipyard-policy", spec=binding),
    ]


def oddities(data: dict[str, str], expression: str) -> list[Object]:
    odd = thing("v1", "ConfigMap", "odd", data=data)
    odd["metadata"] |= {"labels": None, "annotations": {"said": "so"}}
    defined = definition("odd.example.com", "Oddment")
    defined["metadata"]["creationTimestamp"] = None
    empty: dict[str, object] = {"kind": "", "plural": ""}
    defined["status"] = {"acceptedNames": empty, "conditions": [], "storedVersions": []}
    oddment = thing("odd.example.com/v1beta2", "Oddment", "first", spec={"number": 1})
    account = {"kubernetes.io/service-account.name": "infrastructure-shipyard-manager"}
    token = thing("v1", "Secret", "shipyard-token", type="kubernetes.io/service-account-token")
    token["metadata"]["annotations"] = account
    return [
        token,
        odd,
        defined,
        oddment,
        *policy(expression),
        wide("scheduling.k8s.io/v1", "PriorityClass", f"{SHIPYARD_HOME}-critical", value=1000),
        thing("policy/v1", "PodDisruptionBudget", "shipyard", spec={"minAvailable": 1}),
    ]


async def test_a_life_with_oddities(twins: Twins, tmp_path: Path):
    made = [
        core(),
        infrastructure("v0.8.0", series=SERIES[:1], extra=oddities({"a": "1", "b": "2"}, "true")),
        infrastructure("v0.9.0", series=SERIES, extra=oddities({"a": "3"}, "!false")),
    ]
    # What is in a token is each server's own.
    twins = twins.reading(
        Yard.made(tmp_path / "odd", made).config, lambda key: left_by_the_judge(key) or key[2] == "shipyard-token"
    )
    await twins.succeed("init", "--bootstrap=-", "--control-plane=-", "--infrastructure=shipyard:v0.8.0")
    await twins.succeed("upgrade", "apply", "--contract=v1beta2", swapped=True)
    await twins.succeed("delete", "--infrastructure=shipyard")
