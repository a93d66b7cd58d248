"""Explanations over HTTP: those of the ranker, for known, new and added nodes; what has no sum is refused."""

import pytest

from condrank import ConditionalRanker, TableRanker
from service.served import EDGES, NEW, NODES, Limits, ModelHolder, TestClient, create_app, refused


@pytest.fixture(scope="module")
def with_labels(ranker, tmp_path_factory):
    folder = tmp_path_factory.mktemp("labels")
    ranker.save(folder, training=True)
    with TestClient(create_app(ModelHolder(folder), Limits(k=50))) as client:
        yield client


@pytest.mark.parametrize("by", ["labels", "nodes", "features", "parts"])
def test_an_explanation_is_that_of_the_ranker(with_labels, ranker, by):
    for query, one, other in (
        ("Node 1", "n/3", "Node 5"),
        (NEW, "Node 2", None),
        ("Node 1", {"id": "me", **NEW}, "n/3"),
    ):
        asked = {"query": query, "object": one, "other": other, "by": by, "top": 50}
        found = with_labels.post("/explain", json=asked).json()
        expected = ranker.explain(query, one, other).to_dict(by, top=50)
        assert found.pop("model")
        assert set(found) == set(expected)
        for name in ("query", "object", "other", "by", "n_contributions"):
            assert found[name] == expected[name]
        assert found["total"] == pytest.approx(expected["total"], rel=1e-6, abs=1e-9)
        sums = [sum(row["contribution"] for row in one["contributions"]) for one in (found, expected)]
        assert sums[0] == pytest.approx(sums[1], rel=1e-4, abs=1e-4)
        assert [*found["contributions"][0]] == [*expected["contributions"][0]]
    assert "me is ranked" in found["sentence"]


def test_columns_are_those_of_the_request(client):
    found = client.post("/explain", json={"query": NEW, "object": "Node 2"}).json()
    assert found["by"] == "features"
    rows = {(row["side"], row["feature"]): row for row in found["contributions"]}
    assert rows["query", "x"]["value"] == 3.5
    assert rows["query", "kind"]["value"] == "b"
    assert rows["object", "kind"]["value"] == NODES["kind"][2]
    assert sum(row["contribution"] for row in found["contributions"]) + sum(found["rest"].values()) == pytest.approx(
        found["total"]
    )


def test_what_has_no_sum_is_refused_with_advice(client, tmp_path):
    message = refused(
        client.post("/explain", json={"query": "Node 1", "object": "n/3", "by": "labels"}), 422, "invalid"
    )
    assert "condrank fit --keep-labels" in message
    assert "Node 9" in refused(client.post("/explain", json={"query": "Node 99", "object": "n/3"}), 404, "unknown_id")
    assert "at most 50" in refused(
        client.post("/explain", json={"query": "Node 1", "object": "n/3", "top": 51}), 422, "invalid"
    )
    TableRanker(ConditionalRanker(kernel="rbf")).fit(NODES, EDGES).save(tmp_path)
    with TestClient(create_app(ModelHolder(tmp_path))) as other:
        asked = {"query": "Node 1", "object": "n/3", "by": "features"}
        assert "is not linear" in refused(other.post("/explain", json=asked), 422, "invalid")


def test_added_objects_are_explained(folder):
    with TestClient(create_app(ModelHolder(folder), token="t" * 32)) as client:
        client.headers["Authorization"] = f"Bearer {'t' * 32}"
        client.post("/objects", json={"objects": [{"id": "later", **NEW}]})
        found = client.post("/explain", json={"query": "Node 1", "object": "later"}).json()
        assert found["object"] == "later"
        assert {"side": "object", "feature": "x", "value": 3.5}.items() <= max(
            found["contributions"], key=lambda row: (row["side"] == "object", row["feature"] == "x")
        ).items()
