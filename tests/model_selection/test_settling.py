"""When a search stops following a λ, and that this does not change what it chooses."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from condrank import ConditionalRanker, ConditionalRankerCV, RelationGraph
from condrank.model_selection import SettingSplit
from condrank.model_selection.fold import Fold
from condrank.model_selection.settling import Settling

COMPARABLE = np.full(50, 10.0)
ALPHAS = np.logspace(-2, 2, 9)


def settling(n_alphas=3):
    """Weights are losses: a number, or one for each conditioning node."""
    return Settling(lambda loss: COMPARABLE * loss + np.arange(50) % 3, COMPARABLE, n_alphas)


def test_a_loss_is_known_at_a_small_residual_or_when_it_no_longer_changes():
    watch, places = settling(), np.arange(3)
    assert_array_equal(watch(8, places, np.array([0.3, 0.3, 0.3]), np.array([1e-3, 0.02, 0.5])), [True, False, False])
    # Unchanged, but the residual of the last one is large.
    assert_array_equal(watch(16, places[1:], np.array([0.3, 0.3]), np.array([0.02, 0.5])), [True, False])
    changing = settling()
    changing(8, places, np.array([0.3, 0.3, 0.3]), np.full(3, 0.02))
    assert_array_equal(changing(16, places, np.array([0.3, 0.2, 0.3]), np.full(3, 0.02)), [True, False, True])


def test_smaller_alphas_are_given_up_once_one_is_known_to_be_clearly_worse():
    watch = settling(4)
    assert not watch(8, np.arange(4), np.array([0.3, 0.2, 0.5, 0.1]), np.array([1e-3, 1e-3, 0.5, 0.5]))[2:].any()
    assert watch(16, np.array([2, 3]), np.array([0.4, 0.1]), np.array([1e-3, 0.5])).all()
    assert watch.is_over
    assert_array_equal(watch.known, [True, True, True, False])


def test_a_difference_within_the_noise_gives_nothing_up():
    noise = 0.3 + 0.2 * np.resize([1, -1], 50)
    watch = settling(2)
    watch.finish(0, np.full(50, 0.3))
    watch.finish(1, noise + 0.01)
    assert not watch.is_over


def test_final_weights_are_judged_again_only_if_they_are_not_those_of_the_last_look():
    judged = []
    watch = Settling(lambda loss: judged.append(loss) or COMPARABLE * loss, COMPARABLE, 2)
    watch(8, np.arange(2), np.array([[0.3], [0.2]]), np.array([1e-3, 0.5]))
    assert_array_equal(watch.finish(0, np.array([0.3])), COMPARABLE * 0.3)
    assert len(judged) == 2
    assert_array_equal(watch.finish(1, np.array([0.25])), COMPARABLE * 0.25)
    assert len(judged) == 3
    assert watch.known.all()


def made(relation, seed=0, n=40, share=0.4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    B = rng.normal(size=(3, 3))
    B = B - B.T if relation == "reciprocal" else B + B.T if relation == "symmetric" else B
    noise = rng.normal(size=(n, n))
    noise = {"reciprocal": noise - noise.T, "symmetric": noise + noise.T, "ordinary": noise}[relation]
    drawn = np.triu(rng.random((n, n)))
    return RelationGraph(X, np.where(drawn + drawn.T < share, X @ B @ X.T + noise, np.nan))


@pytest.fixture
def always(monkeypatch):
    """Searches settle on small graphs too."""
    monkeypatch.setattr("condrank.model_selection.holdout.SETTLING_LEAST_EDGES", 0)


@pytest.mark.filterwarnings("ignore:no convergence")
@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("relation", ["ordinary", "symmetric", "reciprocal"])
@pytest.mark.parametrize("loss", ["regression", "ranking"])
@pytest.mark.parametrize("solver", ["primal", "dual"])
def test_a_search_that_settles_chooses_as_well_as_a_precise_one(relation, loss, solver):
    graph, params = (
        made(relation),
        {"relation": relation, "loss": loss, "kernel": "rbf", "gamma": 0.3, "solver": solver},
    )
    quick = ConditionalRankerCV(ALPHAS, SettingSplit(2, 3, random_state=0), **params).fit(graph)
    careful = ConditionalRankerCV(ALPHAS, SettingSplit(2, 3, random_state=0), search_tol=1e-7, **params).fit(graph)
    best = careful.cv_losses_.min()
    assert careful.cv_losses_[careful.alphas_ == quick.alpha_] <= 1.01 * best
    # Where it was not given up, it is the loss of the precise search.
    near = careful.cv_losses_ <= 1.02 * best
    assert_allclose(quick.cv_losses_[near], careful.cv_losses_[near], rtol=0.02)


@pytest.mark.filterwarnings("ignore:no convergence")
def test_what_is_given_up_has_the_counts_of_the_next_larger_alpha():
    graph, alphas = made("ordinary", n=50, share=0.3), np.logspace(-2.5, 2.5, 11)
    train, test = next(iter(SettingSplit(2, 3, random_state=0).split(graph)))
    for solver in ("primal", "dual"):
        ranker = ConditionalRanker(kernel="rbf", gamma=0.3, tol=1e-4, solver=solver)
        counts = Fold(ranker, train, test, [0.0], alphas, settle=True).counts_by_query(alphas)[0]
        full = Fold(ranker.set_params(tol=1e-9), train, test, [0.0], alphas).counts_by_query(alphas)[0]
        assert_array_equal(counts[..., 1], full[..., 1])
        n_up = next(j for j in range(len(alphas)) if not np.array_equal(counts[j], counts[j + 1]))
        assert n_up > 0
        wrong, exact = counts[..., 0].sum(axis=1), full[..., 0].sum(axis=1)
        assert exact[:n_up].min() > exact.min()
        assert_allclose(wrong[n_up:], exact[n_up:], rtol=0.03)
        assert wrong[:n_up].min() > wrong.min()
