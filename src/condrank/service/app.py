"""The application: routes over a model that may be replaced while it serves."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Path, Query, Request, Response
from fastapi.responses import HTMLResponse
from pydantic import SecretStr

from condrank._version import __version__
from condrank.frames.alike import spelled_alike
from condrank.service.answers import (
    added_json,
    explanation_json,
    predictions_json,
    ranking_json,
    rankings_json,
    removed_json,
    scores_json,
)
from condrank.service.bodies import bound
from condrank.service.clients import client_of
from condrank.service.connections import Connections
from condrank.service.document import body_of, describe
from condrank.service.given import WHOLE_TEXT
from condrank.service.guard import HEADERS, TRUSTED, Guard
from condrank.service.holder import ModelHolder
from condrank.service.limits import Limits
from condrank.service.metrics import CONTENT_TYPE, Metrics
from condrank.service.model import ServedModel
from condrank.service.page import page_headers, service_page
from condrank.service.reference import reference_page
from condrank.service.refusals import Refusal, add_handlers
from condrank.service.schemas import (
    PLACES,
    AddRequest,
    ExplainAnswer,
    ExplainRequest,
    HealthAnswer,
    NodeAnswer,
    NodesAnswer,
    ObjectsAnswer,
    Order,
    PredictAnswer,
    PredictRequest,
    RankAnswer,
    Ranked,
    RankRequest,
    RemoveRequest,
    Role,
    ScoreAnswer,
    ScoreRequest,
    documented,
)
from condrank.service.settings import check_token
from condrank.service.work import Work

MOST_NODES = 1000  # ids on a page


def create_app(
    holder: ModelHolder,
    limits: Limits | None = None,
    *,
    token: SecretStr | str | None = None,
    hosts: Sequence[str] | None = None,
) -> FastAPI:
    """The ASGI application that serves a model.

    Parameters
    ----------
    holder : ModelHolder
        The model.
    limits : Limits, optional
        Bounds of a request.
    token : SecretStr or str, optional
        Bearer token that every request must bring, except those for the page and for health.
    hosts : sequence of str, optional
        Host names that requests may use; by default any.
    """
    limits = Limits() if limits is None else limits
    secret = check_token(token)
    work, connections = Work(limits), Connections(limits)
    metrics = Metrics(holder, connections)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        work.close()

    app = FastAPI(
        title="condrank",
        version=__version__,
        summary="Rank objects conditioned on a node, known or new.",
        docs_url=None,  # FastAPI's page loads scripts from other hosts
        redoc_url=None,
        lifespan=lifespan,
        dependencies=[Depends(_refuse_unknown)],
        responses=documented(401, 403, 413, 422),
    )
    app.state.limits, app.state.connections = limits, connections  # for the server
    app.add_middleware(Guard, limits=limits, metrics=metrics, token=secret, hosts=hosts)
    add_handlers(app, HEADERS)
    _add_answers(app, holder, limits, work)
    _add_changes(app, holder, limits, work, secret is not None)
    _add_upkeep(app, holder, metrics, secret is not None)
    app.openapi = _Document(app, holder, limits, secret is not None)  # type: ignore[method-assign]
    return app


class _Document:
    """The OpenAPI document, made again when the model was replaced."""

    def __init__(self, app: FastAPI, holder: ModelHolder, limits: Limits, has_token: bool):
        self._app, self._holder, self._limits, self._has_token = app, holder, limits, has_token
        self._made: tuple[ServedModel, dict[str, Any]] | None = None

    def __call__(self) -> dict[str, Any]:
        model, made = self._holder.current, self._made
        if made is None or made[0] is not model:
            made = self._made = (model, describe(self._app, self._limits, model, self._has_token))
        return made[1]


def _add_answers(app: FastAPI, holder: ModelHolder, limits: Limits, work: Work) -> None:
    """Rankings, scores and nodes."""
    computed = documented(400, 404, 408, 503, 504)
    places = min(PLACES, limits.k)

    async def answered(request: Request, job: Callable[..., bytes], *given: Any) -> Response:
        """What a job makes of the current model and some arguments."""
        content = await work.run(client_of(request.client), job, holder.current, *given)
        return Response(content, media_type="application/json")

    def post(path: str, name: str, job: Callable[..., bytes], asked: type, answer: type, summary: str) -> None:
        """A route whose job answers the body of the request."""

        async def answer_body(request: Request) -> Response:
            return await answered(request, job, await _json_body(request), limits)

        options: dict[str, Any] = {"responses": computed, "openapi_extra": body_of(asked), "summary": summary}
        app.post(path, name=name, response_model=answer, **options)(answer_body)

    post("/rank", "rank", rankings_json, RankRequest, RankAnswer, "Rankings for known or new nodes")

    @app.get(
        "/rank/{id:path}",
        response_model=Ranked,
        responses=documented(404, 503, 504),
        summary="The ranking for one known node",
    )
    async def rank_one(
        request: Request,
        id: Annotated[str, Path(description="Id of a known node.")],
        k: Annotated[int, Query(ge=1, description="Places of the ranking."), WHOLE_TEXT] = places,
        exclude_self: Annotated[bool, Query(description="Leave the node out of its own ranking.")] = True,
        order: Annotated[Order, Query(description="Whether the best objects come first, or the worst.")] = "best",
        exclude_known: Annotated[bool, Query(description="Leave out what it has a training edge with.")] = False,
    ) -> Response:
        bound("k", k, limits.k)
        return await answered(request, ranking_json, id, k, exclude_self, order, exclude_known)

    post("/score", "score", scores_json, ScoreRequest, ScoreAnswer, "Scores of pairs")

    post(
        "/predict", "predict", predictions_json, PredictRequest, PredictAnswer, "Scores of pairs, and how sure they are"
    )

    post(
        "/explain",
        "explain",
        explanation_json,
        ExplainRequest,
        ExplainAnswer,
        "Why an object has its score, or is ranked above another one",
    )

    @app.get("/nodes", response_model=NodesAnswer, summary="Ids, one page at a time, optionally by a part of them")
    async def nodes(
        prefix: Annotated[str, Query(max_length=1000, description="First letters of the ids.")] = "",
        part: Annotated[
            str, Query(max_length=1000, description="A text that the ids contain; with a prefix, both hold.")
        ] = "",
        start: Annotated[int, Query(ge=0, le=2**31), WHOLE_TEXT] = 0,
        limit: Annotated[int, Query(ge=1, le=MOST_NODES), WHOLE_TEXT] = 50,
        role: Role = "queries",
    ) -> Any:
        if part:  # reads all ids, so not on the loop that serves everyone
            total, ids = await asyncio.to_thread(holder.current.find_part, role, prefix, part, start, limit)
        else:
            total, ids = holder.current.find(role, prefix, start, limit)
        return NodesAnswer(total=total, start=start, ids=ids)

    @app.get("/nodes/{id:path}", response_model=NodeAnswer, responses=documented(404), summary="One known node")
    async def node(id: Annotated[str, Path()], role: Role = "queries") -> Any:
        name, position, columns = holder.current.node(id, role)
        return NodeAnswer(id=name, position=position, columns=columns)


def _add_changes(app: FastAPI, holder: ModelHolder, limits: Limits, work: Work, has_token: bool) -> None:
    """Adding and removing objects."""
    changed = documented(400, 404, 408, 409, 503, 504)

    async def answered(request: Request, job: Callable[..., bytes]) -> Response:
        if not has_token:
            raise Refusal(403, "changing objects needs a service with a token; start it with CONDRANK_TOKEN set")
        body = await _json_body(request)
        content = await work.run(client_of(request.client), job, holder.current, body, limits)
        return Response(content, media_type="application/json")

    @app.post(
        "/objects",
        response_model=ObjectsAnswer,
        responses=changed,
        openapi_extra=body_of(AddRequest),
        summary="Add objects until the model is loaded again (services with a token only)",
    )
    async def add(request: Request) -> Response:
        return await answered(request, added_json)

    @app.post(
        "/objects/remove",
        response_model=ObjectsAnswer,
        responses=changed,
        openapi_extra=body_of(RemoveRequest),
        summary="Remove objects until the model is loaded again (services with a token only)",
    )
    async def remove(request: Request) -> Response:
        return await answered(request, removed_json)


def _add_upkeep(app: FastAPI, holder: ModelHolder, metrics: Metrics, has_token: bool) -> None:
    """Health, metrics, reloading and the page."""
    page = service_page()

    def health_now(request: Request) -> HealthAnswer:
        model, error = holder.current.about(), holder.error
        if not request.scope[TRUSTED]:
            # Names of columns can be secrets, and an error may have them too.
            model["columns"] = {role: {} for role in model["columns"]}
            error = None if error is None else "the newest file cannot be served; with the token this says why"
        found = {"version": __version__, "model": model, "loaded_at": holder.loaded_at, "reload_error": error}
        return HealthAnswer.model_validate({"ready": True, **found})

    @app.get("/health", response_model=HealthAnswer, summary="Whether the service answers, and with which model")
    async def health(request: Request) -> Any:
        return health_now(request)

    @app.get(
        "/metrics",
        response_class=Response,
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
        summary="Counts and times, as Prometheus reads them",
    )
    async def read_metrics() -> Response:
        return Response(metrics.text(), headers={"Content-Type": CONTENT_TYPE})

    @app.post(
        "/reload",
        response_model=HealthAnswer,
        responses=documented(409),
        summary="Load the model's file again (services with a token only)",
    )
    async def reload(request: Request) -> Any:
        if not has_token:
            raise Refusal(403, "reloading by request needs a service with a token; SIGHUP also reloads")
        if not await asyncio.to_thread(holder.reload):
            raise Refusal(409, f"the old model stays: {holder.error}")
        return health_now(request)

    @app.get("/docs", include_in_schema=False)
    async def reference(request: Request) -> Response:
        made = reference_page(app.openapi(), holder.current.about() if request.scope[TRUSTED] else None)
        return HTMLResponse(made.html, headers={"Content-Security-Policy": made.policy})

    @app.get("/", include_in_schema=False)
    async def explorer() -> Response:
        return HTMLResponse(page.html, headers=page_headers(page))


async def _refuse_unknown(request: Request) -> None:
    """Refuse unknown parameters in an address, as unknown names in a body are refused."""
    known = [one.alias for one in request.scope["route"].dependant.query_params]
    unknown = next((name for name in request.query_params if name not in known), None)
    if unknown is not None:
        near = spelled_alike(unknown, dict.fromkeys(known), 1)
        advice = f"did you mean {near[0]!r}?" if near else f"this address takes {', '.join(known) or 'none'}"
        raise Refusal(422, f"unknown parameter {unknown!r:.60}; {advice}")


async def _json_body(request: Request) -> bytes:
    """The body of a request, which must say that it is JSON."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not re.fullmatch(r"application/([^/]+\+)?json", kind):
        raise Refusal(422, "the body must be JSON, sent with Content-Type: application/json")
    return await request.body()
