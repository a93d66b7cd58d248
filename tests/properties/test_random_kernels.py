"""Random expressions on views in fits, files, copies, indexes and pairs: all give the scores of brute force."""

import copy
import pickle

import numpy as np
import pytest

import reference
from condrank import ConditionalRanker, RelationGraph
from condrank.kernels import RBF, Constant, Cosine, Identity, Laplacian, Linear, Precomputed, Unit
from reference_kernels import naive_kernel

N, M = 10, 3
EVERYONE, TRAIN = np.arange(N + M), np.arange(N)
NAMES = np.array([f"nöde '{i}'" for i in range(N + M)])


def draw_kernel(rng, depth=0):
    """A random expression; operators within operators, weights of zero and a matrix among the parts."""
    leaves = [
        lambda: RBF(float(rng.choice([0.05, 0.5])), view="ä"),
        lambda: Laplacian(0.3, view="b'c", feature_weights=(1.0, 0.0, 2.0, 0.5)),
        lambda: Linear(view="ä"),
        lambda: Cosine(view="b'c"),
        lambda: Precomputed(view="k"),
        Constant,
        Identity,
    ]
    operators = [
        lambda: draw_kernel(rng, depth + 1) + draw_kernel(rng, depth + 1),
        lambda: draw_kernel(rng, depth + 1) * draw_kernel(rng, depth + 1),
        lambda: float(rng.choice([0.0, 0.3, 4.0])) * draw_kernel(rng, depth + 1),
        lambda: draw_kernel(rng, depth + 1) ** int(rng.integers(1, 4)),
        lambda: Unit(draw_kernel(rng, depth + 1)),
    ]
    chosen = operators if depth == 0 or (depth < 3 and rng.random() < 0.5) else leaves
    return chosen[rng.integers(len(chosen))]()


@pytest.mark.parametrize("seed", range(60))
def test_a_random_expression_gives_the_same_scores_everywhere(seed, tmp_path):
    rng = np.random.default_rng(seed)
    of_kernel = rng.normal(size=(N + M, 6))
    views = {"ä": rng.normal(size=(N + M, 3)), "b'c": rng.normal(size=(N + M, 4)), "k": of_kernel @ of_kernel.T / 6}
    views["ä"][2] = 0.0  # a node without length
    kernel = draw_kernel(rng) + 0.1 * RBF(0.2, view="ä")  # never zero on all nodes
    Y, alpha = rng.normal(size=(N + M, N + M)), 0.5
    graph = RelationGraph(views, Y, ids=NAMES)
    K, K_all = (naive_kernel(kernel, views, rows, TRAIN, TRAIN) for rows in (TRAIN, EVERYONE))
    expected = reference.naive_complete(K, Y[:N, :N], alpha, K_queries=K_all, K_objects=K_all)
    atol = 1e-7 * max(1.0, float(np.abs(expected).max()))
    ranker = ConditionalRanker(kernel=kernel, alpha=alpha).fit(graph[TRAIN])
    np.testing.assert_allclose(ranker.predict(graph), expected, atol=atol)

    text = ConditionalRanker(kernel=repr(kernel), alpha=alpha).fit(graph[TRAIN])
    np.testing.assert_array_equal(text.predict(graph), ranker.predict(graph))
    for twin in (pickle.loads(pickle.dumps(ranker)), copy.deepcopy(ranker)):
        np.testing.assert_allclose(twin.predict(graph), expected, atol=atol)

    # Known nodes by id: in any order, more than once, in a file, in an index, as pairs, and in a permuted graph.
    given = rng.integers(0, N, size=6)
    others = rng.integers(0, N, size=6)
    wanted = expected[np.ix_(given, others)]
    ranker.save(tmp_path / "model")
    for one in (ranker, *(ConditionalRanker.load(tmp_path / "model", mmap=mmap) for mmap in (False, True))):
        np.testing.assert_allclose(one.predict(NAMES[given], NAMES[others]), wanted, atol=atol)
    np.testing.assert_allclose(ranker.predict_edges(NAMES[given], NAMES[others]), np.diag(wanted), atol=atol)
    found = ranker.index().top(ids=NAMES[given], k=4)
    np.testing.assert_allclose(found.scores, -np.sort(-expected[given, :N], axis=1)[:, :4], atol=atol)
    order = rng.permutation(N + M)
    moved = {name: X[np.ix_(order, order)] if name == "k" else X[order] for name, X in views.items()}
    permuted = RelationGraph(moved, Y[np.ix_(order, order)], ids=NAMES[order])
    np.testing.assert_allclose(ranker.predict(permuted), expected[np.ix_(order, order)], atol=atol)
