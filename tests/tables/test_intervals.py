"""Intervals by id and by columns."""

import numpy as np

from builders import refused
from condrank import ConditionalRanker, TableRanker
from condrank.baselines import SimilarityRanker

RNG = np.random.default_rng(0)
IDS = [f"p{i}" for i in range(12)]
NODES = {"id": IDS, "size": RNG.normal(size=12), "speed": RNG.normal(size=12)}
PAIRS = [(i, j) for i in range(12) for j in range(12) if i != j]
EDGES = {
    "source": [IDS[i] for i, _ in PAIRS],
    "target": [IDS[j] for _, j in PAIRS],
    "value": [NODES["size"][i] * NODES["speed"][j] + RNG.normal() for i, j in PAIRS],
}
NEW = {"size": [0.3, 1.0], "speed": [0.1, -2.0]}


def fitted():
    return TableRanker(ConditionalRanker(loss="regression", kernel="rbf")).fit(NODES, EDGES)


def test_pairs_get_the_setting_of_their_ids(tmp_path):
    ranker = fitted().calibrate(n_splits=4)
    widths = {setting: one.half_width(0.6) for setting, one in ranker.ranker_.fitted_.residuals.items()}
    ranker.save(tmp_path / "model")
    named = NEW | {"id": ["new", "p3"]}
    for one in (ranker, TableRanker.load(tmp_path / "model")):
        for queries, objects, settings in ((["p1"], None, [1]), (NEW, ["p2"], [2]), (named, ["p2"], [2, 1])):
            lower, upper = one.predict_interval(queries, objects, coverage=0.6)
            assert np.allclose((lower + upper) / 2, one.predict(queries, objects))
            assert np.allclose((upper - lower)[:, 0] / 2, [widths[setting] for setting in settings])


def test_a_graph_of_tables_has_the_intervals_of_its_encoded_nodes():
    ranker = fitted()
    lower, upper = ranker.predict_interval(ranker.graph_, coverage=0.6)
    again = ranker.ranker_.predict_interval(ranker.encode(ranker.graph_), coverage=0.6)
    assert np.array_equal((lower, upper), again)


def test_other_rankers_have_none():
    ranker = TableRanker(SimilarityRanker()).fit(NODES, EDGES)
    refused("intervals need a ConditionalRanker, got SimilarityRanker", ranker.predict_interval, ["p1"])
