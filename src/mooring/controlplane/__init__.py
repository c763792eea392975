"""Real Kubernetes on this machine: binaries, certificates, processes, control planes and landscapes.

The only room that starts Kubernetes. It asks servers whether they are well; API objects are for ``mooring.kube``.
Import from its modules: this door stays empty, because half of the room is not needed by most callers and
``mooring --help`` has to be quick.
"""
