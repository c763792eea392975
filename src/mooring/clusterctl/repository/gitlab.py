"""Repositories on GitLab: generic packages of a project.

``https://{host}/api/v4/projects/{project}/packages/generic/{package}/{version}/{components.yaml}``
"""

from __future__ import annotations

import json
from typing import Any, Final

from mooring.clusterctl.errors import ClusterctlError, NotHere
from mooring.clusterctl.providers import Provider
from mooring.clusterctl.repository.addresses import Address, wrong_address
from mooring.clusterctl.repository.http import Answer, Fetcher, quoted
from mooring.clusterctl.repository.local import LATEST
from mooring.clusterctl.repository.source import checked_name, checked_version, listed
from mooring.clusterctl.semver import Version

API_PREFIX: Final = "/api/v4/projects/"

_FORM: Final = "https://{host}/api/v4/projects/{project}/packages/generic/{package}/{version|latest}/{components.yaml}"
_PAGES: Final = 100
_TOKEN_HINT: Final = "check gitlab-access-token (GITLAB_ACCESS_TOKEN), which needs the scope read_api"  # noqa: S105


class GitLabSource:
    """Versions of one generic package."""

    versions_as_written = True

    def __init__(self, provider: Provider, address: Address, token: str, fetcher: Fetcher) -> None:
        # The project is an id or an escaped path such as group%2Fproject, so escapes are left as they are.
        steps = address.raw_path.removeprefix("/").split("/")
        if len(steps) != 9 or steps[4:6] != ["packages", "generic"] or not all(steps):
            raise wrong_address(provider.url, f"on GitLab it must be in the form {_FORM}")
        self.components_name = steps[8]
        self.version_in_address = steps[7]
        self._package = steps[6]
        self._project = f"{address.server}{API_PREFIX}{steps[3]}"
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._fetcher = fetcher

    async def keeps_latest(self) -> bool:
        """A package may have a version of that name. Where we may not look, the server is taken at its word."""
        packages = await self._packages()
        return packages is None or any(package.get("version") == LATEST for package in packages)

    async def versions(self) -> list[str]:
        packages = await self._packages()
        names = [str(package.get("version") or "") for package in packages or []]
        if self.version_in_address not in (LATEST, *names):
            names.append(self.version_in_address)
        return [name for name in names if Version.read(name) is not None]

    async def file(self, version: str, name: str) -> bytes:
        place = f"{self._package}/{quoted(checked_version(version))}/{quoted(checked_name(name))}"
        answer = await self._fetcher.get(f"{self._project}/packages/generic/{place}", self._headers)
        if answer.status == 200:
            return answer.body
        if answer.status in (401, 403):
            raise ClusterctlError(f"GitLab does not give {name} of {version} ({answer.status}): {_TOKEN_HINT}")
        if answer.status == 404:
            raise NotHere(
                f"the package {self._package} has no {name} in version {version}: {await self._instead(version)}"
            )
        raise ClusterctlError(f"GitLab does not give {name} of {version}: {answer.address} answers {answer.status}")

    async def _instead(self, version: str) -> str:
        packages = await self._packages()
        if packages is None:
            return f"if the project is private, {_TOKEN_HINT}"
        for package in packages:
            if package.get("version") == version and isinstance(package.get("id"), int):
                files = await self._rows(f"{self._project}/packages/{package['id']}/package_files")
                return f"there is {listed({str(file.get('file_name')) for file in files or []})}"
        return f"there are the versions {listed(str(package.get('version')) for package in packages)}"

    async def _packages(self) -> list[dict[str, Any]] | None:
        """All versions of the package that can be used, or None if we may not list them."""
        query = f"package_type=generic&package_name={self._package}"
        found = await self._rows(f"{self._project}/packages?{query}")
        if found is None:
            return None
        return [row for row in found if row.get("name") == self._package and row.get("status", "default") == "default"]

    async def _rows(self, address: str) -> list[dict[str, Any]] | None:
        joint = "&" if "?" in address else "?"
        rows: list[dict[str, Any]] = []
        for page in range(1, _PAGES + 1):
            answer = await self._fetcher.get(f"{address}{joint}per_page=100&page={page}", self._headers)
            if answer.status != 200:
                return None
            rows += _decoded(answer)
            if not answer.headers.get("x-next-page"):
                break
        return rows


def _decoded(answer: Answer) -> list[dict[str, Any]]:
    try:
        found = json.loads(answer.body)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
        raise ClusterctlError(f"{answer.address} did not answer with a list of packages")
    return found
