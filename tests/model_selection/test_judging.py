"""Judging candidates on held-out nodes."""

import threading
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from condrank.exceptions import RelationWarning
from condrank.model_selection.judging import Candidate, Judge, Judged, quiet
from condrank.model_selection.similarity_search import SimilaritySearch
from reference_search import SMALL, faster_wins, ranker


def test_the_preparation_follows_the_training_nodes_only():
    graph = faster_wins(30)
    train, test = graph[np.arange(20)], graph[np.arange(20, 30)]
    judge = Judge([(train, test)])
    (prepared,) = judge.prepared("standard")
    np.testing.assert_allclose(prepared[0].nodes.rows.mean(axis=0), 0, atol=1e-12)
    assert np.abs(prepared[1].nodes.rows.mean(axis=0)).max() > 1e-3
    judged = judge.judge(Candidate("standard", ranker()), [10.0, 0.1])
    one = ranker(alpha=judged.candidate.ranker.alpha).fit(prepared[0])
    assert judged.loss == pytest.approx(1 - one.score(prepared[1]))


def test_the_standard_error_is_that_of_paired_differences():
    rng = np.random.default_rng(0)
    pairs = np.full(400, 20.0)
    differences = []
    for _ in range(200):
        wrong = rng.binomial(20, 0.3, size=400).astype(float)
        other = np.clip(wrong + rng.integers(-1, 2, size=400), 0, 20)
        difference, error = Judged(None, other, pairs).against(Judged(None, wrong, pairs))
        differences.append(difference)
    assert error == pytest.approx(np.std(differences), rel=0.25)


def test_warnings_are_silent_while_any_search_runs_and_back_afterwards():
    before = list(warnings.filters)
    inside, leave = threading.Event(), threading.Event()

    def other():
        with quiet():
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    with quiet():
        thread.start()
        assert inside.wait(10)
    with warnings.catch_warnings(record=True) as told:
        warnings.warn("not converged", ConvergenceWarning, stacklevel=1)
    assert not told
    leave.set()
    thread.join()
    assert warnings.filters == before
    rough = faster_wins(20).to_dense()
    rough[0, 1], rough[1, 0] = 3.0, 1.0
    with pytest.warns(RelationWarning) as told:
        SimilaritySearch(ranker(), **SMALL | {"n_steps": 0, "max_compared": 0}).fit(faster_wins(20).nodes.rows, rough)
    assert len(told) == 1
