"""Tables of nodes and edges: what is read, what it becomes, and what is refused with its row."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from condrank import ConditionalRanker, NodeTransformer, RelationGraph
from condrank.model_selection import SettingSplit, cross_validate
from condrank.tables import Table, TableEncoder, read_graph, read_kernel, read_table

NODES = {"id": ["ann", "bob", "cyd", "dan"], "age": [31, 25, 40, 52], "height": [1.7, 1.83, 1.65, 1.9]}
MIXED = NODES | {
    "country": ["BE", "FI", "BE", "SE"],
    "about": ["a long walk in the park"] * 3 + ["nothing at all to say"],
}
EDGES = {"source": ["ann", "bob", "cyd"], "target": ["bob", "cyd", "ann"], "value": [1.5, -2.0, 0.25]}
GAMES = {"winner": ["ann", "bob", "ann"], "loser": ["bob", "cyd", "dan"]}


def write_csv(path, table, delimiter=","):
    lines = [delimiter.join(table), *(delimiter.join(map(str, row)) for row in zip(*table.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def frames(table, tmp_path):
    """The same table in every form that is read."""
    pd, pl, pq = pytest.importorskip("pandas"), pytest.importorskip("polars"), pytest.importorskip("pyarrow.parquet")
    frame = pd.DataFrame(table)
    frame.to_parquet(tmp_path / "table.parquet")
    lines = "\n".join(json.dumps(dict(zip(table, row, strict=True))) for row in zip(*table.values(), strict=True))
    (tmp_path / "table.jsonl").write_text(lines)
    return {
        "dict": table,
        "records": frame.to_dict("records"),
        "pandas": frame,
        "polars": pl.DataFrame(table),
        "lazy": pl.LazyFrame(table),
        "arrow": pq.read_table(tmp_path / "table.parquet"),
        "parquet": tmp_path / "table.parquet",
        "csv": write_csv(tmp_path / "table.csv", table),
        "semicolons": write_csv(tmp_path / "other.csv", table, ";"),
        "tsv": str(write_csv(tmp_path / "table.tsv", table, "\t")),
        "jsonl": tmp_path / "table.jsonl",
    }


def test_every_form_of_a_table_gives_the_same_graph(tmp_path):
    (tmp_path / "edges").mkdir()
    nodes, edges = frames(MIXED, tmp_path), frames(EDGES, tmp_path / "edges")
    expected = read_graph(MIXED, EDGES)
    assert expected.nodes.base.kinds == {
        "age": "numeric",
        "height": "numeric",
        "country": "categorical",
        "about": "text",
    }
    for form in nodes:
        graph = RelationGraph.from_frame(nodes[form], edges[form])
        assert graph.nodes.base == expected.nodes.base, form
        assert graph.nodes.ids.tolist() == MIXED["id"], form
        np.testing.assert_array_equal(graph.to_dense(), expected.to_dense(), err_msg=form)


def test_numbers_are_plain_features_as_they_are():
    graph = RelationGraph.from_frame(NODES, EDGES)
    np.testing.assert_array_equal(graph.nodes.base, np.column_stack([NODES["age"], NODES["height"]]))
    assert graph.nodes.dtype == np.float64
    dense = graph.to_dense()
    assert dense[0, 1] == 1.5
    assert dense[1, 2] == -2
    assert dense[2, 0] == 0.25
    assert graph.n_edges == 3


def test_games_and_ties_and_weights_tell_both_directions():
    graph = RelationGraph.from_frame(NODES, GAMES | {"draw": [False, False, True], "weight": [1, 2, 3]})
    dense = graph.to_dense()
    assert dense[0, 1] == 1
    assert dense[1, 0] == -1
    assert dense[0, 3] == dense[3, 0] == 0
    assert graph.is_reciprocal
    assert graph.centre == 0
    assert graph.n_edges == 6
    assert sorted(graph.relation.weights.tolist()) == [1, 1, 2, 2, 3, 3]


def test_counts_are_the_mean_of_their_games_with_their_number():
    counts = {"a": ["ann", "bob", "cyd"], "b": ["bob", "cyd", "dan"], "wins_a": [3, 0, 0], "wins_b": [1, 2, 0]}
    games = {"winner": ["ann"] * 3 + ["bob"] + ["cyd"] * 2, "loser": ["bob"] * 3 + ["ann"] + ["bob"] * 2}
    graph, one_by_one = RelationGraph.from_frame(NODES, counts), RelationGraph.from_frame(NODES, games)
    np.testing.assert_allclose(graph.to_dense(), one_by_one.to_dense())
    np.testing.assert_allclose(graph.relation.weights, one_by_one.relation.weights)
    told = {"p": counts["a"], "q": counts["b"], "w": counts["wins_a"], "l": counts["wins_b"]}
    other = RelationGraph.from_frame(NODES, told, source="p", target="q", wins=("w", "l"))
    np.testing.assert_array_equal(other.to_dense(), graph.to_dense())


def test_explicit_columns_win_over_guessed_ones():
    edges = EDGES | {"winner": EDGES["target"], "loser": EDGES["source"], "other": [7.0, 8.0, 9.0]}
    assert np.nanmax(RelationGraph.from_frame(NODES, edges, value="other").to_dense()) == 9
    assert RelationGraph.from_frame(NODES, edges, winner="source", loser="target").to_dense()[0, 1] == 1
    nodes = NODES | {"key": ["x", "y", "z", "w"]}
    named = {"from": ["x"], "to": ["y"], "score": [2.0]}
    graph = RelationGraph.from_frame(nodes, named, id="key", drop=["id"])
    assert graph.nodes.ids.tolist() == ["x", "y", "z", "w"]
    assert graph.to_dense()[0, 1] == 2


def test_first_columns_are_ids_and_ends_where_no_name_is_usual():
    nodes = {"player": ["ann", "bob"], "age": [31, 25]}
    graph = RelationGraph.from_frame(nodes, {"one": ["ann"], "two": ["bob"], "points": [4]})
    assert graph.to_dense()[0, 1] == 4
    assert graph.nodes.base.tolist() == [[31], [25]]


def test_mirror_adds_the_other_direction_but_no_loop():
    edges = {"source": ["ann", "bob"], "target": ["bob", "bob"], "value": [0.75, 0.5]}
    same = RelationGraph.from_frame(NODES, edges, mirror="same")
    assert same.to_dense()[1, 0] == 0.75
    assert same.n_edges == 3
    opposite = RelationGraph.from_frame(NODES, edges, mirror="opposite", probabilities=True)
    assert opposite.to_dense()[1, 0] == 0.25
    assert RelationGraph.from_frame(NODES, edges).n_edges == 2
    assert RelationGraph.from_frame(NODES, GAMES, mirror=None).n_edges == 3


def test_two_domains():
    drugs = {"drug": ["d1", "d2"], "weight": [1.0, 2.0]}
    targets = {"target": [10, 20, 30], "kind": ["kinase", "gpcr", "kinase"]}
    edges = {"drug": ["d1", "d2"], "target": [30, 10], "value": [5.0, 6.0]}
    graph = RelationGraph.from_frame(drugs, edges, objects=targets, source="drug", target="target")
    assert graph.is_two_domain
    assert graph.shape == (2, 3)
    assert graph.to_dense()[0, 2] == 5
    assert graph.objects.ids.dtype == np.int64
    assert isinstance(graph.nodes.base, Table)  # both stay tables where one needs an encoder
    with pytest.raises(ValueError, match=r"edges, position 0, target: no object has the id 40"):
        RelationGraph.from_frame(drugs, edges | {"target": [40, 10]}, objects=targets, source="drug", target="target")


IDS = {
    "whole": [3, 1, 2**60 + 1, -4],
    "strings": ["007", "7", "ä", " x"],
    "dates": np.array(["2024-01-01", "2024-01-02", "2024-02-01", "2025-01-01"], dtype="M8[D]"),
    "times": np.array(["2024-01-01T10:00:00.123456789", "2024-01-02", "2024-02-01", "2025-01-01"], dtype="M8[ns]"),
    "floats": [0.5, 1.0, 2.0, 1e300],
    "mixed": [1, "1", "a", 2.5],
    "tuples": [(1, 2), (1, 3), "x", 4],
    "bools": [True, False],
}


@pytest.mark.parametrize("kind", IDS)
@pytest.mark.parametrize("library", ["dict", "pandas", "polars"])
def test_ids_come_out_as_they_went_in(kind, library):
    ids = IDS[kind]
    n = len(ids)
    nodes = {"id": ids, "x": np.arange(n) + 0.5}
    edges = {"source": ids[:1], "target": ids[1:2], "value": [1.0]}
    if library != "dict":
        if library == "polars" and kind in ("mixed", "tuples"):
            pytest.skip("polars has no such columns")
        make = pytest.importorskip(library).DataFrame
        nodes, edges = make(nodes), make(edges)
    graph = RelationGraph.from_frame(nodes, edges)
    assert len(graph.nodes.ids) == n
    for one, given in zip(graph.nodes.ids, ids, strict=True):
        assert one == given
        assert isinstance(one, str) == isinstance(given, str)
    if kind == "whole":
        assert graph.nodes.ids.dtype.kind == "i"
    assert graph.to_dense()[0, 1] == 1


def test_ids_of_a_text_file_stay_strings_and_meet_typed_ones(tmp_path):
    nodes = write_csv(tmp_path / "nodes.csv", {"id": ["007", "7", "1e3"], "x": [1, 2, 3]})
    edges = write_csv(tmp_path / "edges.csv", {"source": ["007"], "target": ["7"], "value": [1]})
    graph = RelationGraph.from_frame(nodes, edges)
    assert graph.nodes.ids.tolist() == ["007", "7", "1e3"]
    assert graph.to_dense()[0, 1] == 1
    typed = {"id": [7, 8], "x": [1, 2]}
    seven = write_csv(tmp_path / "typed.csv", {"source": ["7"], "target": ["8"], "value": [1]})
    assert RelationGraph.from_frame(typed, seven).nodes.ids.tolist() == [7, 8]
    assert RelationGraph.from_frame(nodes, {"source": [7], "target": ["007"], "value": [1.0]}).to_dense()[1, 0] == 1
    days = {"id": np.array(["2024-01-01", "2024-01-02"], dtype="M8[ns]"), "x": [1, 2]}
    dated = write_csv(tmp_path / "dated.csv", {"source": ["2024-01-01"], "target": ["2024-01-02"], "value": [1]})
    assert RelationGraph.from_frame(days, dated).to_dense()[0, 1] == 1
    with pytest.raises(ValueError, match=r"row 2, source: no node has the id '007'"):
        RelationGraph.from_frame(typed, write_csv(tmp_path / "bad.csv", {"source": ["007"], "target": ["8"], "v": [1]}))


def spoiled(table, column, row, value):
    return table | {column: [value if i == row else one for i, one in enumerate(table[column])]}


@pytest.mark.parametrize(
    ("nodes", "edges", "message"),
    [
        (spoiled(NODES, "id", 2, "ann"), EDGES, r"nodes.csv, row 4: id 'ann' was there before, in .*nodes.csv, row 2"),
        (spoiled(NODES, "id", 1, ""), EDGES, r"nodes.csv, row 3: column 'id' has no value"),
        (spoiled(NODES, "age", 3, ""), EDGES, r"nodes.csv, row 5: column 'age' has no value"),
        (spoiled(NODES, "age", 3, "NA"), EDGES, r"nodes.csv, row 5: column 'age' has no value; fill it in"),
        (spoiled(NODES, "age", 3, "inf"), EDGES, r"nodes.csv, row 5: column 'age' must be a finite number, got 'inf'"),
        (NODES, spoiled(EDGES, "source", 1, "eve"), r"edges.csv, row 3, source: no node has the id 'eve'"),
        (NODES, spoiled(EDGES, "target", 0, ""), r"edges.csv, row 2: column 'target' has no value"),
        (NODES, spoiled(EDGES, "value", 2, ""), r"edges.csv, row 4: column 'value' has no value"),
        (NODES, spoiled(EDGES, "value", 2, "much"), r"edges.csv, row 4: column 'value' must be a number, got 'much'"),
        (NODES, spoiled(EDGES, "value", 2, "nan"), r"edges.csv, row 4: column 'value' must be a number, got 'nan'"),
        (NODES, EDGES | {"weight": [1, -1, 2]}, r"edges.csv, row 3: column 'weight' must not be negative, got -1"),
        (NODES, spoiled(GAMES, "loser", 0, "ann"), r"edges.csv, row 2: 'ann' plays against itself"),
        (NODES, {"source": ["ann"], "target": ["bob"]}, r"must have a column of values, told by value="),
        (NODES, {"only": ["ann"]}, r"must have two columns with ids of nodes"),
        ({"id": ["ann", "bob", "cyd"]}, EDGES, r"no column with features"),
    ],
)
def test_what_is_wrong_is_told_with_its_row(tmp_path, nodes, edges, message):
    nodes, edges = write_csv(tmp_path / "nodes.csv", nodes), write_csv(tmp_path / "edges.csv", edges)
    with pytest.raises(ValueError, match=message):
        RelationGraph.from_frame(nodes, edges)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"id": "key"}, r"id='key' is no column of nodes, which has \['id', 'age', 'height'\]"),
        ({"value": "v"}, "value='v' is no column of edges"),
        ({"winner": "source"}, "winner and loser must both be told"),
        ({"winner": "source", "value": "value"}, "winner and loser must go without"),
        ({"value": "value", "wins": ("value", "value")}, "value and wins must not both"),
        ({"wins": "value"}, "wins must be the two columns"),
        ({"tie": "value"}, "tie is for games"),
        ({"mirror": "both"}, "mirror must be one of"),
        ({"numeric": ["size"]}, "numeric has 'size', which is no column"),
        ({"numeric": "age"}, "numeric must be a list of names"),
        ({"drop": ["age"], "text": ["age"]}, "drop has column 'age', which was told"),
        ({"categorical": ["id"]}, "id='id' has the ids"),
        ({"object_id": "id"}, "object_id needs objects"),
        ({"kernel": np.eye(4), "objects": NODES}, "kernel needs a single domain"),
        ({"objects": NODES, "mirror": "same"}, "mirror='same' needs a single domain"),
    ],
)
def test_options_that_do_not_fit_are_refused_by_name(options, message):
    with pytest.raises(ValueError, match=message):
        RelationGraph.from_frame(NODES, EDGES, **options)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", "", "is empty"),
        ("t.csv", "id,x\n", "is empty"),
        ("t.csv", "id,x\na,1\nb\n", "row 3: expected 2 fields as in the first row, got 1"),
        ("t.csv", "id,x\n\na,1\n", "row 2: expected 2 fields"),
        ("t.csv", "id,id\na,1\n", "two columns are named 'id'"),
        ("t.csv", ",x\na,1\n", "column 1 has no name"),
        ("t.csv", 'id,x\n"a,1\n', "is not a CSV file"),
        ("t.csv", b"id,x\n\xff\xfe,1\n", "is not text in UTF-8"),
        ("t.csv", "id,x\na," + "b" * 200_000 + "\n", "longer texts can be read from JSON lines"),
        ("t.jsonl", '{"id": 1}\n[2]\n', "row 2: expected a JSON object"),
        ("t.jsonl", '{"id": 1, "x": [2]}\n', "row 1: 'x' must be one value"),
        ("t.parquet", b"PAR1nonsense", "cannot be read as Parquet"),
        ("t.xlsx", "x", "must be a .csv, .tsv, .jsonl or .parquet file"),
    ],
)
def test_files_that_are_no_tables_are_refused_by_name(tmp_path, name, content, message):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match=message) as error:
        read_table(path)
    assert name in str(error.value)


def test_missing_values_of_all_columns_are_told_at_once(tmp_path):
    nodes = NODES | {"age": ["NA", "25", "40", "52"], "height": ["", "1.8", "", "1.9"], "hand": ["l", "r", "NA", "r"]}
    path = write_csv(tmp_path / "nodes.csv", nodes)
    message = (
        r"nodes.csv: 2 columns have missing values, 'age' 1 \(first in row 2\), 'height' 2 \(first in row 2\); "
        r"fill them in, or leave the columns out by drop=\['age', 'height'\]$"
    )
    with pytest.raises(ValueError, match=message):
        read_graph(path, EDGES)
    with pytest.raises(ValueError, match=r"row 2: column 'height' has no value \(2 in all\)"):
        read_graph(path, EDGES, categorical=["age"])  # NA is a category then
    assert read_graph(path, EDGES, drop=["age", "height"]).nodes.base.kinds == {"hand": "categorical"}
    encoder = TableEncoder().fit({"a": [1, 2], "b": [1, 2]})
    with pytest.raises(ValueError, match=r"2 columns have missing values, 'a' 1 .* position 1\), .*; fill them in$"):
        encoder.transform({"a": [1, None], "b": [None, 2]})


def test_ids_of_no_node_are_counted_over_both_ends():
    edges = {"source": ["ann", "eve", "gus", "eve"], "target": ["bob", "gus", "ann", "hal"], "value": [1, 2, 3, 4]}
    message = (
        r"edges, position 1, source: no node has the id 'eve'; in all 3 ids in 3 rows are of no node: 'eve', 'gus', "
        r"'hal'; ids are like 'ann'$"
    )
    with pytest.raises(ValueError, match=message):
        read_graph(NODES, edges)
    edges = {"source": ["ann", "eve", "eve"], "target": ["bob", "ann", "bob"], "value": [1, 2, 3]}
    with pytest.raises(ValueError, match=r"position 1, source: no node has the id 'eve' \(in 2 rows\); ids are like"):
        read_graph(NODES, edges)


def test_ends_of_a_second_kind_are_told_to_be_objects():
    edges = {"source": ["ann", "bob"], "target": ["x", "y"], "value": [1, 2]}
    message = r"No id of target is a node's: if they are of a second kind, give their table by objects=$"
    with pytest.raises(ValueError, match=message):
        read_graph(NODES, edges)
    for other in (
        {"nodes": NODES, "edges": edges | {"target": ["x", "ann"]}},
        {"nodes": NODES, "edges": edges | {"source": ["v", "w"]}},  # no end is known: rather another column of ids
        {"nodes": NODES, "edges": edges, "objects": {"id": ["v"], "x": [1]}},
        {"nodes": NODES, "edges": edges, "kernel": np.eye(4)},
    ):
        with pytest.raises(ValueError, match="has the id") as error:
            read_graph(**other)
        assert "second kind" not in str(error.value)


def test_other_things_that_are_no_tables():
    for wrong in (3, "missing.csv", [1, 2], [], {"a": 1}, {"a": [1], "b": [1, 2]}, {}, {"a": [[1], [2]]}):
        with pytest.raises(ValueError, match=r"."):
            RelationGraph.from_frame(wrong, EDGES)
    with pytest.raises(ValueError, match="edges is missing"):
        RelationGraph.from_frame(NODES)
    with pytest.raises(ValueError, match="nodes is missing"):
        RelationGraph.from_frame(edges=EDGES)


def test_standard_input_is_csv_or_json_lines(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("id;x\na;1\n\n"))
    assert read_table("-").values["x"].tolist() == ["1"]
    monkeypatch.setattr("sys.stdin", io.StringIO('{"id": "a", "x": 1}\n'))
    assert read_table("-").values["x"].tolist() == [1]


def test_nested_columns_are_refused():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    with pytest.raises(ValueError, match="column 'x' mixes types"):
        Table.read(pd.DataFrame({"x": [[1], [2]]}))
    with pytest.raises(ValueError, match="column 'x' has type List"):
        read_table(pl.DataFrame({"x": [[1], [2]]}))


# Kinds


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2], "numeric"),
        ([True, False], "numeric"),
        (["1", "2.5"], "numeric"),
        (["true", "False"], "numeric"),
        (["007", "012"], "categorical"),
        (["a", "b"], "categorical"),
        (["2024-01-01", "2024-02-03 10:00"], "date"),
        (np.array(["2024-01-01"], dtype="M8[D]"), "date"),
        (["this one is rather long, as texts are", "and so is this one, which is longer"], "text"),
        ([f"name{i}" for i in range(30)], "text"),
        (["x", "y"] * 30, "categorical"),
    ],
)
def test_kinds_follow_from_the_values(values, kind):
    assert Table.read({"c": values}).kinds == {"c": kind}


def test_kinds_can_be_told():
    table = Table.read(
        {"zip": [1000, 2000], "n": ["1", "2"], "t": ["a", "b"], "gone": [None, 1]},
        categorical=["zip"],
        text=["t"],
        numeric=["n"],
        drop=["gone"],
    )
    assert table.kinds == {"zip": "categorical", "n": "numeric", "t": "text"}
    assert table.columns["zip"].tolist() == ["1000", "2000"]
    assert Table.read({"zip": [1000.0]}, categorical=["zip"]).columns["zip"].tolist() == ["1000"]


def test_a_word_among_numbers_is_a_mistake_rather_than_a_category():
    values = [str(i) for i in range(20)] + ["1,5"]
    with pytest.raises(ValueError, match=r"position 20: column 'x' has '1,5' among numbers; correct it; or say"):
        Table.read({"x": values})
    assert Table.read({"x": values}, categorical=["x"]).kinds == {"x": "categorical"}


# Encoder


def test_encoder_standardises_numbers_and_has_a_column_a_category():
    table = Table.read({"n": [1.0, 2.0, 6.0], "c": ["b", "a", "b"], "k": [5, 5, 5]})
    encoder = TableEncoder().fit(table)
    X = encoder.transform(table)
    np.testing.assert_allclose(X[:, 0], (table.columns["n"] - 3) / np.std([1, 2, 6]))
    np.testing.assert_array_equal(X[:, 1:3], [[0, 1], [1, 0], [0, 1]])
    np.testing.assert_array_equal(X[:, 3], 0)
    assert encoder.get_feature_names_out().tolist() == ["n", "c=a", "c=b", "k"]
    np.testing.assert_array_equal(encoder.transform({"n": [3.0], "c": ["new"], "k": [5]}), [[0, 0, 0, 0]])
    plain = TableEncoder(standardise=False).fit(table).transform(table)
    np.testing.assert_array_equal(plain[:, [0, 3]], [[1, 5], [2, 5], [6, 5]])


def test_encoder_of_texts_is_sparse_and_as_sklearns():
    from sklearn.feature_extraction.text import TfidfVectorizer

    table = Table.read({"t": ["red apple", "green apple", "red car"], "n": [1, 2, 3]}, text=["t"])
    X = TableEncoder().fit(table).transform(table)
    assert sparse.issparse(X)
    expected = TfidfVectorizer(sublinear_tf=True).fit_transform(table.columns["t"]).toarray()
    np.testing.assert_allclose(X.toarray()[:, :-1], expected)
    assert TableEncoder(max_words=1).fit(table).n_features_out_ == 2


def test_encoder_state_is_plain_and_complete():
    encoder = TableEncoder().fit(
        read_graph(MIXED | {"day": np.array(["2024-01-01"] * 3 + ["2024-06-01"], "M8[D]")}, EDGES).nodes.base
    )
    state, arrays = encoder.to_state()
    again = TableEncoder.from_state(
        json.loads(json.dumps(state)), {name: array.copy() for name, array in arrays.items()}
    )
    assert all(array.dtype.kind in "fiu" for array in arrays.values())
    new = {
        "age": [3, 4],
        "height": [1.0, 2.0],
        "country": ["FI", "XX"],
        "about": ["walk", "zzz"],
        "day": ["2024-05-05"] * 2,
    }
    np.testing.assert_array_equal(again.transform(new).toarray(), encoder.transform(new).toarray())
    assert again.get_feature_names_out().tolist() == encoder.get_feature_names_out().tolist()
    for name in arrays:
        with pytest.raises((ValueError, KeyError)):
            TableEncoder.from_state(state, {key: array for key, array in arrays.items() if key != name})
        with pytest.raises((ValueError, KeyError)):
            TableEncoder.from_state(state, arrays | {name: arrays[name][:-1]})
    with pytest.raises(ValueError, match="kind of a column"):
        TableEncoder.from_state(state | {"columns": [["age", "numbers"]]}, arrays)
    with pytest.raises(ValueError, match="parameters of the encoder"):
        TableEncoder.from_state(state | {"params": {"fit": 1}}, arrays)


def test_many_categories_are_sparse():
    table = Table.read({"c": [f"c{i}" for i in range(1500)]}, categorical=["c"])
    X = TableEncoder().fit(table).transform(table)
    assert sparse.issparse(X)
    assert (X.toarray() == np.eye(1500)[np.argsort(np.argsort(table.columns["c"]))]).all()


@pytest.mark.parametrize(
    ("new", "message"),
    [
        ({"n": [1]}, "lacks column 'c'"),
        ({"n": ["x"], "c": ["a"]}, "position 0: column 'n' must be a number, got 'x'"),
        ({"n": [None], "c": ["a"]}, "column 'n' has no value"),
        (np.ones((1, 3)), "must have 2 columns, got 3"),
        (np.ones(3), "two-dimensional"),
    ],
)
def test_new_rows_need_the_columns_of_training(new, message):
    encoder = TableEncoder().fit({"n": [1.0, 2.0], "c": ["a", "b"]})
    with pytest.raises(ValueError, match=message):
        encoder.transform(new)
    with pytest.raises(ValueError, match="without any word"):
        TableEncoder().fit(Table.read({"t": ["+ - *"]}, text=["t"]))
    with pytest.raises(ValueError, match="max_words"):
        TableEncoder(max_words=0).fit({"n": [1.0]})


# With scikit-learn


def make_mixed(n=24, seed=0):
    rng = np.random.default_rng(seed)
    nodes = {
        "id": [f"n{i}" for i in range(n)],
        "x": rng.normal(size=n) * 10,
        "c": rng.choice(["a", "b", "c"], n).tolist(),
        "t": [" ".join(rng.choice(["red", "green", "blue", "car", "tree"], 5)) for _ in range(n)],
    }
    pairs = [(i, j) for i in range(n) for j in range(n) if i != j and rng.random() < 0.7]
    sources, targets = (np.array(ends) for ends in zip(*pairs, strict=True))
    values = nodes["x"][sources] - nodes["x"][targets]
    edges = {"source": [f"n{i}" for i in sources], "target": [f"n{j}" for j in targets], "value": values}
    return nodes, edges


def test_pipeline_grid_search_and_cross_validation():
    graph = RelationGraph.from_frame(*make_mixed())
    with pytest.raises(ValueError, match="the nodes are a table"):
        ConditionalRanker().fit(graph)
    pipeline = make_pipeline(NodeTransformer(TableEncoder()), ConditionalRanker(relation="reciprocal", constant=True))
    search = GridSearchCV(clone(pipeline), {"nodetransformer__transformer__standardise": [True, False]}, cv=3).fit(
        graph
    )
    assert search.best_score_ > 0.8
    result = cross_validate(pipeline, graph, setting=4, cv=3)
    assert result.scores["rank_loss"].mean() < 0.2


def test_encoder_of_a_fold_knows_nothing_of_held_out_nodes():
    nodes, edges = make_mixed()
    graph = read_graph(nodes, edges)
    for train, test in SettingSplit(4, 3, random_state=0).split(graph):
        fitted = NodeTransformer(TableEncoder()).fit(train).transformer_
        inside = train.nodes.positions
        assert fitted.mean_["x"] == pytest.approx(nodes["x"][inside].mean())
        assert not set(inside) & set(test.nodes.positions)
        changed = nodes | {
            "x": np.where(np.isin(np.arange(24), inside), nodes["x"], 1e6),
            "t": [text if i in inside else "leak leak" for i, text in enumerate(nodes["t"])],
            "c": [one if i in inside else "leak" for i, one in enumerate(nodes["c"])],
        }
        told = {"text": ["t"], "categorical": ["c"]}
        other = NodeTransformer(TableEncoder()).fit(read_graph(changed, edges, **told)[inside]).transformer_
        assert other.get_feature_names_out().tolist() == fitted.get_feature_names_out().tolist()
        assert other.mean_ == fitted.mean_
        for name, array in fitted.to_state()[1].items():
            np.testing.assert_array_equal(array, other.to_state()[1][name])


# Kernels


@pytest.mark.parametrize("form", ["bare", "header", "column", "both", "npy", "npz", "named", "array", "frame"])
def test_kernels_of_files(tmp_path, form):
    K = np.array([[2.0, 1, 0], [1, 3, 0.5], [0, 0.5, 1]])
    names, rows = ["10", "b", "c"], [",".join(map(str, row)) for row in K]
    header, column = ",".join(names), [f"{name},{row}" for name, row in zip(names, rows, strict=True)]
    texts = {"bare": rows, "header": [header, *rows], "column": column, "both": ["," + header, *column]}
    path, has_ids = tmp_path / "K.csv", form in ("header", "column", "both", "named", "frame")
    if form in texts:
        path.write_text("\n".join(texts[form]))
    elif form == "npy":
        np.save(path := tmp_path / "K.npy", K)
    elif form == "npz":
        np.savez(path := tmp_path / "K.npz", K)
    elif form == "named":
        np.savez(path := tmp_path / "K.npz", kernel=K, other=K + 1, ids=np.array(names))
    else:
        path = K if form == "array" else pytest.importorskip("pandas").DataFrame(K, columns=names)
    read, ids = read_kernel(path)
    np.testing.assert_array_equal(read, K)
    assert (ids.tolist() == names) if has_ids else ids is None
    ends = ["b", "c"] if has_ids else ["1", "2"]
    graph = RelationGraph.from_frame(kernel=path, edges={"source": [ends[0]], "target": [ends[1]], "value": [2.0]})
    assert graph.to_dense()[1, 2] == 2
    ConditionalRanker(kernel="precomputed").fit(graph)


def test_kernel_follows_the_order_of_the_nodes():
    pd = pytest.importorskip("pandas")
    K = np.array([[2.0, 1, 0], [1, 3, 0.5], [0, 0.5, 1]])
    nodes = {"id": ["c", "a", "b"], "x": [1, 2, 3]}
    edges = {"source": ["a"], "target": ["b"], "value": [1.0]}
    graph = RelationGraph.from_frame(nodes, edges, kernel=pd.DataFrame(K, columns=["a", "b", "c"]))
    np.testing.assert_array_equal(graph.nodes.base, K[np.ix_([2, 0, 1], [2, 0, 1])])
    assert RelationGraph.from_frame(nodes, edges, kernel=K).nodes.ids.tolist() == ["c", "a", "b"]
    with pytest.raises(ValueError, match="must be of the 3 nodes of nodes, got 2"):
        RelationGraph.from_frame(nodes, edges, kernel=np.eye(2))
    with pytest.raises(ValueError, match="no row of the kernel has the id 'c'"):
        RelationGraph.from_frame(nodes, edges, kernel=pd.DataFrame(K, columns=["a", "b", "d"]))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("K.csv", "1,2\n3,x\n", r"K.csv, row 2, column 2: expected a number, got 'x'"),
        ("K.csv", "1,2,3,4\n3,1,2,3\n", "must be a square matrix"),
        ("K.csv", ",a,b\na,1,0\nc,0,1\n", "ids of rows and columns must be the same, row 3 is 'c'"),
        ("K.csv", "1,nan\nnan,1\n", "row 1, column 2: expected a number, got 'nan'"),
        ("K.npy", b"nonsense", "K.npy cannot be read as a kernel"),
        ("K.npz", b"PK nonsense", "K.npz cannot be read as a kernel"),
        ("K.mat", b"", "must be a .csv, .tsv, .npy or .npz"),
    ],
)
def test_kernels_that_are_none_are_refused(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match=message):
        read_kernel(tmp_path / name)


def test_ids_of_a_kernel_are_there_and_different():
    pd = pytest.importorskip("pandas")
    for index in (None, ["a", "b", "a"]):
        with pytest.raises(ValueError, match="the kernel: nodes 1 and 3 both have the id 'a'; every node"):
            read_kernel(pd.DataFrame(np.eye(3), columns=["a", "b", "a"], index=index))
    with pytest.raises(ValueError, match="the kernel: node 2 has no id; name it"):
        read_kernel(pd.DataFrame(np.eye(2), columns=["a", ""]))


def test_a_kernel_without_ids_says_what_its_nodes_are():
    edges = {"source": ["a"], "target": ["b"], "value": [1.0]}
    with pytest.raises(
        ValueError, match=r"the kernel has no ids, so that its nodes are 0 to 2; .* by nodes=, or an npz"
    ):
        read_graph(None, edges, kernel=np.eye(3))
    assert read_graph({"id": ["a", "b", "c"]}, edges, kernel=np.eye(3)).n_edges == 1


def test_kernels_are_never_unpickled(tmp_path):
    np.save(tmp_path / "K.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="cannot be read as a kernel"):
        read_kernel(tmp_path / "K.npy")
    with pytest.raises(ValueError, match=r"missing.npy cannot be read"):
        read_kernel(tmp_path / "missing.npy")
    np.savez(tmp_path / "K.npz", a=np.eye(2), b=np.eye(2))
    with pytest.raises(ValueError, match="one named 'kernel'"):
        read_kernel(tmp_path / "K.npz")
    assert read_kernel(tmp_path / "K.npz", "a")[0].shape == (2, 2)


# networkx


def test_networkx_graphs():
    nx = pytest.importorskip("networkx")
    G = nx.Graph()
    G.add_node("a", size=1.0, kind="x")
    G.add_node("b", size=2.0, kind="y")
    G.add_node(3, size=3.0, kind="x")
    G.add_edge("a", "b", weight=2.0)
    G.add_edge("b", 3, weight=4.0)
    graph = RelationGraph.from_networkx(G)
    assert graph.nodes.base.kinds == {"size": "numeric", "kind": "categorical"}
    assert graph.nodes.ids.tolist() == ["a", "b", 3]
    assert graph.is_symmetric
    assert graph.n_edges == 4
    numeric = RelationGraph.from_networkx(G, features=["size"])
    assert numeric.nodes.base.tolist() == [[1], [2], [3]]
    assert RelationGraph.from_networkx(G.to_directed(), ["size"]).n_edges == 4
    links = RelationGraph.from_networkx(G, np.eye(3), value=None)
    assert links.is_complete
    np.testing.assert_array_equal(links.to_dense(), [[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    directed = nx.DiGraph([("a", "b", {"y": 1.0})])
    assert RelationGraph.from_networkx(directed, np.eye(2), value="y").n_edges == 1
    for wrong, message in [
        (lambda: RelationGraph.from_networkx(directed), "have no attributes"),
        (lambda: RelationGraph.from_networkx(directed, np.eye(3)), "a row for each of the 2 nodes"),
        (lambda: RelationGraph.from_networkx(directed, np.eye(2)), "'a' → 'b' must have a finite number as 'weight'"),
        (lambda: RelationGraph.from_networkx(nx.Graph()), "at least one node"),
        (lambda: RelationGraph.from_networkx(3), "must be a networkx graph"),
        (lambda: RelationGraph.from_networkx(G, ["weight"]), "position 0: column 'weight' has no value"),
    ]:
        with pytest.raises(ValueError, match=message):
            wrong()
