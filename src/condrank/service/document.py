"""The OpenAPI document of a service: its limits, and the columns of the model that it serves."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel

from condrank.service.columns import columns_schema
from condrank.service.given import ID_SCHEMA
from condrank.service.limits import Limits
from condrank.service.model import ServedModel
from condrank.service.schemas import (
    PLACES,
    AddRequest,
    ExplainRequest,
    PredictRequest,
    RankRequest,
    RemoveRequest,
    ScoreRequest,
)

YES_OR_NO = ("true", "false", "1", "0", "yes", "no", "on", "off", "t", "f", "y", "n")


def describe(app: FastAPI, limits: Limits, model: ServedModel, has_token: bool) -> dict[str, Any]:
    """The document, which accepts a request if and only if the service does, as far as JSON Schema can say that.

    Parameters
    ----------
    app : FastAPI
        Its routes and descriptions.
    limits : Limits
        Bounds of requests.
    model : ServedModel
        Its columns are those of new nodes.
    has_token : bool
        Whether requests need a token.
    """
    document = get_openapi(title=app.title, version=app.version, summary=app.summary, routes=app.routes)
    schemas, paths = document["components"]["schemas"], document["paths"]
    for kind in (RankRequest, ScoreRequest, PredictRequest, ExplainRequest, AddRequest, RemoveRequest):
        described = kind.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas |= described.pop("$defs", {}) | {kind.__name__: described}
    asked = schemas["RankRequest"]["properties"]
    asked["k"] |= {"maximum": limits.k, "default": min(PLACES, limits.k)}
    asked["queries"]["maxItems"] = limits.queries
    for kind in (ScoreRequest, PredictRequest):
        schemas[kind.__name__]["properties"]["pairs"]["maxItems"] = limits.pairs
    new = {"allOf": [columns_schema(model.sides["objects"]), {"type": "object", "required": [model.id_name]}]}
    schemas["AddRequest"]["properties"]["objects"] |= {"maxItems": limits.queries, "items": new}
    schemas["RemoveRequest"]["properties"]["ids"]["maxItems"] = limits.pairs
    names = {"queries": "QueryNode", "objects": "ObjectNode"}
    for role, name in names.items():
        schemas[name] = {"anyOf": [ID_SCHEMA, columns_schema(model.sides[role])]}
    asked["queries"]["items"] = _reference("QueryNode")
    schemas["Pair"]["properties"] |= {"query": _reference("QueryNode"), "object": _reference("ObjectNode")}
    why = schemas["ExplainRequest"]["properties"]
    why["top"] |= {"maximum": limits.k, "default": min(PLACES, limits.k)}
    why |= {"query": _reference("QueryNode"), "object": _reference("ObjectNode")}
    why["other"] = {"anyOf": [_reference("ObjectNode"), {"type": "null"}], "default": None}
    for parameter in paths["/rank/{id}"]["get"]["parameters"]:
        if parameter["name"] == "k":
            parameter["schema"]["maximum"] = limits.k
        if parameter["name"] in ("exclude_self", "exclude_known"):
            default = parameter["schema"]["default"]
            parameter["schema"] = {"anyOf": [{"type": "boolean"}, _any_case(YES_OR_NO)], "default": default}
    if has_token:
        document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"token": []}]
        paths["/health"]["get"]["security"] = []
    return document


def body_of(kind: type[BaseModel]) -> dict[str, Any]:
    """The part of an operation's description that says what its body is, for bodies that FastAPI does not read."""
    content = {"application/json": {"schema": _reference(kind.__name__)}}
    return {"requestBody": {"required": True, "content": content}}


def _reference(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _any_case(words: tuple[str, ...]) -> dict[str, str]:
    """Texts that are one of some words, in capitals or not."""
    patterns = ("".join(f"[{one}{one.upper()}]" if one.isalpha() else one for one in word) for word in words)
    return {"type": "string", "pattern": f"^(?:{'|'.join(patterns)})$"}
