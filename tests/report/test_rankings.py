"""Rankings with the truth beside them: one domain and two, every relation, kernels of loaded models."""

import numpy as np
import pytest

from condrank import ConditionalRanker, RelationGraph, TableRanker
from condrank.metrics import rank_loss
from condrank.report import write_report
from condrank.report.headline import percent
from condrank.report.rankings import encoded_graph, rank_rows, rank_sample
from condrank.tables import read_graph
from report.games import Reader, embedded


def two_domains(rank_by):
    rng = np.random.default_rng(3)
    drugs = {"drug": [f"d{i}" for i in range(14)], "size": rng.normal(size=14)}
    targets = {"protein": np.arange(11), "charge": rng.normal(size=11)}
    pairs = [(i, j) for i in range(14) for j in range(11) if rng.random() < 0.7]
    value = [drugs["size"][i] * targets["charge"][j] for i, j in pairs]
    bound = {"drug": [f"d{i}" for i, _ in pairs], "protein": [j for _, j in pairs], "affinity": value}
    options = {"objects": targets, "source": "drug", "target": "protein", "value": "affinity"}
    return TableRanker(ConditionalRanker(rank_by=rank_by)).fit(drugs, bound, **options)


@pytest.mark.parametrize("rank_by", ["outgoing", "incoming"])
def test_two_domains_are_reported_in_both_directions(rank_by, tmp_path):
    ranker = two_domains(rank_by)
    text = write_report(ranker, ranker.graph_, tmp_path / "r.html", settings=[4], folds=2).read_text("utf-8")
    data, words = embedded(text), "".join(Reader(text).words)
    assert "there is no similarity across two domains" in words
    assert f"the model itself orders {percent(ranker.score(ranker.graph_))} of pairs right" in words
    queries = [data["names"][query[0]] for query in data["queries"]]
    assert queries == [str(one) for one in ranker.query_ids_]
    best = ranker.rank([ranker.query_ids_[2]], top=50).ids[0]
    assert [data["names"][one] for one in data["queries"][2][4]] == [str(one) for one in best]
    assert data["columns"] == (["size"] if rank_by == "outgoing" else ["charge"])


@pytest.mark.parametrize("relation", ["ordinary", "symmetric", "reciprocal"])
@pytest.mark.parametrize("rank_by", ["outgoing", "incoming"])
def test_rankings_are_those_of_whole_matrices(relation, rank_by):
    rng = np.random.default_rng(1)
    X, Y = rng.integers(0, 3, size=(17, 3)).astype(float), rng.integers(-1, 2, size=(17, 17)).astype(float)
    Y = {"ordinary": Y, "symmetric": Y + Y.T, "reciprocal": Y - Y.T}[relation]
    Y[rng.random(Y.shape) < 0.3] = np.nan
    graph = RelationGraph(X, Y)  # equal rows of X: ties in score
    ranker = TableRanker(ConditionalRanker(relation=relation, rank_by=rank_by)).fit(graph)
    scores = ranker.predict(graph)
    truth = Y if rank_by == "outgoing" else Y.T
    found = rank_sample(ranker.ranker_, encoded_graph(ranker, graph), 5, 100)
    expected = ranker.rank(np.arange(17), top=5)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.truth, np.take_along_axis(truth, expected.indices, axis=1))
    np.testing.assert_allclose(found.losses, rank_loss(truth, scores, average=None))
    assert found.pooled_loss == pytest.approx(rank_loss(truth, scores))
    few = rank_rows(ranker.ranker_, graph, np.array([3, 11]), 5)
    np.testing.assert_array_equal(few.indices, expected.indices[[3, 11]])
    worst, best = found.extremes(20)
    assert len(set(worst) | set(best)) == len(worst) + len(best) == np.isfinite(found.losses).sum()


def test_kernel_of_a_loaded_model_is_found_by_ids(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 4))
    names = [f"k{i}" for i in range(20)]
    np.savez(tmp_path / "kernel.npz", kernel=X @ X.T, ids=names)
    pairs = [(i, j) for i in range(20) for j in range(i)]
    edges = {"source": [names[i] for i, _ in pairs], "target": [names[j] for _, j in pairs]}
    edges["value"] = [float(X[i] @ X[j] > 0) for i, j in pairs]
    asked = {"kernel": tmp_path / "kernel.npz", "mirror": "same"}
    fitted = TableRanker(ConditionalRanker(relation="symmetric", kernel="precomputed")).fit(None, edges, **asked)
    fitted.save(tmp_path / "model")
    loaded, graph = TableRanker.load(tmp_path / "model"), read_graph(None, edges, **asked)
    texts = [
        write_report(one, graph, tmp_path / "r.html", settings=[2], folds=2).read_text("utf-8")
        for one in (fitted, loaded)
    ]
    assert embedded(texts[0]) == embedded(texts[1])
    right = percent(fitted.score(fitted.graph_))
    assert f"the model itself orders {right} of pairs right" in "".join(Reader(texts[1]).words)
