"""The model that the tests of the service serve, and how its answers are compared."""

from __future__ import annotations

import re
import threading
import time
import warnings
from contextlib import contextmanager
from importlib import import_module

import numpy as np
import pytest

for package in ("fastapi", "uvicorn", "prometheus_client", "pydantic_settings", "httpx"):
    pytest.importorskip(package)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the client announces changes of its own
    TestClient = import_module("fastapi.testclient").TestClient
httpx, uvicorn, service = map(import_module, ("httpx", "uvicorn", "condrank.service"))
Limits, ModelHolder, create_app = service.Limits, service.ModelHolder, service.create_app
ServedModel = import_module("condrank.service.model").ServedModel
settings_module = import_module("condrank.service.settings")
SecretStr = import_module("pydantic").SecretStr
read_metrics = import_module("prometheus_client.parser").text_string_to_metric_families

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

# Why a request that follows the document is refused all the same: JSON Schema cannot say it.
UNSTATED = re.compile(
    "one list for each of the|date that does not exist|must be a finite number, got '|scores (are not finite|overflow)|"
    "infinit|kernel values for each|is there already|objects can be added|last object|no left-out residuals|"
    "gives log-odds|no sum over|without the labels"
)


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


def counted(client, name, **labels):
    """A value at /metrics, as Prometheus reads it; None if there is none with these labels."""
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    samples = [one for family in read_metrics(answer.text) for one in family.samples]
    return next((one.value for one in samples if (one.name, one.labels) == (name, labels)), None)


@contextmanager
def running(app):
    """The application behind a socket, in a thread."""
    listening = import_module("condrank.service.server").listen("127.0.0.1", 0)
    deadlines = import_module("condrank.service.protocol").deadlines
    protocol = deadlines(app.state.limits, app.state.connections)
    server = uvicorn.Server(uvicorn.Config(app, http=protocol, log_level="warning", ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
    finally:
        server.should_exit = True
        thread.join()


def waited(check, seconds=10.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if check():
            return True
        time.sleep(0.02)
    return False
