"""Explanations of rankers of tables: ids, columns and values of the tables, for every kind of column."""

import numpy as np
import pytest

from builders import refused
from condrank import ConditionalRanker, TableRanker
from condrank.baselines import SimilarityRanker
from condrank.model_selection.prepared import PreparedRanker
from condrank.tables import TableEncoder

RNG = np.random.default_rng(0)
N = 14
WORDS = ["fast", "tall", "strong", "quick mind", "calm"]
PLAYERS = {
    "name": [f"p{i}" for i in range(N)],
    "age": RNG.integers(18, 40, N).tolist(),
    "hand": RNG.choice(["left", "right", "both"], N).tolist(),
    "about": [" ".join(RNG.choice(WORDS, 3)) + f" player with number {i}" for i in range(N)],
}
PAIRS = [(i, j) for i in range(N) for j in range(N) if i != j and RNG.random() < 0.5]
EDGES = {"source": [f"p{i}" for i, _ in PAIRS], "target": [f"p{j}" for _, j in PAIRS]}
EDGES["value"] = RNG.normal(size=len(PAIRS)).tolist()
FIT = {"id": "name", "text": ["about"]}
NEW = {"age": 33, "hand": "left", "about": "a fast player"}


def fitted(**params):
    return TableRanker(ConditionalRanker(loss="regression", **params)).fit(PLAYERS, EDGES, **FIT)


def sides(terms):
    return {(row["side"], row["feature"]): row for row in terms.rows()}


@pytest.mark.parametrize("kernel", ["linear", "cosine"])
def test_features_are_summed_to_columns(kernel):
    ranker = fitted(kernel=kernel)
    for asked in (
        ("p3", "p5", "p1"),
        (NEW, "p2", None),
        ("p3", {"name": ["me"], **{k: [v] for k, v in NEW.items()}}, "p1"),
    ):
        explained = ranker.explain(*asked)
        found = sides(explained.features)
        assert {name for _, name in found} == {"age", "hand", "about"}
        assert explained.features.total == pytest.approx(explained.total, abs=1e-12)
        plain = ranker.ranker_.explain(*nodes_of(explained))
        names = ranker.encoder_.get_feature_names_out()
        expected = dict.fromkeys(found, 0.0)
        for row in plain.features.rows():
            column = names[int(row["feature"].split()[-1])].split("=")[0].split(":")[0]
            expected[row["side"], column] += row["contribution"]
        for key, value in expected.items():
            assert found[key]["contribution"] == pytest.approx(value, abs=1e-12)


def nodes_of(explained):
    """What was asked, as encoded nodes."""
    asked = explained._asked
    return asked.query, *asked.objects


def test_values_and_names_are_those_of_the_tables():
    ranker = fitted()
    explained = ranker.explain("p3", "p5", "p1")
    found = sides(explained.features)
    assert found["query", "hand"]["value"] == PLAYERS["hand"][3]
    assert (found["object", "age"]["value"], found["object", "age"]["other_value"]) == (
        PLAYERS["age"][5],
        PLAYERS["age"][1],
    )
    assert str(explained).startswith("p5 is ranked")
    assert "the new node" in str(ranker.explain(NEW, "p5"))
    assert sides(ranker.explain(NEW, "p5").features)["query", "age"]["value"] == 33
    assert set(explained.to_frame("labels")["query"]) <= set(PLAYERS["name"])
    assert explained.labels.total == pytest.approx(explained.total, abs=1e-6)
    assert explained.nodes.rows(1)[0]["node"] in PLAYERS["name"]


def test_split_columns_and_views_have_their_columns():
    ranker = TableRanker(time_limit=0).fit(PLAYERS, EDGES, **FIT)  # without a search texts are a view of their own
    parts = ranker.explain("p3", "p5").parts
    assert {row["query_part"] for row in parts.rows()} >= {"numbers", "text"}
    assert parts.total == pytest.approx(ranker.explain("p3", "p5").total)
    encoder = TableEncoder(split=True).fit({name: PLAYERS[name] for name in ("age", "hand", "about")})
    if encoder.is_split:
        assert set(encoder.feature_columns("text")) == {"about"}
        assert set(encoder.feature_columns("numbers")) == {"age", "hand"}
    assert len(encoder.feature_columns()) == encoder.n_features_out_
    ids = {"name": PLAYERS["name"]}
    views = {"body": {**ids, "age": PLAYERS["age"]}, "play": {**ids, "hand": PLAYERS["hand"]}}
    ranker = TableRanker(ConditionalRanker(kernel="Linear(view='body') + Linear(view='play')"))
    ranker.fit(None, EDGES, views=views, id="name")
    explained = ranker.explain("p3", "p5", "p1")
    assert {name for _, name in sides(explained.features)} == {"body.age", "play.hand"}
    assert sides(explained.features)["query", "play.hand"]["value"] == PLAYERS["hand"][3]
    assert {row["query_part"] for row in explained.parts.rows()} == {"body", "play"}
    assert explained.features.total == pytest.approx(explained.total)


def test_a_loaded_ranker_explains_with_the_same_words(tmp_path):
    ranker = fitted()
    ranker.save(tmp_path, training=True)
    loaded = TableRanker.load(tmp_path)
    for by in ("labels", "nodes", "features", "parts"):
        assert loaded.explain("p3", "p5", "p1").sentence(by) == ranker.explain("p3", "p5", "p1").sentence(by)


def test_what_cannot_be_asked_is_refused():
    ranker = fitted()
    refused("must be one node, got 2", ranker.explain, {"age": [1, 2], "hand": ["left"] * 2, "about": ["a"] * 2}, "p1")
    refused("unknown|that no node has|does not know|nobody", ranker.explain, "nobody", "p1")
    baseline = TableRanker(SimilarityRanker()).fit(PLAYERS, EDGES, **FIT)
    refused("explain needs a ConditionalRanker, got SimilarityRanker", baseline.explain, "p1", "p2")


@pytest.mark.parametrize("preparation", ["raw", "standard", "quantile"])
def test_rankers_that_prepare_features_are_explained_in_their_columns(preparation):
    ranker = PreparedRanker(ConditionalRanker(loss="regression"), preparation)
    fit = {"id": "name", "drop": ["about"]}
    ranker = TableRanker(ranker, encoder=TableEncoder(standardise=False)).fit(PLAYERS, EDGES, **fit)
    explained = ranker.explain("p3", "p5", "p1")
    assert explained.total == pytest.approx(float(np.subtract(*ranker.predict(["p3"], ["p5", "p1"])[0])))
    assert explained.features.total == pytest.approx(explained.total)
    assert explained.labels.total == pytest.approx(explained.total, abs=1e-6)
    assert sides(explained.features)["object", "age"]["value"] == PLAYERS["age"][5]
