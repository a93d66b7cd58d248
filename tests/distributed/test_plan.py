"""Plans of fits in Dask: what is refused, and what the workers hold."""

from __future__ import annotations

import pytest

pytest.importorskip("distributed")
pytest.importorskip("dask.array")

import dask.array as da
from dask.sizeof import sizeof

from condrank import ConditionalRanker
from condrank.distributed.cost import partition_bytes
from reference_distributed import D, N, pair_of_graphs


@pytest.mark.parametrize(
    ("form", "parameters", "message"),
    [
        ("edges", {"kernel": "rbf"}, "n_components"),
        ("edges", {"kernel": "rbf", "n_components": "auto"}, "must be a number"),
        ("edges", {"relation": "reciprocal", "loss": "logistic"}, "logistic"),
        ("edges", {"relation": "reciprocal", "compared": [0]}, "compared"),
        ("edges", {"pairwise_kernel": "linear"}, "pairwise_kernel"),
        ("edges", {"solver": "dual"}, "solver must be one of"),
        ("classes", {"solver": "primal"}, "solver must be one of"),
    ],
)
def test_what_needs_one_machine_is_refused(form, parameters, message):
    _, graph = pair_of_graphs(form)
    with pytest.raises(ValueError, match=message):
        ConditionalRanker(**parameters).plan(graph)


def test_the_plan_reports_what_the_workers_hold():
    _, graph = pair_of_graphs("edges")
    plan = ConditionalRanker().plan(graph)
    assert plan.solver == "primal"
    assert "partitions, about" in plan.reason
    # The scheduler has to know as well, or it sends partitions about.
    held = sum(map(sizeof, da.compute(*ConditionalRanker().fit(graph).fitted_.system.partitions)))
    expected = partition_bytes(N, D, graph.n_edges, len(graph.relation.partitions), 8)
    assert expected / 3 < held < 3 * expected
