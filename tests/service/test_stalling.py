"""The bars of a service whose clients stall or ask for much, at full size: its times, and that nobody is refused."""

from __future__ import annotations

from importlib import import_module

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
serving = import_module("benchmarks.serving")


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    path = tmp_path_factory.mktemp("served") / "model.safetensors"
    serving._saved(path, 5000, 32)
    with serving._server(path) as (port, _):
        yield port


@pytest.mark.slow
def test_a_thousand_stalled_connections_do_not_delay_others(port):
    row = serving._beside_stalled(port, 5000, 1000, 20.0)
    assert row.holds, row


@pytest.mark.slow
def test_heavy_batches_do_not_delay_health(port):
    row = serving._health(port, 5000, 40)
    assert row.holds, row
