"""Uneven graphs, on which the features of the edges are far from what a random sample of the pairs would have."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from benchmarks.harness import Row, cut_short, measure, suite
from benchmarks.plain import PlainDual
from benchmarks.shapes import DRUGS, Shape, drugs, metz
from condrank import ConditionalRanker, RelationGraph
from condrank.datasets import load_kiba
from condrank.datasets.files import VARIABLE, find

TOL = 1e-4
ALPHAS = (0.1, 1.0)
# Never slower than plain CG in single precision. The goal is half its time.
BAR = 1.0
MAX_ITER = 5000
# Tolerance of the solution that errors are compared with.
EXACT = 1e-8


def uneven_shapes(quick: bool) -> list[Shape]:
    """Drugs and targets, the pairs known in blocks, and the data themselves where they are found."""
    n, m = (40, 15) if quick else (1421, 156)
    params = DRUGS | {"gamma": 0.05}
    found = [
        Shape(f"drugs, unevenness {uneven:g}", lambda u=uneven: drugs(n, m, share=0.3, uneven=u), params)
        for uneven in (1.0, 4.0)
    ]
    if quick or not os.environ.get(VARIABLE):
        return found
    if held("metz/metz.npz"):
        found.append(Shape("Metz", metz, params))
    if held("kiba/kiba.npz"):
        found.append(Shape("KIBA", lambda: load_kiba().graph, DRUGS | {"kernel": "precomputed", "gamma": None}))
    return found


def held(name: str) -> bool:
    """Whether a file is among the data."""
    try:
        find(name, None, name, "")
    except FileNotFoundError:
        return False
    return True


@suite("Uneven graphs against plain dual conjugate gradients in single precision")
def uneven(quick: bool) -> list[Row]:
    """Drugs and targets, regression, to a relative residual of 10⁻⁴. Measured is the whole fit by `auto`; the floor is
    plain CG on the dual system with dense products in single precision, kernel included. Unevenness 1 is that of a
    collection of assays, 4 leaves blocks almost empty. Metz and KIBA are added if CONDRANK_DATA says where they are.
    The notes have the errors of the values at the edges, of condrank and of plain CG, compared with a solution to 10⁻⁸.
    Where ours would be more than twice as large, the tolerance of condrank is lowered until it is not.
    """
    return [row for shape in uneven_shapes(quick) for row in uneven_rows(shape.name, shape.make(), shape.params)]


def uneven_rows(name: str, graph: RelationGraph, params: dict[str, Any]) -> list[Row]:
    """A row for each λ."""
    rows, place = [], (graph.relation.sources, graph.relation.indices)
    for alpha in ALPHAS:
        ranker = ConditionalRanker(alpha=alpha, tol=TOL, max_iter=MAX_ITER, **params)
        found: dict[str, Any] = {}

        def plain(alpha: float = alpha, found: dict[str, Any] = found) -> None:
            system = PlainDual(graph, params["gamma"], params["relation"], params["loss"], True, np.float32)
            found["plain"] = system.solve(alpha, TOL, MAX_ITER)
            found["system"] = system

        with cut_short():
            exact = ConditionalRanker(**(ranker.get_params() | {"tol": EXACT})).fit(graph).predict(graph)[place]

            def error(values: np.ndarray, exact: np.ndarray = exact) -> float:
                return float(np.linalg.norm(values - exact) / np.linalg.norm(exact))

            plain()
            theirs = error(found["system"].values(found["plain"].x))
            # The residual on W is another one. It has to be as small as gives errors like those of plain CG.
            while (ours := error(ranker.fit(graph).predict(graph)[place])) > 2 * theirs and ranker.tol > 100 * EXACT:
                ranker.set_params(tol=ranker.tol / 3)
            times = measure({"plain": plain, "condrank": lambda r=ranker: r.fit(graph)}, 2)
        note = f"{ranker.solver_}, {ranker.n_iter_} iterations against {found['plain'].n_iter}"
        note += f"; errors {ours:.0e}, {theirs:.0e}"
        note += f"; to {ranker.tol:.0e}, for errors like those of plain" if ranker.tol < TOL else ""
        note += "" if found["plain"].converged else "; plain did not converge"
        size = f"{' × '.join(f'{n:,}' for n in graph.shape)}, {graph.n_edges:,} edges"
        bar = None if len(graph) < 1000 else BAR
        rows.append(Row(f"{name}, λ = {alpha:g}", size, times["condrank"], times["plain"], bar, note=note))
    return rows
