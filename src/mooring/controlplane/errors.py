"""What can go wrong when Kubernetes runs here.

ControlPlaneError         every message is one that a person can act on
├── BinariesError         the Kubernetes binaries cannot be had
├── StateError            a file of the landscape cannot be read, written or understood
├── ProcessError          a child did not start, or died; carries the last lines of its log
│   └── PortTaken         it could not listen: someone else has the port
├── NotReady              it runs, but did not become ready in time
├── NotTold               it is too old to tell what we have to know
├── Busy                  another mooring process is at work on this landscape
└── EtcdError             etcd answered with a refusal
    └── NoSpace           etcd's quota is used up: it takes reads and deletes only
"""

from __future__ import annotations


class ControlPlaneError(Exception):
    """The base of this room's errors."""


class BinariesError(ControlPlaneError):
    """The Kubernetes binaries cannot be had; the message says what was tried and what to do."""


class StateError(ControlPlaneError):
    """A file of the landscape cannot be read, written or understood; the message names it."""


class ProcessError(ControlPlaneError):
    """A child process did not start or died."""


class PortTaken(ProcessError):
    """A child could not listen because someone else has its port."""


class NotReady(ControlPlaneError):
    """Something runs but did not become ready in time."""


class NotTold(ControlPlaneError):
    """A server is too old to tell something that we have to know."""


class Busy(ControlPlaneError):
    """Another process holds the landscape."""


class EtcdError(ControlPlaneError):
    """etcd refused a request."""


class NoSpace(EtcdError):
    """etcd's quota is used up."""
