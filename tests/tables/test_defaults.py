"""What a table gets if nobody chooses: kernels by the kinds of its columns, views for texts and numbers, no ids."""

import warnings

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import StandardScaler

from condrank import ConditionalRanker, RelationGraph, TableRanker
from condrank.exceptions import CondrankWarning
from condrank.kernels import RBF, Cosine
from condrank.nodes.views import Views
from condrank.tables import Table, TableEncoder, default_kernel, read_graph

RNG = np.random.default_rng(0)
N = 40
WORDS = np.array(["net", "base", "serve", "fast", "slow", "left", "spin", "volley", "slice", "lob"])
TEXTS = [" ".join(RNG.choice(WORDS, 6)) for _ in range(N)]
NUMBERS = {"age": RNG.normal(30, 5, N), "height": RNG.normal(1.8, 0.1, N), "hand": RNG.choice(["l", "r"], N)}
NODES = {"id": [f"p{i}" for i in range(N)], **NUMBERS, "about": TEXTS}
Y = RNG.normal(size=(N, N))
PAIRS = np.argwhere(RNG.random((N, N)) < 0.5)
EDGES = {
    "source": [NODES["id"][i] for i, _ in PAIRS],
    "target": [NODES["id"][j] for _, j in PAIRS],
    "value": [Y[i, j] for i, j in PAIRS],
}


def table_of(*names):
    return {name: NODES[name] for name in ("id", *names)}


@pytest.mark.parametrize(
    ("names", "kernel"),
    [
        (("about",), Cosine()),
        (("age", "height", "hand"), RBF("median")),
        (("age", "about"), RBF("median", view="numbers") + Cosine(view="text")),
    ],
)
def test_the_kernel_follows_from_the_columns(names, kernel):
    graph = read_graph(table_of(*names), EDGES)
    assert default_kernel(graph.nodes) == kernel
    ranker = TableRanker(time_limit=0).fit(graph)
    assert ranker.ranker_.kernel == kernel
    assert ranker.ranker_.constant is True


def test_texts_and_numbers_are_two_views_each_as_if_it_were_alone(tmp_path):
    kernel = RBF(0.3, view="numbers") + 2 * Cosine(view="text")
    ranker = TableRanker(ConditionalRanker(kernel=kernel)).fit(NODES, EDGES)
    tf_idf = TfidfVectorizer(sublinear_tf=True, token_pattern=r"(?u)\b\w+\b").fit_transform(TEXTS)
    hands = np.column_stack([NUMBERS["hand"] == hand for hand in ("l", "r")]).astype(float)
    columns = StandardScaler().fit_transform(np.column_stack([NUMBERS["age"], NUMBERS["height"]]))
    naive = {"numbers": np.hstack([columns, hands]), "text": tf_idf}
    graph = RelationGraph.from_edges(naive, *PAIRS.T, [Y[i, j] for i, j in PAIRS])
    expected = ConditionalRanker(kernel=kernel).fit(graph)
    np.testing.assert_allclose(ranker.predict(NODES["id"]), expected.predict(naive), atol=1e-8)
    new = {"age": [31.0], "height": [1.7], "hand": ["l"], "about": ["fast serve and spin"]}
    ranker.save(tmp_path / "model")
    loaded = TableRanker.load(tmp_path / "model")
    np.testing.assert_allclose(loaded.predict(new), ranker.predict(new))
    assert loaded.row("p3") == ranker.row("p3")
    assert isinstance(loaded.queries_.nodes.base, Views)
    names = ranker.encoder_.get_feature_names_out().tolist()
    assert names[:4] == ["age", "height", "hand=l", "hand=r"]
    assert all(name.startswith("about:") for name in names[4:])
    with pytest.warns(UserWarning, match="'age' is .* standard deviations beyond"):
        ranker.predict(new | {"age": [900.0]})


def test_nodes_that_early_stopping_holds_out_are_saved_with_both_views(tmp_path):
    kernel = default_kernel(read_graph(NODES, EDGES).nodes)
    stopped = ConditionalRanker(kernel=kernel, solver="early_stopping", max_iter=20, random_state=0)
    ranker = TableRanker(stopped).fit(NODES, EDGES)
    ranker.save(tmp_path / "model")
    np.testing.assert_allclose(TableRanker.load(tmp_path / "model").predict(["p1"]), ranker.predict(["p1"]))
    assert len(ranker.query_ids_) == N > len(ranker.ranker_.fitted_.objects)


def test_a_split_table_is_cross_validated_with_encoders_of_each_fold():
    ranker = TableRanker(ConditionalRanker(kernel=RBF("median", view="numbers") + Cosine(view="text")))
    found = ranker.cross_validate(read_graph(NODES, EDGES), 4, cv=2)
    assert np.isfinite(found.scores["rank_loss"]).all()


def test_kernels_by_name_get_one_array_and_other_encoders_are_left_alone():
    ranker = TableRanker(ConditionalRanker(kernel="cosine")).fit(NODES, EDGES)
    assert not isinstance(ranker.queries_.nodes.base, Views)
    with pytest.raises(ValueError, match=r"columns \['hand', 'about'\] of the table are not numbers"):
        TableRanker(encoder="passthrough").fit(NODES, EDGES)


@pytest.mark.parametrize("name", ["id", "user_id", "userId", "Index", "Unnamed: 0", "row id"])
def test_a_numeric_id_column_is_never_a_feature(name):
    nodes = {"name": NODES["id"], name: RNG.permutation(N) * 3 + 1000, "age": NUMBERS["age"]}
    found = read_graph(nodes, EDGES, id="name").nodes.base
    assert (found.kinds, found.ignored) == ({"age": "numeric"}, (name,))
    kept = read_graph(nodes, EDGES, id="name", numeric=[name]).nodes.base
    assert kept.kinds == {name: "numeric", "age": "numeric"}
    repeated = Table.read(nodes | {name: np.arange(N) // 4}, id_name="name")
    assert repeated.kinds == {name: "categorical", "age": "numeric"}


def test_a_column_that_counts_the_rows_is_no_feature_and_others_are():
    counted = {"number": np.arange(1, N + 1), "age": NUMBERS["age"], "idea": np.arange(N) * 2, "year": np.arange(N) % 7}
    assert Table.read(counted).kinds == dict.fromkeys(("age", "idea", "year"), "numeric")
    assert Table.read({"number": [1, 2, 3]}).kinds == {"number": "numeric"}
    assert Table.read({"id": [4, 2, 3]}).kinds == {"id": "categorical"}  # there is nothing else to learn from


def test_half_numeric_columns_are_reported_with_how_many_and_an_example():
    weights = ["12.5"] * 7 + ["heavy", "light", "heavy"]
    with pytest.warns(
        CondrankWarning, match=r"'weight' has 7 numbers and 3 other values, such as 'heavy' in position 7"
    ):
        assert Table.read({"weight": weights}).kinds == {"weight": "categorical"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Table.read({"weight": weights}, categorical=["weight"])
        Table.read({"grade": ["a", "b", "1", "c"]})
    with pytest.raises(ValueError, match=r"column 'weight' has 'heavy' among numbers \(2 such values in all\)"):
        Table.read({"weight": ["12.5"] * 28 + ["heavy", "light"]})


def test_games_of_unknown_columns_are_told_of_winner_and_loser():
    games = {"home": ["p1", "p2"], "away": ["p2", "p3"], "day": ["mon", "tue"], "place": ["here", "there"]}
    with pytest.raises(ValueError, match="name the columns of its players with winner= and loser="):
        read_graph(NODES, games)


# Missing values


GAPS = {
    "id": ["a", "b", "c", "d", "e", "f"],
    "age": [20.0, None, 40.0, 60.0, 20.0, None],
    "born": ["2000-01-01", "", "2000-01-03", "2000-01-05", "2000-01-01", "2000-01-01"],
    "hand": ["l", "r", "", "r", "r", "l"],
    "about": ["runs to the net", "", "serves and waits", "waits", "serves", "runs"],
}
GAPS_EDGES = {
    "source": list("abcdef" * 2),
    "target": list("bcdefacdefab"),
    "value": [1, 2, 0, 1, 3, 2, 2, 3, 1, 0, 1, 4],
}
FILLED = {
    "median": (30.0, "2000-01-01", "r"),
    "mean": (35.0, "2000-01-02T04:48:00", "r"),
    "most_frequent": (20.0, "2000-01-01", "r"),
    "constant": (0.0, "1970-01-01", "missing_value"),
}


@pytest.mark.parametrize("impute", FILLED)
def test_missing_values_are_filled_as_in_training_also_for_new_nodes(tmp_path, impute):
    age, born, hand = FILLED[impute]
    whole = {name: [one if one not in (None, "") else None for one in column] for name, column in GAPS.items()}
    for name, value in (("age", age), ("born", born), ("hand", hand), ("about", " ")):
        whole[name] = [value if one is None else one for one in whole[name]]
    model = ConditionalRanker(kernel="rbf", loss="regression")
    ranker = TableRanker(model, impute=impute).fit(GAPS, GAPS_EDGES, text=["about"])
    by_hand = TableRanker(model).fit(whole, GAPS_EDGES, categorical=["hand"], text=["about"])
    np.testing.assert_allclose(ranker.predict(list("abcdef")), by_hand.predict(list("abcdef")), atol=1e-10)
    new = {"age": [None], "born": [None], "hand": [""], "about": ["runs and waits"]}
    filled = {"age": [age], "born": [born], "hand": [hand], "about": ["runs and waits"]}
    ranker.save(tmp_path / "model")
    loaded = TableRanker.load(tmp_path / "model")
    for one in (ranker, loaded):
        np.testing.assert_allclose(one.predict(new), by_hand.predict(filled), atol=1e-10)
        assert one.score(GAPS, GAPS_EDGES, text=["about"]) == pytest.approx(
            by_hand.score(whole, GAPS_EDGES, categorical=["hand"], text=["about"])
        )
    assert loaded.encoder_.fill_ == ranker.encoder_.fill_
    assert loaded.row("b") == {"age": None, "born": None, "hand": "r", "about": ""}


def test_without_impute_missing_values_are_an_error_that_names_it():
    with pytest.raises(ValueError, match=r"columns have missing values.*impute='median'"):
        TableRanker().fit(GAPS, GAPS_EDGES)
    graph = read_graph(GAPS, GAPS_EDGES, allow_missing=True)
    with pytest.raises(ValueError, match="'age' has 2 missing values: fill them with impute='median'"):
        TableRanker(ConditionalRanker()).fit(graph)
    assert (
        TableRanker(ConditionalRanker(), TableEncoder(impute="mean")).fit(GAPS, GAPS_EDGES).encoder_.fill_["age"] == 35
    )
    with pytest.raises(ValueError, match="column 'age' has no value at all"):
        TableRanker(impute="mean").fit(GAPS | {"age": [None] * 6}, GAPS_EDGES)
    with pytest.raises(ValueError, match=r"impute must be .* got 'best'"):
        TableRanker(ConditionalRanker(), impute="best").fit(GAPS, GAPS_EDGES)
    with pytest.raises(ValueError, match="impute='mean' is for a TableEncoder, got encoder='passthrough'"):
        TableRanker(ConditionalRanker(), "passthrough", impute="mean").fit(GAPS, GAPS_EDGES)


def test_a_category_that_is_missing_only_in_new_nodes_has_a_place():
    encoder = TableEncoder(impute="constant").fit({"hand": ["l", "r"]})
    assert encoder.get_feature_names_out().tolist() == ["hand=l", "hand=missing_value", "hand=r"]
    np.testing.assert_array_equal(encoder.transform({"hand": [None]}), [[0, 1, 0]])
