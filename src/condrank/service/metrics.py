"""Counts and times of requests, in the text format that Prometheus reads."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds
METHODS = frozenset({"GET", "POST", "HEAD", "OPTIONS"})
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """Requests by route, method and status, and their times by route. Used from the event loop only."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, str, int]] = Counter()
        self.buckets: dict[str, list[int]] = {}
        self.seconds: Counter[str] = Counter()
        self.running = 0

    def observe(self, route: str, method: str, status: int, seconds: float) -> None:
        """One request; labels are routes and known methods, never what a client made up."""
        self.requests[route, method if method in METHODS else "other", status] += 1
        counts = self.buckets.setdefault(route, [0] * (len(BUCKETS) + 1))
        counts[bisect_left(BUCKETS, seconds)] += 1
        self.seconds[route] += seconds  # pyright: ignore[reportArgumentType]

    def text(self, loads: int, failures: int, loaded_at: float) -> str:
        """All of it, with what is known of the model's loads."""
        lines = _head("condrank_requests_total", "counter", "Requests by route, method and status.")
        for (route, method, status), count in sorted(self.requests.items()):
            lines.append(f'condrank_requests_total{{route="{route}",method="{method}",status="{status}"}} {count}')
        name = "condrank_request_seconds"
        lines += _head(name, "histogram", "Time of requests, from the first byte read to the last one written.")
        for route, counts in sorted(self.buckets.items()):
            total = 0
            for bound, count in zip((*map(str, BUCKETS), "+Inf"), counts, strict=True):
                total += count
                lines.append(f'{name}_bucket{{route="{route}",le="{bound}"}} {total}')
            lines += [
                f'{name}_sum{{route="{route}"}} {self.seconds[route]:.6f}',
                f'{name}_count{{route="{route}"}} {total}',
            ]
        for name, kind, about, value in (
            ("condrank_requests_running", "gauge", "Requests that are being answered.", self.running),
            ("condrank_model_loads_total", "counter", "Models loaded.", loads),
            ("condrank_model_load_failures_total", "counter", "Model files that could not be loaded.", failures),
            ("condrank_model_loaded_seconds", "gauge", "When the model was loaded, in seconds since 1970.", loaded_at),
        ):
            lines += [*_head(name, kind, about), f"{name} {value}"]
        return "\n".join(lines) + "\n"


def _head(name: str, kind: str, about: str) -> list[str]:
    return [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]
