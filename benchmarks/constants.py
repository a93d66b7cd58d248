"""A constant in the node kernel: what it adds to the time of a fit over the edges."""

from __future__ import annotations

from benchmarks.harness import Row, measure, suite
from benchmarks.shapes import shapes
from condrank import ConditionalRanker


@suite("A constant in the node kernel")
def constants(quick: bool) -> list[Row]:
    """Incomplete graphs of texts, drugs and battles, λ = 1, over the edges. Floor: the same fit without a constant."""
    rows = []
    for shape in shapes(quick):
        graph = shape.make()
        for tol in (1e-4, 1e-8):
            fits = {
                given: ConditionalRanker(**(shape.params | {"constant": given}), alpha=1.0, tol=tol, solver="dual")
                for given in (False, True)
            }
            times = measure({given: lambda r=ranker, g=graph: r.fit(g) for given, ranker in fits.items()}, 3)
            note = f"{fits[True].n_iter_} iterations against {fits[False].n_iter_}"
            size = f"n={len(graph):,}, {graph.n_edges:,} edges"
            rows.append(Row(f"{shape.name}, to {tol:g}", size, times[True], times[False], 1.15, note=note))
    return rows
