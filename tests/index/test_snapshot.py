"""The objects of an index at one moment come back as they were, with the removed ones among them."""

import numpy as np
import pytest

from condrank import ConditionalRanker
from condrank.index.snapshot import Snapshot
from condrank.models.inner_products import InnerProducts
from condrank.persistence.arrays import Arrays, Held

RNG = np.random.default_rng(0)
X = RNG.normal(size=(9, 2))
MODEL = ConditionalRanker(kernel="rbf").fit(X, X @ X.T).fitted_.model
PRODUCTS = InnerProducts(MODEL)
VECTORS = PRODUCTS.of_objects(None)


def stored(snapshot):
    arrays = Arrays()
    return snapshot.to_state(arrays, MODEL), arrays.named


def test_objects_with_removed_ones_come_back_at_their_positions():
    ids = np.array(["a", "b", "a", "c"])  # the name of a removed object was given again
    given, named = stored(Snapshot(VECTORS[:4], 4, np.array([0]), ids))
    held = Held(named)
    again = Snapshot.from_state(given, held, PRODUCTS, 9)
    assert held.left() == []
    np.testing.assert_array_equal(again.objects, VECTORS[:4])
    assert (again.n, again.gone.tolist()) == (4, [0])
    assert again.ids is not None
    assert again.ids[1:].tolist() == ["b", "a", "c"]


@pytest.mark.parametrize(
    ("given", "arrays", "match"),
    [
        ({"n": 5}, {}, "5 positions and 1 removed ones do not agree with 4 objects"),
        ({}, {"gone": np.array([4])}, r"gone must lie within 0\.\.3"),
        ({"n_gone": 2}, {"gone": np.array([1, 1])}, "4 positions and 2 removed ones do not agree"),
        ({}, {"objects.0": VECTORS[:4, 1:]}, "objects must have vectors of length"),
        ({"stored": [False]}, {}, "the vectors of its objects are missing"),
    ],
)
def test_stored_objects_that_do_not_fit_together_are_refused(given, arrays, match):
    before, named = stored(Snapshot(VECTORS[:4], 4, np.array([0]), None))
    with pytest.raises(ValueError, match=match):
        Snapshot.from_state(before | given, Held(named | arrays), PRODUCTS, 9)
