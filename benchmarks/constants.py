"""A constant in the node kernel: what it adds to the time of a fit over the edges."""

from __future__ import annotations

from benchmarks.harness import Row, measure, suite
from benchmarks.shapes import shapes
from condrank import ConditionalRanker


@suite("A constant in the node kernel")
def constants(quick: bool) -> list[Row]:
    """Incomplete graphs of texts, drugs and battles, λ = 1, with the solver that `auto` chooses and over the edges.
    Floor: the same fit without a constant.
    """
    rows = []
    for shape in shapes(quick):
        graph = shape.make()
        for solver, tol in ((solver, tol) for solver in ("auto", "dual") for tol in (1e-4, 1e-8)):
            fits = {
                given: ConditionalRanker(**(shape.params | {"constant": given}), alpha=1.0, tol=tol, solver=solver)
                for given in (False, True)
            }
            times = measure({given: lambda r=ranker, g=graph: r.fit(g) for given, ranker in fits.items()}, 3)
            ways = (f"{fits[given].n_iter_} iterations ({fits[given].solver_})" for given in (True, False))
            size = f"n={len(graph):,}, {graph.n_edges:,} edges"
            name = f"{shape.name}, {solver}, to {tol:g}"
            rows.append(Row(name, size, times[True], times[False], 1.15, note=" against ".join(ways)))
    return rows
