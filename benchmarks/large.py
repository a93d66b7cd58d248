"""Large sparse graphs: an iteration compared with its bare products, and how cost grows with edges and nodes."""

from __future__ import annotations

import numpy as np

from benchmarks import data
from benchmarks.harness import Deadline, Row, cut_short, measure, peak_mib, seconds, suite
from condrank import ConditionalRanker
from condrank.fitting.reading import read_settings
from condrank.problem.problem import Problem
from condrank.solvers.primal import PrimalSolver, PrimalSystem
from condrank.solvers.system import Options


@suite("A large sparse graph: an iteration against its bare products")
def large(quick: bool) -> list[Row]:
    """Linear kernel on explicit features, reciprocal ranking. The floor of an iteration is the two sampled products
    over the observed edges that it needs (values at the edges, and sparse times dense), with the same compiled loops.
    """
    n, n_edges, d, steps = (500, 10_000, 8, 4) if quick else (100_000, 5_000_000, 64, 12)
    graph = data.incomplete(n, d, n_edges, "reciprocal")
    size = f"n={n:,}, {graph.n_edges:,} edges, d={d}"
    rows = []
    for relation, loss in (("ordinary", "regression"), ("reciprocal", "ranking")):
        ranker = ConditionalRanker(relation, loss, alpha=1.0)
        system = PrimalSolver().build(Problem(graph, read_settings(ranker, graph)))
        assert isinstance(system, PrimalSystem)
        entries, Z = graph.relation.values, system.Z

        def bare(system: PrimalSystem = system, entries: np.ndarray = entries, Z: np.ndarray = Z) -> None:
            system.products.at_edges(Z, Z)
            system.products.times(entries, Z)

        one, floor = float("inf"), float("inf")
        for _ in range(3):
            floor = min(floor, measure({"bare": bare}, 2)["bare"])
            deadline = Deadline(60.0)
            system.solve(1.0, Options(0.0, steps, None, deadline))
            one = min(one, deadline.per_iteration)
        rows.append(Row(f"an iteration, {relation} {loss}", size, one, floor, 3.0))
    ranker = ConditionalRanker("reciprocal", tol=1e-6)
    took = seconds(lambda: ranker.fit(graph))
    rows.append(Row("whole fit to 10⁻⁶, reciprocal ranking", size, took, floor, note=f"{ranker.n_iter_} iterations"))
    short = ConditionalRanker("reciprocal", max_iter=2)
    with cut_short():
        peak = peak_mib(lambda: short.fit(graph))
    held = (graph.relation.nbytes + graph.nodes.base.nbytes) / 2**20
    rows.append(Row("memory, reciprocal ranking", size, peak, held, unit="MiB", note="floor: the edges and features"))
    return rows


@suite("How cost grows", plot="curves", axes=("edges (nodes for the complete graph)", "seconds"))
def scaling(quick: bool) -> list[Row]:
    """Ten iterations of ordinary ranking on explicit features, for more edges with a fixed number of nodes, and for
    more nodes with a fixed number of edges per node; and the closed form of a complete graph with an RBF kernel, for
    more nodes. The slope of log seconds over log size is fitted to the larger sizes of each curve.
    """
    if quick:
        fixed, by_edges, by_nodes, by_complete = 200, (1000, 2000, 4000), (50, 100, 200), (30, 60)
    else:
        fixed, by_edges = 20_000, (100_000, 200_000, 400_000, 800_000, 1_600_000, 3_200_000)
        by_nodes, by_complete = (2000, 5000, 10_000, 20_000, 50_000, 100_000), (250, 500, 1000, 2000)
    d, degree = (8, 10) if quick else (32, 50)
    curves = {
        f"{fixed:,} nodes, more edges": [(e, data.incomplete(fixed, d, e)) for e in by_edges],
        f"{degree} edges a node, more nodes": [(degree * n, data.incomplete(n, d, degree * n)) for n in by_nodes],
        "complete, RBF": [(n, data.complete(n, d)) for n in by_complete],
    }
    rows, slopes = [], []
    for name, graphs in curves.items():
        kernel = "rbf" if name.startswith("complete") else "linear"
        times = []
        for x, graph in graphs:
            ranker = ConditionalRanker(kernel=kernel, tol=0.0, max_iter=10)
            with cut_short():
                times.append(measure({"fit": lambda r=ranker, g=graph: r.fit(g)}, 2)["fit"])
            size = f"n={len(graph):,}, {graph.n_edges:,} edges"
            note = f"{ranker.n_iter_} iterations" if ranker.n_iter_ else ""
            rows.append(Row(name, size, times[-1], series=name, x=x, note=note))
        half = len(times) // 2
        sizes = np.array([x for x, _ in graphs], dtype=float)
        slope = float(np.polyfit(np.log(sizes[half - 1 :]), np.log(times[half - 1 :]), 1)[0])
        slopes.append(Row(f"slope: {name}", "", slope, unit="slope"))
    return rows + slopes
