"""Routes: rankings, scores, nodes, health and the OpenAPI document."""

from __future__ import annotations

import re

import numpy as np
import pytest

from condrank import ConditionalRanker, TableRanker
from service.served import (
    EDGES,
    NEW,
    NODES,
    Limits,
    ModelHolder,
    N,
    TestClient,
    create_app,
    expected_of,
    pairs_of,
    refused,
    same,
)


def test_rankings_are_those_of_the_ranker(client, ranker):
    asked = {"queries": ["Node 4", NEW, "n/3"], "k": 6}
    found = client.post("/rank", json=asked).json()["rankings"]
    assert [one["query"] for one in found] == ["Node 4", None, "n/3"]
    for one, query in zip(found, (["Node 4"], [NEW], ["n/3"]), strict=True):
        same(pairs_of(one["ranking"]), expected_of(ranker.rank(query, top=6)))


def test_one_ranking_has_an_address(client, ranker):
    found = client.get("/rank/Node 4", params={"k": 3}).json()
    assert found["query"] == "Node 4"
    same(pairs_of(found["ranking"]), expected_of(ranker.rank(["Node 4"], top=3)))
    assert client.get("/rank/n%2F3").json()["query"] == "n/3"
    alone = client.get("/rank/Node 4", params={"k": 50, "exclude_self": False}).json()
    assert sorted(one["id"] for one in alone["ranking"]) == sorted(NODES["id"])


def test_a_new_node_with_the_id_of_a_known_one_is_not_in_its_own_ranking(client):
    (found,) = client.post("/rank", json={"queries": [{**NEW, "id": "Node 7"}], "k": 50}).json()["rankings"]
    assert found["query"] == "Node 7"
    assert len(found["ranking"]) == N - 1
    assert "Node 7" not in [one["id"] for one in found["ranking"]]


def test_objects_can_be_excluded_or_chosen(client):
    asked = {
        "queries": ["Node 1", "Node 2"],
        "candidates": ["Node 1", "Node 5", "Node 6"],
        "exclude": ["Node 6", "gone"],
    }
    found = client.post("/rank", json=asked).json()["rankings"]
    assert [{place["id"] for place in one["ranking"]} for one in found] == [{"Node 5"}, {"Node 1", "Node 5"}]
    asked = {"queries": ["Node 1", NEW], "candidates": [["Node 5"], ["Node 6", "Node 8"]], "exclude": [[], ["Node 8"]]}
    found = client.post("/rank", json=asked).json()["rankings"]
    assert [[place["id"] for place in one["ranking"]] for one in found] == [["Node 5"], ["Node 6"]]
    best = client.get("/rank/Node 1?k=29").json()["ranking"]
    for found in (
        client.get("/rank/Node 1?k=4&order=worst").json()["ranking"],
        client.post("/rank", json={"queries": ["Node 1"], "k": 4, "order": "worst"}).json()["rankings"][0]["ranking"],
    ):
        assert found == best[:-5:-1]
    assert client.get("/rank/Node 1?order=bad").status_code == 422
    (found,) = client.post("/rank", json={"queries": ["Node 1"], "candidates": []}).json()["rankings"]
    assert found["ranking"] == []


def test_scores_are_those_of_the_ranker(client, ranker):
    pairs = [("Node 1", "Node 2"), (NEW, "Node 2"), ("Node 1", NEW), (NEW, NEW)]
    asked = {"pairs": [{"query": query, "object": one} for query, one in pairs]}
    found = client.post("/score", json=asked).json()["scores"]
    np.testing.assert_allclose(found, [ranker.predict([query], [one])[0, 0] for query, one in pairs], atol=1e-9)


def test_nodes_are_listed_by_page_and_by_their_first_letters(client):
    page = client.get("/nodes", params={"start": 2, "limit": 3}).json()
    assert page == {"total": N, "start": 2, "ids": NODES["id"][2:5]}
    found = client.get("/nodes", params={"prefix": "nODE 1"}).json()
    assert found["ids"] == sorted(one for one in NODES["id"] if one.startswith("Node 1"))
    assert found["total"] == len(found["ids"])
    assert client.get("/nodes", params={"prefix": "zz"}).json()["total"] == 0
    assert client.get("/nodes", params={"role": "objects"}).json()["total"] == N
    inside = client.get("/nodes", params={"part": "E 1", "start": 1, "limit": 4}).json()
    matching = sorted(one for one in NODES["id"] if "e 1" in one.lower())
    assert (inside["total"], inside["ids"]) == (len(matching), matching[1:5])
    first = client.get("/nodes", params={"part": "n", "limit": 1000}).json()["ids"]
    starts = [one.lower().startswith("n") for one in first]
    assert starts == sorted(starts, reverse=True)
    both = client.get("/nodes", params={"part": "3", "prefix": "nODE"}).json()["ids"]
    assert both == sorted(one for one in NODES["id"] if one.startswith("Node") and "3" in one)
    node = client.get("/nodes/n%2F3").json()
    assert node.pop("position") == 3
    assert node == {"id": "n/3", "columns": {"x": NODES["x"][3], "born": "1973-01-02", "kind": NODES["kind"][3]}}


def test_health_describes_the_model(client):
    found = client.get("/health").json()
    assert found["ready"] is True
    assert found["reload_error"] is None
    kinds = {"x": "numeric", "born": "date", "kind": "categorical"}
    assert found["model"]["columns"] == {"queries": kinds, "objects": kinds}
    assert (found["model"]["queries"], found["model"]["objects"]) == (N, N)
    # That of a report is of the ranker alone, and so has another name.
    assert re.fullmatch("[0-9a-f]{64}", found["model"]["file_fingerprint"])
    assert "fingerprint" not in found["model"]


def test_the_openapi_document_follows_the_model(client, ranker, tmp_path):
    found = client.get("/openapi.json").json()["components"]["schemas"]["QueryNode"]["anyOf"][1]
    assert found["required"] == ["x", "born", "kind"]
    ranker.save(tmp_path)
    holder = ModelHolder(tmp_path)
    with TestClient(create_app(holder, token="t")) as other:
        right = {"Authorization": "Bearer t"}
        first = other.get("/openapi.json", headers=right).json()
        assert first["components"]["schemas"]["QueryNode"]["anyOf"][1] == found
        less = {name: column for name, column in NODES.items() if name != "born"}
        TableRanker(ConditionalRanker("reciprocal")).fit(less, EDGES).save(tmp_path)
        assert other.post("/reload", headers=right).status_code == 200
        second = other.get("/openapi.json", headers=right).json()
        assert second["components"]["schemas"]["QueryNode"]["anyOf"][1]["required"] == ["x", "kind"]


def test_a_low_limit_of_places_lowers_the_default(folder):
    with TestClient(create_app(ModelHolder(folder), Limits(k=4))) as few:
        assert len(few.get("/rank/Node 1").json()["ranking"]) == 4
        (found,) = few.post("/rank", json={"queries": ["Node 1"]}).json()["rankings"]
        assert len(found["ranking"]) == 4
        document = few.get("/openapi.json").json()
        assert document["components"]["schemas"]["RankRequest"]["properties"]["k"]["default"] == 4
        assert few.get("/rank/Node 1?k=5").status_code == 422


def test_the_openapi_document_has_every_route_and_error(client):
    document = client.get("/openapi.json").json()
    expected = {"/rank", "/rank/{id}", "/score", "/nodes", "/nodes/{id}", "/health", "/metrics", "/reload"}
    expected |= {"/objects", "/objects/remove", "/predict", "/explain"}
    assert set(document["paths"]) == expected
    assert document["components"]["schemas"]["RankRequest"]["properties"]["k"]["maximum"] == 50
    for operation in (one for path in document["paths"].values() for one in path.values()):
        for status, answer in operation["responses"].items():
            if status != "200":
                assert answer["content"]["application/json"]["schema"]["$ref"].endswith("/ErrorAnswer")


def test_predictions_have_what_the_model_has(client, tmp_path):
    pairs = [{"query": "Node 1", "object": "Node 2"}, {"query": NEW, "object": NEW}]
    asked = client.post("/predict", json={"pairs": pairs}).json()["predictions"]
    scores = client.post("/score", json={"pairs": pairs}).json()["scores"]
    assert [one["score"] for one in asked] == scores
    assert all(one.get("lower") is None for one in asked)
    assert "condrank fit --intervals" in refused(
        client.post("/predict", json={"pairs": pairs, "coverage": 0.5}), 422, "invalid"
    )
    refused(client.post("/predict", json={"pairs": pairs, "coverage": 1.5}), 422, "invalid")
    fitted = TableRanker(ConditionalRanker(loss="regression", kernel="rbf")).fit(NODES, EDGES).calibrate(n_splits=4)
    fitted.save(tmp_path)
    with TestClient(create_app(ModelHolder(tmp_path))) as served:
        found = served.post("/predict", json={"pairs": pairs, "coverage": 0.6}).json()["predictions"]
        for one, (query, other) in zip(found, ((["Node 1"], ["Node 2"]), (NEW, NEW)), strict=True):
            lower, upper = fitted.predict_interval(_table(query), _table(other), coverage=0.6)
            np.testing.assert_allclose([one["lower"], one["upper"]], [lower[0, 0], upper[0, 0]])
        plain = served.post("/predict", json={"pairs": pairs, "std": True}).json()["predictions"]
        assert plain[0]["std"] == pytest.approx(fitted.ranker_.predict(["Node 1"], ["Node 2"], True)[1][0, 0])
        infinite = served.post("/predict", json={"pairs": pairs[1:], "coverage": 0.999}).json()["predictions"]
        assert infinite[0]["lower"] is None


def _table(node):
    return [node] if isinstance(node, dict) else node
