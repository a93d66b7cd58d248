"""What people run into when they use the library for the first time: guesses, slips, and words that help."""

import warnings
from types import ModuleType

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import condrank
from condrank import (
    ConditionalRanker,
    ConditionalRankerCV,
    NodeTransformer,
    ObjectIndex,
    Ranking,
    RelationGraph,
    TableRanker,
    diagnose,
    sampled_rank_loss,
)
from condrank.exceptions import RelationWarning
from condrank.plots import CoordinatesDisplay, LossCurveDisplay, QueryLossDisplay
from condrank.tables import Table, TableEncoder, read_graph, read_kernel, read_table

RNG = np.random.default_rng(0)
PLAYERS = {"id": ["ann", "bob", "cyd", "dan"], "speed": [3.0, 1.0, 2.0, 0.5], "size": [1.0, 5.0, 2.0, 4.0]}
GAMES = {"winner": ["ann", "cyd", "ann", "bob"], "loser": ["bob", "bob", "cyd", "dan"]}
K = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 4.0]])
PAIRS = {"source": ["a", "a", "b", "c"], "target": ["b", "c", "c", "a"], "value": [1.0, 0.0, 0.5, 0.2]}


def fitted(**params):
    return TableRanker(ConditionalRanker("reciprocal", "regression", constant=True, **params)).fit(PLAYERS, GAMES)


# Rankers of tables


@pytest.mark.parametrize("method", ["fit", "plan"])
def test_a_kernel_needs_a_ranker_of_kernels(method):
    with pytest.raises(ValueError, match=r"kernel='precomputed', got 'linear': TableRanker\(ConditionalRanker"):
        getattr(TableRanker(), method)(None, {"source": [0, 1], "target": [1, 2], "value": [1.0, 2.0]}, kernel=K)


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
    kernel = RelationGraph(K, [[0.0, 1, 2], [1, 0, 1], [2, 1, 0]])
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
        (lambda: NodeTransformer(None).fit(K), "transformer must be a transformer .*got None"),
        (lambda: NodeTransformer(StandardScaler).fit(K), r"the class StandardScaler: write StandardScaler\(\)"),
        (lambda: NodeTransformer(PCA(), 3).fit(K), "object_transformer must be a transformer .*got 3"),
        (lambda: fitted().rank("ann", objects=[]), "objects must be at least one"),
        (lambda: fitted().rank("ann", objects=set()), "objects must be at least one"),
        (
            lambda: sampled_rank_loss(PCA(), read_graph(PLAYERS, GAMES)),
            r"must be a ConditionalRanker.*got PCA.*p\[-1\]",
        ),
        (lambda: TableRanker().strengths("ann"), "not fitted"),
    ],
)
def test_what_cannot_work_is_told(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda **options: TableRanker().fit(PLAYERS, GAMES, **options), "TableRanker.fit"),
        (lambda **options: fitted().score(PLAYERS, GAMES, **options), "TableRanker.score"),
        (lambda **options: TableRanker().plan(PLAYERS, GAMES, **options), "TableRanker.plan"),
        (lambda **options: RelationGraph.from_frame(PLAYERS, GAMES, **options), "RelationGraph.from_frame"),
    ],
)
def test_unknown_options_name_the_method_and_the_known_ones(call, name):
    with pytest.raises(TypeError, match=rf"{name}\(\) has no option 'winers'; .*winner, loser"):
        call(winers="winner")


def test_ids_may_be_a_set_or_a_generator():
    ranker = fitted()
    assert set(ranker.rank({"ann", "bob"}).query_ids.tolist()) == {"ann", "bob"}
    assert ranker.rank(one for one in ("bob", "ann")).query_ids.tolist() == ["bob", "ann"]
    assert set(ranker.rank("ann", objects={"bob", "cyd"}).ids.ravel()) == {"bob", "cyd"}
    graph = RelationGraph.from_edges(np.eye(3), (one for one in "ab"), ["b", "c"], [1.0, 2.0], ids=["a", "b", "c"])
    assert graph.n_edges == 2


def test_strengths_and_aligned_pairs_by_id():
    ranker = fitted()
    features = ranker.encode(ranker.graph_).nodes.rows
    np.testing.assert_allclose(ranker.strengths(["cyd", "ann"]), ranker.ranker_.strengths(features[[2, 0]]))
    np.testing.assert_allclose(ranker.strengths({"speed": [2.0], "size": [2.0]}), ranker.strengths("cyd"))
    pairs = ranker.predict_edges(["ann", "bob"], ["cyd", "dan"])
    np.testing.assert_allclose(pairs, np.diagonal(ranker.predict(["ann", "bob"], ["cyd", "dan"])))
    with pytest.raises(ValueError, match="aligned, got 1 and 2"):
        ranker.predict_edges("ann", ["cyd", "dan"])
    with pytest.raises(ValueError, match="needs relation='reciprocal' and constant=True"):
        TableRanker(ConditionalRanker()).fit(PLAYERS, GAMES).strengths("ann")


def test_rankings_are_indexed_and_iterated():
    ranking = fitted().rank(["ann", "bob"], top=2)
    assert ranking[0] == list(zip(ranking.ids[0].tolist(), ranking.scores[0].tolist(), strict=True))
    assert [row[0][0] for row in ranking] == ranking.ids[:, 0].tolist()
    assert ranking[-1] == list(ranking)[1]
    short = Ranking(np.array([[2, -1]]), np.array([[1.0, -np.inf]]))
    assert list(short) == [[(2, 1.0)]]
    with pytest.raises(IndexError):
        ranking[2]


def test_a_sampled_loss_of_a_ranker_of_tables():
    ranker = fitted()
    found = sampled_rank_loss(ranker, read_graph(PLAYERS, GAMES), 100)
    assert found.loss == pytest.approx(1 - ranker.score(PLAYERS, GAMES))


# Kernels


def test_the_index_of_a_kernel_frame_is_followed():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(K, index=list("abc"), columns=list("abc"))
    read, ids = read_kernel(frame.loc[["c", "a", "b"]])
    np.testing.assert_array_equal(read, K)
    assert ids.tolist() == list("abc")
    np.testing.assert_array_equal(read_kernel(pd.DataFrame(K, columns=list("abc")))[0], K)
    with pytest.raises(ValueError, match="same ids in its index as in its columns"):
        read_kernel(pd.DataFrame(K, index=list("abd"), columns=list("abc")))


def test_rows_of_kernel_values_of_another_width():
    ranker = TableRanker(ConditionalRanker(kernel="precomputed")).fit(None, PAIRS, kernel=_named_kernel())
    with pytest.raises(ValueError, match=r"rows of 3 kernel values, one against each training node.*got 2 columns"):
        ranker.rank(K[:1, :2])


def _named_kernel():
    return pytest.importorskip("pandas").DataFrame(K, columns=list("abc"))


# Tables


def test_numbers_are_those_of_people_not_of_python(tmp_path):
    assert Table.read({"code": ["1_8", "2_9", "1_8"]}).kinds == {"code": "categorical"}
    with pytest.raises(ValueError, match="position 1: column 'x' must be a number, got '1_8'"):
        Table.read({"x": ["3", "1_8"]}, numeric=["x"])
    (tmp_path / "K.csv").write_text("1,0_1\n0_1,1\n")
    with pytest.raises(ValueError, match="row 1, column 2: expected a number, got '0_1'"):
        read_kernel(tmp_path / "K.csv")


def test_space_around_cells_is_no_part_of_them(tmp_path):
    (tmp_path / "nodes.csv").write_text('id, hand, x\nann , "left", 1\nbob, right , 2\n')
    columns = read_table(tmp_path / "nodes.csv")
    assert {name: values.tolist() for name, values in columns.values.items()} == {
        "id": ["ann", "bob"],
        "hand": ["left", "right"],
        "x": ["1", "2"],
    }


def test_dates_with_times_zones_and_mistakes():
    given = [
        "2024-01-01T12:00Z",
        "2024-01-01 12:00:00+02:00",
        "2024-01-01T12:00:00.5-0130",
        "2024-01-01",
        "2024-01-02T10:00",
    ]
    table = Table.read({"at": given})
    assert table.kinds == {"at": "date"}
    expected = ["2024-01-01T12:00", "2024-01-01T10:00", "2024-01-01T13:30:00.5", "2024-01-01", "2024-01-02T10:00"]
    np.testing.assert_array_equal(table.columns["at"], np.array(expected, dtype="M8[us]"))
    days = [f"2024-01-{day:02}" for day in range(1, 20)]
    with pytest.raises(ValueError, match="position 19: column 'at' has '1/2/2024' among dates; correct it"):
        Table.read({"at": [*days, "1/2/2024"]})
    with pytest.raises(ValueError, match="position 2: column 'at' has no value; fill it in"):
        Table.read({"at": [*days[:2], "n/a"]})


def test_zones_and_periods_of_frames():
    pd = pytest.importorskip("pandas")
    times = pd.Series(pd.to_datetime(["2024-01-01 12:00", "2024-07-01 12:00"])).dt.tz_localize("Europe/Brussels")
    table = Table.read(pd.DataFrame({"at": times, "month": pd.PeriodIndex(["2024-01", "2024-02"], freq="M")}))
    assert table.kinds == {"at": "date", "month": "date"}
    np.testing.assert_array_equal(table.columns["at"], np.array(["2024-01-01T11:00", "2024-07-01T10:00"], "M8[us]"))
    np.testing.assert_array_equal(table.columns["month"], np.array(["2024-01-01", "2024-02-01"], "M8[us]"))
    with pytest.raises(ValueError, match=r"position 1: column 'at' has no value; fill it in, or leave .* drop="):
        Table.read(pd.DataFrame({"at": [times[0], pd.NaT]}))


def test_zones_of_polars_frames():
    pl = pytest.importorskip("polars")
    times = pl.Series("at", ["2024-01-01 12:00"]).str.to_datetime().dt.replace_time_zone("Europe/Brussels")
    np.testing.assert_array_equal(
        Table.read(pl.DataFrame([times])).columns["at"], np.array(["2024-01-01T11"], "M8[us]")
    )


def test_words_of_one_letter_count():
    encoder = TableEncoder().fit(Table.read({"size": ["s", "m l"]}, text=["size"]))
    assert encoder.get_feature_names_out().tolist() == ["size:l", "size:m", "size:s"]
    with pytest.raises(ValueError, match="without any word; say that it is categorical="):
        TableEncoder().fit(Table.read({"size": ["+", "-"]}, text=["size"]))


def test_hints_for_an_empty_cell_work():
    with pytest.raises(ValueError, match=r"column 'hand' has no value; fill it in, or leave the column out by drop=$"):
        Table.read({"hand": ["left", None, "right"]})
    assert Table.read({"hand": ["left", None], "x": [1, 2]}, drop=["hand"]).kinds == {"x": "numeric"}
    encoder = TableEncoder().fit({"hand": ["left", "right"]})
    with pytest.raises(ValueError, match=r"column 'hand' has no value; fill it in$"):
        encoder.transform({"hand": [None]})


def test_guessed_columns_are_named():
    edges = {"p1": ["ann"], "p2": ["zoe"], "value": [1.0]}
    with pytest.raises(ValueError, match=r"position 0, p2 \(read as target=\): no node has the id 'zoe'"):
        RelationGraph.from_frame(PLAYERS, edges)
    with pytest.raises(ValueError, match="position 0, p2: no node has the id 'zoe'"):
        RelationGraph.from_frame(PLAYERS, edges, target="p2")
    with pytest.raises(ValueError, match=r"column 'team' must have every id once; it was read as the ids, .* by id="):
        RelationGraph.from_frame({"team": ["x", "x"], "player": ["ann", "bob"], "x": [1, 2]}, edges)
    with pytest.raises(ValueError, match=r"column 'team' must have every id once$"):
        RelationGraph.from_frame({"team": ["x", "x"], "x": [1, 2]}, edges, id="team")


def test_weights_are_not_taken_for_values():
    edges = {"p1": ["ann", "bob"], "p2": ["bob", "cyd"], "margin": [3, 1], "weight": [1.0, 2.0]}
    graph = RelationGraph.from_frame(PLAYERS, edges)
    assert graph.relation.values.tolist() == [3.0, 1.0]
    assert graph.relation.weights.tolist() == [1.0, 2.0]
    edges = {"p1": ["ann", "bob"], "p2": ["bob", "cyd"], "margin": [3, 1], "games": [1.0, 2.0]}
    assert RelationGraph.from_frame(PLAYERS, edges, weight="games").relation.values.tolist() == [3.0, 1.0]
    only = {"p1": ["ann", "bob"], "p2": ["bob", "cyd"], "weight": [3, 1]}
    assert RelationGraph.from_frame(PLAYERS, only).relation.values.tolist() == [3.0, 1.0]


@pytest.mark.parametrize(
    "ties", [["", "yes", "no", ""], [None, True, False, None], ["0", "1", "0", "0"], [0, 1, 0, np.nan]]
)
def test_ties_are_yes_no_or_blank(ties):
    graph = RelationGraph.from_frame(PLAYERS, GAMES | {"tie": ties})
    values = graph.to_dense()
    assert [values[0, 1], values[2, 1], values[0, 2], values[1, 3]] == [1.0, 0.0, 1.0, 1.0]
    with pytest.raises(ValueError, match="position 1: column 'tie' must be yes or no, or 1 or 0, got 'perhaps'"):
        RelationGraph.from_frame(PLAYERS, GAMES | {"tie": ["", "perhaps", "", ""]})


@pytest.mark.parametrize(("ids", "given"), [([7, 8], ["7"]), (["7", "8"], [7.0]), (["7", "8"], [7]), ([7, 8], [7.0])])
def test_numbers_and_their_texts_are_the_same_ids(ids, given):
    edges = {"a": [7, 7, 8], "b": [8, 7, 7], "value": [1.0, 0.0, 2.0]}
    ranker = TableRanker().fit({"id": ids, "x": [1.0, 2.0]}, edges)
    assert ranker.rank(given).ids.tolist() == [[ids[1]]]
    graph = RelationGraph(np.eye(2), [[0.0, 1], [2, 0]], ids=ids)
    index = ConditionalRanker().fit(graph).index()
    assert index.top(ids=given, k=1).query_ids.tolist() == [ids[0]]
    assert index.top(ids=given[0], k=1).query_ids.tolist() == [ids[0]]


# Warnings


def test_a_reciprocal_relation_of_one_linear_feature_is_zero():
    x = np.array([[0.1], [0.9], [0.5]])
    for ranker in (ConditionalRanker("reciprocal"), ConditionalRankerCV([1.0], 3, relation="reciprocal")):
        with pytest.warns(RelationWarning, match="single linear feature .* use constant=True"):
            ranker.fit(np.vstack([x, x + 1]), np.vstack([x, x + 1]) - np.vstack([x, x + 1]).T)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RelationWarning)
        ConditionalRanker("reciprocal", constant=True).fit(x, x - x.T)
        ConditionalRanker("reciprocal", kernel="rbf").fit(x, x - x.T)
        ConditionalRanker("reciprocal").fit(np.eye(3), x - x.T)
        ConditionalRanker("symmetric").fit(x, x + x.T)


def test_a_ranking_loss_without_anything_to_rank():
    once = RelationGraph.from_edges(np.eye(4), [0, 1, 2], [1, 2, 3], [1.0, 2.0, 3.0])
    links = RelationGraph.from_edges(np.eye(4), [0, 0, 2], [1, 2, 3], [1.0, 1.0, 1.0])
    for graph in (once, links, RelationGraph(np.eye(2), [[1.0, 1.0], [2.0, 2.0]])):
        with pytest.warns(RelationWarning, match="nothing to rank.* use loss='regression'"):
            ConditionalRanker().fit(graph)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RelationWarning)
        ConditionalRanker(loss="regression").fit(once)
        ConditionalRanker().fit(RelationGraph.from_edges(np.eye(4), [0, 0, 2], [1, 2, 3], [1.0, 2.0, 3.0]))
        ConditionalRanker().fit(RelationGraph.from_classes(np.eye(4), [0, 0, 1, 1]))
        ConditionalRanker(rank_by="incoming").fit(RelationGraph(np.eye(2), [[1.0, 1.0], [2.0, 2.0]]))


def test_partial_fit_warns_as_fit_does():
    S = np.array([[1.0, 0.5], [0.2, 1.0]])
    graph = RelationGraph.from_classes(RNG.normal(size=(6, 2)), [0, 0, 0, 1, 1, 1], S)
    messages = []
    for method in ("fit", "partial_fit"):
        with pytest.warns(RelationWarning, match="the symmetric part is learned") as caught:
            getattr(ConditionalRanker("symmetric"), method)(graph)
        assert caught[0].filename == __file__
        messages.append(str(caught[0].message))
    assert messages[0] == messages[1]


# Diagnosis, graphs, names


def test_a_diagnosis_recommends_the_constant():
    strength = RNG.normal(size=30)
    found = diagnose(strength[:, None] - strength)
    assert found.recommended_constant
    assert 'relation="reciprocal", loss="ranking", constant=True' in found.summary()
    angle = RNG.uniform(0, 2 * np.pi, 30)
    cyclic = diagnose(np.sin(angle[:, None] - angle))
    assert cyclic.recommended_relation == "reciprocal"
    assert not cyclic.recommended_constant
    assert "constant" not in cyclic.summary().split("Recommended")[1].splitlines()[0]
    assert not diagnose(np.exp(-np.abs(angle[:, None] - angle))).recommended_constant


def test_a_graph_without_both_directions_of_a_pair_says_nothing_of_them():
    assert repr(RelationGraph.from_edges(np.eye(3), [0, 1], [1, 2], [1.0, 2.0])).endswith("ordinary)")
    assert repr(RelationGraph.from_edges(np.eye(3), [0, 1], [1, 0], [1.0, -1.0])).endswith("reciprocal)")
    assert repr(RelationGraph.from_edges(np.eye(3), [0, 1], [1, 0], [1.0, 1.0])).endswith("symmetric)")


@pytest.mark.parametrize("name", ["plots", "index", "distributed", "parquet", "exceptions"])
def test_modules_are_attributes(name):
    assert isinstance(getattr(condrank, name), ModuleType)
    assert name in dir(condrank)


def test_warnings_are_at_the_top():
    assert issubclass(condrank.RelationWarning, condrank.CondrankWarning)
    assert issubclass(condrank.KernelWarning, condrank.CondrankWarning)


def test_an_index_is_not_loaded_as_a_ranker(tmp_path):
    ConditionalRanker().fit(np.eye(3), K).index().save(tmp_path / "objects")
    for load in (ConditionalRanker.load, TableRanker.load):
        with pytest.raises(ValueError, match=r"load it with ObjectIndex\.load"):
            load(tmp_path / "objects")
    assert len(ObjectIndex.load(tmp_path / "objects")) == 3


def test_a_number_of_folds_is_the_same_folds_each_time():
    X = RNG.normal(size=(20, 3))
    Y = RNG.normal(size=(20, 20))
    one, other = (ConditionalRankerCV([0.1, 1.0], 3).fit(X, Y).cv_losses_ for _ in range(2))
    np.testing.assert_array_equal(one, other)
    third = ConditionalRankerCV([0.1, 1.0], 3, random_state=1).fit(X, Y).cv_losses_
    assert not np.array_equal(one, third)


# Pictures


def test_pictures_of_rankers_of_tables():
    pytest.importorskip("matplotlib")
    nodes = {"id": np.arange(12), "x": RNG.normal(size=12), "y": RNG.normal(size=12)}
    edges = {"a": np.repeat(np.arange(12), 4), "b": RNG.integers(0, 12, 48), "value": RNG.normal(size=48)}
    search = TableRanker(ConditionalRankerCV([0.1, 1.0], 3)).fit(nodes, edges)
    display = LossCurveDisplay.from_estimator(search)
    np.testing.assert_array_equal(display.losses, search.ranker_.cv_losses_)
    games = TableRanker().fit(PLAYERS, GAMES)
    assert CoordinatesDisplay.from_estimator(games, read_graph(PLAYERS, GAMES)).relation == "reciprocal"


def test_two_domains_have_a_legend():
    pytest.importorskip("matplotlib")
    for options in ({}, {"values": np.arange(4.0)}, {"groups": list("aabb")}):
        axes = CoordinatesDisplay.from_predictions(RNG.normal(size=(4, 5)), **options).plot().ax_
        names = {text.get_text() for text in axes.get_legend().get_texts()}
        assert names == {"objects", *(("a", "b") if "groups" in options else ("conditioning nodes",))}
    skew = K[[1, 2, 0]] - K[[1, 2, 0]].T
    assert CoordinatesDisplay.from_predictions(skew, relation="reciprocal").plot().ax_.get_legend() is None


def test_the_worst_nodes_stay_inside_the_axes():
    pytest.importorskip("matplotlib")
    ids = [f"a very long name of a conditioning node, number {i}" for i in range(60)]
    display = QueryLossDisplay.from_values(np.linspace(0, 1, 60), ids).plot(worst=50)
    display.figure_.canvas.draw()
    text, axes = display.ax_.texts[0].get_window_extent(), display.ax_.get_window_extent()
    assert axes.x0 <= text.x0
    assert axes.y0 <= text.y0
    assert text.x1 <= axes.x1
    assert display.ax_.texts[0].get_text().splitlines()[-1].endswith("more")
