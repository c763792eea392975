"""Where the configuration of scheduling comes from: files, directories or a ConfigMap; read at the start, then watched.

A source is asked for its `first` configuration, where whatever is wrong ends the process with a message. From then on
`watch` tells of changes. A change for the worse is logged with all its problems, which can be asked for, and the last
good configuration stays: a slip in a file never takes purposes away from running requests.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import structlog

from mooring.app.configuration_texts import BadText, Reading, Text, documents_of, read_texts
from mooring.app.installing import NAMESPACE
from mooring.app.settings import SettingError
from mooring.kube import (
    Changed,
    Client,
    Connection,
    Deleted,
    Event,
    Interrupted,
    Object,
    ObjectKey,
    Relisted,
    untyped,
    watching,
)
from mooring.kube.errors import NotFound
from mooring.runtime import Clock, SystemClock
from mooring.scheduling.configuration import (
    DEFAULT_CONFIGURATION,
    BadConfiguration,
    Configuration,
    configuration_of,
)
from mooring.scheduling.merging import merged

log = structlog.get_logger(__name__)

CONFIG_MAPS = untyped(plural="configmaps", kind="ConfigMap")
LOOK_AGAIN = 2.0  # seconds between two looks at files

Told = Callable[[Configuration], None]


class UnusableConfiguration(SettingError):
    """The configuration cannot be used, for all of these reasons."""

    def __init__(self, origin: str, problems: Sequence[str]) -> None:
        listed = "".join(f"\n  {problem}" for problem in problems)
        super().__init__(f"The configuration in {origin} cannot be used:{listed}")
        self.problems = tuple(problems)


class ConfigurationSource(Protocol):
    """Where a configuration comes from."""

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong with the newest state of the source; empty while it is in use."""

    async def first(self) -> Configuration:
        """The configuration to begin with; asked again, the last good one. Raises if there is none."""

    async def watch(self, told: Told) -> None:
        """Tell every configuration that differs from the one before, until cancelled. May be begun anew."""


def read_files(paths: Sequence[Path]) -> Mapping[str, Any]:
    """What the files say together, the later over the earlier; of a directory, all files in it count."""
    return _document(read_texts(paths), _listed(paths))


def _document(reading: Reading, origin: str) -> Mapping[str, Any]:
    problems = list(reading.problems)
    documents: list[Mapping[str, Any]] = []
    for text in reading.texts:
        try:
            documents += documents_of(text)
        except BadText as error:
            problems.append(str(error))
    if problems:
        raise UnusableConfiguration(origin, problems)
    return merged(documents)


def _configuration(reading: Reading, origin: str) -> Configuration:
    try:
        return configuration_of(_document(reading, origin))
    except BadConfiguration as error:
        raise UnusableConfiguration(origin, error.problems) from None


class FixedConfiguration:
    """A source that never changes."""

    problems: tuple[str, ...] = ()

    def __init__(self, configuration: Configuration = DEFAULT_CONFIGURATION) -> None:
        self._configuration = configuration

    async def first(self) -> Configuration:
        return self._configuration

    async def watch(self, told: Told) -> None:
        """There is nothing to tell."""


class _Changing:
    """The last good configuration of a source, and what is wrong with the one that came after it."""

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self.problems: tuple[str, ...] = ()
        self._good: Configuration | None = None
        self._taken: Reading | None = None

    def begin(self, reading: Reading) -> Configuration:
        self._good = _configuration(reading, self.origin)
        self._taken = reading
        return self._good

    def renew(self, reading: Reading, told: Told) -> None:
        """Take over what is there now, if it is something new and can be used."""
        if reading == self._taken:
            return
        try:
            found = _configuration(reading, self.origin)
        except UnusableConfiguration as error:
            self.problems = error.problems
            log.error(
                "the new configuration cannot be used; the last one stays", origin=self.origin, problems=error.problems
            )
        else:
            if found != self._good:
                log.info("the configuration has changed", origin=self.origin, purposes=sorted(found.purposes))
                told(found)
            self._good, self.problems = found, ()
        self._taken = reading


class ConfigurationFiles(_Changing):
    """Files and directories, looked at again and again.

    Files are compared by what is in them: a mounted ConfigMap changes by a swapped link, an editor by a new file, and
    neither is seen reliably by times and sizes. A change counts once two looks agree on it, so that nothing is read
    while it is being written.
    """

    def __init__(self, paths: Sequence[Path], *, clock: Clock | None = None, pause: float = LOOK_AGAIN) -> None:
        super().__init__(_listed(paths))
        self._paths = tuple(paths)
        self._clock: Clock = clock or SystemClock()
        self._pause = pause

    async def first(self) -> Configuration:
        return self._good or self.begin(read_texts(self._paths))

    async def watch(self, told: Told) -> None:
        await self.first()
        before = self._taken
        while True:
            await self._clock.sleep(self._pause)
            now = read_texts(self._paths)
            if now == before:
                self.renew(now, told)
            before = now


class ConfigurationMap(_Changing):
    """A ConfigMap, each of whose values is a text; they are merged in the order of their keys."""

    def __init__(self, connection: Connection, key: ObjectKey) -> None:
        super().__init__(f"ConfigMap {key}")
        self._connection = connection
        self._key = key

    async def first(self) -> Configuration:
        if self._good is not None:
            return self._good
        async with Client(self._connection) as client:
            found: Object | None = None
            with contextlib.suppress(NotFound):
                found = await client.get(CONFIG_MAPS, self._key.name, namespace=self._key.namespace)
        return self.begin(self._reading(found))

    async def watch(self, told: Told) -> None:
        await self.first()
        only = f"metadata.name={self._key.name}"
        async with Client(self._connection) as client:
            events = watching(client, CONFIG_MAPS, namespace=self._key.namespace, field_selector=only)
            await self._follow(events, told)

    async def _follow(self, events: AsyncGenerator[Event[Object], None], told: Told) -> None:
        async with contextlib.aclosing(events):
            async for event in events:
                match event:
                    case Relisted():
                        self.renew(self._reading(*event.items), told)
                    case Changed():
                        self.renew(self._reading(event.object), told)
                    case Deleted():
                        self.renew(self._reading(), told)
                    case Interrupted():
                        log.warning("the configuration cannot be watched", origin=self.origin, error=str(event.error))

    def _reading(self, found: Object | None = None) -> Reading:
        if found is None:
            return Reading(problems=(f"{self.origin} does not exist",))
        data: Mapping[str, str] = found.get("data") or {}
        return Reading(tuple(Text(f"{self.origin}, key {key},", data[key].encode()) for key in sorted(data)))


@dataclass(frozen=True, slots=True)
class ConfigurationChoice:
    """What was chosen on the command line."""

    files: tuple[Path, ...] = ()
    config_map: ObjectKey | None = None

    def source(self, connection: Connection) -> ConfigurationSource:
        if self.config_map is not None:
            return ConfigurationMap(connection, self.config_map)
        return ConfigurationFiles(self.files) if self.files else FixedConfiguration()


def configuration_choice(files: Sequence[str], name: str | None, namespace: str | None) -> ConfigurationChoice:
    """The choice of ``--config``, ``--configmap-name`` and ``--configmap-namespace``."""
    paths = tuple(Path(part).expanduser() for given in files for part in given.split(",") if part)
    if files and not paths:
        raise SettingError("--config names no file; give a file or a directory.")
    if paths and name is not None:
        raise SettingError("--config and --configmap-name exclude each other: keep the configuration in one place.")
    if namespace is not None and name is None:
        raise SettingError("--configmap-namespace says where a ConfigMap is; name it with --configmap-name.")
    return ConfigurationChoice(paths, None if name is None else ObjectKey(namespace or NAMESPACE, name))


def _listed(paths: Sequence[Path]) -> str:
    return ", ".join(map(str, paths))
