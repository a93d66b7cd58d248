"""Answers as JSON bytes, which the threads that compute make."""

from __future__ import annotations

import json
import threading
from importlib import import_module

from service.served import NEW, Limits, ModelHolder, ServedModel, TestClient, create_app

answers, schemas = import_module("condrank.service.answers"), import_module("condrank.service.schemas")


def test_answers_are_as_the_document_describes_them(ranker):
    model = ServedModel(ranker, file_fingerprint="mark")
    given = (["Node 1", NEW, "n/3"], 7, ["Node 2"], None, True)
    names = ("queries", "k", "exclude", "candidates", "exclude_self")
    asked = json.dumps(dict(zip(names, given, strict=True))).encode()
    found = schemas.RankAnswer.model_validate_json(answers.rankings_json(model, asked, Limits()), strict=True)
    assert found.model == "mark"
    for one, expected in zip(found.rankings, model.rank(*given), strict=True):
        assert one.query == expected.query
        assert [place.id for place in one.ranking] == expected.ids
        assert [place.score for place in one.ranking] == expected.scores  # every digit
    one = schemas.Ranked.model_validate_json(answers.ranking_json(model, "n/3", 4, False), strict=True)
    assert [place.id for place in one.ranking] == model.rank(["n/3"], 4, None, None, False)[0].ids
    pairs = [{"query": "Node 1", "object": NEW}, {"query": NEW, "object": "Node 2"}]
    asked = json.dumps({"pairs": pairs}).encode()
    scored = schemas.ScoreAnswer.model_validate_json(answers.scores_json(model, asked, Limits()), strict=True)
    assert scored.scores == model.score(["Node 1", NEW], [NEW, "Node 2"])


def test_the_event_loop_does_not_make_them(folder, monkeypatch):
    app_module = import_module("condrank.service.app")
    makers = []

    def made(name):
        def noted(*given):
            makers.append((name, threading.current_thread().name))
            return getattr(answers, name)(*given)

        return noted

    names = ("rankings_json", "ranking_json", "scores_json")
    for name in names:
        monkeypatch.setattr(app_module, name, made(name))
    with TestClient(create_app(ModelHolder(folder))) as client:
        assert json.loads(client.post("/rank", json={"queries": ["Node 1"]}).content)["rankings"]
        assert client.get("/rank/Node 1").json()["ranking"]
        assert client.post("/score", json={"pairs": [{"query": "Node 1", "object": NEW}]}).json()["scores"]
    assert [name for name, _ in makers] == list(names)
    assert all(thread.startswith("condrank") for _, thread in makers)
