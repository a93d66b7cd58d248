"""New nodes with views in a request, and nodes that are recognised by id."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from condrank import ConditionalRanker, TableRanker
from condrank.kernels import RBF, Identity, Precomputed
from service.served import ModelHolder, TestClient, create_app, refused

N = 8
RNG = np.random.default_rng(0)
NAMES = [f"n{i}" for i in range(N)]
ASSAY = pd.DataFrame({"id": NAMES, "dose": RNG.normal(size=N), "kind": list("abab" * 2)})
F = RNG.normal(size=(N, 3))
K = pd.DataFrame(F @ F.T, index=NAMES, columns=NAMES)
PAIRS = {"source": np.repeat(NAMES, N), "target": np.tile(NAMES, N), "value": RNG.normal(size=N * N)}


@pytest.fixture(scope="module")
def ranker():
    kernel = RBF(0.3, view="assay") + Precomputed(view="seq") + 2 * Identity()
    return TableRanker(ConditionalRanker(kernel=kernel)).fit(None, PAIRS, views={"assay": ASSAY, "seq": K})


@pytest.fixture(scope="module")
def client(ranker, tmp_path_factory):
    path = tmp_path_factory.mktemp("model")
    ranker.save(path)
    with TestClient(create_app(ModelHolder(path))) as found:
        yield found


def node(place, **more):
    return {"views": {"assay": ASSAY.iloc[place].drop("id").to_dict(), "seq": K.iloc[place].to_dict()}, **more}


def scores(client, *queries):
    asked = [{"query": one, "object": other} for one in queries for other in NAMES]
    answer = client.post("/score", json={"pairs": asked})
    assert answer.status_code == 200, answer.text
    return np.array(answer.json()["scores"]).reshape(len(queries), N)


def test_known_and_new_nodes_are_scored_with_their_views(client, ranker):
    known = ranker.predict(["n3"])
    new = ranker.predict({"assay": ASSAY.iloc[[3]].drop(columns="id"), "seq": K.iloc[[3]].to_numpy()})
    assert np.abs(new - known).max() > 1e-3
    found = scores(client, "n3", node(3), node(3, id="n3"), node(3, id="other"))
    np.testing.assert_allclose(found, np.vstack([known, new, known, new]), atol=1e-9)


def test_rankings_of_known_and_new_nodes_in_one_request(client, ranker):
    answer = client.post("/rank", json={"queries": ["n1", node(2), node(2, id="n2")], "k": 3})
    found = answer.json()["rankings"]
    assert [one["query"] for one in found] == ["n1", None, "n2"]
    want = ranker.rank(["n1", "n2"], top=3)
    for one, row in ((found[0], 0), (found[2], 1)):
        assert [place["id"] for place in one["ranking"]] == want.ids[row].tolist()
        np.testing.assert_allclose([place["score"] for place in one["ranking"]], want.scores[row])


def test_columns_of_views_are_shown(client):
    assert client.get("/nodes/n3").json()["columns"]["assay"]["kind"] == "b"
    assert client.get("/health").json()["model"]["columns"]["queries"] == {
        "assay.dose": "numeric",
        "assay.kind": "categorical",
    }


def test_wrong_views_are_refused(client):
    whole = node(0)
    for one, message in (
        ({"dose": 1.0}, "must have its columns by view"),
        ({"views": {"assay": whole["views"]["assay"]}}, "queries.0 lacks the view 'seq'"),
        ({"views": whole["views"] | {"more": {}}}, "has the unknown view 'more'"),
        ({"views": whole["views"], "dose": 1.0}, "has 'dose' beside its views"),
        ({"views": whole["views"] | {"seq": {"n0": 1.0}}}, "kernel values for each of the 8"),
        ({"views": whole["views"] | {"assay": {"dose": 1.0}}}, "'kind'"),
        ({"views": whole["views"] | {"assay": 3}}, "view 'assay' must be an object of columns"),
    ):
        assert message in refused(client.post("/rank", json={"queries": [one]}), 422, "invalid")
    message = refused(client.get("/rank/n33"), 404, "unknown_id")
    assert "did you mean 'n3'" in message


def test_a_model_without_views_says_so_and_recognises_ids(tmp_path):
    kernel = RBF(0.3) + Identity()
    table = TableRanker(ConditionalRanker(kernel=kernel)).fit(ASSAY, PAIRS)
    table.save(tmp_path)
    with TestClient(create_app(ModelHolder(tmp_path))) as client:
        assert "has views, but" in refused(client.post("/rank", json={"queries": [node(1)]}), 422, "invalid")
        row = ASSAY.iloc[1].to_dict()
        found = scores(client, row, "n1", row | {"id": "new"})
        np.testing.assert_allclose(found[0], found[1])
        np.testing.assert_allclose(found[1], table.predict(["n1"])[0])
        assert np.abs(found[2] - found[1]).max() > 1e-3
