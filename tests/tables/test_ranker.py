"""TableRanker: from tables to rankings of ids, saved and loaded."""

from __future__ import annotations

import pickle
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from builders import GAMES, PLAYERS, SMALL_KERNEL, ranker_of_games
from condrank import (
    ConditionalRanker,
    ConditionalRankerCV,
    NodeTransformer,
    RelationGraph,
    TableRanker,
    baselines,
)
from condrank.baselines import SimilarityRanker
from condrank.model_selection import cross_validate
from condrank.persistence import read_file, write_file
from condrank.tables import Table, TableEncoder, read_graph

N = 24
RNG = np.random.default_rng(0)
PAIRS = {"source": ["a", "a", "b", "c"], "target": ["b", "c", "c", "a"], "value": [1.0, 0.0, 0.5, 0.2]}


def make_tables(seed=0, n=N):
    rng = np.random.default_rng(seed)
    nodes = {
        "id": [f"n{i}" for i in range(n)],
        "x": rng.normal(size=n) * 10,
        "born": (np.datetime64("1990-01-01") + rng.integers(0, 9000, n)).astype("M8[D]"),
        "c": rng.choice(["a", "b", "c"], n).tolist(),
        "t": [" ".join(rng.choice(["red", "green", "blue", "car", "tree"], 5)) for _ in range(n)],
    }
    sources, targets = np.nonzero(rng.random((n, n)) < 0.7)
    values = nodes["x"][sources] - nodes["x"][targets]
    edges = {"source": [f"n{i}" for i in sources], "target": [f"n{j}" for j in targets], "value": values}
    return nodes, edges


NODES, EDGES = make_tables()
NEW = {name: column[:3] for name, column in make_tables(1)[0].items()} | {"id": ["new0", "n1", "new2"]}
RANKER = ConditionalRanker(relation="reciprocal", loss="regression", constant=True)
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


def test_ranks_as_the_pipeline_of_its_parts(fitted):
    graph = read_graph(NODES, EDGES)
    encoder = TableEncoder().fit(graph.nodes.base)
    X = encoder.transform(graph.nodes.base)
    plain = clone(RANKER).fit(
        RelationGraph.from_edges(X, graph.relation.sources, graph.relation.indices, graph.relation.values)
    )
    np.testing.assert_allclose(fitted.predict(NODES["id"]), plain.predict(X), atol=1e-10)
    np.testing.assert_allclose(fitted.predict(NEW), plain.predict(encoder.transform(NEW)), atol=1e-10)
    np.testing.assert_allclose(
        fitted.predict(NEW, ["n3", "n5"]), plain.predict(encoder.transform(NEW), X[[3, 5]]), atol=1e-10
    )
    np.testing.assert_allclose(fitted.predict(["n7"], NEW), plain.predict(X[[7]], encoder.transform(NEW)), atol=1e-10)
    np.testing.assert_allclose(fitted.predict(graph), plain.predict(X), atol=1e-10)


def test_rankings_have_ids_and_leave_the_node_itself_out(fitted):
    ranking = fitted.rank(["n3", "n0"], top=5)
    scores = fitted.predict(["n3", "n0"])
    assert ranking.query_ids.tolist() == ["n3", "n0"]
    for row, query in enumerate((3, 0)):
        order = [i for i in np.argsort(-scores[row], kind="stable") if i != query][:5]
        assert ranking.ids[row].tolist() == [f"n{i}" for i in order]
        assert ranking.indices[row].tolist() == order
        np.testing.assert_allclose(ranking.scores[row], scores[row, order])
    everything = fitted.rank("n3", top=1000)
    assert everything.ids.shape == (1, N - 1)
    assert "n3" not in everything.ids
    assert fitted.rank("n3", top=1000, exclude_self=False).ids.shape == (1, N)
    assert fitted.rank("n3", objects=["n3"]).ids.shape == (1, 0)
    assert fitted.rank("n3", objects=["n4", "n3"]).ids.tolist() == [["n4"]]
    assert fitted.rank([], top=3).ids.shape == (0, 3)


def test_new_nodes_with_and_without_ids(fitted, tmp_path):
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    expected = fitted.rank(NEW, top=N)
    assert expected.query_ids.tolist() == NEW["id"]
    assert "n1" not in expected.ids[1]  # the known node of that id
    without = {name: column for name, column in NEW.items() if name != "id"}
    assert fitted.rank(without).query_ids is None
    frame = pd.DataFrame(NEW)
    frame.to_csv(tmp_path / "new.csv", index=False)
    records = [dict(zip(NEW, row, strict=True)) for row in zip(*NEW.values(), strict=True)]
    table = Table.of_kinds(NEW, fitted.encoder_.kinds_)
    for form in (frame, pl.DataFrame(NEW), tmp_path / "new.csv", records, table):
        np.testing.assert_allclose(
            fitted.rank(form, exclude_self=False).scores, fitted.rank(NEW, exclude_self=False).scores
        )
    among = fitted.rank("n0", objects=NEW, top=2)
    assert set(among.ids[0]) <= set(NEW["id"])
    assert set(fitted.rank(NEW, objects=without).ids.ravel()) == {0, 1, 2}


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
def test_queries_that_do_not_fit(fitted, queries, message):
    with pytest.raises(ValueError, match=message):
        fitted.rank(queries)


def test_columns_of_known_nodes(fitted):
    assert fitted.row("n2") == {
        "x": NODES["x"][2],
        "born": str(NODES["born"][2]),
        "c": NODES["c"][2],
        "t": NODES["t"][2],
    }
    assert fitted.query_ids_.tolist() == fitted.object_ids_.tolist() == NODES["id"]


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


@pytest.mark.parametrize("rank_by", ["outgoing", "incoming"])
def test_two_domains(tmp_path, rank_by):
    rng = np.random.default_rng(0)
    drugs = {"drug": [f"d{i}" for i in range(6)], "size": rng.normal(size=6), "ring": ["y", "n"] * 3}
    targets = {"id": list(range(100, 108)), "mass": rng.normal(size=8)}
    edges = {"drug": np.repeat(drugs["drug"], 8), "target": np.tile(targets["id"], 6), "value": rng.normal(size=48)}
    options = {"objects": targets, "id": "drug", "source": "drug", "target": "target"}
    ranker = TableRanker(ConditionalRanker(rank_by=rank_by)).fit(drugs, edges, **options)
    ranker.save(tmp_path / "model")
    loaded = TableRanker.load(tmp_path / "model")
    query = "d2" if rank_by == "outgoing" else 103
    new = {"size": [0.1], "ring": ["y"]} if rank_by == "outgoing" else {"mass": [0.3]}
    for given in ([query], new):
        ranking = ranker.rank(given, top=50)
        assert set(ranking.ids[0]) == set(targets["id"] if rank_by == "outgoing" else drugs["drug"])
        np.testing.assert_array_equal(loaded.rank(given, top=50).ids, ranking.ids)
    assert loaded.score(drugs, edges, **options) == pytest.approx(ranker.score(drugs, edges, **options))
    assert loaded.row(query) == ranker.row(query) != {}
    assert (loaded.encoder_.kinds_, loaded.object_encoder_.kinds_) == (
        {"size": "numeric", "ring": "categorical"},
        {"mass": "numeric"},
    )
    if rank_by == "outgoing":
        assert loaded.rank("d0").ids.dtype == np.int64
        assert loaded.rank("d0", objects=["101", "102"], top=1).ids[0, 0] in (101, 102)  # as a command line has them


def test_numbers_are_standardised_unless_passed_through():
    nodes = {name: NODES[name] for name in ("id", "x")}
    scaled = TableRanker().fit(nodes, EDGES)
    assert scaled.encoder_.scale_["x"] == pytest.approx(NODES["x"].std())
    plain = TableRanker(encoder="passthrough").fit(nodes, EDGES)
    graph = RelationGraph.from_frame(nodes, EDGES)
    same = ConditionalRanker("reciprocal", constant=True).fit(graph)
    np.testing.assert_allclose(plain.predict(["n1"]), same.predict(graph.nodes.base[[1]]))
    assert plain.score(graph) == pytest.approx(plain.score(nodes, EDGES))
    assert scaled.score(graph) == pytest.approx(scaled.score(nodes, EDGES))
    with pytest.raises(ValueError, match=r"columns \['c', 't'\] of the table are not numbers"):
        TableRanker(encoder="passthrough").fit(NODES, EDGES)
    with pytest.raises(ValueError, match="encoder must be a transformer, 'passthrough' or None, got 'scale'"):
        TableRanker(encoder="scale").fit(nodes, EDGES)


def test_graphs_of_plain_features_and_files_of_plain_rankers(tmp_path):
    X = np.column_stack([NODES["x"], NODES["x"] ** 2])
    Y = np.random.default_rng(0).normal(size=(N, N))
    ranker = TableRanker().fit(RelationGraph(X, Y))
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


@pytest.mark.parametrize("solver", ["auto", "dual", "early_stopping"])
def test_precomputed_kernels(tmp_path, solver):
    X = np.random.default_rng(0).normal(size=(N, 3))
    ranker = ConditionalRanker(kernel="precomputed", solver=solver, random_state=0, max_iter=30)
    table = TableRanker(ranker).fit(NODES, EDGES, kernel=X @ X.T)
    table.save(tmp_path / "model")
    loaded = TableRanker.load(tmp_path / "model")
    known = table.query_ids_.tolist()
    places = [NODES["id"].index(one) for one in known]
    for queries, objects in ((known[:3], None), (known[:2], known[5:8])):
        expected = table.rank(queries, objects)
        np.testing.assert_array_equal(loaded.rank(queries, objects).ids, expected.ids)
    rows = (X @ X.T)[places[4]][places][None]
    np.testing.assert_allclose(table.predict(rows), table.predict([known[4]]), atol=1e-9)
    as_table = dict(zip(reversed(known), rows[0][::-1, None].tolist(), strict=True))
    np.testing.assert_allclose(loaded.predict(as_table), table.predict(rows), atol=1e-9)
    with pytest.raises(ValueError, match="a column of kernel values for each"):
        table.rank({"x": [1.0]})


@pytest.mark.parametrize("name", baselines.__all__)
def test_baselines_of_precomputed_kernels(name):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(N, 3)), rng.normal(size=(N, N))
    graph = RelationGraph(X @ X.T, Y, ids=NODES["id"])
    table = TableRanker(getattr(baselines, name)(kernel="precomputed")).fit(graph)
    np.testing.assert_allclose(table.predict((X @ X.T)[2:4]), table.predict(["n2", "n3"]), atol=1e-9)
    assert table.rank("n2", top=3).ids.shape == (1, 3)


def test_cross_validation_fits_the_encoder_anew(fitted, monkeypatch):
    seen = []
    fit = TableEncoder.fit
    monkeypatch.setattr(TableEncoder, "fit", lambda self, X, y=None: seen.append(len(X)) or fit(self, X))
    result = fitted.cross_validate(setting=4, cv=3)
    assert seen == [16, 16, 16]
    assert result.scores["rank_loss"].mean() < 0.2
    direct = cross_validate(TableRanker(RANKER), read_graph(NODES, EDGES), 4, cv=3)
    np.testing.assert_array_equal(direct.scores["rank_loss"], result.scores["rank_loss"])


@pytest.mark.parametrize(("days", "told"), [(100, False), (200_000, True)])
def test_new_nodes_far_from_training_are_told_of(fitted, tmp_path, days, told):
    new = {**NEW, "born": NEW["born"] + np.array([0, days, 0])}
    fitted.save(tmp_path / "model")
    for ranker in (fitted, TableRanker.load(tmp_path / "model")):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            ranker.rank(new)
        messages = [str(one.message) for one in found]
        assert len(messages) == told
        if told:
            assert re.search("position 1: 'born' is [0-9]+ standard deviations beyond all training nodes", messages[0])


def test_probabilities_and_plan():
    games = {"winner": ["n0", "n1", "n2", "n3"], "loser": ["n1", "n2", "n3", "n5"]}
    ranker = TableRanker(ConditionalRanker(relation="reciprocal", loss="logistic")).fit(NODES, games)
    P = ranker.predict_proba(["n0", "n1"], ["n0", "n1"])
    np.testing.assert_array_equal(P + P.T, 1)
    assert P[0, 1] > 0.5
    assert not hasattr(TableRanker(RANKER), "predict_proba")
    assert TableRanker(RANKER).plan(NODES, EDGES).solver
    with pytest.raises(ValueError, match="plan needs a ConditionalRanker, got SimilarityRanker"):
        TableRanker(SimilarityRanker()).plan(NODES, EDGES)


def test_is_an_estimator(fitted):
    copy = clone(TableRanker(RANKER, TableEncoder(max_words=3)))
    assert copy.get_params()["encoder__max_words"] == 3
    assert copy.get_params()["ranker__relation"] == "reciprocal"
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.rank("n0").ids, fitted.rank("n0").ids)


def test_what_cannot_be(tmp_path, fitted):
    with pytest.raises(ValueError, match="ranker must be a ConditionalRanker or another ranker"):
        TableRanker(StandardScaler()).fit(NODES, EDGES)
    with pytest.raises(ValueError, match="must be left out when nodes is a RelationGraph"):
        TableRanker().fit(read_graph(NODES, EDGES), EDGES)
    with pytest.raises(ValueError, match="top must be a whole number"):
        fitted.rank("n0", top=0)
    baseline = TableRanker(SimilarityRanker()).fit(NODES, EDGES)
    assert baseline.rank("n0", top=3).ids.shape == (1, 3)
    with pytest.raises(ValueError, match="a SimilarityRanker cannot be saved"):
        baseline.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_files_without_columns_damaged_and_of_others(tmp_path, fitted):
    fitted.save(tmp_path / "bare", columns=False)
    bare = TableRanker.load(tmp_path / "bare")
    assert bare.row("n0") == {}
    np.testing.assert_array_equal(bare.rank(NEW).ids, fitted.rank(NEW).ids)
    fitted.save(tmp_path / "model")
    assert b"n0" in (tmp_path / "model").read_bytes()
    with pytest.raises(ValueError, match=r"model is not a whole model .* load it with TableRanker.load"):
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
        with pytest.raises(ValueError, match="changed is not a whole model of condrank"):
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


def _named_kernel():
    return pytest.importorskip("pandas").DataFrame(SMALL_KERNEL, columns=list("abc"))


@pytest.mark.parametrize("method", ["fit", "plan"])
def test_a_kernel_needs_a_ranker_of_kernels(method):
    with pytest.raises(ValueError, match=r"kernel='precomputed', got 'linear': TableRanker\(ConditionalRanker"):
        getattr(TableRanker(), method)(
            None, {"source": [0, 1], "target": [1, 2], "value": [1.0, 2.0]}, kernel=SMALL_KERNEL
        )


def test_games_are_learned_with_strengths_by_default():
    n = 30
    speed = RNG.normal(size=n)
    pairs = RNG.integers(0, n, (150, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    won = speed[pairs[:, 0]] > speed[pairs[:, 1]]
    games = {"winner": np.where(won, *pairs.T), "loser": np.where(won, *pairs.T[::-1])}
    ranker = TableRanker().fit({"id": np.arange(n), "speed": speed}, games)
    assert (ranker.ranker_.relation, ranker.ranker_.constant) == ("reciprocal", True)
    assert ranker.score({"id": np.arange(n), "speed": speed}, games) > 0.95
    values = {"source": [0, 1, 1, 0], "target": [1, 2, 0, 2], "value": [1.0, 2.0, 1.0, 0.5]}
    assert TableRanker().fit({"id": [0, 1, 2], "speed": [1.0, 2.0, 4.0]}, values).ranker_.relation == "ordinary"


def test_other_encoders_take_plain_features_and_texts():
    X = RNG.normal(size=(8, 3)) * [1.0, 10.0, 100.0] + 5
    graph = RelationGraph(X, RNG.normal(size=(8, 8)))
    ranker = TableRanker(encoder=StandardScaler()).fit(graph)
    same = make_pipeline(NodeTransformer(StandardScaler()), ConditionalRanker()).fit(graph)
    np.testing.assert_allclose(ranker.predict(X[:2]), same.predict(X[:2]))
    np.testing.assert_allclose(ranker.predict({"a": X[:2, 0], "b": X[:2, 1], "c": X[:2, 2]}), same.predict(X[:2]))
    np.testing.assert_allclose(ranker.predict([0, 1]), same.predict(X[:2]))
    texts = RelationGraph(["red apple", "green apple", "red car"], [[2, 1, 0], [1, 2, 0], [0, 0, 2]])
    assert TableRanker(encoder=TfidfVectorizer()).fit(texts).predict(texts).shape == (3, 3)
    kernel = RelationGraph(SMALL_KERNEL, [[0.0, 1, 2], [1, 0, 1], [2, 1, 0]])
    assert TableRanker(ConditionalRanker(kernel="precomputed"), StandardScaler()).fit(kernel).encoder_ is None


def test_another_encoder_of_a_table_takes_new_rows():
    ranker = TableRanker(encoder=PCA(1)).fit(PLAYERS, GAMES)
    new = {"size": [5.0], "speed": [1.0]}  # in any order, as those of a TableEncoder
    np.testing.assert_allclose(ranker.predict(new), ranker.predict(["bob"]))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TableRanker(encoder=3).fit(PLAYERS, GAMES), "encoder must be a transformer .*got 3"),
        (lambda: TableRanker(object_encoder=PCA).fit(PLAYERS, GAMES), r"object_encoder .* class PCA: write PCA\(\)"),
        (lambda: ranker_of_games().rank("ann", objects=[]), "objects must be at least one"),
        (lambda: ranker_of_games().rank("ann", objects=set()), "objects must be at least one"),
        (lambda: TableRanker().strengths("ann"), "not fitted"),
    ],
)
def test_what_a_ranker_of_tables_cannot_do_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda **options: TableRanker().fit(PLAYERS, GAMES, **options), "TableRanker.fit"),
        (lambda **options: ranker_of_games().score(PLAYERS, GAMES, **options), "TableRanker.score"),
        (lambda **options: TableRanker().plan(PLAYERS, GAMES, **options), "TableRanker.plan"),
        (lambda **options: RelationGraph.from_frame(PLAYERS, GAMES, **options), "RelationGraph.from_frame"),
    ],
)
def test_unknown_options_name_the_method_and_the_known_ones(call, name):
    with pytest.raises(TypeError, match=rf"{name}\(\) has no option 'winers'; .*winner, loser"):
        call(winers="winner")


def test_ids_may_be_a_set_or_a_generator():
    ranker = ranker_of_games()
    assert set(ranker.rank({"ann", "bob"}).query_ids.tolist()) == {"ann", "bob"}
    assert ranker.rank(one for one in ("bob", "ann")).query_ids.tolist() == ["bob", "ann"]
    assert set(ranker.rank("ann", objects={"bob", "cyd"}).ids.ravel()) == {"bob", "cyd"}
    graph = RelationGraph.from_edges(np.eye(3), (one for one in "ab"), ["b", "c"], [1.0, 2.0], ids=["a", "b", "c"])
    assert graph.n_edges == 2


def test_strengths_and_aligned_pairs_are_found_by_id():
    ranker = ranker_of_games()
    features = ranker.encode(ranker.graph_).nodes.rows
    np.testing.assert_allclose(ranker.strengths(["cyd", "ann"]), ranker.ranker_.strengths(features[[2, 0]]))
    np.testing.assert_allclose(ranker.strengths({"speed": [2.0], "size": [2.0]}), ranker.strengths("cyd"))
    pairs = ranker.predict_edges(["ann", "bob"], ["cyd", "dan"])
    np.testing.assert_allclose(pairs, np.diagonal(ranker.predict(["ann", "bob"], ["cyd", "dan"])))
    with pytest.raises(ValueError, match="aligned, got 1 and 2"):
        ranker.predict_edges("ann", ["cyd", "dan"])
    with pytest.raises(ValueError, match="needs relation='reciprocal' and constant=True"):
        TableRanker(ConditionalRanker()).fit(PLAYERS, GAMES).strengths("ann")


def test_rows_of_kernel_values_of_another_width_are_refused():
    ranker = TableRanker(ConditionalRanker(kernel="precomputed")).fit(None, PAIRS, kernel=_named_kernel())
    with pytest.raises(ValueError, match=r"rows of 3 kernel values, one against each training node.*got 2 columns"):
        ranker.rank(SMALL_KERNEL[:1, :2])
