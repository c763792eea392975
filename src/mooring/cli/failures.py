"""What a person reads when something went wrong: one message, never a traceback."""

from __future__ import annotations

import errno
import os
import sys
import traceback


def tell(error: BaseException) -> None:
    """Print the message of an error to stderr; with MOORING_DEBUG, where it came from as well."""
    if "MOORING_DEBUG" in os.environ:
        traceback.print_exception(error)
    print(f"mooring: {explained(error)}", file=sys.stderr, flush=True)


def explained(error: BaseException) -> str:
    """The message of an error that was made for people; others are a defect of ours, and say how to report it."""
    from mooring.app.settings import SettingError
    from mooring.controlplane.errors import ControlPlaneError
    from mooring.kube.errors import KubeError

    if isinstance(error, BaseExceptionGroup):
        return "\n".join(explained(one) for one in error.exceptions)
    if isinstance(error, (ControlPlaneError, KubeError, SettingError)):
        return str(error)
    if isinstance(error, OSError) and error.filename is not None:
        return f"Cannot use {os.fsdecode(error.filename)}: {error.strerror}."
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return f"{error.strerror}. Free some space and try again."
    return (
        f"internal error: {type(error).__name__}: {error}. This is a defect of Mooring; run the command again with "
        f"MOORING_DEBUG=1 and report what it prints."
    )
