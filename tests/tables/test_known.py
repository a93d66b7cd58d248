"""Nodes that a ranker of tables knows by id, and new nodes with the same columns."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.decomposition import PCA

from builders import GAMES, PLAYERS, SMALL_KERNEL, ranker_of_games
from condrank import ConditionalRanker, RelationGraph, TableRanker
from condrank.tables import Table
from forms import LIBRARIES, in_form, make_frame
from mixed_tables import EDGES, NEW, NODES, RANKER, N

PAIRS = {"source": ["a", "a", "b", "c"], "target": ["b", "c", "c", "a"], "value": [1.0, 0.0, 0.5, 0.2]}


@pytest.fixture(scope="module")
def fitted():
    return TableRanker(RANKER).fit(NODES, EDGES)


def test_new_nodes_may_have_ids(fitted):
    expected = fitted.rank(NEW, top=N)
    assert expected.query_ids.tolist() == NEW["id"]
    assert "n1" not in expected.ids[1]  # the known node of that id
    without = {name: column for name, column in NEW.items() if name != "id"}
    assert fitted.rank(without).query_ids is None
    among = fitted.rank("n0", objects=NEW, top=2)
    assert set(among.ids[0]) <= set(NEW["id"])
    assert set(fitted.rank(NEW, objects=without).ids.ravel()) == {0, 1, 2}


@pytest.mark.parametrize("form", ["records", *LIBRARIES, "lazy", "csv", "table"])
def test_new_nodes_come_in_every_form_of_a_table(fitted, tmp_path, form):
    new = Table.of_kinds(NEW, fitted.encoder_.kinds_) if form == "table" else in_form(form, NEW, tmp_path)
    np.testing.assert_allclose(fitted.rank(new, exclude_self=False).scores, fitted.rank(NEW, exclude_self=False).scores)


@pytest.mark.parametrize("library", LIBRARIES)
def test_errors_in_a_frame_of_new_nodes_name_the_position(fitted, library):
    with pytest.raises(ValueError, match="queries, position 1: column 'c' has no value"):
        fitted.rank(make_frame(library, NEW | {"c": ["a", None, "b"]}))
    with pytest.raises(ValueError, match="queries, position 2: id 'a' occurs already in queries, position 0"):
        fitted.rank(make_frame(library, NEW | {"id": ["a", "b", "a"]}))


@pytest.mark.parametrize(
    ("queries", "message"),
    [
        (["n0", "zoe"], r"queries, position 1: no node has the id 'zoe'; ids are like 'n0'"),
        ("zoe", "no node has the id 'zoe'"),
        ([["n0"]], "an id must be a string, a number or a date"),
        (3, "no node has the id 3"),
        ({"x": [1.0]}, "queries lacks column 'born'"),
        (NEW | {"x": [1.0, None, 2.0]}, "queries, position 1: column 'x' has no value"),
        (NEW | {"id": ["a", "b", "a"]}, "queries, position 2: id 'a' occurs already in queries, position 0"),
        (Path("missing.csv"), "missing.csv cannot be read"),
        (np.ones((2, 7)), "must have 4 columns, got 7"),
    ],
)
def test_queries_that_do_not_fit_are_refused(fitted, queries, message):
    with pytest.raises(ValueError, match=message):
        fitted.rank(queries)


def test_the_columns_of_known_nodes_can_be_shown(fitted):
    assert fitted.row("n2") == {
        "x": NODES["x"][2],
        "born": str(NODES["born"][2]),
        "c": NODES["c"][2],
        "t": NODES["t"][2],
    }
    assert fitted.query_ids_.tolist() == fitted.object_ids_.tolist() == NODES["id"]


@pytest.mark.parametrize(("days", "is_far"), [(100, False), (200_000, True)])
def test_a_warning_reports_new_nodes_far_from_training(fitted, tmp_path, days, is_far):
    new = {**NEW, "born": NEW["born"] + np.array([0, days, 0])}
    fitted.save(tmp_path / "model")
    for ranker in (fitted, TableRanker.load(tmp_path / "model")):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            ranker.rank(new)
        messages = [str(one.message) for one in found]
        assert len(messages) == is_far
        if is_far:
            assert re.search("position 1: 'born' is [0-9]+ standard deviations beyond all training nodes", messages[0])


def test_another_encoder_of_a_table_takes_new_rows():
    ranker = TableRanker(encoder=PCA(1)).fit(PLAYERS, GAMES)
    new = {"size": [5.0], "speed": [1.0]}  # in any order, as those of a TableEncoder
    np.testing.assert_allclose(ranker.predict(new), ranker.predict(["bob"]))


def test_ids_may_be_a_set_or_a_generator():
    ranker = ranker_of_games()
    assert set(ranker.rank({"ann", "bob"}).query_ids.tolist()) == {"ann", "bob"}
    assert ranker.rank(one for one in ("bob", "ann")).query_ids.tolist() == ["bob", "ann"]
    assert set(ranker.rank("ann", objects={"bob", "cyd"}).ids.ravel()) == {"bob", "cyd"}
    graph = RelationGraph.from_edges(np.eye(3), (one for one in "ab"), ["b", "c"], [1.0, 2.0], ids=["a", "b", "c"])
    assert graph.n_edges == 2


def _named_kernel():
    return pytest.importorskip("pandas").DataFrame(SMALL_KERNEL, columns=list("abc"))


def test_rows_of_kernel_values_of_another_width_are_refused():
    ranker = TableRanker(ConditionalRanker(kernel="precomputed")).fit(None, PAIRS, kernel=_named_kernel())
    with pytest.raises(ValueError, match=r"rows of 3 kernel values, one for each training node.*got 2 columns"):
        ranker.rank(SMALL_KERNEL[:1, :2])
