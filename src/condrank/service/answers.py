"""Answers as JSON bytes. They are made in the threads that compute: a large one takes longer than its ranking.

The event loop only sends the bytes. Each ranking is encoded by itself: an encoder keeps all other threads waiting until
it is done, so that one call for a whole batch would stop the service.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic_core import to_json

from condrank.service.model import Answer, Node, NodeId, ServedModel


def rankings_json(model: ServedModel, queries: Sequence[NodeId | Node], *given: Any) -> bytes:
    """A ranking for each conditioning node, as `schemas.RankAnswer` describes it.

    Parameters
    ----------
    model : ServedModel
        The model.
    queries : sequence of ids and dicts
        Conditioning nodes.
    *given
        Further arguments of `ServedModel.rank`.
    """
    rankings = b",".join(_ranking(one) for one in model.rank(queries, *given))
    return b'{"model":%b,"rankings":[%b]}' % (to_json(model.file_fingerprint), rankings)


def ranking_json(model: ServedModel, query: NodeId, k: int, exclude_self: bool) -> bytes:
    """The ranking for one known node, as `schemas.Ranked` describes it."""
    (answer,) = model.rank([query], k, None, None, exclude_self)
    return _ranking(answer)


def scores_json(model: ServedModel, queries: Sequence[NodeId | Node], objects: Sequence[NodeId | Node]) -> bytes:
    """Scores of aligned pairs, as `schemas.ScoreAnswer` describes them."""
    return to_json({"model": model.file_fingerprint, "scores": model.score(queries, objects)})


def _ranking(answer: Answer) -> bytes:
    places = [{"id": one, "score": score} for one, score in zip(answer.ids, answer.scores, strict=True)]
    return to_json({"query": answer.query, "ranking": places})
