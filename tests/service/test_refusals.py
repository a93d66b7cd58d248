"""Refusals: a status, a code and a sentence, always as JSON."""

from __future__ import annotations

import pytest

from service.served import JSON, ModelHolder, TestClient, counted, create_app, refused


@pytest.mark.parametrize("body", [b"{", b"", b"\xff\xfe\x00", b"[" * 10_000, b'{"queries": [' + b"1" * 5000 + b"]}"])
def test_a_body_that_is_not_json_is_refused(client, body):
    answer = client.post("/rank", content=body, headers=JSON)
    assert answer.status_code in (400, 422)
    assert answer.json()["error"]["code"] in ("malformed", "invalid")


def test_every_refusal_has_its_status_and_code(client):
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
        yield from [b"x" * 10_000] * 3  # without a length in the header

    refused(client.post("/rank", content=parts(), headers=JSON), 413, "body_too_large")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/rank/Node 1?k=2&top=3", "unknown parameter 'top'; this address takes k, exclude_self"),
        ("/rank/nobody?top=x", "unknown parameter 'top'"),
        ("/nodes?k=3", "unknown parameter 'k'; this address takes prefix, part, start, limit, role"),
        ("/nodes/Node 1?k=3", "this address takes role"),
        ("/health?verbose=1", "unknown parameter 'verbose'; this address takes none"),
        ("/metrics?name=x", "this address takes none"),
        ("/?q=1", "this address takes none"),
    ],
)
def test_unknown_parameters_of_an_address_are_refused(client, path, message):
    assert message in refused(client.get(path), 422, "invalid")
    known = client.get(path.partition("?")[0])
    assert known.status_code == (404 if "nobody" in path else 200)


def test_options_of_a_body_are_refused_in_the_address(client):
    answer = client.post("/rank?k=3", json={"queries": ["Node 1"]})
    assert "unknown parameter 'k'; this address takes none" in refused(answer, 422, "invalid")


def test_a_failure_of_the_service_has_the_same_form(folder, monkeypatch):
    holder = ModelHolder(folder)
    with TestClient(create_app(holder), raise_server_exceptions=False) as client:
        monkeypatch.setattr(holder.current, "rank", lambda *_: 1 // 0)
        answer = client.get("/rank/Node 1")
        assert "log" in refused(answer, 500, "internal")
        assert answer.headers["x-content-type-options"] == "nosniff"
        asked = {"route": "/rank/{id}", "method": "GET", "status": "500"}
        assert counted(client, "condrank_requests_total", **asked) == 1
