"""Access as the plain provider gives it: an account, roles, bindings and a token, over plain HTTP.

Its clusters are all the platform itself. Each of the faults breaks one rule of the contract.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable

RBAC = "/apis/rbac.authorization.k8s.io/v1"
ACCESS = "/apis/clusters.openmcp.cloud/v1alpha1"
PROVIDER, PROFILE = "clusters.openmcp.cloud/provider", "clusters.openmcp.cloud/profile"
FINALIZER, REQUEST = "plain.example.com/access", "plain.example.com/request"
ACCOUNTS = "/api/v1/namespaces/accessrequests/serviceaccounts"
LIFETIME = 3600
EVERYTHING = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]


class Doors:
    """The access side of one instance."""

    def __init__(self, server, name: str, has: Callable[[str], bool], refusal: type[Exception]) -> None:
        self.server, self.name, self.has, self.refusal = server, name, has, refusal

    def look(self, profiles: dict[str, dict]) -> None:
        clusters = self.server.ask("GET", f"{ACCESS}/clusters")["items"]
        known = {(one["metadata"]["namespace"], one["metadata"]["name"]): one["spec"]["profile"] for one in clusters}
        for access in self.server.ask("GET", f"{ACCESS}/accessrequests")["items"]:
            labels = access["metadata"].get("labels") or {}
            if labels.get(PROVIDER) != self.name or not labels.get(PROFILE):
                continue
            where = access["spec"]["clusterRef"]
            profile = known.get((where["namespace"], where["name"]))
            try:
                self.reconcile(access, profile, profiles.get(profile, {}).get("providerRef", {}).get("name"))
            except self.refusal as refusal:
                if refusal.code not in (404, 409, 422):  # gone, or changed: the next look tells
                    raise

    def reconcile(self, access: dict, profile: str | None, provider: str | None) -> None:
        metadata, status = access["metadata"], access.get("status") or {}
        if metadata.get("deletionTimestamp"):
            if profile is not None or not self.has("needs-cluster"):
                self.end(access)
            return
        if provider != self.name and not self.has("believes-labels"):
            return
        if status.get("observedGeneration") == metadata["generation"] and status.get("phase") in ("Granted", "Denied"):
            return
        if "oidc" in access["spec"]:
            self.answer_oidc(access)
        elif not self.has("no-tokens"):
            self.answer_token(access)

    def answer_oidc(self, access: dict) -> None:
        if self.has("silent-oidc"):
            return
        if self.has("admin-oidc"):
            self.grant(access, [self.role(access, 0, {"rules": EVERYTHING})], [])
            return
        why = {"reason": "OIDCUnsupported", "message": "This provider gives tokens only."}
        self.tell(access, {"phase": "Denied", **why})

    def answer_token(self, access: dict) -> None:
        wish = access["spec"]["token"]
        if self.has("only-adds") and access["metadata"]["generation"] > 1:
            self.tell(access, {"phase": "Granted"})
            return
        permissions = list(wish.get("permissions") or ())
        if any(not self.has_namespace(one) for one in permissions):
            return
        if self.has("gives-admin"):
            permissions = [{"rules": EVERYTHING}]
        roles = [self.role(access, number, one) for number, one in enumerate(permissions)]
        self.grant(access, roles, () if self.has("no-role-refs") else wish.get("roleRefs") or ())

    def has_namespace(self, permission: dict) -> bool:
        name = permission.get("namespace")
        if not name:
            return True
        if permission.get("disableAutomaticNamespaceCreation") and not self.has("always-namespace"):
            try:
                self.server.ask("GET", f"/api/v1/namespaces/{name}")
            except self.refusal:
                return False
        self.make("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        return True

    # -- making -------------------------------------------------------------------------------------------------

    def grant(self, access: dict, roles: list[dict], references) -> None:
        metadata = access["metadata"]
        finalizers = metadata.get("finalizers") or []
        if FINALIZER not in finalizers:
            access = self.hold(access, [*finalizers, FINALIZER])
        self.make(
            "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "accessrequests"}}
        )
        self.make(ACCOUNTS, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": self.marks(access, "account")})
        wanted = [*roles, *(self.binding(access, number, role) for number, role in enumerate(roles))]
        wanted += [self.binding(access, f"ref-{number}", one) for number, one in enumerate(references)]
        for one in wanted:
            self.put(one)
        self.remove(access, {(one["kind"], one["metadata"]["name"]) for one in wanted})
        token = self.token(access)
        secret = self.put_secret(access, token)
        told = {"message": f"Enter with token: {token}"} if self.has("leaks-access") else {}
        self.tell(access, {"phase": "Granted", "secretRef": {"name": secret}, **told})

    def role(self, access: dict, number: int, permission: dict) -> dict:
        where = "" if self.has("everywhere") else permission.get("namespace") or ""
        metadata = self.marks(access, str(number)) | ({"namespace": where} if where else {})
        kind = "Role" if where else "ClusterRole"
        return {**about(kind), "metadata": metadata, "rules": permission["rules"]}

    def binding(self, access: dict, ending: int | str, role: dict) -> dict:
        where = role.get("metadata", role).get("namespace") or ""
        metadata = self.marks(access, str(ending)) | ({"namespace": where} if where else {})
        name = role["metadata"]["name"] if "metadata" in role else role["name"]
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": role["kind"], "name": name}
        account = {
            "kind": "ServiceAccount",
            "namespace": "accessrequests",
            "name": self.marks(access, "account")["name"],
        }
        kind = "RoleBinding" if where else "ClusterRoleBinding"
        return {**about(kind), "metadata": metadata, "roleRef": reference, "subjects": [account]}

    def marks(self, access: dict, ending: str) -> dict:
        uid = access["metadata"]["uid"]
        return {"name": f"plain-{uid}-{ending}", "labels": {REQUEST: uid}}

    def put(self, one: dict) -> None:
        where = path_of(one["kind"], one["metadata"].get("namespace"))
        if not self.make(where, one) and "rules" in one:
            self.server.patch(f"{where}/{one['metadata']['name']}", {"rules": one["rules"]})

    def make(self, path: str, body: dict) -> bool:
        """False if it was there already."""
        try:
            self.server.ask("POST", path, body)
        except self.refusal as refusal:
            if refusal.code != 409:
                raise
            return False
        return True

    def token(self, access: dict) -> str:
        wish = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": LIFETIME},
        }
        path = f"{ACCOUNTS}/{self.marks(access, 'account')['name']}/token"
        return self.server.ask("POST", path, wish)["status"]["token"]

    def put_secret(self, access: dict, token: str) -> str:
        metadata, made = access["metadata"], int(time.time())
        data = {"kubeconfig": self.kubeconfig(token)}
        if not self.has("no-times"):
            data |= {"creationTimestamp": str(made), "expirationTimestamp": str(made + LIFETIME)}
        owner = {"apiVersion": "clusters.openmcp.cloud/v1alpha1", "kind": "AccessRequest", "name": metadata["name"]}
        body = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": f"{metadata['name']}.kubeconfig", "labels": {REQUEST: metadata["uid"]}},
            "data": {name: base64.b64encode(text.encode()).decode() for name, text in data.items()},
        }
        if not self.has("no-owner"):
            body["metadata"]["ownerReferences"] = [{**owner, "uid": metadata["uid"]}]
        path = f"/api/v1/namespaces/{metadata['namespace']}/secrets"
        if not self.make(path, body):
            self.server.patch(f"{path}/{body['metadata']['name']}", {"data": body["data"]})
        return body["metadata"]["name"]

    def kubeconfig(self, token: str) -> str:
        address = "https://127.0.0.1:1" if self.has("unreachable") else self.server.address
        server = {"server": address, "certificate-authority-data": self.server.authority}
        return json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "it", "cluster": server}],
                "users": [{"name": "it", "user": {"token": token}}],
                "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
                "current-context": "it",
            }
        )

    # -- ending -------------------------------------------------------------------------------------------------

    def end(self, access: dict) -> None:
        metadata = access["metadata"]
        if FINALIZER not in (metadata.get("finalizers") or ()):
            return
        if not self.has("leaves-doors"):
            self.remove(access, set())
            self.delete(f"{ACCOUNTS}/{self.marks(access, 'account')['name']}")
            self.delete(f"/api/v1/namespaces/{metadata['namespace']}/secrets/{metadata['name']}.kubeconfig")
        self.hold(access, [one for one in metadata["finalizers"] if one != FINALIZER])

    def remove(self, access: dict, kept: set[tuple[str, str]]) -> None:
        """What belongs to the request, and is not wanted any more."""
        for kind in ("ClusterRoleBinding", "RoleBinding", "ClusterRole", "Role"):
            found = self.server.ask("GET", f"{path_of(kind)}?labelSelector={REQUEST}%3D{access['metadata']['uid']}")
            for one in found["items"]:
                name = one["metadata"]["name"]
                if (kind, name) not in kept:
                    self.delete(f"{path_of(kind, one['metadata'].get('namespace'))}/{name}")

    def delete(self, path: str) -> None:
        try:
            self.server.ask("DELETE", path)
        except self.refusal as refusal:
            if refusal.code != 404:
                raise

    def hold(self, access: dict, finalizers: list[str]) -> dict:
        metadata = {"finalizers": finalizers, "resourceVersion": access["metadata"]["resourceVersion"]}
        return self.server.patch(request_path(access), {"metadata": metadata})

    def tell(self, access: dict, status: dict) -> None:
        told = {"observedGeneration": access["metadata"]["generation"], **status}
        self.server.patch(f"{request_path(access)}/status", {"status": told})


def about(kind: str) -> dict:
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind}


def path_of(kind: str, namespace: str | None = None) -> str:
    return f"{RBAC}/namespaces/{namespace}/{kind.lower()}s" if namespace else f"{RBAC}/{kind.lower()}s"


def request_path(access: dict) -> str:
    metadata = access["metadata"]
    return f"{ACCESS}/namespaces/{metadata['namespace']}/accessrequests/{metadata['name']}"
