"""Replacing the model while requests go on."""

from __future__ import annotations

import os
import shutil
import threading

from condrank import ConditionalRanker, TableRanker
from condrank.service.model import ServedModel
from service.served import EDGES, NODES, ModelHolder, TestClient, create_app, expected_of, pairs_of, refused, same


def test_a_request_ends_with_the_model_that_it_began_with(ranker, tmp_path):
    ranker.save(tmp_path)
    holder = ModelHolder(tmp_path)
    old, began, go = holder.current, threading.Event(), threading.Event()
    rank = old.rank
    old.rank = lambda *given, **more: (began.set(), go.wait(20), rank(*given, **more))[-1]
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


def test_the_fingerprint_is_that_of_the_model_that_is_served(ranker, tmp_path, monkeypatch):
    other = TableRanker(ConditionalRanker("reciprocal", alpha=1e4)).fit(NODES, EDGES)
    for name, one in (("first", ranker), ("second", other)):
        one.save(tmp_path / name)
    marks = [ServedModel.load(tmp_path / name).file_fingerprint for name in ("first", "second")]
    file, wanted = tmp_path / "model.safetensors", ranker.rank(["Node 1"])
    shutil.copy(tmp_path / "first", file)
    holder = ModelHolder(tmp_path)
    real_open, opened = os.open, []

    def replacing(path, *given, **named):
        """Open the file, and give its name to the other one before anything is read."""
        found = real_open(path, *given, **named)
        if os.fspath(path) == str(file):
            opened.append(path)
            os.replace(shutil.copy(tmp_path / "second", tmp_path / "new"), file)
        return found

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", replacing)
        assert holder.reload()
    assert len(opened) == 1  # a second opening could find the other file
    assert holder.current.file_fingerprint == marks[0]
    (answer,) = holder.current.rank(["Node 1"], 10)
    same([*zip(answer.ids, answer.scores, strict=True)], expected_of(wanted))
    assert holder.changed()
    assert holder.reload()
    assert holder.current.file_fingerprint == marks[1]


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
