"""Pictures of relations: what has no edges is not drawn, and sparse relations are drawn as groups and a corner."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from condrank import ConditionalRanker, RelationGraph, TableRanker
from condrank.report import charts
from condrank.report.matrices import densest, is_around, png, scale_of_values
from condrank.report.relations import CORNER, relation_figures, with_edges
from condrank.report.words import Words
from report.games import Reader

WORDS = Words("papers", "papers", True)


def sparse_likeness(n, n_edges, n_isolated, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + n_isolated, 3))
    Y = np.full((n + n_isolated,) * 2, np.nan)
    for i, j in rng.integers(0, n, size=(n_edges, 2)):
        Y[i, j] = Y[j, i] = X[i] @ X[j]
    for i in range(n):  # nobody below n is alone
        j = (i + 1) % n
        Y[i, j] = Y[j, i] = X[i] @ X[j]
    names = [f"paper {i}" if i < n else f"alone {i}" for i in range(n + n_isolated)]
    return RelationGraph(X, Y, ids=names)


def titles(page):
    return [one["aria-label"] for one in Reader(page).named("svg") if one.get("class") == "chart"]


def test_a_sparse_relation_is_drawn_as_groups_and_a_corner_with_names():
    graph = sparse_likeness(150, 500, 60)
    ranker = TableRanker(ConditionalRanker("symmetric")).fit(graph)
    page = relation_figures(ranker.ranker_, graph, None, WORDS, "")
    words = "".join(Reader(page).words)
    assert titles(page) == ["True", "In the model's order"] * 2 + ["Edges of each node, sorted"]
    assert "alone" not in words
    assert "60 nodes without edges are left out." in words
    assert f"The {CORNER} papers with most edges among each other" in words
    named = [one for one in Reader(page).words if one.startswith("paper ")]
    assert len(set(named)) == CORNER  # every row of the corner has its name, in both of its images
    assert "papers 1–15" in words


def test_groups_have_the_means_of_all_observed_values():
    graph = sparse_likeness(150, 500, 0)
    ranker = TableRanker(ConditionalRanker("symmetric")).fit(graph)
    said = [one for one in Reader(relation_figures(ranker.ranker_, graph, None, WORDS, "")).words if " edges" in one]
    cells = [one for one in said if one.split(", ")[-1].removesuffix(" edges").replace(",", "").isdigit()]
    true, model = cells[: len(cells) // 2], cells[len(cells) // 2 :]
    Y = graph.to_dense()
    for some in (true, model):
        counts = [int(one.split(", ")[1].removesuffix(" edges").replace(",", "")) for one in some]
        means = [float(one.split(", ")[0]) for one in some]
        assert sum(counts) == np.isfinite(Y).sum()
        assert np.dot(counts, means) == pytest.approx(np.nansum(Y), abs=0.01 * np.nansum(np.abs(Y)))


def test_a_dense_relation_is_drawn_whole_with_names_and_without_nodes_that_are_alone():
    rng = np.random.default_rng(0)
    Y = np.full((40, 40), np.nan)
    Y[:30, :30] = rng.normal(size=(30, 30))
    names = [f"in {i}" if i < 30 else f"out {i}" for i in range(40)]
    graph = RelationGraph(rng.normal(size=(40, 2)), Y, ids=names)
    ranker = TableRanker(ConditionalRanker()).fit(graph)
    page = relation_figures(ranker.ranker_, graph, None, WORDS, "")
    words = [one for one in Reader(page).words if one.startswith(("in ", "out "))]
    assert titles(page) == ["True", "In the model's order"]
    assert not any(one.startswith("out") for one in words)
    assert len(set(words)) >= 15
    assert "10 nodes without edges are left out." in page


def test_nodes_without_edges_are_left_out_of_both_domains():
    Y = np.full((4, 5), np.nan)
    Y[1, 2] = Y[3, 2] = Y[1, 4] = 1.0
    part, rows, columns = with_edges(RelationGraph(np.eye(4), Y, objects=np.eye(5)))
    assert part.shape == (2, 2)
    assert (rows.tolist(), columns.tolist()) == ([1, 3], [2, 4])


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_the_densest_part_is_at_least_as_dense_as_the_whole(seed, square):
    rng = np.random.default_rng(seed)
    shape = (30, 30) if square else (30, 22)
    pattern = rng.random(shape) < rng.uniform(0.05, 0.6)
    if square:
        pattern = pattern | pattern.T
    rows, columns = densest(pattern, 8, square)
    assert (len(rows), len(columns)) == (8, 8)
    assert pattern[np.ix_(rows, columns)].mean() >= pattern.mean()
    if square:
        assert rows.tolist() == columns.tolist()


def test_a_planted_clique_is_found():
    rng = np.random.default_rng(0)
    pattern = rng.random((60, 60)) < 0.05
    clique = np.sort(rng.choice(60, 8, replace=False))
    pattern[np.ix_(clique, clique)] = True
    assert densest(pattern, 8, True)[0].tolist() == clique.tolist()


def test_colours_are_around_zero_only_if_values_are():
    assert scale_of_values(np.array([-1.0, 0.7, np.nan])) == (-1.0, 1.0)
    assert scale_of_values(np.array([-1.0, 20.0])) == (-1.0, 20.0)
    assert scale_of_values(np.array([3.0])) == (2.5, 3.5)
    assert is_around((-2, 2))
    assert not is_around((0, 2))


def test_what_was_not_observed_is_transparent_in_an_image():
    from io import BytesIO

    from PIL import Image

    pixels = np.array(Image.open(BytesIO(png(np.array([[0.0, np.nan], [0.5, 1.0]]), (0, 1), False))).convert("RGBA"))
    assert pixels[..., 3].tolist() == [[255, 0], [255, 255]]
    assert pixels[0, 0, 0] > pixels[1, 0, 0] > pixels[1, 1, 0]  # the higher, the darker


def test_names_that_begin_alike_stay_different():
    names = [f"Proceedings of the {k}th workshop on ranking" for k in range(10, 30)]
    assert len(set(charts.short_names(names))) == 20
    assert max(map(len, charts.short_names(names))) <= charts.LONGEST
    assert charts.short_names(["ann", "annabel"]) == ["ann", "annabel"]
    assert charts.short_names([]) == []
    same = "x" * 40
    assert charts.short_names([same, same]) == ["x" * 19 + "…"] * 2


@given(
    st.lists(
        st.tuples(st.floats(0, 400), st.floats(0, 300), st.text("abc", min_size=1, max_size=20)),
        max_size=30,
    )
)
def test_names_beside_points_do_not_cover_each_other_and_stay_inside(given_points):
    points, names = [(x, y) for x, y, _ in given_points], [name for *_, name in given_points]
    boxes = []
    for number, x, y, anchor in charts.place_names(points, names, 400, 300):
        long = charts.WIDEST * len(names[number])
        left = x if anchor == "start" else x - long
        boxes.append((left, y - 4 - charts.LINE / 2, left + long, y - 4 + charts.LINE / 2))
    for k, one in enumerate(boxes):
        assert min(one) >= -1e-9
        assert one[2] <= 400 + 1e-9
        assert one[3] <= 300 + 1e-9
        for other in boxes[:k]:
            apart = one[0] >= other[2] - 1e-9 or other[0] >= one[2] - 1e-9
            assert apart or one[1] >= other[3] - 1e-9 or other[1] >= one[3] - 1e-9


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0, 37), (-3.2, 8.1), (0.211, 0.2118), (5, 5)])
def test_ticks_are_round_and_inside(low, high):
    found = charts.ticks(low, high)
    assert 1 <= len(found) <= 12
    assert all(low - 1e-9 <= value <= high + 1e-9 for value, _ in found)
    assert "-0" not in [text for _, text in found]
