"""What turns the wheel: stores, queues, controllers, the manager and its lease.

Whoever writes a controller writes a :class:`Reconciler` (key in, :class:`Outcome` out), names its sources, and adds it
to a :class:`Manager`.
"""

from mooring.runtime.clock import Clock, SystemClock, Timer
from mooring.runtime.controller import Controller, Source, own_key
from mooring.runtime.leader import Leader, LeadershipLost, LeaseSettings, NotLeader
from mooring.runtime.manager import Manager
from mooring.runtime.reconcile import Outcome, Reconciler, Terminal, TryAgain
from mooring.runtime.recorder import Recorder
from mooring.runtime.store import Store
from mooring.runtime.writing import Writer, merge_patch, with_finalizer, without_finalizer

__all__ = [
    "Clock",
    "Controller",
    "Leader",
    "LeadershipLost",
    "LeaseSettings",
    "Manager",
    "NotLeader",
    "Outcome",
    "Reconciler",
    "Recorder",
    "Source",
    "Store",
    "SystemClock",
    "Terminal",
    "Timer",
    "TryAgain",
    "Writer",
    "merge_patch",
    "own_key",
    "with_finalizer",
    "without_finalizer",
]
