"""What can be counted: queues, reconciles and API calls. Everything starts at zero when its controller is known."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_SECONDS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
RESULTS = ("ok", "requeued", "failed", "terminal", "ignored")
_VERBS = ("GET", "POST", "PUT", "PATCH", "DELETE")


class Metrics:
    """The metrics of one process, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.depth = Gauge("mooring_queue_depth", "Keys that are due.", ["controller"], registry=self.registry)
        self.running = Gauge(
            "mooring_reconciles_running", "Keys being worked on.", ["controller"], registry=self.registry
        )
        self.latency = Histogram(
            "mooring_queue_latency_seconds",
            "From due to begun.",
            ["controller"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.duration = Histogram(
            "mooring_reconcile_seconds",
            "From begun to ended.",
            ["controller"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.reconciles = Counter(
            "mooring_reconciles", "Reconciles by how they ended.", ["controller", "result"], registry=self.registry
        )
        self.retries = Counter("mooring_retries", "Reconciles to be repeated.", ["controller"], registry=self.registry)
        self.calls = Counter(
            "mooring_api_calls",
            "Requests to the API server, but for watches.",
            ["verb", "code"],
            registry=self.registry,
        )
        for verb in _VERBS:
            self.calls.labels(verb, "200")
        self.leading = Gauge("mooring_leading", "1 while this process may write.", registry=self.registry)
        self.undecodable = Gauge(
            "mooring_undecodable_objects",
            "Objects that cannot be read and are skipped.",
            ["kind"],
            registry=self.registry,
        )

    def introduce(self, controller: str) -> None:
        """Show a controller's metrics before anything happened."""
        for metric in (self.depth, self.running, self.latency, self.duration, self.retries):
            metric.labels(controller)
        for result in RESULTS:
            self.reconciles.labels(controller, result)

    def heard(self, verb: str, code: int, _seconds: float) -> None:
        """One answer of the API server; 0 is none at all."""
        self.calls.labels(verb, str(code)).inc()

    def page(self) -> bytes:
        return generate_latest(self.registry)
