"""Answers as JSON bytes. They are made in the threads that compute: a large one takes longer than its ranking.

The event loop only receives and sends bytes. Each ranking is encoded by itself: an encoder keeps all other threads
waiting until it is done, so that one call for a whole batch would stop the service.
"""

from __future__ import annotations

from typing import Any

from pydantic_core import to_json
from scipy.special import expit

from condrank.service.bodies import read_add, read_explain, read_predict, read_rank, read_remove, read_score
from condrank.service.limits import Limits
from condrank.service.model import Answer, ServedModel


def rankings_json(model: ServedModel, body: bytes, limits: Limits) -> bytes:
    """A ranking for each conditioning node, as `schemas.RankAnswer` describes it.

    Parameters
    ----------
    model : ServedModel
        The model.
    body : bytes
        The request: JSON, as `schemas.RankRequest` describes it.
    limits : Limits
        Bounds of the request.
    """
    asked = read_rank(body, limits)
    chosen = asked.exclude, asked.candidates, asked.exclude_self, asked.order, asked.exclude_known
    answers = model.rank(asked.queries, asked.k, *chosen, std=asked.std)
    rankings = b",".join(map(_ranking, answers))
    return b'{"model":%b,"rankings":[%b]}' % (to_json(model.file_fingerprint), rankings)


def ranking_json(
    model: ServedModel, query: str, k: int, exclude_self: bool, order: str = "best", exclude_known: bool = False
) -> bytes:
    """The ranking for one known node, as `schemas.Ranked` describes it."""
    (answer,) = model.rank([query], k, None, None, exclude_self, order, exclude_known)
    return _ranking(answer)


def scores_json(model: ServedModel, body: bytes, limits: Limits) -> bytes:
    """Scores of pairs, as `schemas.ScoreAnswer` describes them; the parameters are those of `rankings_json`."""
    pairs = read_score(body, limits).pairs
    scores = model.score([one.query for one in pairs], [one.object for one in pairs])
    found = {"model": model.file_fingerprint, "scores": scores}
    return to_json(found | ({"probabilities": expit(scores).tolist()} if model.gives_probabilities else {}))


def explanation_json(model: ServedModel, body: bytes, limits: Limits) -> bytes:
    """Why, as `schemas.ExplainAnswer` describes it; the parameters are those of `rankings_json`."""
    asked = read_explain(body, limits)
    objects = [asked.object] if asked.other is None else [asked.object, asked.other]
    return to_json({"model": model.file_fingerprint} | model.explain(asked.query, objects, asked.by, asked.top))


def added_json(model: ServedModel, body: bytes, limits: Limits) -> bytes:
    """Add objects; the parameters are those of `rankings_json`."""
    return _count(model, model.add(read_add(body, limits), limits.added))


def removed_json(model: ServedModel, body: bytes, limits: Limits) -> bytes:
    """Remove objects; the parameters are those of `rankings_json`."""
    return _count(model, model.remove(read_remove(body, limits)))


def _count(model: ServedModel, objects: int) -> bytes:
    return to_json({"model": model.file_fingerprint, "objects": objects})


def predictions_json(model: ServedModel, body: bytes, limits: Limits) -> bytes:
    """Scores and how sure they are, as `schemas.PredictAnswer` describes them."""
    asked = read_predict(body, limits)
    queries, objects = [one.query for one in asked.pairs], [one.object for one in asked.pairs]
    found = model.predict(queries, objects, asked.coverage, asked.std)
    return to_json({"model": model.file_fingerprint, "predictions": found})


def _ranking(answer: Answer) -> bytes:
    places: list[dict[str, Any]] = [
        {"id": one, "score": score} for one, score in zip(answer.ids, answer.scores, strict=True)
    ]
    for place, chance in zip(places, answer.probabilities or (), strict=False):
        place["probability"] = chance
    for name, values in answer.sure.items():
        for place, value in zip(places, values, strict=True):
            place[name] = value
    return to_json({"query": answer.query, "ranking": places})
