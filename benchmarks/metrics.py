"""The rank loss of a large table of scores, compared with sorting the table."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Row, measure, suite
from condrank.metrics import rank_loss


@suite("Rank loss against sorting")
def metrics(quick: bool) -> list[Row]:
    """Rank loss of n conditioning nodes × n objects. Floor: np.sort of the same matrix of labels."""
    n = 100 if quick else 2000
    rng = np.random.default_rng(0)
    real, scores = rng.normal(size=(n, n)), rng.normal(size=(n, n))
    labels = {
        "real-valued": real,
        "five levels": np.floor(rng.random((n, n)) * 5),
        "two levels": np.floor(rng.random((n, n)) * 2),
        "real-valued, half unobserved": np.where(rng.random((n, n)) < 0.5, np.nan, real),
    }
    times = measure(
        {"sort": lambda: np.sort(real, axis=1)}
        | {name: lambda Y=Y: rank_loss(Y, scores) for name, Y in labels.items()},
        5,
    )
    bars = {"real-valued": 10.0}
    return [Row(name, f"{n:,}×{n:,}", times[name], times["sort"], bars.get(name)) for name in labels]
