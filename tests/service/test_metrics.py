"""Counts and times at /metrics."""

from __future__ import annotations

from service.served import ModelHolder, TestClient, counted, create_app, read_metrics

NAMES = {
    "condrank_requests_total": {"route", "method", "status"},
    "condrank_request_seconds_bucket": {"route", "le"},
    "condrank_request_seconds_count": {"route"},
    "condrank_request_seconds_sum": {"route"},
    "condrank_requests_running": set(),
    "condrank_model_loads_total": set(),
    "condrank_model_load_failures_total": set(),
    "condrank_model_loaded_seconds": set(),
    "condrank_connections": set(),
    "condrank_connections_dropped_total": {"reason"},
}


def test_metrics_count_requests_by_route_and_status(folder):
    with TestClient(create_app(ModelHolder(folder))) as client:
        client.get("/rank/Node 1")
        client.get("/rank/Node 2")
        client.get("/rank/nobody")
        client.get("/made/up")
        text = client.get("/metrics").text
        one = {"route": "/rank/{id}"}
        assert counted(client, "condrank_requests_total", **one, method="GET", status="200") == 2
        assert counted(client, "condrank_requests_total", **one, method="GET", status="404") == 1
        assert counted(client, "condrank_requests_total", route="other", method="GET", status="404") == 1
        assert counted(client, "condrank_request_seconds_count", **one) == 3
        assert counted(client, "condrank_request_seconds_bucket", **one, le="+Inf") == 3
        assert counted(client, "condrank_model_loads_total") == 1
        assert counted(client, "condrank_requests_running") == 1  # that for the metrics
    assert "nobody" not in text
    assert "made" not in text


def test_names_and_labels_of_metrics_are_those_that_dashboards_know(folder):
    with TestClient(create_app(ModelHolder(folder))) as client:
        client.get("/rank/Node 1")
        samples = [one for family in read_metrics(client.get("/metrics").text) for one in family.samples]
    assert {one.name: set(one.labels) for one in samples} == NAMES


def test_two_applications_in_a_process_count_apart(folder):
    holder = ModelHolder(folder)
    with TestClient(create_app(holder)) as first, TestClient(create_app(holder)) as second:
        first.get("/rank/Node 1")
        asked = {"route": "/rank/{id}", "method": "GET", "status": "200"}
        assert counted(first, "condrank_requests_total", **asked) == 1
        assert counted(second, "condrank_requests_total", **asked) is None


def test_an_unknown_method_is_counted_as_other(client):
    client.request("INVENTED", "/health")
    assert counted(client, "condrank_requests_total", route="/health", method="other", status="405") == 1
