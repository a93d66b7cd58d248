"""Scores in single precision that decide an order, against those in double precision."""

import numpy as np
import pytest

from condrank import ConditionalRanker, RelationGraph
from condrank.metrics import rank_loss
from condrank.model_selection import SettingSplit, fold, held_out
from condrank.models import rough
from condrank.models.placed import PlacedPairs
from condrank.models.rough import NEAR, RoughPairs, roughly


def pairs(rng, n=40, m=30, r=12, *, same=False, prior=False, sign=0):
    Z = rng.normal(size=(n, r))
    Z_objects = Z if same else rng.normal(size=(m, r))
    similarity = rng.normal(size=(n, len(Z_objects))) if prior else None
    return PlacedPairs(Z, Z_objects, similarity, sign)


def together(placed, W, prior_weight=0.5):
    return np.vstack([scores for _, scores in placed.blocks(W, prior_weight)])


@pytest.mark.parametrize("prior", [False, True])
@pytest.mark.parametrize("sign", [0, 1, -1])
def test_scores_are_near_and_single(sign, prior):
    rng = np.random.default_rng(0)
    placed = pairs(rng, same=bool(sign), prior=prior, sign=sign)
    W = rng.normal(size=(12, 12))
    W = W + sign * W.T if sign else W
    scores, exact = together(RoughPairs(placed), W), together(placed, W)
    assert scores.dtype == np.float32
    assert (np.abs(scores - exact).max(axis=1) <= NEAR * exact.std(axis=1)).all()


@pytest.mark.parametrize("case", ["a large common value", "tiny weights", "huge weights"])
def test_scores_that_need_double_precision_have_it(case):
    rng = np.random.default_rng(1)
    placed, W = pairs(rng), rng.normal(size=(12, 12))
    if case == "a large common value":
        placed.Z[:, 0], placed.Z_objects[:, 0] = 1.0, 1.0
        W[0, 0] = 1e9
    else:
        W *= 1e-60 if case == "tiny weights" else 1e60
    scores = together(RoughPairs(placed), W)
    assert scores.dtype == np.float64
    np.testing.assert_array_equal(scores, together(placed, W))


def test_small_products_and_single_precision_stay_as_they_are(monkeypatch):
    rng = np.random.default_rng(2)
    placed = pairs(rng)
    assert roughly(placed) is placed
    monkeypatch.setattr(rough, "ROUGH_LEAST_MULTIPLICATIONS", 1)
    assert isinstance(roughly(placed), RoughPairs)
    single = PlacedPairs(placed.Z.astype(np.float32), placed.Z_objects.astype(np.float32), None)
    assert roughly(single) is single


@pytest.mark.parametrize("side_by_side", [False, True])
@pytest.mark.parametrize("relation", ["ordinary", "symmetric", "reciprocal"])
@pytest.mark.parametrize("loss", ["regression", "ranking"])
def test_losses_of_folds_are_those_of_refitting(monkeypatch, relation, loss, side_by_side):
    monkeypatch.setattr(rough, "ROUGH_LEAST_MULTIPLICATIONS", 1)
    if not side_by_side:
        monkeypatch.setattr(held_out, "SIDE_BY_SIDE_MOST_ENTRIES", 0)
    rng, sign = np.random.default_rng(3), {"ordinary": 0, "symmetric": 1, "reciprocal": -1}[relation]
    Y = rng.normal(size=(60, 60))
    graph = RelationGraph(rng.normal(size=(60, 3)), Y + sign * Y.T, probabilities=False)
    alphas = np.array([0.01, 1.0, 100.0])
    ranker = ConditionalRanker(relation, loss, kernel="rbf")
    for train, test in SettingSplit(4, 3, random_state=0).split(graph):
        one = fold.Fold(ranker, train, test, [0.0])
        assert isinstance(one.placed[0], RoughPairs)
        counts = one.counts(alphas)
        for found, alpha in zip(counts[0], alphas, strict=True):
            fitted = ConditionalRanker(relation, loss, alpha, kernel="rbf").fit(train)
            expected = rank_loss(test.relation.to_dense(), fitted.predict(test))
            assert found[0] / found[1] == pytest.approx(expected, abs=1e-3)
