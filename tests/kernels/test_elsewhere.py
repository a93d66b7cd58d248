"""Kernel expressions and views in blocks, searches and suggestions: they work, or say why not."""

import numpy as np
import pytest

from condrank import ConditionalRanker, ConditionalRankerCV, RelationGraph, suggest_components
from condrank.kernels import RBF, Constant, Identity, Linear
from condrank.model_selection import learn_kernel_weights

RNG = np.random.default_rng(0)
N = 24
X = RNG.normal(size=(N, 3))
VIEWS = {"x": X, "y": RNG.normal(size=(N, 2))}
LABELS = RNG.normal(size=(N, N))
GRAPH = RelationGraph(VIEWS, LABELS)


@pytest.mark.parametrize("given", [{"kernel": RBF("median") + Constant()}, {"kernel": "rbf", "gamma": "median"}])
def test_blocks_of_nodes_have_the_width_of_the_first(given):
    blocks = [RelationGraph.from_classes(rows, np.arange(N) % 3) for rows in (X, 3 * X)]
    options = {"relation": "symmetric", "n_components": 6, "random_state": 0}
    ranker = ConditionalRanker(**given, **options).partial_fit(blocks[0])
    width = next(ranker.fitted_.settings.kernel.leaves()).gamma
    ranker.partial_fit(blocks[1])
    known = given | {"gamma": width} if isinstance(given["kernel"], str) else {"kernel": RBF(width) + Constant()}
    expected = ConditionalRanker(**known, **options).partial_fit(blocks[0]).partial_fit(blocks[1])
    np.testing.assert_array_equal(ranker.predict(X, X), expected.predict(X, X))


def test_a_grid_of_widths_is_for_kernels_by_name():
    with pytest.raises(ValueError, match="is an expression: search its widths by GridSearchCV, as kernel__gamma"):
        ConditionalRankerCV(kernel=RBF(), gammas=[0.1, 1.0]).fit(X, LABELS)
    with pytest.raises(ValueError, match="kernel='linear' has none"):
        ConditionalRankerCV(kernel="linear", gammas=[0.1, 1.0]).fit(X, LABELS)


def test_weights_are_learned_for_a_list_of_kernels_that_say_something():
    for given in ("rbf", RBF() + Linear()):
        with pytest.raises(ValueError, match="kernels must be a sequence of kernels, the summands to weigh"):
            learn_kernel_weights(RelationGraph(X, LABELS), given)
    graph = RelationGraph(np.hstack([X, np.zeros((N, 1))]), LABELS)
    zero = Linear(feature_weights=(0.0, 0.0, 0.0, 1.0))
    learned = learn_kernel_weights(graph, [RBF(0.3), zero, Identity()])
    assert learned.weights[1] == 0
    assert zero not in [one for _, one in learned.kernel.summands()]
    assert learned.weights[[0, 2]].sum() == pytest.approx(1)
    with pytest.raises(ValueError, match="all kernels are zero on all nodes"):
        learn_kernel_weights(graph, [zero])


def test_components_are_suggested_for_views():
    kernel = Linear(view="x") + Linear(view="y")
    assert suggest_components(VIEWS, kernel) == suggest_components(GRAPH, kernel) == 5
