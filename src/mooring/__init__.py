"""Mooring hands out Kubernetes clusters and access to them, as Kubernetes API objects.

The rooms of this house and what each may import are drawn in ``docs/concepts/rooms.md``; a machine keeps the map.
"""

__version__ = "0.1.0"
