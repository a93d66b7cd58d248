"""Why, and what to measure next: a search and a prepared ranker answer as the ranker inside does."""

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from condrank import ConditionalRanker, RelationGraph
from condrank.baselines import PopularityRanker
from condrank.model_selection import RankerSearch
from condrank.model_selection.prepared import PreparedRanker
from condrank.rankers.base import fitted_of

N = 12


def a_graph(X, ids=None):
    rng = np.random.default_rng(1)
    Y = X @ rng.normal(size=(3, 3)) @ X.T
    Y[rng.random((N, N)) < 0.4] = np.nan
    return RelationGraph(X, Y, ids=ids)


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(N, 3)) * [1.0, 10.0, 100.0] + 5


def searched(ranker):
    """A search that has chosen this fitted ranker."""
    search = RankerSearch()
    search.best_ranker_ = ranker
    search._keep(fitted_of(ranker))
    return search


@pytest.mark.parametrize("by_search", [False, True])
@pytest.mark.parametrize("ids", [None, [f"n{i}" for i in range(N)]])
def test_prepared(X, ids, by_search):
    """The same contributions and suggestions as on features that were standardised by hand."""
    plain = ConditionalRanker(loss="regression", alpha=0.5)
    prepared = PreparedRanker(plain, "standard").fit(a_graph(X, ids))
    by_hand = ConditionalRanker(loss="regression", alpha=0.5).fit(
        RelationGraph(StandardScaler().fit_transform(X), a_graph(X).to_dense(), ids=ids)
    )
    asked = searched(prepared) if by_search else prepared
    nodes = (2, 5, 7) if ids is None else ("n2", "n5", "n7")
    found, expected = asked.explain(*nodes), by_hand.explain(*nodes)
    assert found.total == pytest.approx(expected.total)
    np.testing.assert_allclose(found.labels.contributions, expected.labels.contributions, rtol=1e-6, atol=1e-9)
    options = {"by": "variance", "random_state": 0}
    one, other = asked.suggest_edges(6, **options), by_hand.suggest_edges(6, **options)
    np.testing.assert_array_equal(one.queries, other.queries)
    np.testing.assert_array_equal(one.objects, other.objects)
    np.testing.assert_allclose(one.std, other.std, rtol=1e-6)
    if by_search:
        with pytest.raises(ValueError, match="has chosen a PreparedRanker; use predict"):
            asked.predict_interval(X)


def test_plain(X):
    ranker = ConditionalRanker(loss="regression", alpha=0.5, kernel="rbf").fit(a_graph(X))
    search = searched(ranker)
    assert search.explain(2, 5, 7).total == ranker.explain(2, 5, 7).total
    np.testing.assert_array_equal(search.suggest_edges(3).objects, ranker.suggest_edges(3).objects)
    for one, other in zip(search.predict_interval(X), ranker.predict_interval(X), strict=True):
        np.testing.assert_array_equal(one, other)


def test_baselines_are_refused(X):
    search = searched(PopularityRanker().fit(a_graph(X)))
    with pytest.raises(ValueError, match="explain needs a ConditionalRanker"):
        search.explain(0, 1)
    with pytest.raises(ValueError, match="standard deviations need a ConditionalRanker"):
        search.suggest_edges(2)
    with pytest.raises(ValueError, match="intervals need a ConditionalRanker"):
        search.predict_interval(X)
