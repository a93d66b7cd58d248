"""The theory of the two losses: each number against the whole edge kernel, and the experiment on small data."""

import json

import numpy as np
import pytest
from sklearn.utils import Bunch

from condrank.datasets import make_rock_paper_scissors
from experiment_modules import module


@pytest.fixture(scope="module")
def complexity():
    return module("complexity")


@pytest.fixture(scope="module")
def theory():
    return module("theory")


def kernel(seed, n, rank=None, shift=0.0):
    X = np.random.default_rng(seed).normal(size=(n, rank or n)) + shift
    return X @ X.T


def compare_naive(K, alpha, relation, G=None):
    G = K if G is None else G
    n, m = len(K), len(G)
    edge = np.kron(K, G)
    if relation != "ordinary":
        swap = np.arange(n * n).reshape(n, n).T.ravel()
        edge = (edge + (1 if relation == "symmetric" else -1) * edge[:, swap]) / 2
    L = np.kron(np.eye(n), np.eye(m) - 1 / m)
    for matrix in (edge, L @ edge @ L):
        mu = np.linalg.eigvalsh(matrix)
        mu = mu[mu > 1e-13 * np.trace(edge)]  # kron leaves specks that would count over a small alpha
        yield np.trace(matrix), np.diag(matrix).max(), np.sum(mu / (mu + alpha))


@pytest.mark.parametrize("relation", ["ordinary", "symmetric", "reciprocal"])
@pytest.mark.parametrize("alpha", [1e-6, 0.1, 10.0])
@pytest.mark.parametrize(
    "K",
    [
        kernel(0, 6),
        kernel(1, 7, rank=3),
        kernel(2, 6, rank=2, shift=3.0),
        np.ones((5, 5)),
        np.eye(5),
        kernel(3, 1),
        kernel(4, 2),
        kernel(5, 3),
        np.zeros((3, 3)),
        np.exp(-0.5 * (np.arange(8)[:, None] - np.arange(8)) ** 2),
    ],
)
def test_comparison_agrees_with_the_whole_edge_kernel(complexity, K, alpha, relation):
    found = complexity.compare_losses(K, alpha=alpha, relation=relation)
    for one, naive in zip((found.plain, found.centred), compare_naive(K, alpha, relation), strict=True):
        measured = (one.trace, one.kappa, one.effective_dimension)
        np.testing.assert_allclose(measured, naive, rtol=1e-7, atol=1e-9)
    assert found.kappa_ratio <= 4 + 1e-9
    assert found.trace_ratio <= 1 + 1e-9
    assert found.effective_dimension_ratio <= 1 + 1e-9
    assert f"{relation} relation" in str(found)
    json.dumps(found.to_dict(), allow_nan=False)


def test_comparison_of_two_domains_agrees_with_the_whole_edge_kernel(complexity):
    K, G = kernel(0, 4), kernel(1, 7, rank=3, shift=1.0)
    found = complexity.compare_losses(K, K_objects=G, alpha=0.3)
    for one, naive in zip((found.plain, found.centred), compare_naive(K, 0.3, "ordinary", G), strict=True):
        measured = (one.trace, one.kappa, one.effective_dimension)
        np.testing.assert_allclose(measured, naive, rtol=1e-9)
    assert (found.n_queries, found.n_objects) == (4, 7)


@pytest.mark.parametrize("relation", ["symmetric", "reciprocal"])
def test_effective_dimension_grows_to_the_rank_as_alpha_falls(complexity, relation):
    # Falling alpha uses up more dimensions, to the rank of each kernel in the end.
    K = kernel(0, 8)
    found = [complexity.compare_losses(K, alpha=alpha, relation=relation) for alpha in 10.0 ** np.arange(3, -9, -1)]
    centred = np.array([one.centred.effective_dimension for one in found])
    assert np.all(np.diff(centred) > 0)
    # Only constant relations are centred away: one dimension if symmetric, none if reciprocal.
    rank = 36 - 1 if relation == "symmetric" else 28
    assert centred[-1] == pytest.approx(rank, abs=1e-3)


def test_centring_can_make_kappa_larger(complexity):
    x = np.ones(40)
    x[0] = -1.0
    linear = complexity.compare_losses(np.outer(x, x))
    assert linear.kappa_ratio == pytest.approx(4 * (1 - 1 / 40) ** 2)
    assert linear.trace_ratio < 0.1
    assert "κ does grow here" in linear.summary()
    points = np.r_[np.zeros(40), 100.0]
    rbf = complexity.compare_losses(np.exp(-((points[:, None] - points) ** 2)))
    assert 1.8 < rbf.kappa_ratio < 2
    assert "κ does not grow here" in complexity.compare_losses(np.eye(4)).summary()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"K": np.zeros((2, 3))}, r"K must be a square .* got shape \(2, 3\)"),
        ({"K": [[1, np.nan], [np.nan, 1]]}, "K must be finite, got 2"),
        ({"K": [[1, 2], [0, 1]]}, "K must be symmetric"),
        ({"K": [[1, 2], [2, 1]]}, "K must be positive semi-definite, got smallest eigenvalue -1"),
        ({"K": np.eye(2), "alpha": 0.0}, "alpha must be a positive"),
        ({"K": np.eye(2), "alpha": "1"}, "alpha must be a positive"),
        ({"K": np.eye(2), "relation": "skew"}, "relation must be one of .* got 'skew'"),
        ({"K": np.eye(2), "relation": "symmetric", "K_objects": np.eye(3)}, "K_objects"),
        ({"K": np.eye(2), "K_objects": np.ones(3)}, "K_objects must be a square"),
    ],
)
def test_bad_input_is_refused(complexity, arguments, message):
    with pytest.raises(ValueError, match=message):
        complexity.compare_losses(**arguments)


def test_many_alphas_at_once_are_the_same_as_one_by_one(complexity):
    K, alphas = kernel(0, 7, rank=4), [1e-3, 1.0, 30.0]
    for relation in ("ordinary", "symmetric", "reciprocal"):
        together = complexity.compare_over_alphas(K, alphas, relation=relation)
        assert together == [complexity.compare_losses(K, alpha=alpha, relation=relation) for alpha in alphas]
    with pytest.raises(ValueError, match="alpha must be a positive finite number, got -1"):
        complexity.compare_over_alphas(K, [1.0, -1.0])


def test_the_names_that_moved_are_found_in_the_experiment(complexity, theory):
    for name in ("KernelComplexity", "LossComparison", "compare_losses"):
        assert getattr(theory, name) is getattr(complexity, name)


# The experiment


def run(theory, **asked):
    results = module("results")
    outcome = results.run_experiment(results.EXPERIMENTS["theory"], results.Run(quick=True, **asked))
    return outcome.rows, {picture.name: picture for picture in outcome.pictures}


def test_without_data_the_players_are_measured_and_the_rest_is_named(theory, tmp_path):
    for folder in (None, tmp_path):
        rows, _ = run(theory, data=folder)
        absent = [row for row in rows if row.measured is None]
        assert [row.data for row in absent] == [name for name in module("kernels").SOURCES if name[0] != "r"]
        assert all("is not in the data folder" in row.note for row in absent)
        measured = {row.data for row in rows if row.measured is not None and row.table == theory.KAPPA}
        assert measured == {f"rock-paper-scissors w{w}, linear" for w in (1, 10, 100)}


def test_rows_are_the_ratios_of_the_players_kernel(theory, complexity):
    rows, _ = run(theory, seed=3)
    players = "rock-paper-scissors w10, linear"
    X = make_rock_paper_scissors(10, random_state=3)[0].nodes.rows
    X = X[np.random.default_rng(3).permutation(100)[:30]]
    alpha = 0.01 * np.linalg.eigvalsh(X @ X.T)[-1] ** 2
    for relation in ("ordinary", "reciprocal"):
        found = complexity.compare_losses(X @ X.T, alpha=alpha, relation=relation)
        expected = (found.kappa_ratio, found.trace_ratio, found.effective_dimension_ratio)
        for table, ratio in zip((theory.KAPPA, theory.TRACE, theory.DIMENSION), expected, strict=True):
            (row,) = [r for r in rows if (r.table, r.data, r.method) == (table, players, f"{relation} relation")]
            assert row.measured == pytest.approx(ratio, rel=1e-9)
            assert (row.unit, row.protocol, row.seed) == ("ratio", "30 nodes", 3)


def test_constructed_kernels_come_close_to_the_bounds_of_kappa(theory):
    rows, _ = run(theory)
    linear, rbf = [row.measured for row in rows if row.table == theory.CONSTRUCTED]
    assert linear == pytest.approx(4 * (1 - 1 / 30) ** 2)
    assert rbf == pytest.approx(2 * (1 - 1 / 30) ** 2)


def test_pictures_show_every_kernel_and_the_caption_names_where_kappa_grows(theory, complexity):
    x = np.r_[-1.0, np.ones(9)]
    grown = theory.compare(theory.Kernel("grown", np.outer(x, x)), "ordinary")
    calm = theory.compare(theory.Kernel("calm", np.eye(5), "symmetric"), "symmetric")
    picture = theory.ratios([grown, calm])
    assert "above 1 in 1 of 2 rows (grown, ordinary 3.240)" in picture.caption
    assert {(panel, series) for panel, series, _, _ in picture.points} == {
        (panel, f"{name}: {mark}")
        for panel, name in (("ordinary relation", "grown"), ("symmetric (s) or reciprocal (r) relation", "calm"))
        for mark, _ in theory.MARKS.values()
    }
    _, pictures = run(theory)
    assert sorted(pictures) == ["effective-dimension", "ratios"]
    curve = [y for _, _, _, y in pictures["effective-dimension"].points]
    assert len(curve) == 2 * 3 * len(theory.SHARES)
    assert max(curve) <= 1 + 1e-9


@pytest.mark.parametrize("shape", [(60, 20), (20, 60)])
def test_drugs_and_targets_are_clipped(shape, tmp_path):
    rng = np.random.default_rng(0)
    sides = [(A := rng.normal(size=(n, n))) + A.T for n in shape]
    bunch = {"K_drug": sides[0], "K_target": sides[1]}
    kernels, results = module("kernels"), module("results")
    (one,) = kernels.drugs("drugs", lambda data_home: Bunch(**bunch), results.Run())
    for given, K in zip(sides, (one.K, one.K_objects), strict=True):
        np.testing.assert_allclose(np.linalg.eigvalsh(K), np.sort(np.maximum(np.linalg.eigvalsh(given), 0)), atol=1e-9)
