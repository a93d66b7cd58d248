"""What every request passes: token, host name, body, security headers."""

from __future__ import annotations

import re
import socket

import pytest

from service.served import Limits, ModelHolder, TestClient, create_app, httpx, refused, running, waited


@pytest.mark.parametrize("path", ["/", "/health", "/rank/nobody", "/nothing"])
def test_every_answer_has_security_headers(client, path):
    headers = client.get(path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "frame-ancestors 'none'" in headers["content-security-policy"]


def test_requests_need_the_token(folder):
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


def test_health_shows_columns_and_errors_only_to_those_who_may_ask(folder):
    holder = ModelHolder(folder)
    holder.error = "the file lacks column 'salary'"
    kinds = {"x": "numeric", "born": "date", "kind": "categorical"}
    with TestClient(create_app(holder, token="s3cret")) as client:
        right = client.get("/health", headers={"Authorization": "Bearer s3cret"}).json()
        assert right["model"]["columns"] == {"queries": kinds, "objects": kinds}
        assert right["reload_error"] == holder.error
        for headers in ({}, {"Authorization": "Bearer wrong"}):
            answer = client.get("/health", headers=headers)
            assert answer.status_code == 200
            found = answer.json()
            assert found["model"].pop("columns") == {"queries": {}, "objects": {}}
            assert "with the token" in found["reload_error"]
            assert not re.search("salary|born|kind", answer.text)
            # The page needs the rest before anybody gave the token.
            assert found["model"].items() <= right["model"].items()
            assert found["model"]["queries"] == 30
    with TestClient(create_app(holder)) as client:
        assert client.get("/health").json()["model"] == right["model"]


def test_other_host_names_are_refused(folder):
    with TestClient(create_app(ModelHolder(folder), hosts=["localhost", "[::1]"])) as client:
        for host in ("localhost", "localhost:8000", "[::1]:80", "LOCALHOST"):
            assert client.get("/health", headers={"Host": host}).status_code == 200
        for host in ("elsewhere.example", "localhost.elsewhere.example:8000", ""):
            refused(client.get("/health", headers={"Host": host}), 403, "forbidden")


def test_a_body_that_does_not_arrive_is_refused_and_a_client_that_leaves_is_counted(folder):
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
