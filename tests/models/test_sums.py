"""Sums over blocks of nodes: blocks of other classes, levels and scales are joined or refused."""

import numpy as np
import pytest

from condrank import ConditionalRanker, RelationGraph

RNG = np.random.default_rng(0)


N, D = 30, 4


X = RNG.normal(size=(N, D))


LABELS = np.arange(N) % 3


TREE = np.column_stack([LABELS, np.arange(N) % 6])


from_classes = RelationGraph.from_classes


@pytest.mark.parametrize(
    ("first", "second", "match"),
    [
        ((TREE, [0, 1, 2]), (TREE + 10, [0, 1, 3]), r"similarity of shared levels .*3\.0"),
        ((TREE, [1, 1, 2]), (TREE + 10, [0, 1, 2]), "similarity of shared levels"),
        ((TREE,), (np.column_stack([TREE + 10, TREE]),), "taxonomy of 2 level.*taxonomy of 4 level"),
        ((LABELS,), (TREE + 10,), "classes of one level, got a taxonomy"),
        ((TREE,), (LABELS + 10,), "got classes of one level"),
        ((LABELS,), (LABELS.astype(str),), "number, got str"),
        ((TREE.astype(str),), (TREE,), "str, got number"),
    ],
)
def test_blocks_of_other_classes_must_not_contradict_each_other(first, second, match, tmp_path):
    ranker = ConditionalRanker().partial_fit(from_classes(X, *first))
    before = ranker.predict(X, X)
    ranker.save(tmp_path / "ranker")
    for one in (ranker, ConditionalRanker.load(tmp_path / "ranker")):
        with pytest.raises(ValueError, match=match):
            one.partial_fit(from_classes(X, *second))
        np.testing.assert_array_equal(one.predict(X, X), before)


def test_levels_of_another_precision_are_the_same():
    values = [0.1, 0.7, 1.3]
    for types in ((np.float32, np.float64), (np.float64, np.float32)):
        ranker = ConditionalRanker()
        for shift, dtype in zip((0, 10), types, strict=True):
            ranker.partial_fit(from_classes(X.astype(dtype), TREE + shift, values))
        assert "60 nodes" in str(ranker.plan_)
