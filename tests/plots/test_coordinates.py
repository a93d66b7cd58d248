"""Pictures of nodes at their coordinates."""

import numpy as np
import pytest

from builders import SMALL_KERNEL
from condrank import ConditionalRanker
from condrank.plots import CoordinatesDisplay
from drawn import reciprocal

RNG = np.random.default_rng(0)


def test_two_domains_have_a_legend():
    pytest.importorskip("matplotlib")
    for options in ({}, {"values": np.arange(4.0)}, {"groups": list("aabb")}):
        axes = CoordinatesDisplay.from_predictions(RNG.normal(size=(4, 5)), **options).plot().ax_
        names = {text.get_text() for text in axes.get_legend().get_texts()}
        assert names == {"objects", *(("a", "b") if "groups" in options else ("conditioning nodes",))}
    skew = SMALL_KERNEL[[1, 2, 0]] - SMALL_KERNEL[[1, 2, 0]].T
    assert CoordinatesDisplay.from_predictions(skew, relation="reciprocal").plot().ax_.get_legend() is None


def test_areas_in_the_rotation_plane_are_the_scores():
    rng = np.random.default_rng(1)
    p, q = rng.standard_normal((2, 9))
    skew = np.outer(p, q) - np.outer(q, p)
    display = CoordinatesDisplay.from_predictions(skew + 0.5, relation="reciprocal")
    x, y = display.points.T
    np.testing.assert_allclose(np.outer(x, y) - np.outer(y, x), skew)
    assert display.share == pytest.approx(1)
    np.testing.assert_allclose(display.values, skew.mean(axis=1))


def test_rotation_plane_is_the_best_approximation_of_rank_two():
    rng = np.random.default_rng(2)
    A = rng.standard_normal((8, 8))
    skew = A - A.T
    x, y = (display := CoordinatesDisplay.from_predictions(skew, relation="reciprocal")).points.T
    left, singular, right = np.linalg.svd(skew)
    np.testing.assert_allclose(np.outer(x, y) - np.outer(y, x), (left[:, :2] * singular[:2]) @ right[:2], atol=1e-10)
    assert display.share == pytest.approx(np.sum(singular[:2] ** 2) / np.sum(singular**2))


def test_symmetric_and_ordinary_planes_give_the_scores_back():
    rng = np.random.default_rng(3)
    _, a, b = np.linalg.qr(np.column_stack([np.ones(7), rng.standard_normal((7, 2))]))[0].T
    symmetric = 5 * np.outer(a, a) - 2 * np.outer(b, b)
    display = CoordinatesDisplay.from_predictions(symmetric + 100, relation="symmetric").plot()
    np.testing.assert_allclose((display.points * display.signs) @ display.points.T, symmetric, atol=1e-12)
    assert display.ax_.get_ylabel() == "negative coordinate 2"
    ordinary = rng.standard_normal((6, 2)) @ rng.standard_normal((2, 9))
    display = CoordinatesDisplay.from_predictions(ordinary).plot()
    centred = ordinary - ordinary.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(display.points @ display.object_points.T, centred, atol=1e-12)
    objects, nodes = (collection.get_offsets() for collection in display.ax_.collections)
    np.testing.assert_array_equal(objects, display.object_points)
    np.testing.assert_array_equal(nodes, display.points)


def test_coordinates_of_a_ranker_are_coloured_by_strength_groups_or_values():
    graph = reciprocal(12)
    ranker = ConditionalRanker("reciprocal", "regression", alpha=0.1).fit(graph)
    by_strength = CoordinatesDisplay.from_estimator(ranker, graph).plot()
    (dots,) = by_strength.ax_.collections
    np.testing.assert_allclose(dots.get_array(), ranker.predict(graph).mean(axis=1), atol=1e-12)
    by_group = CoordinatesDisplay.from_estimator(ranker, graph, groups=["x", "y"] * 6).plot(label="side")
    assert [text.get_text() for text in by_group.ax_.get_legend().get_texts()] == ["x", "y"]
    np.testing.assert_array_equal(by_group.ax_.collections[0].get_offsets(), by_group.points[::2])
    values = np.arange(12.0)
    values[3] = np.nan
    unknown, known = CoordinatesDisplay.from_estimator(ranker, graph, values=values).plot().ax_.collections
    assert len(unknown.get_offsets()) == 1
    np.testing.assert_array_equal(known.get_array(), values[~np.isnan(values)])
    many = CoordinatesDisplay.from_estimator(ranker, graph, groups=np.arange(12)).plot()
    assert many.ax_.get_legend() is None
    np.testing.assert_array_equal(many.ax_.collections[0].get_array(), np.arange(12))


@pytest.mark.parametrize(
    ("scores", "arguments", "message"),
    [
        (np.ones(3), {}, "Y_score must have shape"),
        (np.full((2, 2), np.nan), {}, "finite"),
        (np.ones((2, 3)), {"relation": "symmetric"}, "square"),
        (np.ones((3, 3)), {"relation": "cyclic"}, "relation must be"),
        (np.ones((3, 3)), {"values": [1, 2]}, "values must have shape"),
        (np.ones((3, 3)), {"values": [1, 2, 3], "groups": [1, 2, 3]}, "not both"),
    ],
)
def test_coordinates_refuse_what_does_not_fit(scores, arguments, message):
    with pytest.raises(ValueError, match=message):
        CoordinatesDisplay.from_predictions(scores, **arguments)
