"""Transformers of nodes in scikit-learn pipelines: scalers, vectorisers, no leakage of held-out nodes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler

from builders import SMALL_KERNEL, noisy_graph
from condrank import ConditionalRanker, NodeTransformer, RelationGraph
from condrank.baselines import NearestNeighbours
from condrank.model_selection import SettingSplit, cross_validate

N = 16
rng = np.random.default_rng(0)
X = rng.standard_normal((N, 3)) * [1, 10, 100] + [5, 0, -50]
Y = rng.integers(-3, 4, (N, N)).astype(float)
TEXTS = [" ".join(rng.choice(["red", "green", "blue", "apple", "car", "tree"], 3)) for _ in range(N)]


def make_graph(**options):
    return RelationGraph(X, Y, ids=[f"node {i}" for i in range(N)], **options)


class Recorder(TransformerMixin, BaseEstimator):
    """Notes the nodes that it is fitted on."""

    def __init__(self, seen=None):
        self.seen = seen

    def fit(self, X, y=None):
        SEEN.append(np.array(X))
        self.fitted_ = True
        return self

    def transform(self, X):
        return X


SEEN: list[np.ndarray] = []


def test_a_pipeline_is_the_transformer_by_hand():
    graph = make_graph()
    train, test = graph[:10], graph[10:]
    pipeline = make_pipeline(NodeTransformer(StandardScaler()), ConditionalRanker(kernel="rbf")).fit(train)
    scaler = StandardScaler().fit(X[:10])
    expected = ConditionalRanker(kernel="rbf").fit(scaler.transform(X[:10]), Y[:10, :10])
    new = scaler.transform(X[10:])
    np.testing.assert_allclose(pipeline.predict(test), expected.predict(new, new), atol=1e-12)
    np.testing.assert_allclose(pipeline.predict(X[10:]), expected.predict(new), atol=1e-12)
    assert pipeline.score(test) == pytest.approx(expected.score(new, Y[10:, 10:]))
    ranking = pipeline[-1].rank(pipeline[:-1].transform(X[10:]), top=3)
    np.testing.assert_array_equal(ranking.indices, expected.rank(new, top=3).indices)
    plain = make_pipeline(NodeTransformer(StandardScaler()), ConditionalRanker(kernel="rbf")).fit(X[:10], Y[:10, :10])
    np.testing.assert_allclose(plain.predict(X[10:]), pipeline.predict(X[10:]), atol=1e-12)


def test_the_graph_keeps_all_but_the_features():
    p = 1 / (1 + np.exp(Y.T - Y))
    graph = RelationGraph(X, p, ids=[f"node {i}" for i in range(N)])[::-2]
    changed = NodeTransformer(PCA(2)).fit_transform(graph)
    assert changed.relation is graph.relation
    assert changed.nodes.ids.tolist() == graph.nodes.ids.tolist()
    assert changed.centre == graph.centre == 0.5
    assert changed.n_features_in_ == 2
    assert not changed.is_two_domain
    np.testing.assert_array_equal(changed.nodes.rows, PCA(2).fit(graph.nodes.rows).transform(graph.nodes.rows))


@pytest.mark.parametrize("setting", [1, 2, 3, 4])
def test_nothing_of_held_out_nodes_is_seen(setting):
    graph = make_graph()
    SEEN.clear()
    pipeline = make_pipeline(NodeTransformer(Recorder()), ConditionalRanker())
    cv = SettingSplit(setting, 4, random_state=0)
    cross_validate(pipeline, graph, cv=cv)
    for seen, (train, test) in zip(SEEN, cv.split(graph), strict=True):
        np.testing.assert_array_equal(seen, train.nodes.rows)
        if setting == 4:
            assert not set(map(tuple, seen)) & set(map(tuple, test.nodes.rows))
    SEEN.clear()
    GridSearchCV(pipeline, {"conditionalranker__alpha": [1.0]}, cv=4, refit=False, error_score="raise").fit(graph)
    assert [len(seen) for seen in SEEN] == [12] * 4


@pytest.mark.parametrize("rank_by", ["outgoing", "incoming"])
@pytest.mark.parametrize("setting", [2, 3, 4])
def test_a_pipeline_is_cross_validated_as_a_plain_loop(setting, rank_by):
    ranker = ConditionalRanker(rank_by=rank_by)
    pipeline = make_pipeline(NodeTransformer(StandardScaler()), ranker)
    result = cross_validate(pipeline, make_graph(), setting, cv=4)
    cv = SettingSplit(setting, 4, rank_by=rank_by, random_state=0)
    expected = [1 - clone(pipeline).fit(train).score(test) for train, test in cv.split(make_graph())]
    np.testing.assert_allclose(result.scores["rank_loss"], expected)


def test_two_domains_are_transformed_apart_or_alike():
    objects = rng.standard_normal((7, 2)) * 40
    graph = RelationGraph(X, Y[:, :7], objects=objects, object_ids=list("abcdefg"))
    changed = NodeTransformer(StandardScaler()).fit_transform(graph)
    np.testing.assert_allclose(changed.nodes.rows, StandardScaler().fit_transform(X))
    np.testing.assert_allclose(changed.objects.rows, StandardScaler().fit_transform(objects))
    assert changed.objects.ids.tolist() == list("abcdefg")
    changed = NodeTransformer(StandardScaler(), MinMaxScaler()).fit_transform(graph)
    np.testing.assert_allclose(changed.objects.rows, MinMaxScaler().fit_transform(objects))
    twin = RelationGraph(X, Y[:, :7], objects=X[:7] + 1)
    changed = NodeTransformer(StandardScaler(), "same").fit_transform(twin)
    np.testing.assert_allclose(changed.objects.rows, StandardScaler().fit(X).transform(X[:7] + 1))
    pipeline = make_pipeline(NodeTransformer(StandardScaler()), ConditionalRanker())
    assert 0 <= cross_validate(pipeline, graph, 4, cv=2).mean() <= 1


@pytest.mark.parametrize("as_array", [False, True])
@pytest.mark.parametrize("vectoriser", [TfidfVectorizer(), CountVectorizer()])
def test_texts_are_transformed_as_by_hand(vectoriser, as_array):
    graph = RelationGraph(np.array(TEXTS) if as_array else TEXTS, Y.astype(int))
    train, test = graph[:10], graph[10:]
    pipeline = make_pipeline(NodeTransformer(vectoriser), ConditionalRanker()).fit(train)
    encoder = clone(vectoriser).fit(TEXTS[:10])
    features, new = encoder.transform(TEXTS[:10]), encoder.transform(TEXTS[10:])
    expected = ConditionalRanker().fit(features.astype(float), Y[:10, :10])
    np.testing.assert_allclose(pipeline.predict(TEXTS[10:]), expected.predict(new), atol=1e-10)
    np.testing.assert_allclose(pipeline.predict(test), expected.predict(new, new), atol=1e-10)
    assert sparse.issparse(pipeline[0].transform(train).nodes.base)
    assert graph.relation.dtype == np.float64
    assert np.shares_memory(train.nodes.base, graph.nodes.base)
    assert 0 <= cross_validate(pipeline, graph, 2, cv=4).mean() <= 1


def test_rankers_refuse_raw_texts():
    graph = RelationGraph(TEXTS, Y)
    assert "16 nodes" in repr(graph)
    fitted = ConditionalRanker().fit(X, Y)
    for call in (
        lambda: ConditionalRanker().fit(graph),
        lambda: ConditionalRanker().fit(TEXTS, Y),
        lambda: ConditionalRanker().plan(graph),
        lambda: NearestNeighbours().fit(graph),
        lambda: fitted.predict(graph),
        lambda: fitted.score(graph),
    ):
        with pytest.raises(ValueError, match="the nodes are texts"):
            call()
    with pytest.raises(ValueError, match="must be two-dimensional"):
        RelationGraph([*TEXTS[:-1], 3.0], Y)


def test_wrong_transformers_are_refused():
    with pytest.raises(NotFittedError):
        NodeTransformer(StandardScaler()).transform(make_graph())
    with pytest.raises(ValueError, match="object_transformer must be a transformer, 'same', 'passthrough' or None"):
        NodeTransformer(StandardScaler(), "other").fit(make_graph())
    broken = NodeTransformer(FunctionTransformer(lambda X: X * np.inf))
    with np.errstate(invalid="ignore"), pytest.raises(ValueError, match="transformed nodes must be finite"):
        broken.fit_transform(make_graph())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: NodeTransformer(None).fit(SMALL_KERNEL), "transformer must be a scikit-learn transformer.*got None"),
        (
            lambda: NodeTransformer(StandardScaler).fit(SMALL_KERNEL),
            r"the class StandardScaler: write StandardScaler\(\)",
        ),
        (
            lambda: NodeTransformer(PCA(), 3).fit(SMALL_KERNEL),
            "object_transformer must be a scikit-learn transformer.*got 3",
        ),
    ],
)
def test_what_is_no_transformer_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_pipeline_can_be_searched():
    graph = noisy_graph()
    pipeline = make_pipeline(NodeTransformer(StandardScaler()), ConditionalRanker())
    grid = {"nodetransformer__transformer__with_std": [True, False], "conditionalranker__alpha": [0.1, 10.0]}
    search = GridSearchCV(pipeline, grid, cv=3, error_score="raise").fit(graph)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.predict(graph.nodes.base[:2]).shape == (2, 40)
