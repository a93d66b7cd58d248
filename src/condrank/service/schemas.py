"""Requests and answers; the OpenAPI document is made from these classes."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, model_validator

from condrank.frames.alike import spelled_alike
from condrank.service.given import WHOLE, AnyId, AnyNode, Chosen, wrong

ShownId = str | int | float | bool
Role = Literal["queries", "objects"]
Order = Literal["best", "worst"]
By = Literal["labels", "nodes", "features", "parts"]
PLACES = 10  # of a ranking if a request does not say how many, or fewer if the service has a lower limit


class Strict(BaseModel):
    """Unknown names are refused: a misspelt option should not be ignored."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown(cls, given: Any) -> Any:
        """Name only the first: a body may be full of them."""
        unknown = (
            next((name for name in given if name not in cls.model_fields), None) if isinstance(given, dict) else None
        )
        if unknown is not None:
            near = spelled_alike(str(unknown), cls.model_fields, 1)
            advice = f"did you mean {near[0]!r}?" if near else f"expected {', '.join(cls.model_fields)}"
            raise wrong(f"unknown name {unknown!r:.60}; {advice}")
        return given


class RankRequest(Strict):
    """Conditioning nodes to rank objects for."""

    queries: Annotated[
        list[AnyNode],
        Field(min_length=1, fail_fast=True, description="Known nodes by id, new nodes by columns."),
    ]
    k: Annotated[int, Field(ge=1, strict=True, description="Places of a ranking."), WHOLE] = PLACES
    exclude: Annotated[
        Chosen | None, Field(description="Objects to leave out: one list for all queries, or one list for each.")
    ] = None
    candidates: Annotated[
        Chosen | None, Field(description="The only objects to rank: one list for all queries, or one list for each.")
    ] = None
    exclude_self: Annotated[StrictBool, Field(description="Leave a node out of its own ranking.")] = True
    exclude_known: Annotated[
        StrictBool, Field(description="Leave out what a node has an edge with in the training graph.")
    ] = False
    order: Annotated[Order, Field(description="Whether the best objects come first, or the worst.")] = "best"
    std: Annotated[
        StrictBool, Field(description="Add how sure each place is: std of the score, and top_probability.")
    ] = False


class Place(BaseModel):
    """An object of a ranking."""

    id: ShownId
    score: float
    probability: Annotated[
        float | None,
        Field(
            description="Of contests (logistic loss): that the conditioning node beats the object; absent otherwise."
        ),
    ] = None
    std: Annotated[
        float | None, Field(description="Standard deviation of the score, if the model is right; absent unless asked.")
    ] = None
    top_probability: Annotated[
        float | None,
        Field(description="Probability to be the best of all objects that could be ranked; absent unless asked."),
    ] = None


class Ranked(BaseModel):
    """A ranking, best first."""

    query: Annotated[ShownId | None, Field(description="The conditioning node; null for a new one without id.")]
    ranking: list[Place]


class RankAnswer(BaseModel):
    """A ranking for each conditioning node, in their order."""

    model: Annotated[str, Field(description="Fingerprint of the file of the model that answered.")]
    rankings: list[Ranked]


class Pair(Strict):
    """A conditioning node and an object."""

    query: AnyNode
    object: AnyNode


class ScoreRequest(Strict):
    """Pairs to score."""

    pairs: Annotated[list[Pair], Field(min_length=1, fail_fast=True)]


class ScoreAnswer(BaseModel):
    """A score for each pair, in their order. Higher is better; with the logistic loss scores are log-odds."""

    model: Annotated[str, Field(description="Fingerprint of the file of the model that answered.")]
    scores: list[float]
    probabilities: Annotated[
        list[float] | None, Field(description="Of contests (logistic loss): that the query wins; absent otherwise.")
    ] = None


class ExplainRequest(Strict):
    """An object whose score is to be explained; or two, whose order is."""

    query: AnyNode
    object: AnyNode
    other: Annotated[AnyNode | None, Field(description="Why is the object ranked above or below this one?")] = None
    by: Annotated[
        By | None, Field(description="What the score is a sum over; by default what suits the model best.")
    ] = None
    top: Annotated[int, Field(ge=1, strict=True, description="Most contributions, largest first."), WHOLE] = PLACES


class ExplainAnswer(BaseModel):
    """A score, or the difference of two, as an exact sum: all contributions and the rest add up to the total."""

    model: Annotated[str, Field(description="Fingerprint of the file of the model that answered.")]
    query: ShownId
    object: ShownId
    other: ShownId | None
    score: float
    other_score: float | None
    total: Annotated[float, Field(description="What is explained: the score, or the difference of the two.")]
    by: By
    sentence: Annotated[str, Field(description="The explanation in words.")]
    contributions: Annotated[
        list[dict[str, Any]],
        Field(description="The largest, each with what it belongs to: a label, a node, a feature or parts."),
    ]
    n_contributions: Annotated[int, Field(description="How many there are in all.")]
    rest: Annotated[
        dict[str, float], Field(description="What belongs to none of them: prior, intercept, centre of the scale.")
    ]


class AddRequest(Strict):
    """Objects to rank from now on."""

    objects: Annotated[
        list[AnyNode],
        Field(min_length=1, fail_fast=True, description="New objects by their columns, each with its id."),
    ]


class RemoveRequest(Strict):
    """Objects to rank no longer."""

    ids: Annotated[list[AnyId], Field(min_length=1, fail_fast=True, description="Ids of objects.")]


class ObjectsAnswer(BaseModel):
    """How many objects there are now."""

    model: Annotated[str, Field(description="Fingerprint of the file of the model.")]
    objects: int


class PredictRequest(ScoreRequest):
    """Pairs to predict: scores, and how sure they are."""

    coverage: Annotated[
        float | None,
        Field(
            gt=0,
            lt=1,
            strict=True,
            description="Coverage of the intervals; by default 0.9 if the model has what it takes.",
        ),
    ] = None
    std: Annotated[StrictBool, Field(description="Also standard deviations of the scores.")] = False


class Prediction(BaseModel):
    """What the model says of a pair. What it does not have is null, and so is an infinite end of an interval."""

    score: float
    probability: Annotated[float | None, Field(description="That the query beats the object; logistic loss.")] = None
    std: Annotated[float | None, Field(description="Standard deviation of the score.")] = None
    lower: float | None = None
    upper: float | None = None


class PredictAnswer(BaseModel):
    """A prediction for each pair, in their order."""

    model: Annotated[str, Field(description="Fingerprint of the file of the model that answered.")]
    predictions: list[Prediction]


class NodesAnswer(BaseModel):
    """A page of ids."""

    total: Annotated[int, Field(description="How many ids there are on all pages.")]
    start: int
    ids: list[ShownId]


class NodeAnswer(BaseModel):
    """A known node; no columns if the model does not keep them."""

    id: ShownId
    position: Annotated[int, Field(description="Where it is in the list of /nodes without a prefix.")]
    columns: dict[str, Any]


class ModelAnswer(BaseModel):
    """Facts about a model."""

    file_fingerprint: Annotated[
        str,
        Field(description="Covers the whole saved file with its nodes. The one in a report covers the ranker alone."),
    ]
    queries: Annotated[int, Field(description="Conditioning nodes that are known by id.")]
    objects: Annotated[int, Field(description="Objects that are ranked now.")]
    added: Annotated[int, Field(description="Objects that were added since the model was loaded.")]
    removed: Annotated[int, Field(description="Objects of the model that were removed since it was loaded.")]
    one_domain: bool
    columns: Annotated[
        dict[Role, dict[str, str]],
        Field(
            description="Columns of new conditioning nodes and objects, with their kinds; those of a view as "
            "view.column. Empty for plain features and kernel values, and for requests without the token that a "
            "service has."
        ),
    ]
    relation: str
    loss: str
    index: str


class HealthAnswer(BaseModel):
    """That the service answers, with which model, and why a newer file is not served."""

    ready: bool
    version: Annotated[str, Field(description="Version of condrank.")]
    model: ModelAnswer
    loaded_at: Annotated[float, Field(description="Seconds since 1970.")]
    reload_error: str | None


class Problem(BaseModel):
    """Why a request was refused."""

    code: str
    message: str


class ErrorAnswer(BaseModel):
    """A request that was refused."""

    error: Problem


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Descriptions of errors for the OpenAPI document."""
    return {status: {"model": ErrorAnswer, "description": MEANINGS[status]} for status in statuses}


MEANINGS = {
    400: "The body is not JSON.",
    401: "A token is needed.",
    403: "Not allowed.",
    404: "No node has this id.",
    408: "The body did not arrive in time.",
    409: "The new model cannot be loaded, and the old one stays; or an object is there already.",
    413: "The body is too large.",
    422: "The request cannot be answered; the message says why.",
    503: "Too many requests are waiting.",
    504: "The answer took too long.",
}
