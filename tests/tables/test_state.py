"""Rankers of tables in files: saved, loaded, damaged and changed."""

from __future__ import annotations

import numpy as np
import pytest

from condrank import ConditionalRanker, ConditionalRankerCV, RelationGraph, TableRanker
from condrank.persistence import read_file, write_file
from condrank.tables import state
from condrank.tables.state import load_with_fingerprint
from mixed_tables import EDGES, NEW, NODES, RANKER, N

RANKERS = {
    "closed form": RANKER,
    "rbf": ConditionalRanker(kernel="rbf", gamma=0.1),
    "incoming": ConditionalRanker(rank_by="incoming"),
    "dual": ConditionalRanker(kernel="rbf", solver="dual"),
    "early stopping": ConditionalRanker(solver="early_stopping", random_state=0, max_iter=20),
    "prior": ConditionalRanker(relation="symmetric", prior="similarity"),
    "search": ConditionalRankerCV(alphas=[0.1, 1.0], relation="reciprocal", cv=3),
}


@pytest.fixture(scope="module")
def fitted():
    return TableRanker(RANKER).fit(NODES, EDGES)


@pytest.mark.parametrize("name", RANKERS)
def test_loaded_rankers_rank_as_before(tmp_path, name):
    ranker = TableRanker(RANKERS[name]).fit(NODES, EDGES)
    ranker.save(tmp_path / "folder/")
    loaded = TableRanker.load(tmp_path / "folder")
    mapped = TableRanker.load(tmp_path / "folder", mmap=True)
    for queries, objects in (("n0", None), (NODES["id"], None), (NEW, None), (["n1"], NEW), (NEW, ["n5", "n6"])):
        expected = ranker.rank(queries, objects, top=6)
        for other in (loaded, mapped):
            found = other.rank(queries, objects, top=6)
            np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-6, atol=1e-9)
            np.testing.assert_array_equal(found.ids, expected.ids)
    assert loaded.query_ids_.tolist() == NODES["id"]
    assert loaded.row("n23") == ranker.row("n23")
    assert loaded.score(NODES, EDGES) == pytest.approx(ranker.score(NODES, EDGES))
    with pytest.raises(ValueError, match="graph is missing"):
        loaded.cross_validate()
    loaded.save(tmp_path / "again")
    assert TableRanker.load(tmp_path / "again").rank("n0").ids.tolist() == ranker.rank("n0").ids.tolist()


def test_the_fingerprint_is_that_of_the_file_that_was_read(fitted, tmp_path, monkeypatch):
    fitted.save(tmp_path / "model")
    other = TableRanker(RANKERS["rbf"]).fit(NODES, EDGES)
    other.save(tmp_path / "other")
    marks = [load_with_fingerprint(TableRanker, tmp_path / name)[1] for name in ("model", "other")]
    assert marks[0] != marks[1]
    check = state.refuse_index

    def replacing(manifest):
        (tmp_path / "other").replace(tmp_path / "model")
        check(manifest)

    with monkeypatch.context() as patch:
        patch.setattr(state, "refuse_index", replacing)
        loaded, mark = load_with_fingerprint(TableRanker, tmp_path / "model", mmap=True)
    assert mark == marks[0]
    np.testing.assert_allclose(loaded.rank("n0").scores, fitted.rank("n0").scores, rtol=1e-6, atol=1e-9)
    assert load_with_fingerprint(TableRanker, tmp_path / "model")[1] == marks[1]


def test_files_of_plain_rankers_are_loaded_and_plain_features_are_saved(tmp_path):
    X = np.column_stack([NODES["x"], NODES["x"] ** 2])
    Y = np.random.default_rng(0).normal(size=(N, N))
    ranker = TableRanker(ConditionalRanker()).fit(RelationGraph(X, Y))
    assert ranker.encoder_ is None
    assert ranker.rank(3, top=4).ids.shape == (1, 4)
    np.testing.assert_allclose(ranker.predict(X[:2]), ranker.ranker_.predict(X[:2]))
    np.testing.assert_allclose(ranker.predict({"a": X[:2, 0], "b": X[:2, 1]}), ranker.ranker_.predict(X[:2]))
    ConditionalRanker().fit(RelationGraph(X, Y, ids=NODES["id"])).save(tmp_path / "plain")
    loaded = TableRanker.load(tmp_path / "plain")
    np.testing.assert_array_equal(loaded.rank("n3").indices, ranker.rank(3).indices)
    assert loaded.row("n3") == {}
    ranker.save(tmp_path / "model")
    np.testing.assert_array_equal(TableRanker.load(tmp_path / "model").rank(3).indices, ranker.rank(3).indices)


def test_files_may_go_without_columns_and_damaged_ones_are_refused(tmp_path, fitted):
    fitted.save(tmp_path / "bare", columns=False)
    bare = TableRanker.load(tmp_path / "bare")
    assert bare.row("n0") == {}
    np.testing.assert_array_equal(bare.rank(NEW).ids, fitted.rank(NEW).ids)
    fitted.save(tmp_path / "model")
    assert b"n0" in (tmp_path / "model").read_bytes()
    with pytest.raises(ValueError, match=r"model is not a complete condrank model.* load it with TableRanker.load"):
        ConditionalRanker.load(tmp_path / "model")
    whole = (tmp_path / "model").read_bytes()
    for length in (0, 7, 100, len(whole) // 2, len(whole) - 1):
        (tmp_path / "cut").write_bytes(whole[:length])
        with pytest.raises(ValueError, match="cut"):
            TableRanker.load(tmp_path / "cut")
    rng = np.random.default_rng(0)
    for place in rng.integers(0, len(whole), 60):
        spoiled = bytearray(whole)
        spoiled[place] ^= 1 << int(rng.integers(8))
        (tmp_path / "cut").write_bytes(spoiled)
        with pytest.raises(ValueError, match="cut"):
            TableRanker.load(tmp_path / "cut")


def test_manifests_that_were_changed_are_refused(tmp_path, fitted):
    fitted.save(tmp_path / "model")
    manifest, arrays = read_file(tmp_path / "model")
    manifest = {name: value for name, value in manifest.items() if name not in ("sha256", "format", "version")}
    side = manifest["tables"]["queries"]
    without = [name for name in arrays if name.startswith("tables.")]
    changes = [
        ({"tables": {}}, {}),
        ({"tables": {"objects": side}}, {}),
        ({"tables": 3}, {}),
        ({"tables": {"queries": side | {"encoder": None}}}, {}),
        ({"tables": {"queries": side | {"columns": None}}}, {}),
        ({"tables": {"queries": side | {"id_name": 3}}}, {}),
        ({"tables": {"queries": side | {"columns": {"columns": side["columns"]["columns"][:2]}}}}, {}),
        ({"tables": {"queries": side | {"encoder": side["encoder"] | {"columns": [["x", "numeric"]]}}}}, {}),
        ({"tables": {"queries": side | {"nodes": {"ids": None}}}}, {}),
        *(({}, {name: None}) for name in without),
        *(({}, {name: arrays[name][:-1]}) for name in without if len(arrays[name])),
        *(({}, {name: arrays[name].astype(np.float32)}) for name in without),
        ({}, {"tables.other": np.ones(1)}),
    ]
    for fields, replaced in changes:
        given = {name: array for name, array in (arrays | replaced).items() if array is not None}
        write_file(tmp_path / "changed", manifest | fields, given)
        with pytest.raises(ValueError, match="changed is not a complete condrank model"):
            TableRanker.load(tmp_path / "changed")
    write_file(tmp_path / "changed", manifest | {"version": 99}, arrays)
    with pytest.raises(ValueError, match="install a newer one"):
        TableRanker.load(tmp_path / "changed")


@pytest.mark.parametrize(
    "ids",
    [
        list(range(5, 5 + N)),
        np.datetime64("2024-01-01") + np.arange(N),
        [f"{i:03}" for i in range(N)],
        np.arange(N) / 2,
    ],
)
def test_ids_of_several_types_survive_a_file(tmp_path, ids):
    names = dict(zip(NODES["id"], ids, strict=True))
    edges = EDGES | {end: np.array([names[one] for one in EDGES[end]]) for end in ("source", "target")}
    ranker = TableRanker(RANKER).fit(NODES | {"id": ids}, edges)
    ranker.save(tmp_path / "model")
    loaded = TableRanker.load(tmp_path / "model")
    expected, found = ranker.rank([ids[3]]), loaded.rank([ids[3]])
    np.testing.assert_array_equal(found.ids, expected.ids)
    assert found.ids.dtype == expected.ids.dtype
    assert found.query_ids[0] == ids[3]
    np.testing.assert_array_equal(loaded.rank([str(ids[3])]).ids, expected.ids)


@pytest.mark.parametrize("rank_by", ["outgoing", "incoming"])
def test_a_ranker_is_made_of_its_parts(rank_by):
    objects = {"id": ["a", "b", "c"], "size": [1.0, 2.0, 4.0]}
    edges = {
        "source": np.repeat(NODES["id"], 3),
        "target": np.tile(objects["id"], N),
        "value": np.random.default_rng(0).normal(size=3 * N),
    }
    fitted = TableRanker(ConditionalRanker(rank_by=rank_by)).fit(NODES, edges, objects=objects)
    assert [len(side.nodes) for side in fitted.domains_] == [N, 3]
    first = fitted.queries_ if rank_by == "outgoing" else fitted.objects_
    assert fitted.domains_[0] is first
    made = TableRanker.from_known(fitted.ranker_, fitted.queries_, fitted.objects_)
    assert made.encoder_ is fitted.encoder_
    assert made.object_encoder_ is fitted.object_encoder_
    query = [fitted.query_ids_[0]]
    np.testing.assert_array_equal(made.rank(query).scores, fitted.rank(query).scores)
    assert made.score(NODES, edges, objects=objects) == fitted.score(NODES, edges, objects=objects)
    one_domain = TableRanker(RANKER).fit(NODES, EDGES)
    assert one_domain.queries_ is one_domain.objects_
