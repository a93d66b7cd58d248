"""Warm starts: a fit goes on from the solution before, on the same nodes only."""

import numpy as np
import pytest
from scipy import sparse

from builders import TWELVE_LABELS, TWELVE_NODES
from condrank import ConditionalRanker

RNG = np.random.default_rng(5)


@pytest.mark.parametrize("make", [sparse.csr_array, lambda x: x.round().astype(int), lambda x: x.tolist()])
def test_a_warm_start_takes_equal_nodes_of_any_form(make):
    holes = np.where(RNG.random((12, 12)) < 0.6, TWELVE_LABELS, np.nan)
    nodes = make(TWELVE_NODES)
    ranker = ConditionalRanker(warm_start=True, solver="primal").fit(nodes, holes)
    assert ranker.fit(make(TWELVE_NODES), holes).n_iter_ <= 1


def test_early_stopping_twice_holds_out_other_nodes():
    ranker = ConditionalRanker(solver="early_stopping", warm_start=True, validation_fraction=0.3, max_iter=5)
    assert ranker.fit(TWELVE_NODES, TWELVE_LABELS).fit(TWELVE_NODES, TWELVE_LABELS).n_iter_ >= 1
