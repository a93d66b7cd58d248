"""TableRanker: from tables to rankings of ids."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from builders import GAMES, PLAYERS, SMALL_KERNEL, ranker_of_games
from condrank import ConditionalRanker, NodeTransformer, RelationGraph, TableRanker, baselines
from condrank.baselines import SimilarityRanker
from condrank.model_selection import cross_validate
from condrank.tables import TableEncoder, read_graph
from mixed_tables import EDGES, NEW, NODES, RANKER, N

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def fitted():
    return TableRanker(RANKER).fit(NODES, EDGES)


def test_it_ranks_as_the_pipeline_of_its_parts(fitted):
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
    for row, (query, other) in enumerate(((3, 5), (0, 6))):
        limited = fitted.rank(["n3", "n0"], top=4, exclude=[["n5"], ["n6"]])
        order = [i for i in np.argsort(-scores[row], kind="stable") if i not in (query, other)][:4]
        assert limited.ids[row].tolist() == [f"n{i}" for i in order]
        order = [i for i in np.argsort(scores[row], kind="stable") if i != query][:4]
        assert fitted.rank(["n3", "n0"], top=4, order="worst").ids[row].tolist() == [f"n{i}" for i in order]
    few = fitted.rank(["n3", "n0"], candidates=["n3", "n4"])
    assert few.ids[0].tolist() == ["n4", None]
    assert set(few.ids[1]) == {"n3", "n4"}
    assert few.query_ids.tolist() == ["n3", "n0"]
    assert fitted.rank("n3", objects=["n4", "n6"], exclude=["n4"]).ids.tolist() == [["n6"]]
    everything = fitted.rank("n3", top=1000)
    assert everything.ids.shape == (1, N - 1)
    assert "n3" not in everything.ids
    assert fitted.rank("n3", top=1000, exclude_self=False).ids.shape == (1, N)
    assert fitted.rank("n3", objects=["n3"]).ids.shape == (1, 0)
    assert fitted.rank("n3", objects=["n4", "n3"]).ids.tolist() == [["n4"]]
    assert fitted.rank([], top=3).ids.shape == (0, 3)


@pytest.mark.parametrize("rank_by", ["outgoing", "incoming"])
def test_queries_and_objects_may_be_two_domains(tmp_path, rank_by):
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
    scaled = TableRanker(time_limit=0).fit(nodes, EDGES)
    assert scaled.encoder_.scale_["x"] == pytest.approx(NODES["x"].std())
    plain = TableRanker(ConditionalRanker("reciprocal", constant=True), encoder="passthrough").fit(nodes, EDGES)
    graph = RelationGraph.from_frame(nodes, EDGES)
    same = ConditionalRanker("reciprocal", constant=True).fit(graph)
    np.testing.assert_allclose(plain.predict(["n1"]), same.predict(graph.nodes.base[[1]]))
    assert plain.score(graph) == pytest.approx(plain.score(nodes, EDGES))
    assert scaled.score(graph) == pytest.approx(scaled.score(nodes, EDGES))
    with pytest.raises(ValueError, match=r"columns \['c', 't'\] of the table are not numbers"):
        TableRanker(encoder="passthrough").fit(NODES, EDGES)
    with pytest.raises(ValueError, match="encoder must be a transformer, 'passthrough' or None, got 'scale'"):
        TableRanker(encoder="scale").fit(nodes, EDGES)


@pytest.mark.parametrize("solver", ["auto", "dual", "early_stopping"])
def test_a_precomputed_kernel_is_fitted_and_saved(tmp_path, solver):
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
def test_baselines_take_precomputed_kernels(name):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(N, 3)), rng.normal(size=(N, N))
    graph = RelationGraph(X @ X.T, Y, ids=NODES["id"])
    table = TableRanker(getattr(baselines, name)(kernel="precomputed")).fit(graph)
    found = [table.predict(given) for given in ((X @ X.T)[2:4], ["n2", "n3"])]
    if (
        name == "StrengthRanker"
    ):  # without features it does not know a node by its kernel values; its ranking is the same
        found = [scores - scores.mean(axis=1, keepdims=True) for scores in found]
    np.testing.assert_allclose(*found, atol=1e-9)
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


def test_it_predicts_probabilities_and_plans_fits():
    games = {"winner": ["n0", "n1", "n2", "n3"], "loser": ["n1", "n2", "n3", "n5"]}
    ranker = TableRanker(ConditionalRanker(relation="reciprocal", loss="logistic")).fit(NODES, games)
    P = ranker.predict_proba(["n0", "n1"], ["n0", "n1"])
    np.testing.assert_array_equal(P + P.T, 1)
    assert P[0, 1] > 0.5
    assert not hasattr(TableRanker(RANKER), "predict_proba")
    assert TableRanker(RANKER).plan(NODES, EDGES).solver
    with pytest.raises(ValueError, match="plan needs a ConditionalRanker, got SimilarityRanker"):
        TableRanker(SimilarityRanker()).plan(NODES, EDGES)


def test_it_can_be_cloned_and_pickled(fitted):
    copy = clone(TableRanker(RANKER, TableEncoder(max_words=3)))
    assert copy.get_params()["encoder__max_words"] == 3
    assert copy.get_params()["ranker__relation"] == "reciprocal"
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.rank("n0").ids, fitted.rank("n0").ids)


def test_rankers_and_arguments_that_do_not_fit_are_refused(tmp_path, fitted):
    with pytest.raises(ValueError, match="ranker must be a ConditionalRanker or another ranker"):
        TableRanker(StandardScaler()).fit(NODES, EDGES)
    with pytest.raises(ValueError, match="must be left out when nodes is a RelationGraph"):
        TableRanker().fit(read_graph(NODES, EDGES), EDGES)
    with pytest.raises(ValueError, match="top must be a whole number"):
        fitted.rank("n0", top=0)
    baseline = TableRanker(SimilarityRanker()).fit(NODES, EDGES)
    assert baseline.rank("n0", top=3).ids.shape == (1, 3)
    baseline.save(tmp_path / "model")
    np.testing.assert_allclose(TableRanker.load(tmp_path / "model").predict(["n0"]), baseline.predict(["n0"]))


@pytest.mark.parametrize("method", ["fit", "plan"])
def test_a_kernel_needs_a_ranker_of_kernels(method):
    with pytest.raises(ValueError, match=r"with Precomputed\(\), got 'linear': TableRanker\(ConditionalRanker"):
        getattr(TableRanker(ConditionalRanker()), method)(
            None, {"source": [0, 1], "target": [1, 2], "value": [1.0, 2.0]}, kernel=SMALL_KERNEL
        )


def test_games_are_learned_with_strengths_by_default():
    n = 30
    speed = RNG.normal(size=n)
    pairs = RNG.integers(0, n, (150, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    won = speed[pairs[:, 0]] > speed[pairs[:, 1]]
    games = {"winner": np.where(won, *pairs.T), "loser": np.where(won, *pairs.T[::-1])}
    ranker = TableRanker(time_limit=0).fit({"id": np.arange(n), "speed": speed}, games)
    found = ranker.ranker_
    assert (found.relation, found.loss, found.constant) == ("reciprocal", "logistic", True)
    assert ranker.predict_proba([0]).shape == (1, n)
    assert ranker.score({"id": np.arange(n), "speed": speed}, games) > 0.95
    values = {"source": [0, 1, 1, 0], "target": [1, 2, 0, 2], "value": [1.0, 2.0, 3.0, 0.5]}
    assert TableRanker().fit({"id": [0, 1, 2], "speed": [1.0, 2.0, 4.0]}, values).ranker_.relation == "ordinary"


def test_other_encoders_take_plain_features_and_texts():
    X = RNG.normal(size=(8, 3)) * [1.0, 10.0, 100.0] + 5
    graph = RelationGraph(X, RNG.normal(size=(8, 8)))
    ranker = TableRanker(ConditionalRanker(), encoder=StandardScaler()).fit(graph)
    same = make_pipeline(NodeTransformer(StandardScaler()), ConditionalRanker()).fit(graph)
    np.testing.assert_allclose(ranker.predict(X[:2]), same.predict(X[:2]))
    np.testing.assert_allclose(ranker.predict({"a": X[:2, 0], "b": X[:2, 1], "c": X[:2, 2]}), same.predict(X[:2]))
    np.testing.assert_allclose(ranker.predict([0, 1]), same.predict(X[:2]))
    texts = RelationGraph(["red apple", "green apple", "red car"], [[2, 1, 0], [1, 2, 0], [0, 0, 2]])
    assert TableRanker(encoder=TfidfVectorizer()).fit(texts).predict(texts).shape == (3, 3)
    kernel = RelationGraph(SMALL_KERNEL, [[0.0, 1, 2], [1, 0, 1], [2, 1, 0]])
    assert TableRanker(ConditionalRanker(kernel="precomputed"), StandardScaler()).fit(kernel).encoder_ is None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TableRanker(encoder=3).fit(PLAYERS, GAMES), "encoder must be a scikit-learn transformer.*got 3"),
        (lambda: TableRanker(object_encoder=PCA).fit(PLAYERS, GAMES), r"object_encoder .* class PCA: write PCA\(\)"),
        (lambda: ranker_of_games().rank("ann", objects=[]), "objects must not be empty"),
        (lambda: ranker_of_games().rank("ann", objects=set()), "objects must not be empty"),
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
