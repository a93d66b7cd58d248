"""The four settings: losses are those of the library's own cross-validation."""

import re

import numpy as np
import pytest
from sklearn.base import clone

from condrank import ConditionalRanker, TableRanker
from condrank.baselines import SimilarityRanker
from condrank.diagnosis import diagnose
from condrank.model_selection import cross_validate
from condrank.report import write_report
from condrank.report.headline import percent
from condrank.report.identity import data_fingerprint, model_fingerprint
from condrank.report.measured import DENSE, FEW_FOLDS, SETTINGS, measure_settings
from report.games import Reader


def test_numbers_are_those_of_the_library(ranker, text):
    graph = ranker.graph_
    words = "".join(Reader(text).words)
    assert f"the model itself orders {percent(ranker.score(graph))} of pairs right" in words
    fresh = TableRanker(ranker.ranker)
    for setting, what in SETTINGS.items():
        found = cross_validate(fresh, graph, setting, cv=2)
        expected = f"{setting}{what}{found.mean():.4f} ± {found.standard_error():.4f}"
        assert expected in words, setting
    assert f"one score per node explains {100 * diagnose(graph).hodge.gradient_share:.1f}" in words
    assert f"λ{ranker.ranker_.alpha_:.6g}" in words
    assert model_fingerprint(ranker) in words
    assert data_fingerprint(graph) in words


def test_a_warning_of_several_folds_is_reported_once(ranker, tmp_path):
    lowest = TableRanker(clone(ranker.ranker).set_params(alphas=[1e-3, 1e-2])).fit(ranker.graph_)
    path = write_report(lowest, ranker.graph_, tmp_path / "r.html", settings=[1], folds=2)
    warned = re.findall("warning while fitting: (the best λ[^<]*)", path.read_text("utf-8"))
    assert 1 <= len(warned) == len(set(warned))


def test_similarity_is_measured_on_the_same_folds(ranker, text):
    baseline = TableRanker(SimilarityRanker(kernel="rbf"))
    found = cross_validate(baseline, ranker.graph_, 4, cv=2)
    assert f"{found.mean():.4f} ± {found.standard_error():.4f}" in "".join(Reader(text).words)


def test_a_sample_is_named_and_a_setting_with_too_little_data_does_not_stop_the_report(ranker, tmp_path):
    text = write_report(ranker, ranker.graph_, tmp_path / "r.html", settings=[4, 1], folds=9, max_nodes=12)
    words = "".join(Reader(text.read_text("utf-8")).words)
    assert "Measured on 12 of 40 nodes, drawn at random." in words
    assert re.search(r"setting 4: (the test graph of fold|no conditioning node)", words)


def sparse_games(n, per_node):
    rng = np.random.default_rng(2)
    first = np.repeat(np.arange(n), per_node)
    second = (first + rng.integers(1, n, size=len(first))) % n
    names = np.array([f"p{i}" for i in range(n)])
    players = {"id": names, "x": rng.normal(size=n)}
    return players, {"winner": names[np.minimum(first, second)], "loser": names[np.maximum(first, second)]}


def test_a_sparse_graph_is_never_thinned(monkeypatch):
    asked = TableRanker(ConditionalRanker("reciprocal", "regression", constant=True)).fit(*sparse_games(120, 4))
    seen = []
    original = TableRanker.fit
    monkeypatch.setattr(TableRanker, "fit", lambda self, graph: (seen.append(graph.n_edges), original(self, graph))[1])
    found, part, _ = measure_settings(asked, asked.graph_, [1], folds=5, max_nodes=30, step=lambda _: None)
    assert part is asked.graph_
    assert len(found[0].model.fit_times) == FEW_FOLDS
    assert min(seen) > 0.7 * asked.graph_.n_edges  # one part in five is held out, and nothing else is missing


def test_a_dense_graph_with_too_many_nodes_is_sampled(ranker):
    assert ranker.graph_.density > DENSE
    found, part, _ = measure_settings(ranker, ranker.graph_, [1], folds=3, max_nodes=20, step=lambda _: None)
    assert part.shape == (20, 20)
    assert len(found[0].model.fit_times) == 3


def test_a_few_folds_are_the_first_of_all(ranker):
    options = {"folds": 4, "max_nodes": 100, "step": lambda _: None}
    few, part, _ = measure_settings(ranker, ranker.graph_, [2], max_folds=2, **options)
    all_of_them, _, _ = measure_settings(ranker, ranker.graph_, [2], **options)
    assert part is ranker.graph_
    np.testing.assert_allclose(few[0].model.scores["rank_loss"], all_of_them[0].model.scores["rank_loss"][:2])
    assert few[0].comparison is not None
    with pytest.raises(ValueError, match="max_folds must be"):
        measure_settings(ranker, ranker.graph_, [2], max_folds=0, **options)
