"""``exclude_known``: objects that a node has an edge with in training are left out by the service too."""

from service.served import EDGES, NODES, refused


def known_of(one):
    return {target for source, target in zip(EDGES["source"], EDGES["target"], strict=True) if source == one}


def ids(answer):
    return {place["id"] for place in answer}


def test_known_objects_are_left_out(client):
    everything = set(NODES["id"])
    asked = {"queries": ["Node 1", {"x": 1.0, "born": "1981-05-06", "kind": "b"}], "k": 30, "exclude_known": True}
    first, second = client.post("/rank", json=asked).json()["rankings"]
    assert ids(first["ranking"]) == everything - known_of("Node 1") - {"Node 1"}
    assert ids(second["ranking"]) == everything
    one = client.get("/rank/Node 1", params={"k": 30, "exclude_known": True}).json()
    assert [place["id"] for place in one["ranking"]] == [place["id"] for place in first["ranking"]]
    unknown = sorted(ids(one["ranking"]))[0]
    more = client.post("/rank", json=asked | {"exclude": [unknown]}).json()["rankings"]
    assert ids(more[0]["ranking"]) == ids(one["ranking"]) - {unknown}


def test_it_is_a_truth_value(client):
    refused(client.post("/rank", json={"queries": ["Node 1"], "exclude_known": "yes"}), 422, "invalid")
