"""Choosing λ on incomplete graphs, against the fit with the λ that is chosen."""

from __future__ import annotations

import time
import warnings

import numpy as np

from benchmarks.harness import Row, suite
from benchmarks.shapes import shapes
from benchmarks.uneven import uneven_shapes
from condrank import ConditionalRanker, ConditionalRankerCV

ALPHAS = np.logspace(-3, 3, 13)
# Choosing among 13 λ by five folds may take this many fits.
BAR = 6.0


@suite("Choosing λ on incomplete graphs")
def lambdas(quick: bool) -> list[Row]:
    """Thirteen λ from 10⁻³ to 10³ by five folds of new conditioning nodes, without the last fit (measured), and the fit
    to the whole graph with the chosen λ to a residual of 10⁻⁸ (floor). The shapes are those of texts (2,000 documents,
    120,000 graded edges), drugs and targets (1,421 × 156, 42 % known) and battles (800 nodes, 92,000 edges). The data
    themselves, and KIBA (2,111 × 229, 24 % known), are added if CONDRANK_DATA says where they are. The other row is a
    path of the same λ to 10⁻⁶ from one fitted ranker.
    """
    rows = []
    for shape in [*shapes(quick), *(one for one in uneven_shapes(quick) if one.name == "KIBA")]:
        graph, best, floor, path, search = shape.make(), np.inf, np.inf, np.inf, None
        for _ in range(2):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                start = time.perf_counter()
                search = ConditionalRankerCV(ALPHAS, **shape.params).fit(graph)
                both = time.perf_counter() - start
                start = time.perf_counter()
                ConditionalRanker(alpha=search.alpha_, **shape.params).fit(graph)
                alone = time.perf_counter() - start
                best, floor = min(best, both - alone), min(floor, alone)
                ranker = ConditionalRanker(alpha=search.alpha_, tol=1e-6, **shape.params).fit(graph)
                start = time.perf_counter()
                list(ranker.path([alpha for alpha in ALPHAS if alpha >= search.alpha_]))
                path = min(path, time.perf_counter() - start)
        assert search is not None
        size = f"{' × '.join(f'{n:,}' for n in dict.fromkeys(graph.shape))}, {graph.n_edges:,} edges"
        note = f"λ = {search.alpha_:.3g}, rank loss {search.cv_losses_.min():.4f}, last fit {search.solver_}"
        bar, name = None if quick else BAR, f"13 λ by 5 folds, {shape.name}"
        rows.append(Row(name, size, max(best, 1e-9), floor, bar, note=note))
        n_alphas = int((search.alpha_ <= ALPHAS).sum())
        rows.append(Row(f"path of {n_alphas} λ, {shape.name}", size, path, floor))
    return rows
