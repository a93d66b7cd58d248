"""Relations in factors: classes, taxonomies, and products of three matrices."""

import numpy as np
import pytest

from condrank import RelationGraph

RNG = np.random.default_rng(0)


N, D = 30, 4


X = RNG.normal(size=(N, D))


LABELS = np.arange(N) % 3


from_classes = RelationGraph.from_classes


@pytest.mark.parametrize(
    ("labels", "match"),
    [
        (np.where(LABELS == 1, np.nan, LABELS), "10 are missing, the first of node 1"),
        ([None if one == 1 else str(one) for one in LABELS], r"first of node 1 \(None\)"),
        (np.array([float("nan") if one == 2 else "a" for one in LABELS], dtype=object), "first of node 2"),
        (
            np.array([one if one == 1 else str(one) for one in LABELS.tolist()], dtype=object),
            "of one type.*int and str",
        ),
        (np.where(LABELS == 1, np.datetime64("NaT"), np.datetime64("2020-01-01")), "10 are missing"),
        (np.column_stack([LABELS, np.where(LABELS == 1, np.nan, 0)]), "10 are missing"),
    ],
)
def test_missing_classes_are_refused(labels, match):
    with pytest.raises(ValueError, match=f"labels must .*{match}"):
        from_classes(X, labels)
