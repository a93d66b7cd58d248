"""The running command: it serves, reloads, ends, and says what is wrong."""

from __future__ import annotations

import gc
import logging
import os
import re
import signal
import socket
import subprocess
import sys
from importlib import import_module

import pytest
from typer.testing import CliRunner

from condrank import ConditionalRanker, TableRanker
from condrank.cli import app as cli
from service.served import EDGES, NODES, Limits, ModelHolder, httpx, waited

Connections = import_module("condrank.service.connections").Connections


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


def test_there_are_as_many_connections_as_the_system_allows_files(monkeypatch, caplog):
    resource, server = pytest.importorskip("resource"), import_module("condrank.service.server")
    allowed = [64, 500]
    monkeypatch.setattr(resource, "getrlimit", lambda _: tuple(allowed))
    monkeypatch.setattr(resource, "setrlimit", lambda _, given: allowed.__setitem__(slice(None), given))
    few, many = Connections(Limits(connections=100)), Connections(Limits(connections=1000))
    server._allow_files(few)
    assert few.most == 100
    assert allowed[0] > 100
    assert not caplog.records
    server._allow_files(many)
    assert allowed == [500, 500]
    assert 100 < many.most < 500
    assert f"at most {many.most} connections" in caplog.text


def test_the_process_is_as_before_after_it_served(folder, monkeypatch):
    server, app = import_module("condrank.service.server"), import_module("condrank.service").create_app
    seen = []

    def now():
        filters = [len(logging.getLogger(name).filters) for name in ("uvicorn.error", "py.warnings", "asyncio")]
        collections = gc.get_threshold(), gc.get_freeze_count() > 0
        return [*collections, sys.getswitchinterval(), signal.getsignal(signal.SIGINT), filters]

    async def served(server, holder, listening, watch, reload):
        seen.append(now())

    monkeypatch.setattr(server, "_serve", served)
    before, holder = now(), ModelHolder(folder)
    server.run(app(holder), holder, None, watch=0.0, grace=1.0)
    assert now() == before
    assert all(one != other for one, other in zip(before, seen[0], strict=True))


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="no signals")
@pytest.mark.parametrize("one", ["SIGTERM", "SIGINT"])
def test_a_signal_that_comes_before_the_server_listens_ends_it(one, folder, monkeypatch):
    server, app = import_module("condrank.service.server"), import_module("condrank.service").create_app
    real, holder = server._serve, ModelHolder(folder)

    async def signalled(*given):
        os.kill(os.getpid(), getattr(signal, one))
        await real(*given)

    monkeypatch.setattr(server, "_serve", signalled)
    server.run(app(holder), holder, server.listen("127.0.0.1", 0), watch=0.0, grace=1.0)
    with monkeypatch.context() as patch:
        patch.setattr(server, "_serve", real)
        hear = lambda: [os.kill(os.getpid(), getattr(signal, name)) for name in ("SIGHUP", one)]  # noqa: E731
        server.run(app(holder), holder, server.listen("127.0.0.1", 0), watch=0.0, grace=1.0, ready=hear)
    assert holder.loads == 2


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


def test_the_command_says_what_is_wrong(folder, tmp_path):
    def failed(*given):
        done = CliRunner().invoke(cli, ["serve", *map(str, given)])
        assert done.exit_code in (1, 2)
        assert not isinstance(done.exception, ValueError | OSError)
        return done.stderr

    assert "cannot read" in failed(tmp_path / "nothing")
    (tmp_path / "model.safetensors").write_bytes(b"no model at all, but long enough")
    assert "not a condrank model" in failed(tmp_path)
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


def test_the_command_warns_if_other_machines_need_no_token(folder, monkeypatch):
    monkeypatch.setattr("condrank.service.server.run", lambda app, holder, listening, **_: listening.close())
    monkeypatch.delenv("CONDRANK_TOKEN", raising=False)

    def said(*given):
        done = CliRunner().invoke(cli, ["serve", str(folder), "--port", "0", *given])
        assert done.exit_code == 0
        return done.stderr

    assert "no token is set" in said("--host", "0.0.0.0")
    assert "no token is set" not in said()
    monkeypatch.setenv("CONDRANK_TOKEN", "t")
    assert "no token is set" not in said("--host", "0.0.0.0")
