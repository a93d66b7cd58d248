"""Refused requests: a status, a code for programs and a sentence for people, always as JSON."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

CODES = {
    400: "malformed",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "body_too_slow",
    409: "reload_failed",
    413: "body_too_large",
    422: "invalid",
    500: "internal",
    503: "busy",
    504: "too_long",
}
# What pydantic says about a value, by type of error, as people would say it.
PLAIN = {
    "missing": "is missing",
    "list_type": "expected a list",
    "int_type": "expected a whole number",
    "int_parsing": "expected a whole number",
    "int_from_float": "expected a whole number",
    "bool_type": "expected true or false",
    "bool_parsing": "expected true or false",
    "greater_than_equal": "expected at least {ge}",
    "less_than_equal": "expected at most {le}",
    "too_short": "expected a list of at least {min_length}",
    "string_too_long": "expected at most {max_length} characters",
    "model_type": "expected a JSON object",
    "model_attributes_type": "expected a JSON object",
    "dict_type": "expected a JSON object",
}
SHOWN = 3  # errors of a body that are listed


class Refusal(Exception):
    """A request that is not answered.

    Parameters
    ----------
    status : int
        HTTP status.
    message : str
        What is wrong and what was expected.
    code : str, optional
        By default the code of the status.
    """

    def __init__(self, status: int, message: str, code: str | None = None):
        super().__init__(message)
        self.status, self.message, self.code = status, message, code or CODES[status]


def refusal(status: int, message: str, code: str | None = None, headers: Any = None) -> Response:
    """The answer to a request that is refused."""
    body = json.dumps({"error": {"code": code or CODES.get(status, "refused"), "message": message}})
    extra = {401: {"WWW-Authenticate": "Bearer"}, 503: {"Retry-After": "1"}}.get(status, {})
    return Response(body, status, {**extra, **dict(headers or {})}, media_type="application/json")


def add_handlers(app: FastAPI, headers: dict[str, str]) -> None:
    """Give every error of an app the same form; ``headers`` go with errors that no middleware sees."""

    @app.exception_handler(Refusal)
    async def refused(request: Request, error: Refusal) -> Response:
        return refusal(error.status, error.message, error.code)

    @app.exception_handler(HTTPException)
    async def failed(request: Request, error: HTTPException) -> Response:
        allowed = dict(error.headers or {}).get("Allow", "another method")
        known = {
            404: f"there is nothing at {request.url.path!r:.200}; /docs lists what can be asked",
            405: f"{request.method} is not for this address: use {allowed}",
        }
        message = known.get(error.status_code) or HTTPStatus(error.status_code).phrase.lower()
        return refusal(error.status_code, message, headers=error.headers)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        # Only addresses are checked here; the first part of each place says so.
        return refusal(422, listed([{**one, "loc": one["loc"][1:]} for one in error.errors()]))

    @app.exception_handler(Exception)
    async def broken(request: Request, error: Exception) -> Response:
        return refusal(500, "the service failed; see its log", headers=headers)


def listed(errors: Any) -> str:
    """The first errors of pydantic, each with its place. The values are not repeated: they may be long."""
    shown = [f"{'.'.join(map(str, error['loc'])) or 'body'}: {_sentence(error)}" for error in errors[:SHOWN]]
    more = f" (and {len(errors) - SHOWN} more)" if len(errors) > SHOWN else ""
    return "; ".join(shown) + more


def _sentence(error: Any) -> str:
    """What is wrong, in plain words; pydantic's own where there are none here."""
    limits = error.get("ctx", {})
    plain = PLAIN.get(error["type"])
    return plain.format(**limits) if plain else error["msg"].replace("Input should be ", "expected ")
