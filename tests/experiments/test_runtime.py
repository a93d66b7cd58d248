"""Training times: a refusal for memory is a row, any other error is raised."""

import numpy as np
import pytest

from condrank import ConditionalRanker, RelationGraph
from condrank.baselines import RankSVM
from experiment_modules import module


def test_only_a_refusal_for_memory_is_a_row():
    runtime, run = module("runtime"), module("results").Run(quick=True)
    graph = RelationGraph(np.eye(6), np.eye(6))
    too_large = RankSVM(C=0.5, max_bytes=1).fit
    rows, _ = runtime.measure(run, "title", "nodes", {6: graph}, {"RankSVM": too_large})
    assert [row.measured for row in rows] == [None]
    assert "needs about" in rows[0].note
    with pytest.raises(ValueError, match="alpha"):
        runtime.measure(run, "title", "nodes", {6: graph}, {"broken": ConditionalRanker(alpha=-1.0).fit})
