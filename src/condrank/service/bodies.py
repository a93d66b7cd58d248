"""Bodies of requests as objects. They are read in the threads that compute: a large one takes long to check."""

from __future__ import annotations

import json
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from condrank.service.limits import Limits
from condrank.service.refusals import Refusal, listed
from condrank.service.schemas import (
    PLACES,
    AddRequest,
    ExplainRequest,
    PredictRequest,
    RankRequest,
    RemoveRequest,
    ScoreRequest,
)

T = TypeVar("T", bound=BaseModel)


def read_rank(body: bytes, limits: Limits) -> RankRequest:
    """A request for rankings, within the limits."""
    value = _parsed(body)
    _bound_list(value, "queries", limits.queries)
    asked = _checked(RankRequest, value)
    if "k" not in asked.model_fields_set:
        asked.k = min(PLACES, limits.k)
    bound("k", asked.k, limits.k)
    return asked


def read_score(body: bytes, limits: Limits) -> ScoreRequest:
    """A request for scores, within the limits."""
    value = _parsed(body)
    _bound_list(value, "pairs", limits.pairs)
    return _checked(ScoreRequest, value)


def read_predict(body: bytes, limits: Limits) -> PredictRequest:
    """A request for predictions, within the limits."""
    value = _parsed(body)
    _bound_list(value, "pairs", limits.pairs)
    return _checked(PredictRequest, value)


def read_explain(body: bytes, limits: Limits) -> ExplainRequest:
    """A request for an explanation, within the limits."""
    asked = _checked(ExplainRequest, _parsed(body))
    if "top" not in asked.model_fields_set:
        asked.top = min(PLACES, limits.k)
    bound("top", asked.top, limits.k)
    return asked


def read_add(body: bytes, limits: Limits) -> list[Any]:
    """Objects to add, within the limits."""
    value = _parsed(body)
    _bound_list(value, "objects", limits.queries)
    objects = _checked(AddRequest, value).objects
    for row, one in enumerate(objects):
        if not isinstance(one, dict):
            raise Refusal(422, f"objects.{row}: expected an object of columns with its id, got an id alone")
    return objects


def read_remove(body: bytes, limits: Limits) -> list[Any]:
    """Ids of objects to remove, within the limits."""
    value = _parsed(body)
    _bound_list(value, "ids", limits.pairs)
    return _checked(RemoveRequest, value).ids


def bound(name: str, given: int, most: int) -> None:
    """Refuse a number above its limit."""
    if given > most:
        raise Refusal(422, f"{name}: expected at most {most}, got {given}")


def _bound_list(value: Any, name: str, most: int) -> None:
    """Refuse a list that is too long before its members are checked: that takes much longer than to parse it."""
    if isinstance(value, dict) and isinstance(value.get(name), list):
        bound(name, len(value[name]), most)


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except json.JSONDecodeError as error:
        raise Refusal(400, f"the body is not JSON: {error.msg}, at character {error.pos}") from None
    except (ValueError, RecursionError):  # not Unicode, a number of very many digits, very many brackets
        raise Refusal(400, "the body is not JSON that can be read") from None


def _checked(kind: type[T], value: Any) -> T:
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        raise Refusal(422, listed(error.errors(include_url=False, include_input=False))) from None
