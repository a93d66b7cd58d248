"""Every kind of model is served as it ranks."""

from __future__ import annotations

import numpy as np
import pytest

from condrank import ConditionalRanker, RelationGraph, TableRanker
from service.served import NEW, ModelHolder, ServedModel, TestClient, create_app, expected_of, pairs_of, refused, same


def test_scores_that_overflow_are_refused(client, tmp_path):
    far = {**NEW, "x": 1e200}
    asked = {"pairs": [{"query": NEW, "object": NEW}, {"query": far, "object": far}]}
    assert "pairs.1" in refused(client.post("/score", json=asked), 422, "invalid")
    graph = RelationGraph(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), 1e200 * np.arange(9.0).reshape(3, 3))
    ConditionalRanker(loss="regression").fit(graph).save(tmp_path)
    with TestClient(create_app(ModelHolder(tmp_path))) as other:
        near, far = {"a": 1.0, "b": -1.0}, {"a": 1e200, "b": -1e200}
        assert len(other.post("/rank", json={"queries": [near]}).json()["rankings"][0]["ranking"]) == 3
        # Scores of -∞ and NaN must not pass for objects that are not there.
        assert "queries.1" in refused(other.post("/rank", json={"queries": [near, far]}), 422, "invalid")


def test_ids_may_be_numbers_and_dates(tmp_path):
    days = np.datetime64("2020-01-01") + np.arange(4)
    for number, ids in enumerate((np.array([3, 1, 20, 4]), np.array([0.5, 1.0, 2.0, 3.0]), days)):
        graph = RelationGraph(np.arange(8.0).reshape(4, 2), np.arange(16.0).reshape(4, 4), ids=ids)
        path = tmp_path / f"{number}.safetensors"
        ConditionalRanker(loss="regression").fit(graph).save(path)
        with TestClient(create_app(ModelHolder(path))) as client:
            shown = client.get("/nodes").json()["ids"]
            assert shown == [one.item() if one.dtype.kind != "M" else str(one) for one in ids]
            text = [one if isinstance(one, str) else f"{one:g}" for one in shown]  # as a browser writes them
            by_address = client.get(f"/rank/{text[2]}").json()
            (by_id,) = client.post("/rank", json={"queries": [shown[2]]}).json()["rankings"]
            assert by_address == by_id
            assert by_id["query"] == shown[2]
            (mixed, other) = client.post("/rank", json={"queries": [shown[2], text[0]]}).json()["rankings"]
            assert mixed["query"] == by_id["query"]
            same(pairs_of(mixed["ranking"]), pairs_of(by_id["ranking"]))
            assert other["query"] == shown[0]


def test_two_domains_are_served_in_both_directions(tmp_path):
    rng = np.random.default_rng(1)
    drugs = {"id": [f"d{i}" for i in range(6)], "x": rng.normal(size=6), "y": rng.normal(size=6)}
    targets = {"id": [f"t{i}" for i in range(8)], "z": rng.normal(size=8), "w": rng.normal(size=8)}
    edges = {"source": np.repeat(drugs["id"], 8), "target": np.tile(targets["id"], 6), "value": rng.normal(size=48)}
    for rank_by in ("outgoing", "incoming"):
        ranker = TableRanker(ConditionalRanker(rank_by=rank_by)).fit(drugs, edges, objects=targets)
        ranker.save(tmp_path)
        model = ServedModel.load(tmp_path)
        query, one = ("d1", "t2") if rank_by == "outgoing" else ("t2", "d1")
        (answer,) = model.rank([query], 3)
        same([*zip(answer.ids, answer.scores, strict=True)], expected_of(ranker.rank([query], top=3)))
        assert model.score([query], [one]) == pytest.approx([ranker.predict([query], [one])[0, 0]])
        assert len(model.find("objects", one[0], 0, 50)[1]) == len(model)


@pytest.mark.parametrize("kind", ["precomputed", "rbf", "dual", "texts", "float32", "approximate"])
def test_other_models_are_served_as_they_rank(tmp_path, kind):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(20, 3)).astype(np.float32 if kind == "float32" else np.float64)
    Y = X @ rng.normal(size=(3, 3)) @ X.T
    names = [f"n{i}" for i in range(20)]
    if kind == "texts":
        table = {"id": names, "t": [" ".join(rng.choice(["red", "green", "blue", "car"], 6)) for _ in names]}
        edges = {"source": np.repeat(names, 20), "target": np.tile(names, 20), "value": Y.ravel()}
        ranker = TableRanker(ConditionalRanker()).fit(table, edges, text=["t"])
    else:
        given = X @ X.T if kind == "precomputed" else X
        options = {
            "precomputed": {"kernel": "precomputed"},
            "rbf": {"kernel": "rbf"},
            "dual": {"kernel": "rbf", "solver": "dual"},
        }
        ranker = TableRanker(ConditionalRanker(**options.get(kind, {}))).fit(RelationGraph(given, Y, ids=names))
    if kind == "approximate":
        pytest.importorskip("faiss")
    ranker.save(tmp_path)
    model = ServedModel.load(tmp_path, "approximate" if kind == "approximate" else "exact")
    for query in ("n3", "n11"):
        (answer,) = model.rank([query], 5, None, None, True)
        expected = ranker.rank([query], top=5)
        assert answer.ids == expected.ids[0].tolist()
        np.testing.assert_allclose(answer.scores, expected.scores[0], rtol=1e-4 if kind == "float32" else 1e-8)
    new = {"t": "red car"} if kind == "texts" else {"x": 1.0, "y": 0.5, "z": -2.0}
    if kind == "precomputed":
        new = {name: float(one) for name, one in zip(names, X @ [1.0, 0.5, -2.0], strict=True)}
    for answer, query in zip(model.rank(["n3", new], 5), (["n3"], [new]), strict=True):
        assert answer.ids == ranker.rank(query, top=5).ids[0].tolist()
    found = model.score(["n3", "n4"], ["n5", "n6"])
    np.testing.assert_allclose(
        found, [ranker.predict(["n3"], ["n5"])[0, 0], ranker.predict(["n4"], ["n6"])[0, 0]], rtol=1e-4
    )
