"""How many components a kernel needs, from the eigenvalues of a sample."""

import numpy as np
import pytest
from sklearn.base import clone

from condrank import RelationGraph, suggest_components
from condrank.base.measured import CONSTANT_RIDGE_SHARE
from condrank.kernels import read_kernel
from condrank.nodes.spectrum import components_for_alpha, components_for_share, constant_part
from reference_approximate import NEW, X, ranker


def test_suggested_components_follow_known_decays():
    low_rank = np.random.default_rng(0).standard_normal((1500, 4)) @ np.random.default_rng(1).standard_normal((4, 30))
    assert suggest_components(low_rank, "linear") == 4
    clusters = np.repeat(10.0 * np.eye(7), 60, axis=0)
    assert suggest_components(clusters, "rbf", gamma=1.0) == 7
    assert suggest_components(np.eye(300), "rbf", gamma=10.0) > 290  # no two nodes alike: nothing can be spared
    wide = np.random.default_rng(0).standard_normal((900, 3))
    numbers = [suggest_components(wide, gamma=gamma) for gamma in (0.01, 0.1, 1.0)]
    assert numbers == sorted(numbers)
    exact = np.linalg.eigvalsh(read_kernel("rbf", 0.1)(wide))[::-1]
    assert suggest_components(wide, gamma=0.1) == components_for_share(exact, 0.99)
    sampled = suggest_components(wide, gamma=0.1, sample=200)
    assert abs(sampled - components_for_share(exact, 0.99)) <= 0.2 * sampled
    graph = RelationGraph(wide, np.zeros((900, 900)))
    assert suggest_components(graph, gamma=0.1) == suggest_components(wide, gamma=0.1)


def test_a_large_alpha_needs_fewer_components():
    sigma = 2.0 ** -np.arange(20)
    assert components_for_share(sigma, 1 - 2.0**-10) == 10
    assert components_for_alpha(sigma, 2.0**-7) == 8  # the one that is just seen counts
    assert components_for_alpha(sigma, 2.0**-7.5) == 8
    assert components_for_alpha(sigma, 1e9) == 1
    assert components_for_alpha(sigma, 0.0) == 20
    nodes = np.random.default_rng(0).standard_normal((900, 3))
    exact = np.linalg.eigvalsh(read_kernel("rbf", 0.1)(nodes))[::-1]
    for alpha in (0.1, 10.0, 1000.0):
        expected = int((exact * exact[0] >= alpha).sum())
        assert suggest_components(nodes, gamma=0.1, alpha=alpha) == expected
        assert 0.75 * expected <= suggest_components(nodes, gamma=0.1, alpha=alpha, sample=450) <= 1.1 * expected


def test_a_sample_that_shows_no_end_of_the_eigenvalues_suggests_all():
    assert suggest_components(np.random.default_rng(0).standard_normal((500, 50)), gamma=1.0, sample=100) == 500


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"share": 0.0}, "share must be a finite number greater than 0"),
        ({"share": 1.5}, "share must be at most 1"),
        ({"alpha": 0.0}, "alpha must be a finite number greater than 0"),
        ({"sample": 3}, "sample must be a whole number of at least 64"),
        ({"kernel": "none"}, "kernel must be a callable or one of"),
    ],
)
def test_wrong_arguments_of_a_suggestion_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        suggest_components(X, **params)


def test_auto_takes_as_many_as_alpha_lets_be_seen():
    nodes = np.random.default_rng(0).standard_normal((300, 2))
    Y = np.tanh(nodes[:, :1] - nodes[:, 1])
    counts = []
    for alpha in (1.0, 1000.0):
        fitted = ranker(n_components="auto", gamma=0.05, alpha=alpha, loss="regression").fit(nodes, Y)
        counts.append(suggest_components(nodes, gamma=0.05, alpha=alpha))
        assert fitted.plan_.coordinates.startswith(f"{counts[-1]} Nyström coordinates")
        exact = clone(fitted).set_params(n_components=None).fit(nodes, Y).predict(NEW[:, :2])
        distance = fitted.predict(NEW[:, :2]) - exact
        assert np.linalg.norm(distance) < 0.2 * np.linalg.norm(exact)
    assert counts[1] < counts[0] < 60


def test_the_constant_of_a_kernel_is_the_largest_that_leaves_a_kernel():
    points = np.random.default_rng(0).normal(size=(30, 3))
    narrow = np.exp(-((points[:, None] - points) ** 2).sum(axis=-1))
    assert constant_part(narrow + 2) - constant_part(narrow) == pytest.approx(2, rel=0.05)
    for K in (narrow, narrow + 2, narrow**0.1):
        ridge = CONSTANT_RIDGE_SHARE * K.diagonal().mean() * np.eye(len(K))
        c = constant_part(K)
        assert np.linalg.eigvalsh(K + ridge - 0.999 * c)[0] > 0
        assert np.linalg.eigvalsh(K + ridge - 1.001 * c)[0] < 0


def test_an_indefinite_kernel_has_no_constant():
    assert constant_part(np.diag([1.0, -1.0]) + 0.1) == 0.0
