"""Counts and times of requests, connections, and loads of models, for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from condrank.service.connections import REASONS, Connections

if TYPE_CHECKING:
    from condrank.service.holder import ModelHolder

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds
METHODS = frozenset({"GET", "POST", "HEAD", "OPTIONS"})
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """The metrics of one application, in a registry of its own: two applications in a process count apart.

    Parameters
    ----------
    holder : ModelHolder
        Whose loads are reported.
    connections : Connections
        Its connections are reported if `condrank serve` runs the application; other servers keep their own.

    Attributes
    ----------
    running : Gauge
        Requests that are being answered.
    """

    def __init__(self, holder: ModelHolder, connections: Connections):
        self._holder, self._connections, self._registry = holder, connections, CollectorRegistry()
        labels, about = ("route", "method", "status"), "Requests by route, method and status."
        self._requests = Counter("condrank_requests_total", about, labels, registry=self._registry)
        about = "Time of requests, from the first byte read to the last one written."
        self._seconds = Histogram(
            "condrank_request_seconds", about, ("route",), registry=self._registry, buckets=BUCKETS
        )
        about = "Requests that are being answered."
        self.running = Gauge("condrank_requests_running", about, registry=self._registry)

    def observe(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count one request. Labels are routes and known methods, never text that a client made up."""
        self._requests.labels(route, method if method in METHODS else "other", status).inc()
        self._seconds.labels(route).observe(seconds)

    def text(self) -> bytes:
        """All metrics in the text format of Prometheus."""
        return generate_latest(self)

    def collect(self) -> Iterator[Metric]:
        """The metrics, without the series of creation times that the library adds to each of them."""
        for metric in self._registry.collect():
            metric.samples = [one for one in metric.samples if not one.name.endswith("_created")]
            yield metric
        loads, failures, loaded_at = self._holder.loads, self._holder.failures, self._holder.loaded_at
        yield CounterMetricFamily("condrank_model_loads", "Models loaded.", loads)
        yield CounterMetricFamily("condrank_model_load_failures", "Model files that could not be loaded.", failures)
        about = "When the model was loaded, in seconds since 1970."
        yield GaugeMetricFamily("condrank_model_loaded_seconds", about, loaded_at)
        yield GaugeMetricFamily("condrank_connections", "Open connections.", len(self._connections))
        about = "Connections that were closed because the client was too slow or there were too many, by reason."
        dropped = CounterMetricFamily("condrank_connections_dropped", about, labels=["reason"])
        for reason in REASONS:
            dropped.add_metric([reason], self._connections.dropped[reason])
        yield dropped
