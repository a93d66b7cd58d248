"""Adding and removing objects over HTTP, probabilities of contests, and the page at /docs."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from condrank import ConditionalRanker, TableRanker
from service.served import EDGES, NEW, NODES, Limits, ModelHolder, TestClient, create_app, pairs_of, refused, same

TOKEN = {"Authorization": "Bearer t0ken"}


@pytest.fixture
def client(folder):
    limits = Limits(k=50, queries=5, added=6)
    with TestClient(create_app(ModelHolder(folder), limits, token="t0ken"), headers=TOKEN) as found:
        yield found


def ids_of(client, **body):
    answer = client.post("/rank", json={"k": 50, **body})
    assert answer.status_code == 200, answer.text
    return [[place["id"] for place in one["ranking"]] for one in answer.json()["rankings"]]


def add(client, *ids):
    return client.post("/objects", json={"objects": [NEW | {"id": one} for one in ids]})


def test_added_objects_are_ranked_and_scored_as_new_ones_are(client, ranker):
    table = {name: [value] for name, value in (NEW | {"id": "new"}).items()}
    assert add(client, "new").json()["objects"] == len(NODES["id"]) + 1
    answer = client.post("/rank", json={"queries": ["Node 1"], "candidates": ["new"]}).json()
    expected = ranker.rank(["Node 1"], table)
    same(pairs_of(answer["rankings"][0]["ranking"]), [("new", expected.scores[0, 0])])
    (ranking,) = ids_of(client, queries=["Node 1"])
    assert set(ranking) == {*NODES["id"], "new"} - {"Node 1"}
    scored = client.post("/score", json={"pairs": [{"query": "Node 1", "object": "new"}]}).json()["scores"]
    np.testing.assert_allclose(scored, expected.scores[0, 0])
    found = client.get("/nodes/new", params={"role": "objects"}).json()
    assert found["columns"] == NEW
    assert client.get("/nodes", params={"prefix": "NE", "role": "objects"}).json()["ids"] == ["new"]
    assert "new" not in ids_of(client, queries=["Node 1"], exclude=["new"])[0]


def test_removed_objects_are_in_no_answer_and_can_come_back(client):
    gone = ["Node 2", "Node 7"]
    assert client.post("/objects/remove", json={"ids": gone}).json()["objects"] == len(NODES["id"]) - 2
    (ranking,) = ids_of(client, queries=["Node 2"])  # still a conditioning node
    assert set(ranking) == {*NODES["id"]} - {*gone}
    refused(client.post("/rank", json={"queries": ["Node 1"], "candidates": ["Node 2"]}), 404, "unknown_id")
    refused(client.get("/nodes/Node 2", params={"role": "objects"}), 404, "unknown_id")
    listed = client.get("/nodes", params={"role": "objects", "limit": 100}).json()
    assert listed["total"] == len(listed["ids"]) == len(NODES["id"]) - 2
    health = client.get("/health").json()["model"]
    assert (health["objects"], health["added"], health["removed"]) == (28, 0, 2)
    assert add(client, "Node 2").status_code == 200
    assert "Node 2" not in ids_of(client, queries=["Node 2"])[0]  # it is the node itself again
    assert "Node 2" in ids_of(client, queries=["Node 2"], exclude_self=False)[0]
    knows = {target for source, target in zip(EDGES["source"], EDGES["target"], strict=True) if source == "Node 1"}
    assert ("Node 2" in ids_of(client, queries=["Node 1"], exclude_known=True)[0]) == ("Node 2" not in knows)


def test_what_cannot_be_added_or_removed_changes_nothing(client):
    before = client.get("/nodes", params={"role": "objects", "limit": 100}).json()
    assert "already" in refused(add(client, "a", "Node 4"), 409, "already_there")
    refused(add(client, "a", "a"), 409, "already_there")
    message = refused(client.post("/objects", json={"objects": [NEW | {"id": "a"}, NEW]}), 422, "invalid")
    assert message == "objects.1 must have an id: 'id' is missing"
    assert "lacks column" in refused(client.post("/objects", json={"objects": [{"id": "a", "x": 1.0}]}), 422, "invalid")
    refused(client.post("/objects", json={"objects": ["Node 1"]}), 422, "invalid")
    message = refused(client.post("/objects/remove", json={"ids": ["Node 4", "Nod 5"]}), 404, "unknown_id")
    assert "did you mean 'Node 5'" in message
    assert "last object" in refused(client.post("/objects/remove", json={"ids": NODES["id"]}), 422, "invalid")
    refused(add(client, *"abcdef"), 422, "invalid")  # more at a time than queries
    assert add(client, *"abcde").status_code == 200
    assert "at most 6 objects can be added" in refused(add(client, "f", "g"), 422, "invalid")
    client.post("/objects/remove", json={"ids": list("abcde")})
    assert client.get("/nodes", params={"role": "objects", "limit": 100}).json() == before


def test_a_token_is_needed(folder, client):
    with TestClient(create_app(ModelHolder(folder))) as open_to_all:
        assert "token" in refused(add(open_to_all, "new"), 403, "forbidden")
    refused(client.post("/objects", json={}, headers={"Authorization": "Bearer no"}), 401, "unauthorized")


def test_a_reload_starts_from_the_file(client):
    add(client, "new")
    assert client.post("/reload").json()["model"]["added"] == 0
    assert "new" not in ids_of(client, queries=["Node 1"])[0]


def test_readers_never_see_half_of_a_change(client):
    """Two objects come and go together, and every answer has both or neither."""
    wrong, stop = [], threading.Event()

    def read():
        while not stop.is_set():
            there = {"one", "two"} & set(ids_of(client, queries=["Node 1"])[0])
            if len(there) == 1:
                wrong.append(there)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for one in readers:
        one.start()
    for _ in range(15):
        assert add(client, "one", "two").status_code == 200
        assert client.post("/objects/remove", json={"ids": ["one", "two"]}).status_code == 200
    stop.set()
    for one in readers:
        one.join()
    assert not wrong


def test_contests_have_probabilities(tmp_path):
    players = {"id": list("abcdef"), "x": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]}
    games = {"winner": list("fedcbfed"), "loser": list("edcbaabc")}
    ranker = TableRanker(ConditionalRanker("reciprocal", "logistic", constant=True)).fit(players, games)
    ranker.save(tmp_path)
    with TestClient(create_app(ModelHolder(tmp_path))) as client:
        (one,) = client.post("/rank", json={"queries": ["c"]}).json()["rankings"]
        expected = dict(zip("abcdef", ranker.predict_proba(["c"])[0], strict=True))
        for place in one["ranking"]:
            assert place["probability"] == pytest.approx(expected[place["id"]])
        pair = {"query": "f", "object": "a"}
        scored = client.post("/score", json={"pairs": [pair]}).json()
        assert scored["probabilities"] == pytest.approx(ranker.predict_proba(["f"], ["a"])[0])


def test_other_models_have_none(client):
    (one,) = client.post("/rank", json={"queries": ["Node 1"]}).json()["rankings"]
    assert set(one["ranking"][0]) == {"id", "score"}
    assert set(client.post("/score", json={"pairs": [{"query": "Node 1", "object": "Node 2"}]}).json()) == {
        "model",
        "scores",
    }


def test_the_reference_page_needs_nothing_from_elsewhere_and_tells_columns_to_the_trusted_only(client):
    page = client.get("/docs")
    assert page.status_code == 200
    for address in client.get("/openapi.json").json()["paths"]:
        assert f" {address}</code>" in page.text
    assert "<script" not in page.text
    assert "http://" not in page.text.replace("http://www.w3.org", "")
    assert "style-src 'sha256-" in page.headers["content-security-policy"]
    assert "<td>born</td>" in page.text
    stranger = client.get("/docs", headers={"Authorization": ""})
    assert stranger.status_code == 200
    assert "born" not in stranger.text
