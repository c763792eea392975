"""Processes, the ground of an embedded landscape: a provider's program runs on this machine, beside the platform.

Each provider has a directory in its landscape, ``providers/<name>``, with all there is of it: locks, pid and log files
of its two commands, their kubeconfigs and tokens, and what was initialised. So ``mooring down`` and ``mooring status``
know its processes, and whoever keeps the landscape next finds them.

A process is not a Pod. There is one, whatever ``spec.runReplicas`` says, volumes are not mounted, and metrics are not
served. It runs as the user who runs the landscape: which programs there are is decided by that user (``programs``), and
what it may do on the platform by its ServiceAccount (``credentials``).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from typing import Any

from mooring.api.providers import ClusterProvider, ProviderRights
from mooring.api.references import ObjectReference
from mooring.controlplane.errors import ControlPlaneError
from mooring.controlplane.files import remove_tree
from mooring.controlplane.landscape import Landscape
from mooring.kube import KubeError, ObjectKey, metadata_of, typed, uid_of
from mooring.kube.errors import NotFound
from mooring.providers.deployment.accounts import ACCESS, grant, grant_first, withdraw
from mooring.providers.deployment.contract import Command, Unfit, name_of
from mooring.providers.deployment.credentials import Credentials
from mooring.providers.deployment.grounds import Home, Progress
from mooring.providers.deployment.initialising import WAITING, Initialising, over
from mooring.providers.deployment.launches import launch_of
from mooring.providers.deployment.objects import account
from mooring.providers.deployment.placing import Placing
from mooring.providers.deployment.programs import named_by, program_for, rights_declared_by
from mooring.providers.deployment.reasons import PENDING, UNINSTALL_FAILED
from mooring.providers.deployment.supervising import Supervising
from mooring.runtime import Manager
from mooring.runtime.predicates import is_deleting

log = logging.getLogger(__name__)

_OBJECTS = metadata_of(typed(ClusterProvider))
_KEEP = ["get", "list", "watch", "create", "patch", "delete"]
_RBAC = "rbac.authorization.k8s.io"
# What this ground needs in the namespace that the providers are at home in, beside what every deployment needs in the
# cluster (``controllers.RIGHTS``).
HOME_RIGHTS: list[dict[str, Any]] = [
    {"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": _KEEP},
    {"apiGroups": [""], "resources": ["serviceaccounts/token"], "verbs": ["create"]},
    {"apiGroups": [_RBAC], "resources": ["roles"], "verbs": [*_KEEP, "escalate", "bind"]},
    {"apiGroups": [_RBAC], "resources": ["rolebindings"], "verbs": _KEEP},
]

BUILT_IN = Progress(done=True, reason="BuiltIn", message="It runs inside the process that keeps the landscape.")
_ENDING = Progress(done=False, reason=PENDING, message="Processes from before are stopped.")
_PAUSE = 5.0  # seconds before what could not be done is tried again
_LOOK_AGAIN = 15.0  # seconds until a program that was missing is looked for again: nobody tells when one comes


class Processes:
    """The ground. Making the object touches nothing; what it starts outlives it."""

    def __init__(self, manager: Manager, home: Home, landscape: Landscape, *, built_in: Collection[str] = ()) -> None:
        self._manager, self._home, self._landscape = manager, home, landscape
        self._built_in = frozenset(built_in)  # providers that run inside this process already
        self._placing = Placing(manager, home, ACCESS)
        self._placing.heard(lambda key: self._changed(key.name))
        self._hosted: dict[str, _Hosted] = {}
        self._endings: dict[str, asyncio.Task[None]] = {}
        self._wake: Callable[[ObjectKey], None] | None = None

    # -- what the controller asks -------------------------------------------------------------------------------

    def declared(self, provider: ClusterProvider) -> ProviderRights | None:
        """What the program itself says it needs, where that is known. Unfit: there is no such program, or it is broken.

        What runs inside this process has rights of its own already, and needs no others.
        """
        if self._is_built_in(provider):
            return ProviderRights()
        return rights_declared_by(program_for(provider.spec.image))

    async def initialised(self, provider: ClusterProvider) -> Progress:
        return await self._asked(provider, Command.INIT)

    async def running(self, provider: ClusterProvider) -> Progress:
        return await self._asked(provider, Command.RUN)

    def metrics(self, provider: ClusterProvider) -> ObjectReference | None:
        return None

    async def remove(self, provider: ClusterProvider) -> bool:
        """First what runs, and its rights only then: it may have something to clear up."""
        try:
            if not self._end(provider.metadata.name):
                return False
        except ControlPlaneError as error:
            raise Unfit(str(error), reason=UNINSTALL_FAILED) from error
        await withdraw(self._placing, provider)
        left = await self._placing.left(provider)
        for kind, thing in left:
            if not is_deleting(thing):
                await self._placing.remove(kind, thing)  # we had not heard of it
        return not left

    async def watch(self, wake: Callable[[ObjectKey], None]) -> None:
        self._wake = wake
        for name in list(self._hosted):
            self._changed(name)  # what happened before we listened
        try:
            await self.sweep()
            await asyncio.Event().wait()
        finally:
            self._wake = None
            await self.release()

    # -- what is here besides -----------------------------------------------------------------------------------

    async def sweep(self) -> None:
        """End what runs for objects that are gone: deleted by force, while nobody was here to hear of it."""
        left = self._landscape.provider_names
        while left := [name for name in left if not await self._is_swept(name)]:
            await asyncio.sleep(_PAUSE)

    async def release(self) -> None:
        """Let go of all processes, which live on."""
        endings, self._endings = self._endings, {}
        for task in endings.values():
            await over(task)
        hosted, self._hosted = self._hosted, {}
        for one in hosted.values():
            await one.release()

    async def _is_swept(self, name: str) -> bool:
        """Whether a directory is somebody's, or gone. The server's own answer counts, and no cache."""
        try:
            await self._manager.client.get(_OBJECTS, name)
        except NotFound:
            log.warning("the provider %s is gone; ending its processes", name)
        except KubeError as error:
            log.warning("the provider %s could not be looked for (%s)", name, error)
            return False
        else:
            return True
        try:
            while not self._end(name):
                await asyncio.wait({self._endings[name]})
        except ControlPlaneError as error:
            log.warning("the provider %s could not be ended (%s)", name, error)
            return False
        return True

    # -- one provider -------------------------------------------------------------------------------------------

    async def _asked(self, provider: ClusterProvider, command: Command) -> Progress:
        """How a command is; what is not as it should be is put in order."""
        name = provider.metadata.name
        try:
            if self._is_built_in(provider):
                return BUILT_IN if self._end(name) else _ENDING  # what an earlier image has left
            if name in self._endings and not self._end(name):
                return _ENDING
            found = program_for(provider.spec.image)
            launch = launch_of(provider, self._home, command, found, account=await self._granted(provider, command))
            hosted = self._host(provider)
            if command is Command.RUN:
                return await hosted.run.progress(launch)
            progress = hosted.init.progress(launch)
            if not progress.done and (uid := self._account(provider, Command.RUN)):
                await hosted.run.tend(uid)
            return progress
        except NotFound:
            return WAITING
        except Unfit as error:
            return Progress(done=False, failed=True, reason=error.reason, message=str(error), look_again=_LOOK_AGAIN)
        except ControlPlaneError as error:
            return Progress(done=False, failed=True, reason="StartFailed", message=str(error), look_again=_PAUSE)

    async def _granted(self, provider: ClusterProvider, command: Command) -> str:
        """Have the account of the command, with its rights; its uid."""
        said = provider.spec.rights
        rights = self.declared(provider) if said is None else said
        if command is Command.INIT:
            await grant_first(self._placing, provider, self._home, rights)
        else:
            await grant(self._placing, provider, self._home, command, rights)
        return self._account(provider, command)

    def _account(self, provider: ClusterProvider, command: Command) -> str:
        there = self._placing.there(account(provider, self._home, command))
        return "" if there is None else uid_of(there)

    def _is_built_in(self, provider: ClusterProvider) -> bool:
        """Whether it runs inside this process: by its name and its image. Unfit if only one of them says so."""
        name, image = provider.metadata.name, provider.spec.image
        program = named_by(image) if self._built_in else ""
        if program == name or not self._built_in & {program, name}:
            return name in self._built_in
        if name in self._built_in:
            what = f"The provider {name} runs inside Mooring, and cannot be run of the image {image}"
            remedy = f"set spec.image to mooring/{name}, or create a ClusterProvider of another name"
        else:
            what = f"The image {image} runs inside Mooring already, as the provider {program}, and only once"
            remedy = f"delete this ClusterProvider, and name {program} in spec.providerRef of its configurations"
        raise Unfit(f"{what}: {remedy}.", reason="BuiltIn")

    def _host(self, provider: ClusterProvider) -> _Hosted:
        name = provider.metadata.name
        if name not in self._hosted:
            directory, changed = self._landscape.provider_directory(name), partial(self._changed, name)
            known = {
                command: Credentials(
                    self._landscape,
                    self._manager,
                    self._home,
                    account=name_of(provider, command),
                    files=directory / command.value,
                )
                for command in Command
            }
            self._hosted[name] = _Hosted(
                init=Initialising(directory, known[Command.INIT], changed),
                run=Supervising(directory, known[Command.RUN], changed),
            )
        return self._hosted[name]

    def _end(self, name: str) -> bool:
        """Have its processes and files gone; True when they are. What kept the last try from it is raised."""
        task = self._endings.get(name)
        if task is not None and not task.done():
            return False
        if task is not None:
            self._endings.pop(name).result()
        if name not in self._hosted and not self._landscape.provider_directory(name).exists():
            return True
        self._endings[name] = asyncio.create_task(self._ending(name))
        return False

    async def _ending(self, name: str) -> None:
        try:
            if (hosted := self._hosted.pop(name, None)) is not None:
                await hosted.release()
            await self._landscape.stop_provider(name)
            await asyncio.to_thread(remove_tree, self._landscape.provider_directory(name))
        finally:
            # Not before this task has ended: whoever is called asks for its result.
            asyncio.get_running_loop().call_soon(self._changed, name)

    def _changed(self, name: str) -> None:
        if self._wake is not None:
            self._wake(ObjectKey("", name))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Hosted:
    """The two commands of one provider."""

    init: Initialising
    run: Supervising

    async def release(self) -> None:
        await self.init.release()
        await self.run.release()
