"""Twenty-four nodes with columns of every kind, edges between them, new nodes, and a ranker for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from condrank import ConditionalRanker

N = 24


def make_tables(seed: int = 0, n: int = N) -> tuple[dict[str, Any], dict[str, Any]]:
    """Tables of nodes and of edges; the value of an edge is the difference of x."""
    rng = np.random.default_rng(seed)
    nodes = {
        "id": [f"n{i}" for i in range(n)],
        "x": rng.normal(size=n) * 10,
        "born": (np.datetime64("1990-01-01") + rng.integers(0, 9000, n)).astype("M8[D]"),
        "c": rng.choice(["a", "b", "c"], n).tolist(),
        "t": [" ".join(rng.choice(["red", "green", "blue", "car", "tree"], 5)) for _ in range(n)],
    }
    sources, targets = np.nonzero(rng.random((n, n)) < 0.7)
    values = nodes["x"][sources] - nodes["x"][targets]
    edges = {"source": [f"n{i}" for i in sources], "target": [f"n{j}" for j in targets], "value": values}
    return nodes, edges


NODES, EDGES = make_tables()
NEW = {name: column[:3] for name, column in make_tables(1)[0].items()} | {"id": ["new0", "n1", "new2"]}
RANKER = ConditionalRanker(relation="reciprocal", loss="regression", constant=True)
