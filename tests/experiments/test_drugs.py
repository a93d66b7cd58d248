"""Drugs and targets: a quick run on small files, clipped kernels, and kernels to a power."""

import numpy as np
import pytest

from condrank import ConditionalRankerCV, RelationGraph, datasets
from condrank.baselines import NearestNeighbours
from condrank.model_selection import SettingShuffleSplit, cross_validate
from experiment_modules import check_rows, quick_run

pytestmark = pytest.mark.usefixtures("one_library")


@pytest.fixture(scope="module")
def drugs(experiments, home, one_library):
    return quick_run(experiments, home, "drugs")


def test_drugs_have_every_method_in_every_setting(experiments, drugs):
    check_rows(drugs.rows)
    methods = {}
    for row in drugs.rows:
        methods.setdefault((row.table.split(":")[0], int(row.data[8])), []).append(row.method)
    peers = ["LightGBM on pairs"] if experiments.trees.is_installed("LightGBM") else []
    plain = ["nearest neighbours", "c.reg, mean not taken off", "c.reg", "c.rank", "c.rank, kernels to a power"]
    for (name, setting), found in methods.items():
        expected = plain + (peers if name == "Davis" else [])
        expected += ["two-step ridge"] if setting > 1 and name != "Metz" else []
        assert sorted(found) == sorted(expected)
    assert len(methods) == 12
    assert all("concordance over all edges" in row.note for row in drugs.rows)


def test_drugs_learn_and_say_what_is_clipped(drugs):
    for row in drugs.rows:
        assert ("clipped: target kernel, eigenvalues from -" in row.protocol) == row.table.startswith("Metz")
        if row.method in ("c.reg", "c.rank") and row.data.startswith("setting 1") and not row.table.startswith("Yam"):
            assert row.measured < 0.2


def test_clipped_kernels_have_no_negative_eigenvalues(experiments, home):
    bunch = datasets.load_metz(data_home=home)
    given, with_mean, clipped, short = experiments.drugs.forms(bunch)
    sigma, Q = np.linalg.eigh(bunch.K_target)
    assert sigma[0] < -1
    np.testing.assert_allclose(clipped.objects.base, (Q * np.maximum(sigma, 0)) @ Q.T, atol=1e-10)
    np.testing.assert_array_equal(given.objects.base, bunch.K_target)
    Z = short.nodes.base
    assert Z.shape == (32, experiments.folds.TREE_COORDINATES)
    assert np.abs(Z @ Z.T - bunch.K_drug).max() < 1.5
    np.testing.assert_array_equal(with_mean.to_dense(), bunch.Y)
    np.testing.assert_allclose(given.to_dense(), bunch.Y - np.nanmean(bunch.Y))
    assert given.n_edges == clipped.n_edges == short.n_edges
    text = experiments.drugs.indefinite("target", bunch.K_target)
    share = -sigma[sigma < 0].sum() / np.abs(sigma).sum()
    assert text.endswith(f"{share:.1%} of the spectrum negative")
    assert experiments.drugs.indefinite("drug", bunch.K_drug) == ""


def test_best_of_takes_the_lowest_held_out_loss(experiments, home):
    graph = datasets.load_davis(data_home=home).graph
    cv = SettingShuffleSplit(2, 2, test_size=1 / 3, random_state=0)
    rankers = [NearestNeighbours(k, kernel="precomputed") for k in (1, 5, 30)]
    losses = [cross_validate(ranker, graph, cv=cv).mean() for ranker in rankers]
    best = experiments.drugs.best_of(rankers, graph, cv)
    assert best.n_neighbors == (1, 5, 30)[int(np.argmin(losses))]
    assert best.n_features_in_ == 32


@pytest.mark.filterwarnings("ignore:the best λ")
@pytest.mark.parametrize("setting", [1, 2, 4])
def test_sharpened_kernels_have_the_power_of_the_lowest_loss(experiments, home, setting):
    bunch = datasets.load_davis(data_home=home)
    cv = SettingShuffleSplit(setting, 1, test_size=1 / 3, random_state=0)
    options = {"alphas": [0.1, 10.0], "cv": cv, "kernel": "precomputed", "tol": 1e-10}
    losses, scores = [], []
    powers = (1, 3)
    for power in powers:
        graph = RelationGraph(bunch.K_drug**power, bunch.Y, objects=bunch.K_target**power)
        train, test = next(cv.split(graph))
        ranker = ConditionalRankerCV(**options).fit(train)
        losses.append(ranker.cv_losses_.min())
        scores.append(ranker.predict(test))
    train, test = next(cv.split(bunch.graph))
    sharpened = experiments.drugs.Sharpened(ConditionalRankerCV(**options), powers).fit(train)
    best = int(np.argmin(losses))
    assert sharpened.power == powers[best]
    np.testing.assert_allclose(sharpened.predict(test), scores[best], atol=1e-6)
