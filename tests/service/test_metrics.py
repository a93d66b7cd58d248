"""Counts and times at /metrics."""

from __future__ import annotations

from service.served import ModelHolder, TestClient, create_app


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
