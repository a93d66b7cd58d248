"""The service: every route and error, reloads, the running command, and requests made up at random."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from contextlib import contextmanager
from importlib import import_module

import numpy as np
import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from condrank import ConditionalRanker, RelationGraph, TableRanker
from condrank.cli import app as cli

for package in ("fastapi", "uvicorn", "httpx"):
    pytest.importorskip(package)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of the client's own plans
    TestClient = import_module("fastapi.testclient").TestClient
httpx, uvicorn, service = map(import_module, ("httpx", "uvicorn", "condrank.service"))
Limits, ModelHolder, create_app = service.Limits, service.ModelHolder, service.create_app
ServedModel = import_module("condrank.service.model").ServedModel

N = 30
RNG = np.random.default_rng(0)
NODES = {
    "id": [f"n/{i}" if i == 3 else f"Node {i}" for i in range(N)],
    "x": (RNG.normal(size=N) * 10).tolist(),
    "born": [f"19{70 + i % 20}-01-02" for i in range(N)],
    "kind": RNG.choice(["a", "b", "c"], N).tolist(),
}
PAIRS = np.argwhere(RNG.random((N, N)) < 0.7)
EDGES = {
    "source": [NODES["id"][i] for i, _ in PAIRS],
    "target": [NODES["id"][j] for _, j in PAIRS],
    "value": [NODES["x"][i] - NODES["x"][j] for i, j in PAIRS],
}
NEW = {"x": 3.5, "born": "1981-05-06", "kind": "b"}
JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def ranker():
    return TableRanker(ConditionalRanker("reciprocal", constant=True)).fit(NODES, EDGES)


@pytest.fixture(scope="module")
def folder(ranker, tmp_path_factory):
    path = tmp_path_factory.mktemp("model")
    ranker.save(path)
    return path


@pytest.fixture(scope="module")
def client(folder):
    with TestClient(create_app(ModelHolder(folder), Limits(k=50, queries=5, body=20_000))) as found:
        yield found


def refused(answer, status, code):
    """Message of a refusal, which has to be of the one form that all have."""
    assert answer.status_code == status, answer.text
    assert set(answer.json()) == {"error"}
    assert set(answer.json()["error"]) == {"code", "message"}
    assert answer.json()["error"]["code"] == code
    return answer.json()["error"]["message"]


def pairs_of(ranking):
    return [(one["id"], one["score"]) for one in ranking]


def expected_of(ranked, row=0):
    return list(zip(ranked.ids[row].tolist(), ranked.scores[row].tolist(), strict=True))


def same(found, expected):
    assert [one for one, _ in found] == [one for one, _ in expected]
    np.testing.assert_allclose([score for _, score in found], [score for _, score in expected], rtol=1e-9)


def test_rank_is_that_of_the_ranker(client, ranker):
    asked = {"queries": ["Node 4", NEW, "n/3"], "k": 6}
    found = client.post("/rank", json=asked).json()["rankings"]
    assert [one["query"] for one in found] == ["Node 4", None, "n/3"]
    for one, query in zip(found, (["Node 4"], [NEW], ["n/3"]), strict=True):
        same(pairs_of(one["ranking"]), expected_of(ranker.rank(query, top=6)))


def test_one_ranking_by_its_address(client, ranker):
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


def test_some_objects_only(client):
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
    (found,) = client.post("/rank", json={"queries": ["Node 1"], "candidates": []}).json()["rankings"]
    assert found["ranking"] == []


def test_scores_are_those_of_the_ranker(client, ranker):
    pairs = [("Node 1", "Node 2"), (NEW, "Node 2"), ("Node 1", NEW), (NEW, NEW)]
    asked = {"pairs": [{"query": query, "object": one} for query, one in pairs]}
    found = client.post("/score", json=asked).json()["scores"]
    np.testing.assert_allclose(found, [ranker.predict([query], [one])[0, 0] for query, one in pairs], atol=1e-9)


def test_nodes_by_page_and_by_their_first_letters(client):
    page = client.get("/nodes", params={"start": 2, "limit": 3}).json()
    assert page == {"total": N, "start": 2, "ids": NODES["id"][2:5]}
    found = client.get("/nodes", params={"prefix": "nODE 1"}).json()
    assert found["ids"] == sorted(one for one in NODES["id"] if one.startswith("Node 1"))
    assert found["total"] == len(found["ids"])
    assert client.get("/nodes", params={"prefix": "zz"}).json()["total"] == 0
    assert client.get("/nodes", params={"role": "objects"}).json()["total"] == N
    node = client.get("/nodes/n%2F3").json()
    assert node == {"id": "n/3", "columns": {"x": NODES["x"][3], "born": "1973-01-02", "kind": NODES["kind"][3]}}


def test_health_tells_the_model(client):
    found = client.get("/health").json()
    assert found["ready"] is True
    assert found["reload_error"] is None
    kinds = {"x": "numeric", "born": "date", "kind": "categorical"}
    assert found["model"]["columns"] == {"queries": kinds, "objects": kinds}
    assert (found["model"]["queries"], found["model"]["objects"]) == (N, N)
    # That of a report is of the ranker alone, and so has another name.
    assert re.fullmatch("[0-9a-f]{64}", found["model"]["file_fingerprint"])
    assert "fingerprint" not in found["model"]


def test_metrics_count_requests_by_route_and_status(folder):
    with TestClient(create_app(ModelHolder(folder))) as client:
        client.get("/rank/Node 1")
        client.get("/rank/Node 2")
        client.get("/rank/nobody")
        client.get("/made/up")
        text = client.get("/metrics").text
    assert 'condrank_requests_total{route="/rank/{id}",method="GET",status="200"} 2\n' in text
    assert 'condrank_requests_total{route="/rank/{id}",method="GET",status="404"} 1\n' in text
    assert 'condrank_requests_total{route="other",method="GET",status="404"} 1\n' in text
    assert 'condrank_request_seconds_count{route="/rank/{id}"} 3\n' in text
    assert 'condrank_request_seconds_bucket{route="/rank/{id}",le="+Inf"} 3\n' in text
    assert "condrank_model_loads_total 1\n" in text
    assert "nobody" not in text
    assert "made" not in text


def test_the_description_is_whole(client):
    document = client.get("/openapi.json").json()
    expected = {"/rank", "/rank/{id}", "/score", "/nodes", "/nodes/{id}", "/health", "/metrics", "/reload"}
    assert set(document["paths"]) == expected
    assert document["components"]["schemas"]["RankRequest"]["properties"]["k"]["maximum"] == 50
    for operation in (one for path in document["paths"].values() for one in path.values()):
        for status, answer in operation["responses"].items():
            if status != "200":
                assert answer["content"]["application/json"]["schema"]["$ref"].endswith("/ErrorAnswer")


def test_the_page_brings_all_that_it_needs(client):
    answer = client.get("/")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"(src|href)=\"(?!data:)", answer.text)
    assert "http:" not in answer.text
    assert "https:" not in answer.text


@pytest.mark.parametrize("path", ["/", "/health", "/rank/nobody", "/nothing"])
def test_every_answer_has_security_headers(client, path):
    headers = client.get(path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "frame-ancestors 'none'" in headers["content-security-policy"]


INVALID = {
    "an empty list": ({"queries": []}, "queries"),
    "no list": ({"queries": "Node 1"}, "queries"),
    "null": ({"queries": [None]}, "queries.0: expected an id (text or number) or an object of columns, got null"),
    "half a character": ({"queries": ["\ud800"]}, "queries.0: expected an id"),
    "a nested value": ({"queries": [{**NEW, "x": [1]}]}, "queries.0: column 'x' must be"),
    "candidates of null": ({"queries": ["Node 1"], "candidates": ["Node 2", None]}, "at place 1, got null"),
    "candidates mixed": ({"queries": ["Node 1"], "candidates": ["Node 2", ["Node 3"]]}, "at place 1, got a list"),
    "candidates of text": ({"queries": ["Node 1"], "candidates": "Node 2"}, "candidates: expected a list"),
    "very many columns": ({"queries": [{f"c{i}": 1 for i in range(1000)}]}, "has 1,000 columns, the model knows 3"),
    "a list": ([], "body: expected"),
    "a boolean": ({"queries": [True]}, "queries.0"),
    "an unknown name": ({"queries": ["Node 1"], "top": 3}, "'top' is not known here"),
    "too many": ({"queries": ["Node 1"] * 6}, "queries: expected at most 5, got 6"),
    "k too large": ({"queries": ["Node 1"], "k": 51}, "k: expected at most 50, got 51"),
    "k zero": ({"queries": ["Node 1"], "k": 0}, "k: expected greater"),
    "k text": ({"queries": ["Node 1"], "k": "3"}, "k"),
    "a column missing": ({"queries": ["Node 1", {"x": 3, "kind": "a"}]}, "queries.1 lacks column 'born'"),
    "no column": ({"queries": [{}]}, "queries.0 is empty"),
    "a text for a number": ({"queries": [{**NEW, "x": "much"}]}, "queries.0: column 'x' must be a number"),
    "a missing value": (
        {"queries": [{**NEW, "x": None}]},
        "queries.0: column 'x' has no value (null); give a text, a finite number or a boolean",
    ),
    "no date": ({"queries": [{**NEW, "born": "late"}]}, "queries.0: column 'born'"),
    "a huge whole number": ({"queries": [{**NEW, "x": 10**400}]}, "queries.0"),
    "lists of another length": ({"queries": ["Node 1"], "exclude": [["Node 2"], []]}, "exclude must have one list"),
}


@pytest.mark.parametrize("name", INVALID)
def test_what_cannot_be_answered_is_told(client, name):
    body, told = INVALID[name]
    assert told in refused(client.post("/rank", content=json.dumps(body), headers=JSON), 422, "invalid")


@pytest.mark.parametrize("body", [b"{", b"", b"\xff\xfe\x00", b"[" * 10_000, b'{"queries": [' + b"1" * 5000 + b"]}"])
def test_what_is_no_json_is_told(client, body):
    answer = client.post("/rank", content=body, headers=JSON)
    assert answer.status_code in (400, 422)
    assert answer.json()["error"]["code"] in ("malformed", "invalid")


def test_other_refusals(client):
    assert "'nobody'" in refused(client.get("/rank/nobody"), 404, "unknown_id")
    assert "queries.1" in refused(client.post("/rank", json={"queries": ["Node 1", "nobody"]}), 404, "unknown_id")
    asked = {"queries": ["Node 1"], "candidates": ["Node 1", "nobody"]}
    assert "candidates.1" in refused(client.post("/rank", json=asked), 404, "unknown_id")
    refused(client.get("/nodes/nobody"), 404, "unknown_id")
    refused(client.get("/nothing"), 404, "not_found")
    refused(client.delete("/rank"), 405, "method_not_allowed")
    refused(client.get("/rank/Node 1", params={"k": 51}), 422, "invalid")
    refused(client.get("/nodes", params={"limit": 0}), 422, "invalid")
    refused(client.post("/reload"), 403, "forbidden")
    assert "Content-Type" in refused(client.post("/rank", content=b"{}"), 422, "invalid")
    long = {"queries": ["x" * 30_000]}
    refused(client.post("/rank", json=long), 413, "body_too_large")

    def parts():
        yield from [b"x" * 10_000] * 3  # without a told length

    refused(client.post("/rank", content=parts(), headers=JSON), 413, "body_too_large")


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/rank/Node 1?k=2&top=3", "parameter 'top' is not known here; there are k, exclude_self"),
        ("/rank/nobody?top=x", "parameter 'top' is not known here"),
        ("/nodes?k=3", "parameter 'k' is not known here; there are prefix, start, limit, role"),
        ("/nodes/Node 1?k=3", "there are role"),
        ("/health?verbose=1", "parameter 'verbose' is not known here; there are none"),
        ("/metrics?name=x", "there are none"),
        ("/?q=1", "there are none"),
    ],
)
def test_unknown_parameters_of_an_address_are_refused(client, path, told):
    assert told in refused(client.get(path), 422, "invalid")
    known = client.get(path.partition("?")[0])
    assert known.status_code == (404 if "nobody" in path else 200)


def test_a_body_is_no_address(client):
    answer = client.post("/rank?k=3", json={"queries": ["Node 1"]})
    assert "parameter 'k' is not known here; there are none" in refused(answer, 422, "invalid")


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


def test_a_token_is_asked_for(folder):
    with TestClient(create_app(ModelHolder(folder), token="s3cret")) as client:
        assert client.get("/health").status_code == 200
        assert client.get("/").status_code == 200
        for path in ("/rank/Node 1", "/nodes", "/metrics", "/openapi.json", "/nothing"):
            answer = client.get(path)
            refused(answer, 401, "unauthorized")
            assert answer.headers["www-authenticate"] == "Bearer"
        for given in ("s3cre", "Bearer wrong", "Basic s3cret", "Bearer ", "Bearer sécret".encode()):
            refused(client.get("/nodes", headers={"Authorization": given}), 401, "unauthorized")
        right = {"Authorization": "Bearer s3cret"}
        assert client.get("/nodes", headers=right).status_code == 200
        document = client.get("/openapi.json", headers=right).json()
        assert document["security"] == [{"token": []}]
        assert client.post("/reload", headers=right).json()["ready"] is True
    for token in ("", "two words", "né"):
        with pytest.raises(ValueError, match="token must be"):
            create_app(ModelHolder(folder), token=token)


def test_other_host_names_are_refused(folder):
    with TestClient(create_app(ModelHolder(folder), hosts=["localhost", "[::1]"])) as client:
        for host in ("localhost", "localhost:8000", "[::1]:80", "LOCALHOST"):
            assert client.get("/health", headers={"Host": host}).status_code == 200
        for host in ("elsewhere.example", "localhost.elsewhere.example:8000", ""):
            refused(client.get("/health", headers={"Host": host}), 403, "forbidden")


def test_limits_are_checked():
    for name in ("body", "k", "queries", "workers"):
        with pytest.raises(ValueError, match=name):
            Limits(**{name: 0})
    with pytest.raises(ValueError, match="seconds"):
        Limits(seconds=0.0)


def test_a_request_that_takes_too_long_and_one_too_many(folder):
    holder = ModelHolder(folder)
    began, go = threading.Event(), threading.Event()
    quick = holder.current.rank

    def slow(*given):
        began.set()
        go.wait(20)
        return quick(*given)

    holder.current.rank = slow
    with TestClient(create_app(holder, Limits(seconds=0.3, waiting=0))) as client:
        found = []
        asking = threading.Thread(target=lambda: found.append(client.get("/rank/Node 1")))
        asking.start()
        assert began.wait(10)
        answer = client.get("/rank/Node 2")
        refused(answer, 503, "busy")
        assert answer.headers["retry-after"] == "1"
        asking.join()
        refused(found[0], 504, "too_long")
        refused(client.get("/rank/Node 2"), 503, "busy")  # who began still holds its place
        assert client.get("/health").status_code == 200
        go.set()
        for _ in range(100):
            if client.get("/rank/Node 2").status_code == 200:
                break
            time.sleep(0.02)
        assert client.get("/rank/Node 2").status_code == 200


def test_a_body_that_does_not_come_and_a_client_that_goes(folder):
    with running(create_app(ModelHolder(folder), Limits(seconds=0.2))) as address:
        place = ("127.0.0.1", int(re.findall(r":(\d+)/", address)[0]))
        head = (
            b"POST /rank HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"
        )
        with socket.create_connection(place, timeout=10) as waiting:
            waiting.sendall(head)
            assert waiting.recv(1000).startswith(b"HTTP/1.1 408")
        with socket.create_connection(place, timeout=10) as leaving:
            leaving.sendall(head)
        assert waited(lambda: 'status="499"} 1' in httpx.get(f"{address}metrics").text)
        assert 'status="500"' not in httpx.get(f"{address}metrics").text


def test_a_request_ends_with_the_model_that_it_began_with(ranker, tmp_path):
    ranker.save(tmp_path)
    holder = ModelHolder(tmp_path)
    old, began, go = holder.current, threading.Event(), threading.Event()
    rank = old.rank
    old.rank = lambda *given: (began.set(), go.wait(20), rank(*given))[-1]
    with TestClient(create_app(holder)) as client:
        found = []
        asked = {"queries": ["Node 1"]}
        asking = threading.Thread(target=lambda: found.append(client.post("/rank", json=asked).json()))
        asking.start()
        assert began.wait(10)
        TableRanker(ConditionalRanker("reciprocal", alpha=1e4)).fit(NODES, EDGES).save(tmp_path)
        assert holder.reload()
        go.set()
        asking.join()
        assert found[0]["model"] == old.file_fingerprint
        same(pairs_of(found[0]["rankings"][0]["ranking"]), expected_of(ranker.rank(["Node 1"])))
        assert (
            client.post("/rank", json=asked).json()["model"] == holder.current.file_fingerprint != old.file_fingerprint
        )


def test_a_failure_of_the_service_has_the_same_form(folder, monkeypatch):
    holder = ModelHolder(folder)
    with TestClient(create_app(holder), raise_server_exceptions=False) as client:
        monkeypatch.setattr(holder.current, "rank", lambda *_: 1 // 0)
        answer = client.get("/rank/Node 1")
        assert "log" in refused(answer, 500, "internal")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert 'route="/rank/{id}",method="GET",status="500"} 1' in client.get("/metrics").text


def test_a_new_model_is_taken_up_and_a_broken_one_is_not(ranker, tmp_path):
    ranker.save(tmp_path)
    holder = ModelHolder(tmp_path)
    token = {"Authorization": "Bearer t"}
    with TestClient(create_app(holder, token="t"), headers=token) as client:
        before = client.get("/rank/Node 1").json()
        first, old = client.get("/health").json()["model"]["file_fingerprint"], holder.current
        assert not holder.changed()
        other = TableRanker(ConditionalRanker("reciprocal", alpha=1e4)).fit(NODES, EDGES)
        other.save(tmp_path)
        assert holder.changed()
        second = client.post("/reload").json()["model"]["file_fingerprint"]
        assert second != first
        assert not holder.changed()
        after = client.get("/rank/Node 1").json()
        assert after != before
        (answer,) = old.rank(["Node 1"], 10)  # who took the old model ends with it
        same([*zip(answer.ids, answer.scores, strict=True)], pairs_of(before["ranking"]))
        file = tmp_path / "model.safetensors"
        whole = file.read_bytes()
        for broken in (whole[:-10], b"", whole[:100] + b"x" + whole[101:]):
            file.write_bytes(broken)
            message = refused(client.post("/reload"), 409, "reload_failed")
            assert str(tmp_path) not in message
            health = client.get("/health").json()
            assert health["model"]["file_fingerprint"] == second
            assert "model.safetensors" in health["reload_error"]
            assert client.get("/rank/Node 1").json() == after
        file.unlink()
        refused(client.post("/reload"), 409, "reload_failed")
        file.write_bytes(whole)
        assert client.post("/reload").json()["reload_error"] is None
        assert "condrank_model_load_failures_total 4" in client.get("/metrics").text


def test_ids_of_numbers_and_dates(tmp_path):
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


def test_two_domains_and_incoming(tmp_path):
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
        pytest.importorskip("usearch")
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


# The running command


def started(folder, *options, **more):
    """The command in a process of its own, and its address."""
    command = [sys.executable, "-m", "condrank", "serve", str(folder), "--port", "0", *options]
    environment = {**os.environ, **more}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        lines.append(line)
        if found := re.search(r"at (http://\S+)", line):
            return process, found[1], "".join(lines)
    raise AssertionError("".join(lines))


def waited(check, seconds=10.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if check():
            return True
        time.sleep(0.02)
    return False


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="no signals")
def test_the_command_serves_reloads_and_ends(ranker, tmp_path):
    ranker.save(tmp_path)
    process, address, _ = started(tmp_path, "--watch", "0.1", CONDRANK_TOKEN="t")
    try:
        with httpx.Client(base_url=address, headers={"Authorization": "Bearer t"}) as client:
            assert client.get("/rank/Node 1").json()["ranking"]
            assert httpx.get(f"{address}nodes").status_code == 401

            def mark():
                return client.get("/health").json()["model"]["file_fingerprint"]

            def failures():
                return "condrank_model_load_failures_total 1" in client.get("/metrics").text

            first = mark()
            TableRanker(ConditionalRanker("reciprocal", alpha=3.0)).fit(NODES, EDGES).save(tmp_path)
            assert waited(lambda: mark() != first)
            (tmp_path / "model.safetensors").write_bytes(b"nothing of a model")
            assert waited(failures)
            second = mark()
            process.send_signal(signal.SIGHUP)
            assert waited(lambda: "condrank_model_load_failures_total 2" in client.get("/metrics").text)
            assert mark() == second
            process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
        assert "Traceback" not in process.stderr.read()
    finally:
        process.kill()
        process.wait()


def test_the_command_tells_what_is_wrong(folder, tmp_path):
    def failed(*given):
        done = CliRunner().invoke(cli, ["serve", *map(str, given)])
        assert done.exit_code in (1, 2)
        assert not isinstance(done.exception, ValueError | OSError)
        return done.stderr

    assert "cannot read" in failed(tmp_path / "nothing")
    (tmp_path / "model.safetensors").write_bytes(b"no model at all, but long enough")
    assert "not a model" in failed(tmp_path)
    assert "--index" in failed(folder, "--index", "guess")
    assert "token" in failed(folder, "--token-file", tmp_path / "none")
    (tmp_path / "empty").write_text("\n")
    assert "is empty" in failed(folder, "--token-file", tmp_path / "empty")
    assert "cannot listen" in failed(folder, "--host", "192.0.2.1")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert "cannot listen" in failed(folder, "--port", taken.getsockname()[1])


def test_the_command_names_what_to_install(folder, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("condrank.service")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "fastapi", None)
    done = CliRunner().invoke(cli, ["serve", str(folder)])
    assert done.exit_code == 1
    assert "pip install 'condrank[serve]'" in done.stderr


def test_a_warning_without_token_for_other_machines(folder, monkeypatch):
    monkeypatch.setattr("condrank.service.server.run", lambda app, holder, listening, **_: listening.close())
    monkeypatch.delenv("CONDRANK_TOKEN", raising=False)

    def told(*given):
        done = CliRunner().invoke(cli, ["serve", str(folder), "--port", "0", *given])
        assert done.exit_code == 0
        return done.stderr

    assert "no token is set" in told("--host", "0.0.0.0")
    assert "no token is set" not in told()
    monkeypatch.setenv("CONDRANK_TOKEN", "t")
    assert "no token is set" not in told("--host", "0.0.0.0")


# Requests made up at random from the description


def fuzz(app, examples):
    """Try every operation with requests that follow its description, and such that do not."""
    schemathesis = pytest.importorskip("schemathesis")
    checks = schemathesis.checks
    wanted = [
        checks.not_a_server_error,
        checks.status_code_conformance,
        checks.content_type_conformance,
        checks.response_schema_conformance,
        checks.negative_data_rejection,
    ]
    operations = [one.ok() for one in schemathesis.openapi.from_asgi("/openapi.json", app).get_all_operations()]
    assert len(operations) == 8
    n_asked = 0
    for operation in operations:
        for mode in schemathesis.GenerationMode:
            if mode == schemathesis.GenerationMode.NEGATIVE and not (operation.query or operation.body):
                continue

            @seed(0)
            @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))
            @given(operation.as_strategy(generation_mode=mode))
            def asked(case):
                nonlocal n_asked
                n_asked += 1
                case.call_and_validate(checks=wanted)

            asked()
    return n_asked


def test_made_up_requests_do_not_break_it(folder):
    app = create_app(ModelHolder(folder), Limits(queries=20, seconds=60.0))
    assert fuzz(app, 20) > 150


@pytest.mark.slow
def test_many_made_up_requests_do_not_break_it(folder):
    assert fuzz(create_app(ModelHolder(folder), Limits(seconds=60.0)), 200) > 1500


IDS = st.sampled_from(NODES["id"]) | st.text(max_size=3) | st.integers() | st.floats(allow_nan=False)
VALUES = st.floats() | st.integers() | st.text(max_size=8) | st.booleans() | st.none() | st.just("1e400")
COLUMNS = st.fixed_dictionaries({"x": VALUES, "kind": VALUES, "born": VALUES | st.just("1980-02-03")}) | st.builds(
    lambda x, kind: {**NEW, "x": x, "kind": kind}, st.floats(allow_nan=False, allow_infinity=False), st.text(min_size=1)
)
CHOSEN = st.none() | st.lists(st.sampled_from(NODES["id"])) | st.lists(st.lists(IDS, max_size=3), max_size=3)


@seed(0)
@settings(max_examples=150, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(
    queries=st.lists(IDS | COLUMNS, min_size=1, max_size=3),
    exclude=CHOSEN,
    candidates=CHOSEN,
    k=st.integers(1, 50),
    exclude_self=st.booleans(),
)
def test_nearly_right_requests_are_answered_or_refused(client, queries, **options):
    body = json.dumps({"queries": queries, **options})
    answer = client.post("/rank", content=body, headers=JSON)
    assert answer.status_code in (200, 404, 413, 422), answer.text
    if answer.status_code == 200:
        for one in answer.json()["rankings"]:
            scores = [place["score"] for place in one["ranking"]]
            assert len(scores) <= options["k"]
            assert scores == sorted(scores, reverse=True)
    pairs = json.dumps({"pairs": [{"query": one, "object": queries[0]} for one in queries]})
    assert client.post("/score", content=pairs, headers=JSON).status_code in (200, 404, 422)


# The page, in a browser


@contextmanager
def running(app):
    """The application behind a socket, in a thread."""
    listening = import_module("condrank.service.server").listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
    finally:
        server.should_exit = True
        thread.join()


def test_the_page_in_a_browser(folder, ranker):
    playwright = pytest.importorskip("playwright.sync_api")
    browser_path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser_path is None:
        pytest.skip("no browser")
    problems = []
    with running(create_app(ModelHolder(folder), token="t")) as address, playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        page = browser.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda one: problems.append(one.text) if one.type == "error" else None)
        page.goto(address)
        page.wait_for_selector("#locked:not([hidden])")
        assert "token is needed" in page.text_content("#problem")
        problems = [one for one in problems if "401" not in one]  # which the browser writes down by itself
        page.fill("#token", "t")
        page.press("#token", "Enter")
        page.wait_for_selector("#found button")
        assert page.text_content("#problem") == ""
        page.fill("#search", "node 12")
        playwright.expect(page.locator("#found button")).to_have_count(1)
        page.press("#search", "ArrowDown")
        page.keyboard.press("Enter")
        page.wait_for_selector("#ranking tbody tr")
        names = page.locator("#ranking tbody button").all_text_contents()
        assert names == ranker.rank(["Node 12"], top=20).ids[0].tolist()
        assert "kind" in page.text_content("#columns")
        page.click("#ranking tbody tr:nth-child(2) button")
        playwright.expect(page.locator("#title")).to_have_text(f"Ranking for {names[1]}")
        after = page.locator("#ranking tbody button").all_text_contents()
        assert after == ranker.rank([names[1]], top=20).ids[0].tolist()
        browser.close()
    assert problems == []
