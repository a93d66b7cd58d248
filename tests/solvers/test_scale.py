"""Numbers of any scale: labels times a power of two give exactly the scores times it; the rest is refused."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from condrank import ConditionalRanker, RelationGraph, TableRanker, suggest_components
from condrank.base.checks import FiniteScores, check_number, check_scores
from condrank.diagnosis import diagnose, recommend
from condrank.solvers.krylov import krylov
from condrank.solvers.refinement import refined

N = 14
RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((N, 5))
DRAWN = RANDOM.standard_normal((N, N))
SEEN = RANDOM.random((N, N)) < 0.6
LABELS = {"ordinary": DRAWN, "symmetric": DRAWN + DRAWN.T, "reciprocal": DRAWN - DRAWN.T}
STOPPING = {"solver": "early_stopping", "validation_fraction": 0.3, "random_state": 0}
WAYS = {
    "closed form": {"solver": "closed_form"},
    "primal": {"solver": "primal"},
    "dual": {"solver": "dual"},
    "explicit": {"solver": "explicit"},
    "cg": STOPPING,
    "bicgstab": {**STOPPING, "method": "bicgstab"},
}


def labels(relation, way):
    Y = LABELS[relation]
    return Y if way == "closed form" else np.where(SEEN & SEEN.T, Y, np.nan)


def scores(Y, features=X, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return ConditionalRanker(**{"alpha": 0.5, **options}).fit(features, Y).predict(features)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("loss", ["regression", "ranking"])
@pytest.mark.parametrize("relation", LABELS)
def test_scores_scale_exactly_with_the_labels(relation, loss, way, kernel):
    options = {"relation": relation, "loss": loss, "kernel": kernel, **WAYS[way]}
    Y = labels(relation, way)
    expected = scores(Y, **options)
    assert expected.any()
    for exponent in (-900, -560, 3, 510, 900):
        assert_array_equal(scores(np.ldexp(Y, exponent), **options), np.ldexp(expected, exponent))


@pytest.mark.parametrize("options", [{"relation": "reciprocal", "compared": [0]}, {"pairwise_kernel": "linear"}])
def test_other_models_scale_exactly_with_the_labels(options):
    Y = labels(options.get("relation", "ordinary"), "primal")
    expected = scores(Y, **options)
    for exponent in (-560, 510):
        assert_array_equal(scores(np.ldexp(Y, exponent), **options), np.ldexp(expected, exponent))


@pytest.mark.parametrize("exponent", [-1000, -560, 510, 1000])
@pytest.mark.parametrize("solve", ["cg", "bicgstab", "refined"])
def test_start_and_iterates_scale_with_the_right_hand_side(solve, exponent):
    A = X.T @ X + np.eye(5)
    rhs, start = X[0], X[1]

    def solution(power):
        seen = []

        def watch(number, x):
            seen.append(x.copy())
            return number == 3

        options = {"start": np.ldexp(start, power), "watch": watch, "tol": 1e-12}
        if solve == "refined":
            rough = A.astype(np.float32)
            found = refined(lambda x: A @ x, lambda x: rough @ x, np.ldexp(rhs, power), **options)
        else:
            found = krylov(lambda x: A @ x, np.ldexp(rhs, power), method=solve, **options)
        return np.array([*seen, found.x])

    assert_array_equal(solution(exponent), np.ldexp(solution(0), exponent))


def test_a_right_hand_side_that_overflowed_is_refused():
    with pytest.raises(ValueError, match="labels, summed over the kernel values of the nodes, overflow in float64"):
        krylov(lambda x: x, np.array([1.0, np.inf]))


@pytest.mark.parametrize("options", [{}, {"solver": "primal"}, {"solver": "dual"}, {"solver": "explicit"}])
@pytest.mark.parametrize("scale", [1e77, 1e100, 1e150])
def test_features_whose_kernel_products_overflow_are_refused(scale, options):
    with pytest.raises(ValueError, match=r"overflow"):
        scores(DRAWN, X * scale, **options)


def test_the_refusal_says_how_to_scale_the_features():
    with pytest.raises(ValueError, match="divide the kernel by at least") as refused:
        scores(DRAWN, X * 1e77)
    factor = float(str(refused.value).rsplit(" by ", 1)[1].rstrip(")"))
    assert 2 < factor < 100
    assert scores(DRAWN, X * 1e77 / factor).any()


@pytest.mark.parametrize("solver", ["closed_form", "primal", "dual"])
@pytest.mark.parametrize("relation", LABELS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_lambda_beyond_the_precision_is_refused(dtype, relation, solver):
    options = {"relation": relation, "solver": solver, "kernel": "rbf"}
    for alpha in (1e-320, 1e300) if dtype == np.float64 else (1e-200, 1e-44, 1e36):
        with pytest.raises(ValueError, match=rf"alpha must be within .* in {np.dtype(dtype)}, got"):
            scores(LABELS[relation], X.astype(dtype), alpha=alpha, **options)
    for alpha in (1e-200, 1e200) if dtype == np.float64 else (1e-30, 1e20):
        found = scores(LABELS[relation], X.astype(dtype), alpha=alpha, **options)
        assert np.isfinite(found).all()
        assert found.any()


def test_a_path_refuses_a_lambda_beyond_the_precision():
    ranker = ConditionalRanker().fit(X, DRAWN)
    with pytest.raises(ValueError, match=r"alpha must be within .* got 1e\+300"):
        next(ranker.path([1e300]))


def test_a_whole_number_too_large_for_a_float_is_refused():
    for huge in (10**400, 10**5000):
        with pytest.raises(ValueError, match="alpha must be a finite number greater than 0"):
            check_number("alpha", huge, above=0.0)


@pytest.mark.parametrize("solver", ["auto", "dual"])
def test_a_logistic_path_over_all_scales_ends(solver):
    ranker = ConditionalRanker(relation="reciprocal", loss="logistic", kernel="rbf", solver=solver)
    ranker.fit(X, np.sign(LABELS["reciprocal"]))
    expected = ranker.predict(X)
    found = [one.predict(X) for one in ranker.path([1e-300, 1e270, 1.0])]
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found[-1], expected, atol=1e-6)
    with pytest.raises(ValueError, match=r"alpha must be within"):
        list(ranker.path([1e-300, 1e300]))


def test_labels_whose_squares_overflow_are_not_diagnosed():
    for measure in (diagnose, recommend):
        for scale in (1e-200, 1e200):
            with pytest.raises(ValueError, match="labels whose squares are representable"):
                measure(DRAWN * scale)


def test_components_of_a_kernel_that_overflows_are_not_counted():
    with pytest.raises(ValueError, match="kernel values of the nodes overflow"):
        suggest_components(X * 1e200, "linear")
    with pytest.raises(ValueError, match="kernel values of the nodes overflow"):
        ConditionalRanker(n_components="auto").fit(X * 1e200, DRAWN)


def test_weights_that_are_not_finite_are_not_kept():
    ranker = ConditionalRanker(alpha=1e-250, loss="regression")
    with np.errstate(over="ignore"), pytest.raises(ValueError, match="weights of the model overflow"):
        ranker.fit(X * 1e-50, DRAWN * 1e250)
    assert not hasattr(ranker, "fitted_")


@pytest.mark.parametrize("options", [{}, {"solver": "dual"}, {"prior": "similarity"}])
def test_scores_that_are_not_finite_are_neither_returned_nor_ranked(options):
    ranker = ConditionalRanker(**options).fit(X, DRAWN)
    far = np.full((2, 5), 1e308)
    for call in (ranker.predict, ranker.rank, ranker.predict_edges):
        with np.errstate(all="ignore"), pytest.raises(ValueError, match="scores overflow in float64"):
            call(far, far)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("scale", [1.0, 1e30, 1e200])
@pytest.mark.parametrize("shape", [(1, 50), (40, 50), (40, 3)])
def test_the_bound_of_factors_never_hides_an_overflow(dtype, scale, shape):
    rng = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        B = (rng.normal(size=(shape[1], 4)) * scale).astype(dtype)
        finite = FiniteScores(B)
        for size in (1.0, scale):
            A = (rng.normal(size=(shape[0], 4)) * size).astype(dtype)
            scores = A @ B.T
            if np.isfinite(scores).all():
                assert finite(scores, A) is scores
            else:
                with pytest.raises(ValueError, match="scores overflow"):
                    finite(scores, A)


def test_sums_that_overflow_are_no_overflow_of_scores():
    large = np.full((2, 2), 1e308)
    assert check_scores(large) is large
    assert check_scores(np.array([-np.inf, 1e308, 1e308]), below=True) is not None
    for wrong in (np.nan, np.inf):
        with pytest.raises(ValueError, match="scores overflow"):
            check_scores(np.array([-np.inf, wrong]), below=True)


@pytest.mark.parametrize(
    "options", [{"loss": "regression"}, {"loss": "logistic"}, {"solver": "dual"}, {"compared": [0]}]
)
def test_rankers_of_tables_give_no_answer_that_is_not_finite(options):
    graph = RelationGraph(X * 1e-2, np.sign(DRAWN - DRAWN.T))
    ranker = TableRanker(
        ConditionalRanker(**{"relation": "reciprocal", "constant": True, "loss": "regression", "alpha": 1e-6} | options)
    )
    ranker.fit(graph)
    far = np.full((2, 5), 1e308) * [[1.0], [-1.0]]
    calls = {
        "predict": lambda: ranker.predict(far, far[::-1]),
        "rank": lambda: ranker.rank(far, far[::-1]),
        "predict_edges": lambda: ranker.predict_edges(far, far[::-1]),
        "strengths": lambda: ranker.strengths(far),
        "strengths of the ranker": lambda: ranker.ranker_.strengths(far),
    }
    if "logistic" in options.values():
        calls["predict_proba"] = lambda: ranker.predict_proba(far, far[::-1])
        calls["predict_proba of the ranker"] = lambda: ranker.ranker_.predict_proba(far, far[::-1])
    for name, call in calls.items():
        with np.errstate(all="ignore"), pytest.raises(ValueError, match="overflow"):
            pytest.fail(f"{name} gave {call()}")


@pytest.mark.parametrize("solver", ["auto", "closed_form", "iterative", "primal", "explicit"])
def test_features_whose_kernel_vanishes_are_refused_or_scored(solver):
    messages = []
    for exponent in range(140, 310, 7):
        try:
            fitted = ConditionalRanker(solver=solver, loss="regression").fit(X * 10.0**-exponent, DRAWN)
        except ValueError as error:
            messages.append(str(error))
        else:
            assert np.isfinite(fitted.predict(X[:2])).all()
    assert messages
    assert all("nothing can be learned" in message for message in messages)
