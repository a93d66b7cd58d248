"""How exact the closed forms are, compared with the full edge kernel solved in 40-digit arithmetic."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np

from benchmarks import data
from benchmarks.harness import Row, suite
from condrank import ConditionalRanker

# The bar is our own: half of the digits of double precision.
BAR = 1e-8


def reference() -> ModuleType:
    """The naive reference implementations of the tests."""
    path = Path(__file__).resolve().parent.parent / "tests" / "reference.py"
    spec = importlib.util.spec_from_file_location("reference", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def kernels(n: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Kernel matrices of training nodes, and kernel values of three new nodes. Two of the kernels are singular."""
    gram = reference().kernel_values
    X, X_new = data.nodes(n, 2), data.nodes(3, 2, seed=9)
    twins = np.vstack([X[: n - 1], X[:1]])
    return {
        "rbf": (gram("rbf", X, X), gram("rbf", X_new, X)),
        "linear, rank 2": (X @ X.T, X_new @ X.T),
        "rbf, a node twice": (gram("rbf", twins, twins), gram("rbf", X_new, twins)),
    }


@suite("Error against brute force on the whole edge kernel")
def accuracy(quick: bool) -> list[Row]:
    """Scores of new nodes × new nodes, compared with the n²×n² system in 40-digit arithmetic: the largest difference
    divided by the largest score, the worse of λ = 1 and λ = 10⁻⁴. The notes have the error of the same brute force in
    double precision. The bar of 10⁻⁸ is our own.
    """
    n, alphas = (3, (1e-4,)) if quick else (7, (1.0, 1e-4))
    naive = reference()
    rng = np.random.default_rng(4)
    rows = []
    for relation, loss in data.MODELS:
        Y = rng.normal(size=(n, n))
        Y = Y + data.SIGN[relation] * Y.T
        for name, (K, K_new) in kernels(n).items():
            ours, double = 0.0, 0.0
            for alpha in alphas:
                how = {"relation": relation, "loss": loss, "K_queries": K_new, "K_objects": K_new}
                exact = naive.exact_complete(K, Y, alpha, **how)
                scale = np.abs(exact).max()
                ranker = ConditionalRanker(relation, loss, alpha, kernel="precomputed").fit(K, Y)
                ours = max(ours, np.abs(ranker.predict(K_new, K_new) - exact).max() / scale)
                double = max(double, np.abs(naive.naive_complete(K, Y, alpha, **how) - exact).max() / scale)
            note = f"brute force in double precision: {double:.1e}"
            rows.append(Row(f"{relation} {loss}, {name}", f"n={n}", float(ours), None, BAR, unit="error", note=note))
    return rows
