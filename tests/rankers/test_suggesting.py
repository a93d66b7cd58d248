"""What to measure next: greedy choices against refits, candidates, costs, and what is refused."""

from itertools import pairwise

import numpy as np
import pytest

from builders import refused
from condrank import ConditionalRanker, RelationGraph, TableRanker
from condrank.uncertainty.choosing import Candidates

RNG = np.random.default_rng(0)
N = 8
X = RNG.normal(size=(N, 3))
Y = RNG.normal(size=(N, N))
LABELS = {"ordinary": Y, "symmetric": Y + Y.T, "reciprocal": Y - Y.T}
HOLES = RNG.random((N, N)) < 0.5


def ranker(relation="ordinary", **params):
    return ConditionalRanker(relation, **({"loss": "regression", "kernel": "rbf", "alpha": 0.5, "tol": 1e-12} | params))


def graph_of(relation, extra=()):
    """Half of the pairs, and some more with labels of 0."""
    holes = HOLES if relation == "ordinary" else HOLES | HOLES.T
    sources, targets = np.nonzero(~holes)
    values = LABELS[relation][sources, targets]
    more = np.array([*extra], dtype=int).reshape(-1, 2)
    ends = np.append(sources, more[:, 0]), np.append(targets, more[:, 1])
    return RelationGraph.from_edges(X, *ends, np.append(values, np.zeros(len(more))))


def relative_variances(relation, extra):
    """Variances of all pairs in units of the noise, by a model that has labels of some more pairs."""
    fitted = ranker(relation).fit(graph_of(relation, extra))
    return fitted.posterior_.variance(np.arange(N), np.arange(N)) / fitted.posterior_.noise_std**2


@pytest.mark.parametrize("relation", LABELS)
def test_each_choice_is_that_of_a_model_with_the_labels_before(relation):
    fitted = ranker(relation).fit(graph_of(relation))
    found = fitted.suggest_edges(6)
    known = ~np.isnan(graph_of(relation).to_dense())
    candidates = ~known & ~np.eye(N, dtype=bool)
    if relation != "ordinary":
        candidates = np.triu(~(known | known.T), 1)
    picked = []
    for query, one, gain in zip(found.queries, found.objects, found.gains, strict=True):
        variances = np.where(candidates, relative_variances(relation, picked), -1.0)
        assert candidates[query, one]
        assert variances[query, one] == pytest.approx(variances.max(), rel=1e-5)
        assert gain / fitted.posterior_.noise_std**2 == pytest.approx(variances.max(), rel=1e-5)
        picked.append((query, one))
        candidates[query, one] = False
    assert found.n_unknown == found.n_candidates


def test_a_batch_does_not_repeat_itself():
    """Nodes 6 and 7 are the same: what is measured for one is known for the other."""
    twins = X.copy()
    twins[7] = twins[6] = 3.0
    labels = np.where(np.arange(N)[:, None] < 6, Y, np.nan)
    fitted = ranker().fit(twins, np.where(np.arange(N)[None] < 6, labels, np.nan))
    found = fitted.suggest_edges(2, queries=[6, 7], objects=[0, 1])
    assert found.objects[0] != found.objects[1]
    std = np.sqrt(fitted.posterior_.variance([6, 7], [0, 1]))
    assert np.argsort(-std.ravel())[:2].tolist() in ([0, 2], [2, 0], [1, 3], [3, 1])  # without conditioning


def test_gains_are_divided_by_costs():
    fitted = ranker().fit(graph_of("ordinary"))
    cost = np.ones((N, N))
    first = fitted.suggest_edges(1)
    cost[first.queries[0], first.objects[0]] = 1e6
    assert (found := fitted.suggest_edges(1, cost=cost)).queries[0] != first.queries[0] or (
        found.objects[0] != first.objects[0]
    )
    of_objects = np.full(N, 1e6)
    of_objects[3] = 1.0
    found = fitted.suggest_edges(2, cost=of_objects)
    assert set(found.objects.tolist()) == {3}
    assert found.costs.tolist() == [1.0] * len(found)


def test_the_order_of_which_a_label_tells_most_comes_first():
    """The probability of the less likely order, times what a label takes away from the variance of the difference."""
    fitted = ranker().fit(graph_of("ordinary"))
    found = fitted.suggest_edges(1, by="order")
    known = ~np.isnan(graph_of("ordinary").to_dense())
    noise, scores, best = fitted.posterior_.noise_std**2, fitted.predict(np.arange(N)), 0.0
    for query in range(N):
        ranked = sorted((one for one in range(N) if not known[query, one] and one != query), key=scores[query].item)
        for a, b in pairwise(ranked):
            p = fitted.probability_above([query], [a], [b])[0]
            C = fitted.posterior_.covariance([query, query], [a, b])
            before = C[0, 0] + C[1, 1] - 2 * C[0, 1]
            for one in (0, 1):
                after = C - np.outer(C[one], C[one]) / (C[one, one] + noise)
                taken = before - (after[0, 0] + after[1, 1] - 2 * after[0, 1])
                best = max(best, min(p, 1 - p) * taken)
    assert found.gains[0] == pytest.approx(best, rel=1e-5)


def test_the_likely_top_has_the_highest_upper_end():
    fitted = ranker().fit(graph_of("ordinary"))
    found = fitted.suggest_edges(1, by="top")
    known = ~np.isnan(graph_of("ordinary").to_dense())
    upper = fitted.predict(np.arange(N)) + np.sqrt(fitted.posterior_.variance(np.arange(N), np.arange(N)))
    upper = np.where(known | np.eye(N, dtype=bool), -np.inf, upper)
    assert upper[found.queries[0], found.objects[0]] == upper.max()


@pytest.mark.parametrize("by", ["variance", "order", "top"])
@pytest.mark.parametrize("loss", ["regression", "ranking", "logistic"])
def test_every_loss_and_new_nodes(by, loss):
    labels = graph_of("reciprocal")
    games = RelationGraph(X, np.sign(labels.to_dense())) if loss == "logistic" else labels
    fitted = ranker("reciprocal", loss=loss, tol=1e-8).fit(games)
    new = RNG.normal(size=(3, 3))
    found = fitted.suggest_edges(4, by=by, queries=new, random_state=0)
    assert len(found) == 4
    assert found.n_unknown == 3 * N
    assert (found.std > 0).all()
    alone = fitted.suggest_edges(9, by=by, queries=new, objects=new)
    pairs = set(zip(alone.queries.tolist(), alone.objects.tolist(), strict=True))
    assert all(query != one for query, one in pairs)


def test_many_pairs_are_sampled():
    fitted = ranker().fit(graph_of("ordinary"))
    for by in ("variance", "order", "top"):
        found = fitted.suggest_edges(5, by=by, max_pairs=10, random_state=0)
        assert found.n_candidates == 10
        assert found.n_unknown > 10
        again = fitted.suggest_edges(5, by=by, max_pairs=10, random_state=0)
        assert np.array_equal(found.queries, again.queries)
    everything, scores = fitted.suggest_edges(1, by="top"), fitted.predict(np.arange(N))
    best = fitted.suggest_edges(1, by="top", max_pairs=1)
    assert scores[best.queries[0], best.objects[0]] >= scores[everything.queries[0], everything.objects[0]]


def test_conditioning_is_that_of_a_gaussian():
    """Against the formula for all picks at once."""
    A = RNG.normal(size=(7, 7))
    C, noise = A @ A.T, np.linspace(0.5, 1.0, 7)
    candidates = Candidates(np.zeros(7), C.copy(), noise, np.zeros(7, dtype=int), np.ones(7))
    picks, _ = candidates.choose("variance", 3)
    part = C[np.ix_(picks, picks)] + np.diag(noise[picks])
    expected = C - C[:, picks] @ np.linalg.solve(part, C[picks])
    np.testing.assert_allclose(candidates.covariance, expected, atol=1e-10)


def test_tables_and_files(tmp_path):
    ids = [f"p{i}" for i in range(N)]
    sources, targets = np.nonzero(~HOLES)
    edges = {"source": [ids[i] for i in sources], "target": [ids[j] for j in targets], "value": Y[sources, targets]}
    tables = TableRanker(ranker(tol=1e-8)).fit({"id": ids, "a": X[:, 0], "b": X[:, 1]}, edges)
    found = tables.suggest_edges(3)
    plain = tables.ranker_.suggest_edges(3)
    assert found.queries.tolist() == plain.queries.tolist()
    assert set(found.objects.tolist()) <= set(ids)
    tables.save(tmp_path / "model")
    again = TableRanker.load(tmp_path / "model").suggest_edges(3)
    assert again.to_dict()["query"] == found.to_dict()["query"]
    named = tables.suggest_edges(2, queries={"id": ["new"], "a": [0.1], "b": [0.2]})
    assert set(named.queries.tolist()) == {"new"}
    frame = found.to_frame("pandas")
    assert list(frame.columns) == ["query", "object", "score", "std", "gain", "cost", "why"]
    assert "least sure" in str(found)
    assert "<table" in found._repr_html_()


def test_refusals():
    fitted = ranker().fit(graph_of("ordinary"))
    refused("by must be one of", fitted.suggest_edges, by="luck")
    refused("n must be a whole number", fitted.suggest_edges, 0)
    refused("cost must have shape", fitted.suggest_edges, cost=np.ones(3))
    refused("cost must be finite and greater", fitted.suggest_edges, cost=np.zeros(N))
    complete = ranker().fit(X, Y)
    refused("no pair without a label", complete.suggest_edges)
