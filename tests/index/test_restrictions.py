"""Objects that are excluded, and those that are candidates."""

import itertools

import numpy as np
import pytest

from builders import FIVE_QUERIES, SIXTY_NODES, index_of_classes, ranker_of_classes
from condrank.rankers.restrictions import Restriction
from reference_index import KINDS, NAMES, OBJECTS, QUERIES, assert_same, fitted, linear, make, naive_top


def test_removed_and_unknown_ids_may_be_excluded_and_unknown_positions_may_not():
    index = index_of_classes("exact", ids=np.arange(60))
    index.remove([3])
    np.testing.assert_array_equal(index.top(FIVE_QUERIES, exclude=[3, 1000]).indices, index.top(FIVE_QUERIES).indices)
    index = ranker_of_classes().index(SIXTY_NODES)
    index.remove([3])
    np.testing.assert_array_equal(index.top(FIVE_QUERIES, exclude=[3]).indices, index.top(FIVE_QUERIES).indices)
    with pytest.raises(ValueError, match=r"exclude must lie within 0\.\.59, got 1000"):
        index.top(FIVE_QUERIES, exclude=[1000])


@pytest.mark.parametrize("kind", [*KINDS, "by model"])
@pytest.mark.parametrize("seed", range(2))
def test_excluded_objects_and_candidates_give_the_naive_answers(kind, seed, small_blocks, monkeypatch):
    monkeypatch.setattr("condrank.index.approximate.LIST_LEAST_OBJECTS_PER_FETCHED", 1)
    rng = np.random.default_rng(seed)
    ranker = fitted("compared") if kind == "by model" else linear()
    index = make(ranker, OBJECTS, "exact" if kind == "by model" else kind)
    m, n = len(OBJECTS), len(QUERIES)
    gone = rng.choice(m, 5, replace=False)
    index.remove(gone)
    scores = ranker.predict(QUERIES, OBJECTS)
    common = rng.choice(m, 10)
    each = [rng.choice(m, rng.integers(0, 30)).tolist() for _ in range(n)]
    there = np.setdiff1d(np.arange(m), gone)
    some = rng.choice(there, 12)
    some_each = [rng.choice(there, rng.integers(0, 9)).tolist() for _ in range(n)]
    for exclude, candidates in itertools.product((None, common, each), (None, some, some_each)):
        allowed = np.ones((n, m), dtype=bool)
        allowed[:, gone] = False
        for row in range(n):
            if exclude is not None:
                allowed[row, exclude if exclude is common else exclude[row]] = False
            if candidates is not None:
                chosen = np.isin(np.arange(m), candidates if candidates is some else candidates[row])
                allowed[row] &= chosen
        for k in (3, 40):
            found = index.top(QUERIES, k, exclude=exclude, candidates=candidates)
            np.testing.assert_array_equal(found.indices, naive_top(scores, k, allowed))
            missing = found.indices < 0
            assert np.isneginf(found.scores[missing]).all()
            taken = np.take_along_axis(scores, np.where(missing, 0, found.indices), axis=1)
            np.testing.assert_allclose(found.scores[~missing], taken[~missing], rtol=1e-6)
            worst = index.top(QUERIES, k, exclude=exclude, candidates=candidates, order="worst")
            np.testing.assert_array_equal(worst.indices, naive_top(-scores, k, allowed))
            missing = worst.indices < 0
            assert np.isneginf(worst.scores[missing]).all()
            taken = np.take_along_axis(scores, np.where(missing, 0, worst.indices), axis=1)
            np.testing.assert_allclose(worst.scores[~missing], taken[~missing], rtol=1e-6)
            by_rank = ranker.rank(QUERIES, OBJECTS, k, exclude=_also(exclude, gone, n), candidates=candidates)
            np.testing.assert_array_equal(by_rank.indices, found.indices)
            by_rank = ranker.rank(
                QUERIES, OBJECTS, k, exclude=_also(exclude, gone, n), candidates=candidates, order="worst"
            )
            assert_same(by_rank, worst)


def _also(exclude, gone, n):
    """What to exclude for each conditioning node, with the removed objects, which `rank` does not know of."""
    if exclude is None or not isinstance(exclude, list):
        return np.union1d(gone, [] if exclude is None else exclude).astype(int)
    return [np.union1d(one, gone).astype(int) for one in exclude]


def test_missing_places_have_no_name():
    index = linear().index(OBJECTS, ids=NAMES)
    found = index.top(QUERIES[:2], 3, candidates=[["o1", "o2"], ["o5"]])
    assert found.indices.shape == (2, 2)
    assert found.ids[1].tolist() == ["o5", None]
    assert "None" in str(found)
    whole = index.top(QUERIES[:2], 3, candidates=["o1", "o2"])
    assert whole.ids.dtype == NAMES.dtype
    assert whole.ids.shape == (2, 2)
    assert index.top(QUERIES[:2], 3, exclude=NAMES).indices.shape == (2, 0)
    assert index.top(QUERIES[:2], 3, candidates=[]).indices.shape == (2, 0)
    # Who is not there need not be excluded; two-dimensional arrays have a row for each conditioning node.
    assert_same(index.top(QUERIES, exclude=["nobody"]), index.top(QUERIES))
    names = index.top(QUERIES[:2], 3).ids
    again = index.top(QUERIES[:2], 3, exclude=names).ids
    assert not set(names[0]) & set(again[0])
    assert not set(names[1]) & set(again[1])


def test_a_restriction_knows_what_is_allowed():
    restriction = Restriction.of(np.array([2]), np.array([4]), None)
    np.testing.assert_array_equal(restriction.allows(np.array([[1, 2, 4, -1]])), [[True, False, False, False]])
    restriction = Restriction.of(np.zeros(0, dtype=np.intp), None, [np.array([1]), np.array([3, 4])])
    np.testing.assert_array_equal(restriction.allows(np.array([[1, 3], [1, 3]])), [[False, True], [True, False]])
    assert restriction.most_excluded() == 2
