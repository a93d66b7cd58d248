"""The four settings: losses are those of the library's own cross-validation."""

import re

import pytest
from sklearn.base import clone

from condrank import TableRanker
from condrank.baselines import SimilarityRanker
from condrank.diagnosis import diagnose
from condrank.model_selection import cross_validate
from condrank.report import write_report
from condrank.report.identity import data_fingerprint, model_fingerprint
from condrank.report.measured import SETTINGS
from report.games import Reader


def test_numbers_are_those_of_the_library(ranker, text):
    graph = ranker.graph_
    words = "".join(Reader(text).words)
    assert f"{1 - ranker.score(graph):.4f}rank loss of the model" in words
    fresh = TableRanker(ranker.ranker)
    for setting, what in SETTINGS.items():
        found = cross_validate(fresh, graph, setting, cv=2)
        expected = f"{setting}{what}{found.mean():.4f} ± {found.standard_error():.4f}"
        assert expected in words, setting
    assert f"one score per node explains {100 * diagnose(graph).hodge.gradient_share:.1f}" in words
    assert f"λ{ranker.ranker_.alpha_:.6g}" in words
    assert model_fingerprint(ranker) in words
    assert data_fingerprint(graph) in words


@pytest.mark.usefixtures("undrawn")
def test_a_warning_of_several_folds_is_reported_once(ranker, tmp_path):
    lowest = TableRanker(clone(ranker.ranker).set_params(alphas=[1e-3, 1e-2])).fit(ranker.graph_)
    path = write_report(lowest, ranker.graph_, tmp_path / "r.html", settings=[1], folds=2)
    warned = re.findall("warning while fitting: (the best λ[^<]*)", path.read_text("utf-8"))
    assert 1 <= len(warned) == len(set(warned))


def test_similarity_is_measured_on_the_same_folds(ranker, text):
    baseline = TableRanker(SimilarityRanker(kernel="rbf"))
    found = cross_validate(baseline, ranker.graph_, 4, cv=2)
    assert f"{found.mean():.4f} ± {found.standard_error():.4f}" in "".join(Reader(text).words)


@pytest.mark.usefixtures("undrawn")
def test_a_sample_is_named_and_a_setting_with_too_little_data_does_not_stop_the_report(ranker, tmp_path):
    text = write_report(ranker, ranker.graph_, tmp_path / "r.html", settings=[4, 1], folds=9, max_nodes=12)
    words = "".join(Reader(text.read_text("utf-8")).words)
    assert "Measured on 12 of 40 nodes, drawn at random." in words
    assert re.search(r"setting 4: (the test graph of fold|no conditioning node)", words)
