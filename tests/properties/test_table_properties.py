"""Tables with any contents either work or raise a ValueError; no other error is raised."""

from __future__ import annotations

import datetime
import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from condrank import ConditionalRanker, RelationGraph, TableRanker
from condrank.frames.packing import pack, pack_table, unpack, unpack_table
from condrank.tables import Table, TableEncoder, read_kernel, read_table
from forms import LIBRARIES, make_frame

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NUMBERS = st.floats(width=64) | st.integers(-(2**70), 2**70)
CELLS = {
    "whole": st.integers(-5, 5),
    "number": NUMBERS,
    "few": st.sampled_from(["a", "b", "", "7"]),
    "word": WORDS,
    "digits": st.integers(0, 99).map(str),
    "date": st.dates(),
    "time": st.datetimes(timezones=st.none() | st.just(datetime.UTC)),
    "truth": st.booleans() | st.none(),
    "any": st.none() | st.booleans() | NUMBERS | WORDS | st.dates() | st.just([1]) | st.binary(max_size=3),
}


@st.composite
def tables(draw, n_rows=None, names=("x", "y", "z")):
    n = draw(st.integers(1, 8)) if n_rows is None else n_rows
    chosen = draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    return {
        name: draw(st.lists(CELLS[draw(st.sampled_from(sorted(CELLS)))], min_size=n, max_size=n)) for name in chosen
    }


def or_refused(make):
    try:
        return make()
    except ValueError:
        return None


@given(tables(), st.sampled_from(["dict", "records", *LIBRARIES]))
def test_tables_are_read_or_refused(table, form):
    given = table
    if form == "records":
        given = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    elif form != "dict":
        try:
            given = make_frame(form, table)
        except Exception:  # the library itself refuses the columns
            return
    read = or_refused(lambda: Table.read(given))
    if read is None:
        return
    assert len(read) == len(next(iter(table.values())))
    assert unpack_table(*pack_table(read)) == read
    encoder = or_refused(lambda: TableEncoder().fit(read))
    if encoder is None:
        return
    X = encoder.transform(read)
    assert X.shape == (len(read), encoder.n_features_out_) == (len(read), len(encoder.get_feature_names_out()))
    state, arrays = encoder.to_state()
    again = TableEncoder.from_state(json.loads(json.dumps(state)), arrays)
    Z = again.transform(read)
    np.testing.assert_array_equal(*(A.toarray() if hasattr(A, "toarray") else A for A in (X, Z)))


@given(st.data())
def test_any_tables_of_nodes_and_edges_make_a_graph_or_are_refused(data):
    nodes = data.draw(tables(names=("id", "x", "y")))
    edges = data.draw(tables(names=("source", "target", "value", "weight", "winner", "loser", "wins_a", "wins_b")))
    if "id" in nodes and data.draw(st.booleans()):
        size = st.integers(0, len(nodes["id"]) - 1)
        n = len(next(iter(edges.values())))
        edges |= {end: [nodes["id"][data.draw(size)] for _ in range(n)] for end in ("source", "target")}
    graph = or_refused(lambda: RelationGraph.from_frame(nodes, edges))
    if graph is None:
        return
    assert len(graph.nodes.ids) == len(nodes[next(iter(nodes))])
    assert np.isfinite(graph.relation.values if hasattr(graph.relation, "values") else graph.to_dense()).all()


@given(st.lists(WORDS, min_size=2, max_size=6, unique=True), st.data())
def test_nodes_with_any_ids_can_be_ranked(names, data):
    n = len(names)
    nodes = {"id": names, "x": data.draw(st.lists(st.integers(-9, 9), min_size=n, max_size=n))}
    pairs = data.draw(st.lists(st.tuples(st.sampled_from(names), st.sampled_from(names)), min_size=1, max_size=8))
    edges = {"source": [one for one, _ in pairs], "target": [two for _, two in pairs], "value": list(range(len(pairs)))}
    ranker = or_refused(lambda: TableRanker(ConditionalRanker(constant=True)).fit(nodes, edges))
    if ranker is None:
        return
    ranking = ranker.rank(names, top=n)
    for name, ids in zip(names, ranking.ids, strict=True):
        assert sorted(ids.tolist()) == sorted(one for one in names if one != name)


@given(st.text(max_size=60) | st.text("ab,;\n\t\"'01.", max_size=60), st.sampled_from(["csv", "tsv", "jsonl"]))
def test_any_text_is_read_as_a_table_or_refused(tmp_path_factory, text, ending):
    path = tmp_path_factory.mktemp("text") / f"t.{ending}"
    path.write_text(text, encoding="utf-8", errors="surrogatepass", newline="")
    read = or_refused(lambda: read_table(path))
    if read is not None:
        or_refused(lambda: TableEncoder().fit(Table.read(read)).transform(read))
    if ending != "jsonl":
        kernel = or_refused(lambda: read_kernel(path))
        assert kernel is None or kernel[0].shape[0] == kernel[0].shape[1]


@given(st.binary(max_size=80), st.sampled_from(["csv", "jsonl", "parquet", "npy", "npz"]))
def test_any_bytes_are_read_or_refused(tmp_path_factory, content, ending):
    path = tmp_path_factory.mktemp("bytes") / f"t.{ending}"
    path.write_bytes((b"\x93NUMPY\x01\x00" if ending == "npy" else b"") + content)
    or_refused(lambda: read_kernel(path) if ending in ("npy", "npz") else read_table(path))


@given(st.lists(st.text(max_size=5)))
def test_packed_strings_come_back(strings):
    assert unpack(*pack(strings)).tolist() == strings


@given(st.binary(max_size=12), st.lists(st.integers(-3, 15), max_size=4))
def test_packed_strings_with_any_contents_are_read_or_refused(content, ends):
    data = np.frombuffer(content, dtype=np.uint8)
    or_refused(lambda: unpack(data, np.array(ends, dtype=np.int64)))
