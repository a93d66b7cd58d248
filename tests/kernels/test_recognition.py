"""Which nodes count as training nodes: repeated ones, arrays that change between calls, and several threads."""

import gc
import threading
import weakref

import numpy as np

import condrank.nodes.store as store
from condrank import ConditionalRanker, RelationGraph
from condrank.kernels import Identity, Linear
from condrank.nodes.similarity import NodeSimilarity
from condrank.nodes.store import Nodes, SameBase

RNG = np.random.default_rng(0)
X = RNG.normal(size=(8, 3))
LABELS = RNG.normal(size=(8, 8))
NAMES = [f"node-{i}" for i in range(8)]


def test_a_node_that_is_given_twice_is_the_same_node_each_time():
    graph = RelationGraph(X, LABELS + LABELS.T, ids=NAMES)
    ranker = ConditionalRanker("symmetric", kernel=Linear() + Identity(), prior="similarity", prior_weight=100.0)
    ranker.fit(graph)
    once = ranker.predict(NAMES, NAMES)
    given = [1, 1, 2, 1]
    names = [NAMES[i] for i in given]
    np.testing.assert_allclose(ranker.predict(names, names), once[np.ix_(given, given)], rtol=1e-12)
    np.testing.assert_allclose(ranker.predict_edges(names, names[::-1]), once[given, given[::-1]], rtol=1e-12)


def test_identity_compares_places_and_new_nodes_are_like_nobody():
    similarity = NodeSimilarity(Identity(), Nodes(X[:5]))
    training, new = similarity.nodes.take(np.array([4, 4, 0])), Nodes(X[5:7])
    np.testing.assert_array_equal(similarity.similarity(training, training), [[1, 1, 0], [1, 1, 0], [0, 0, 1]])
    np.testing.assert_array_equal(similarity.similarity(new, new), np.zeros((2, 2)))
    np.testing.assert_array_equal(similarity.similarity(training, new), np.zeros((3, 2)))


def test_an_array_that_was_changed_is_compared_again():
    given, same = X.copy(), SameBase(X)
    assert same(Nodes(given))
    given[0, 0] += 1
    assert not same(Nodes(given))


def test_blocks_of_the_same_nodes_are_compared_once(monkeypatch):
    compared = []
    monkeypatch.setattr(store, "same_values", lambda one, other: compared.append(1) or True)
    same, nodes = SameBase(X), Nodes(X.copy())
    assert all(same(nodes.block(slice(i, i + 1))) for i in range(4))
    assert len(compared) == 1


def test_the_nodes_of_the_last_question_are_not_kept_in_memory():
    ranker = ConditionalRanker(kernel=Linear() + Identity()).fit(X, LABELS)
    queries = RNG.normal(size=(8, 3))
    gone = weakref.ref(queries)
    ranker.predict(queries)
    del queries
    gc.collect()
    assert gone() is None


def test_threads_do_not_get_the_answers_of_each_other(monkeypatch):
    both = threading.Barrier(2, timeout=10)

    def slow(one, other):
        both.wait()  # the other thread is between its question and its answer too
        return np.array_equal(one, other)

    monkeypatch.setattr(store, "same_values", slow)
    same, answers = SameBase(X), {}

    def ask(name, nodes):
        answers[name] = same(nodes)

    kept = SameBase.__setattr__

    def set_together(self, name, value):
        kept(self, name, value)
        if name == "_last":
            both.wait()

    monkeypatch.setattr(SameBase, "__setattr__", set_together, raising=False)
    threads = [
        threading.Thread(target=ask, args=given) for given in (("equal", Nodes(X.copy())), ("new", Nodes(X + 1)))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {"equal": True, "new": False}
