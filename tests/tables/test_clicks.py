"""Positives alone and old edges: zeros of all other pairs or of some, and weights by age, against naive twins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from condrank import ConditionalRanker, RelationGraph, TableRanker, cli
from condrank.observations import Complete
from condrank.observations.clicks import Clicks
from condrank.tables import read_graph

N, M = 6, 9


def tables(seed, share=0.3):
    """Users, films, clicks, and the matrix with a 1 for each click: the naive twin."""
    rng = np.random.default_rng(seed)
    users = {"id": [f"u{i}" for i in range(N)], "x": rng.normal(size=N), "y": rng.normal(size=N)}
    films = {"id": [f"f{j}" for j in range(M)], "z": rng.normal(size=M)}
    Y = (rng.random((N, M)) < share).astype(float)
    Y[0, 0] = 1.0
    i, j = np.nonzero(Y)
    return users, films, {"user": [f"u{one}" for one in i], "film": [f"f{one}" for one in j]}, Y


def graph_of(users, films, clicks, **options):
    return RelationGraph.from_frame(users, clicks, objects=films, unstored="zero", **options)


@given(st.integers(0, 1000), st.sampled_from(["regression", "ranking"]))
@settings(max_examples=15, deadline=None)
def test_all_other_pairs_are_zeros(seed, loss):
    users, films, clicks, Y = tables(seed)
    graph = graph_of(users, films, clicks)
    assert graph.is_complete
    np.testing.assert_array_equal(graph.to_dense(), Y)
    naive = RelationGraph(graph.nodes.base, Y, objects=graph.objects.base)
    ranker = ConditionalRanker(loss=loss)
    np.testing.assert_allclose(
        ranker.fit(graph).predict(np.arange(N) if graph.ids is None else graph.ids),
        ConditionalRanker(loss=loss).fit(naive).predict(graph.nodes.base),
        atol=1e-9,
    )


@given(st.integers(0, 1000), st.integers(1, 12), st.sampled_from([0.1, 0.3, 0.8]))
@settings(max_examples=60, deadline=None)
def test_drawn_zeros_are_different_and_stand_for_all(seed, zeros, share):
    users, films, clicks, Y = tables(seed, share)
    relation = graph_of(users, films, clicks, zeros=zeros, random_state=seed).relation
    if isinstance(relation, Complete):
        assert (zeros * Y.sum(axis=1) >= M - Y.sum(axis=1)).all()  # every pair was drawn
        return
    assert isinstance(relation, Clicks)
    drawn = relation.to_dense()
    for row in range(N):
        p = int(Y[row].sum())
        k = min(zeros * p, M - p)
        assert np.nansum(drawn[row]) == p
        assert np.count_nonzero(drawn[row] == 0) == k
        assert (Y[row][drawn[row] == 0] == 0).all()
        here = slice(relation.indptr[row], relation.indptr[row + 1])
        of_zeros = relation.weights[here][relation.values[here] == 0]
        assert of_zeros.sum() == pytest.approx(M - p if k else 0)
    indptr, indices = relation.known()
    assert np.diff(indptr).tolist() == Y.sum(axis=1).tolist()
    assert np.array_equal((np.repeat(np.arange(N), np.diff(indptr)), indices), np.nonzero(Y))


def test_each_zero_is_drawn_equally_often():
    users, films, clicks, Y = tables(3)
    counts = sum(
        np.nan_to_num(graph_of(users, films, clicks, zeros=1, random_state=seed).to_dense(), nan=-1) == 0
        for seed in range(400)
    )
    for row in range(N):
        p = int(Y[row].sum())
        expected = 400 * min(p, M - p) / (M - p)
        assert (counts[row][Y[row] == 1] == 0).all()
        # Five standard deviations of a binomial count.
        assert np.abs(counts[row][Y[row] == 0] - expected).max() < 5 * np.sqrt(400 * 0.25)


def test_enough_zeros_are_all_of_them():
    users, films, clicks, _ = tables(1, 0.5)
    every, drawn = (graph_of(users, films, clicks, zeros=zeros) for zeros in (None, 50))
    one, other = (ConditionalRanker(loss="regression", tol=1e-12).fit(graph) for graph in (every, drawn))
    np.testing.assert_allclose(one.predict(every.ids), other.predict(every.ids), atol=1e-6)


def test_weights_of_clicks_are_kept():
    users, films, clicks, Y = tables(2)
    weights = np.random.default_rng(0).uniform(1, 3, len(clicks["user"]))
    graph = graph_of(users, films, clicks | {"weight": weights})
    assert graph.n_edges == N * M
    expected = np.ones((N, M))
    expected[np.nonzero(Y)] = weights
    np.testing.assert_allclose(graph.relation.weights.reshape(N, M), expected)
    np.testing.assert_array_equal(graph.to_dense(), Y)


def test_weighted_zeros_that_do_not_fit_are_refused(monkeypatch):
    monkeypatch.setattr("condrank.observations.clicks.available_memory", lambda: 1000)
    users, films, clicks, _ = tables(2)
    with pytest.raises(ValueError, match=r"6 × 9 pairs as edges, about .* zeros=5"):
        graph_of(users, films, clicks | {"weight": np.full(len(clicks["user"]), 2.0)})


def test_what_was_clicked_is_known_and_assumed_zeros_are_not(tmp_path):
    users, films, clicks, Y = tables(4)
    for zeros in (None, 2):
        for solver in ("auto", "dual") if zeros else ("auto",):
            ranker = TableRanker(ConditionalRanker(loss="regression", solver=solver))
            ranker.fit(users, clicks, objects=films, unstored="zero", zeros=zeros).save(tmp_path)
            for one in (ranker, TableRanker.load(tmp_path)):
                found = one.rank(users["id"], top=M, exclude="known")
                for row in range(N):
                    left = {f"f{j}" for j in np.flatnonzero(Y[row] == 0)}
                    assert {name for name, _ in found[row]} == left


def test_a_column_of_values_is_used_and_others_are_not():
    users, films, clicks, Y = tables(5)
    stars = np.arange(1.0, len(clicks["user"]) + 1)
    found = graph_of(users, films, clicks | {"seconds": stars, "rating": stars}).to_dense()
    np.testing.assert_array_equal(found[np.nonzero(Y)], stars)
    np.testing.assert_array_equal(graph_of(users, films, clicks | {"seconds": stars}).to_dense(), Y)


# Old edges


@given(st.integers(0, 100), st.floats(0.5, 5000), st.sampled_from(["text", "date", "days", "seconds", "milliseconds"]))
@settings(max_examples=40, deadline=None)
def test_old_edges_count_less(seed, half_life, form):
    users, films, clicks, _ = tables(seed)
    n = len(clicks["user"])
    rng = np.random.default_rng(seed)
    days = rng.integers(15_000, 20_000, n)
    dates = days.astype("M8[D]")
    shown = {
        "text": dates.astype(str).tolist(),
        "date": dates,
        "days": days,
        "seconds": days * 86_400,
        "milliseconds": days * 86_400_000,
    }[form]
    weight, value = rng.uniform(0.5, 2.0, n), rng.normal(size=n)
    edges = clicks | {"value": value, "weight": weight, "date": shown}
    found = read_graph(users, edges, objects=films, half_life=half_life).relation
    naive = [w * 0.5 ** ((days.max() - day) / half_life) for w, day in zip(weight, days, strict=True)]
    kept = np.array(naive) > 0  # a weight of zero is no edge
    np.testing.assert_allclose(found.weights, np.array(naive)[kept], rtol=1e-9)
    np.testing.assert_allclose(found.values, value[kept])


def test_large_tables_are_aged_the_same(tmp_path, monkeypatch):
    users, films, clicks, _ = tables(7)
    n = len(clicks["user"])
    lines = [f"{u},{f},{i}.5,2024-01-{1 + i % 28:02d}" for i, (u, f) in enumerate(zip(*clicks.values(), strict=True))]
    file = tmp_path / "rated.csv"
    file.write_text("user,film,rating,when\n" + "\n".join(lines) + "\n")
    slow = read_graph(users, file, objects=films, date="when", half_life=7)
    monkeypatch.setattr("condrank.frames.quick_edges.LEAST_BYTES", 1)
    monkeypatch.setattr("condrank.frames.edges._read_by_rows", None)
    quick = read_graph(users, file, objects=films, date="when", half_life=7)
    np.testing.assert_allclose(quick.relation.weights, slow.relation.weights)
    assert len(quick.relation.weights) == n


def test_errors_say_what_is_missing():
    users, films, clicks, _ = tables(0)

    def reading(edges=clicks, **options):
        return read_graph(users, edges, objects=films, **options)

    with pytest.raises(ValueError, match=r"unstored='zero' makes zeros of all other pairs"):
        reading(clicks | {"seconds": [1] * len(clicks["user"]), "page": [2] * len(clicks["user"])})
    with pytest.raises(ValueError, match="half_life needs a column of dates, named with date="):
        reading(half_life=3, unstored="zero")
    with pytest.raises(ValueError, match="date='day' needs half_life"):
        reading(date="day", unstored="zero")
    with pytest.raises(ValueError, match="half_life must be"):
        reading(half_life=0, unstored="zero")
    days = ["2024-01-01", "soon", *["2024-01-02"] * (len(clicks["user"]) - 2)]
    with pytest.raises(ValueError, match="position 1: column 'day' must be a date"):
        reading(clicks | {"day": days}, half_life=3, unstored="zero")
    with pytest.raises(ValueError, match="unstored must be one of"):
        reading(unstored="none")
    with pytest.raises(ValueError, match="zeros is for unstored='zero'"):
        reading(clicks | {"value": [1.0] * len(clicks["user"])}, zeros=3)
    with pytest.raises(ValueError, match="not for games"):
        read_graph(users, {"winner": ["u1"], "loser": ["u2"]}, winner="winner", loser="loser", unstored="zero")


def test_the_command_line_learns_from_clicks(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    users, films, clicks, Y = tables(8)

    def write(name, columns):
        rows = zip(*columns.values(), strict=True)
        (tmp_path / name).write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]) + "\n")

    write("users.csv", users)
    write("films.csv", films)
    write("clicks.csv", clicks | {"date": [f"2024-01-{1 + i % 28:02d}" for i in range(len(clicks["user"]))]})
    fit = ["fit", "--nodes", "users.csv", "--objects", "films.csv", "--edges", "clicks.csv", "--alpha", "1"]
    refused = CliRunner().invoke(cli.app, [*fit, "-o", "m/"])
    assert refused.exit_code == 1
    for more in ([], ["--zeros", "3"], ["--half-life", "30"], ["--zeros", "2", "--half-life", "30", "--date", "date"]):
        done = CliRunner().invoke(cli.app, [*fit, "--unstored", "zero", *more, "-o", "m/", "--force"])
        assert done.exit_code == 0, done.output
        ranked = CliRunner().invoke(cli.app, ["rank", "m/", "-q", "u0", "-k", "20", "--exclude-trained", "--json"])
        assert ranked.exit_code == 0, ranked.output
        assert all(f'"f{j}"' not in ranked.stdout for j in np.flatnonzero(Y[0]))
