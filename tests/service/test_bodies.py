"""Bodies are read in the threads that compute, and long lists are refused before they are checked."""

from __future__ import annotations

import json
import threading
from importlib import import_module

import pytest

from service.served import JSON, Limits, ModelHolder, TestClient, create_app, refused

bodies = import_module("condrank.service.bodies")
Refusal = import_module("condrank.service.refusals").Refusal


def test_members_of_a_list_that_is_too_long_are_not_checked(monkeypatch):
    monkeypatch.setattr(bodies, "_checked", lambda *_: pytest.fail("checked"))
    for read, body, message in (
        (bodies.read_rank, {"queries": [None] * 6}, "queries: expected at most 5, got 6"),
        (bodies.read_score, {"pairs": [None] * 51}, "pairs: expected at most 50, got 51"),
    ):
        with pytest.raises(Refusal, match=message):
            read(json.dumps(body).encode(), Limits(queries=5))


def test_the_event_loop_does_not_read_them(folder, monkeypatch):
    readers, checked = [], bodies._checked

    def noted(*given):
        readers.append(threading.current_thread().name)
        return checked(*given)

    monkeypatch.setattr(bodies, "_checked", noted)
    with TestClient(create_app(ModelHolder(folder))) as client:
        assert client.post("/rank", json={"queries": ["Node 1"]}).status_code == 200
        refused(client.post("/score", json={"pairs": []}), 422, "invalid")
    assert [name.startswith("condrank") for name in readers] == [True, True]


def test_a_body_must_say_that_it_is_json(client):
    body = b'{"queries": ["Node 1"]}'
    for kind in ("application/json", "application/json; charset=utf-8", "Application/JSON", "application/vnd.x+json"):
        assert client.post("/rank", content=body, headers={"Content-Type": kind}).status_code == 200
    for kind in ("text/plain", "application/x-www-form-urlencoded", "text/json", "application/jsonx", ""):
        answer = client.post("/rank", content=body, headers={"Content-Type": kind})
        assert "Content-Type: application/json" in refused(answer, 422, "invalid")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"{", "the body is not JSON: Expecting property name enclosed in double quotes, at character 1"),
        (b"", "the body is not JSON: Expecting value, at character 0"),
        (b"\xff\xff", "the body is not JSON that can be read"),
        (b"1" * 5000, "the body is not JSON that can be read"),
        (b"[" * 19_000, "the body is not JSON that can be read"),
    ],
)
def test_a_body_that_cannot_be_parsed_is_malformed(client, body, message):
    assert refused(client.post("/score", content=body, headers=JSON), 400, "malformed") == message
