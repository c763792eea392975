"""Merging a kubeconfig into the user's own file, as kubectl would: nothing else in it changes."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from mooring.api.kubeconfigs import Document, merged
from mooring.app.settings import SettingError
from mooring.controlplane.files import write_private

_LOCK_PATIENCE = 10.0


def user_kubeconfig() -> Path:
    """Where kubectl would write: the first file of KUBECONFIG, or ``~/.kube/config``."""
    listed = [part for part in os.environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    return Path(listed[0]).expanduser() if listed else Path.home() / ".kube" / "config"


def merge_into(path: Path, document: Document) -> None:
    """Add the document's cluster, user and context, and make the context the current one."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise SettingError(
            f"Cannot create {path.parent}: {error.strerror}. Give another file with --kubeconfig."
        ) from error
    with _locked(path):
        result = merged(_read(path), document)
        # A link stays a link: its target is what changes.
        write_private(path.resolve(), yaml.safe_dump(result, sort_keys=False).encode())


def _read(path: Path) -> Mapping[str, Any]:
    try:
        content = yaml.safe_load(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, yaml.YAMLError) as error:
        raise SettingError(f"Cannot read the kubeconfig {path}: {error}. It was left as it is.") from error
    if content is None:
        return {}
    sections = ("clusters", "users", "contexts")
    if not isinstance(content, dict) or not all(_is_named_list(content.get(section)) for section in sections):
        raise SettingError(
            f"The file {path} is not a kubeconfig. It was left as it is; give another with --kubeconfig."
        )
    return content


def _is_named_list(value: object) -> bool:
    return value is None or (
        isinstance(value, list) and all(isinstance(one, dict) and isinstance(one.get("name"), str) for one in value)
    )


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """The lock that kubectl takes for the same purpose: a file beside the file."""
    lock = path.with_name(f"{path.name}.lock")
    deadline = time.monotonic() + _LOCK_PATIENCE
    while True:
        try:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL, 0o600))
            break
        except FileExistsError:
            if time.monotonic() > deadline:
                raise SettingError(f"{path} is locked by {lock}; remove that file if nobody is writing.") from None
            time.sleep(0.05)
        except OSError as error:
            raise SettingError(
                f"Cannot write beside {path}: {error.strerror}. Give another file with --kubeconfig."
            ) from error
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)
