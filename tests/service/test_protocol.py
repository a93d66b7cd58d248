"""Clients that stall: each part of a request has its time, and nobody else waits for it."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import time
from collections import Counter

import numpy as np
import pytest

from condrank import ConditionalRanker, RelationGraph
from service.served import JSON, Limits, ModelHolder, counted, create_app, httpx, refused, running, waited

HEAD = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"
BODY = HEAD.replace(b"GET /health", b"POST /rank") + b"Content-Type: application/json\r\nContent-Length: 99\r\n\r\n{"
LONG = 600.0  # seconds that no test waits


@contextlib.contextmanager
def served(path, **limits):
    """An application behind a socket: its address, a client that is not the one that stalls, and its connections."""
    app = create_app(ModelHolder(path), Limits(**limits))
    with running(app) as address, httpx.Client(base_url=address, timeout=60) as client:
        yield int(re.findall(r":(\d+)/", address)[0]), client, app.state.connections


def opened(port, sent, source="127.0.0.2"):
    """A connection that has sent something; from another address, where the system has more than one of its own."""
    one = socket.socket()
    one.settimeout(30)
    with contextlib.suppress(OSError):
        one.bind((source, 0))
    one.connect(("127.0.0.1", port))
    one.sendall(sent)
    return one


def rest(one):
    """All that comes until the service closes the connection."""
    parts = []
    with contextlib.suppress(ConnectionResetError):
        while part := one.recv(1 << 16):
            parts.append(part)
    return b"".join(parts)


def answered(one, pause=0.0):
    """One answer; a pause after each part of it."""
    found = bytearray()
    while not (head := re.search(rb"content-length: (\d+)\r\n(.|\n)*?\r\n\r\n", found)):
        found += one.recv(1 << 16)
    while len(found) < head.end() + int(head[1]):
        found += one.recv(1 << 20)
        time.sleep(pause)
    return bytes(found)


def test_a_head_that_does_not_arrive_is_refused(folder):
    with served(folder, head=0.2) as (port, client, connections):
        with opened(port, HEAD) as half, opened(port, b"") as silent:
            answer = rest(half)
            assert answer.startswith(b"HTTP/1.1 408 Request Timeout\r\n")
            head, _, body = answer.partition(b"\r\n\r\n")
            assert json.loads(body)["error"]["code"] == "head_too_slow"
            assert b"connection: close" in head
            assert b"x-content-type-options: nosniff" in head
            assert int(re.findall(rb"content-length: (\d+)", head)[0]) == len(body)
            assert rest(silent) == b""  # nothing was asked
        assert connections.dropped["head"] == 2
        assert counted(client, "condrank_connections_dropped_total", reason="head") == 2
        assert counted(client, "condrank_connections") == 1


def test_a_byte_now_and_then_does_not_prolong_the_time_of_a_head_or_body(folder):
    with served(folder, head=0.5, seconds=0.5) as (port, _, connections):
        for sent, part in ((HEAD + b"X: ", "head"), (BODY, "body")):
            with opened(port, sent) as one:
                one.settimeout(0.05)
                for _ in range(200):
                    time.sleep(0.05)
                    try:
                        one.sendall(b" ")
                        if not one.recv(1000):
                            break
                    except TimeoutError:
                        continue
                    except OSError:
                        break
                else:
                    raise AssertionError("the service waits for ever")
            assert connections.dropped[part] == 1


def test_a_body_after_its_refusal_is_not_read_for_ever(folder):
    """413 comes before the body, which the client may go on to send."""
    with served(folder, body=10, seconds=0.2) as (port, _, connections), opened(port, BODY) as one:
        assert rest(one).startswith(b"HTTP/1.1 413")
        assert connections.dropped == Counter(body=1)


def test_a_connection_is_kept_between_requests_and_each_one_has_its_own_time(folder):
    with served(folder, head=1.5) as (port, _, connections), opened(port, b"") as one:
        for _ in range(4):
            one.sendall(HEAD[:20])
            time.sleep(0.4)
            one.sendall(HEAD[20:] + b"\r\n")
            assert answered(one).startswith(b"HTTP/1.1 200")
        one.sendall((HEAD + b"\r\n") * 3 + HEAD)  # pipelined; the last one is only half
        found = rest(one)
        assert found.count(b"HTTP/1.1 200") == 3
        assert found.count(b"HTTP/1.1 408") == 1
        assert connections.dropped == Counter(head=1)


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    """A model whose answers are larger than what a system sends ahead."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    names = [f"{number:03d}" + "x" * 500 for number in range(400)]
    path = tmp_path_factory.mktemp("wide") / "model.safetensors"
    ConditionalRanker().fit(RelationGraph(X, X @ X.T, ids=names)).save(path)
    body = json.dumps({"queries": names[:100], "k": 400}).encode()
    head = f"POST /rank HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    return path, head.encode() + b"\r\n\r\n" + body


def test_an_answer_that_nobody_takes_is_dropped(wide):
    path, asked = wide
    with served(path, head=0.3, seconds=60.0) as (port, client, connections):
        with opened(port, asked):
            assert waited(lambda: connections.dropped["answer"] == 1, 60)
        assert client.get("/health").status_code == 200
        assert waited(lambda: len(connections) == 1)


def test_an_answer_that_is_taken_slowly_is_sent_to_its_end(wide):
    path, asked = wide
    with served(path, head=0.3, seconds=60.0) as (port, _, connections), opened(port, asked) as one:
        _, _, body = answered(one, 0.02).partition(b"\r\n\r\n")
        assert len(body) > 20_000_000
        assert len(json.loads(body)["rankings"]) == 100
        assert connections.dropped["answer"] == 0


def test_what_is_not_http_is_refused_in_the_same_form(folder):
    with served(folder) as (port, client, _):
        for sent in (b"\x16\x03\x01\x02\x00" * 10, b"GET / HTTP/9\r\n\r\n", b"GET /" + b"x" * 100_000, b"\r\n\r\n\r\n"):
            with opened(port, sent) as one:
                answer = rest(one)
                if answer:  # what was not read may have reset the connection
                    assert answer.startswith(b"HTTP/1.1 400")
                    assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["code"] == "malformed"
        assert client.get("/health").status_code == 200


@pytest.mark.parametrize("half", [HEAD, BODY], ids=["head", "body"])
@pytest.mark.parametrize("source", ["127.0.0.1", "127.0.0.2"])
def test_stalled_connections_take_no_place_from_others(folder, half, source):
    """Nobody else gets 503, although more connections stall than there may be, and their time is not over."""
    with served(folder, connections=40, per_client=30, head=LONG, seconds=LONG) as (port, client, connections):
        with contextlib.ExitStack() as stack:
            for number in range(100):
                stack.enter_context(opened(port, half, source))
                if number % 5 == 0:
                    assert client.get("/rank/Node 1").status_code == 200
            with httpx.Client(base_url=client.base_url) as late:
                assert late.get("/health").status_code == 200
            assert len(connections) <= 40
            assert connections.dropped["room"] >= 60
            assert connections.dropped["refused"] == 0
        assert waited(lambda: len(connections) == 1)


def test_connections_of_which_all_work_leave_no_room(folder):
    app = create_app(ModelHolder(folder), Limits(connections=2, per_client=2))
    with running(app) as address, httpx.Client(base_url=address) as client:
        assert client.get("/health").status_code == 200
        room = app.state.connections
        assert waited(lambda: room._waiting)  # the service is done with the request
        for one in list(room._client):
            room.work(one)
        room.most = 1
        refused(httpx.get(f"{address}health", headers=JSON), 503, "busy")
        assert room.dropped["refused"] == 1
