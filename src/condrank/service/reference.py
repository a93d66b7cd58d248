"""The page at ``/docs``: what a service can be asked, from its OpenAPI document; nothing comes from elsewhere."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from condrank.explorer.markup import escape, join, tag

STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h2 { font-size: 1.05rem; margin: 2rem 0 .3rem; }
code, pre { font-family: ui-monospace, monospace; font-size: .9em; }
pre { padding: .6rem .8rem; overflow-x: auto; background: color-mix(in srgb, currentColor 8%, transparent); }
table { border-collapse: collapse; }
td, th { text-align: left; padding: .2rem 1rem .2rem 0; vertical-align: top; }
"""
POLICY = (
    f"default-src 'none'; style-src 'sha256-{b64encode(sha256(STYLE.encode()).digest()).decode()}'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HOST = "localhost:8000"


@dataclass(frozen=True)
class Reference:
    """The page, and what it may load."""

    html: str
    policy: str = POLICY


def reference_page(document: Mapping[str, Any], about: Mapping[str, Any] | None) -> Reference:
    """The page.

    Parameters
    ----------
    document : dict
        The OpenAPI document.
    about : dict or None
        Facts about the model, with the names of its columns; None if whoever asks may not know them.
    """
    has_token = "security" in document
    parts = [
        tag("h1", f"{document['info']['title']} {document['info']['version']}"),
        tag("p", document["info"]["summary"]),
    ]
    if has_token:
        parts.append(tag("p", "Requests need the token: ", tag("code", "Authorization: Bearer <token>"), "."))
    parts.append(tag("p", "For programs: ", tag("a", "/openapi.json", href="/openapi.json"), "."))
    if about is not None:
        parts += _columns(about["columns"])
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            parts += _operation(path, method, operation, document, has_token)
    body = join(parts, "\n")
    html = (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'><title>condrank: requests</title>"
        f"<style>{STYLE}</style></head><body>{body}</body></html>\n"
    )
    return Reference(html)


def _columns(columns: Mapping[str, Mapping[str, str]]) -> list[Any]:
    """Columns of new nodes."""
    rows = [(role, name, kind) for role, kinds in columns.items() for name, kind in kinds.items()]
    if not rows:
        return []
    return [tag("h2", "Columns of new nodes"), _table(("role", "column", "kind"), rows)]


def _operation(path: str, method: str, operation: Any, document: Any, has_token: bool) -> Iterable[Any]:
    yield tag("h2", tag("code", f"{method.upper()} {path}"))
    yield tag("p", operation.get("summary", ""))
    schema = _body_schema(operation, document)
    rows = [
        (one["name"], "in the address", one.get("description", ""), _shown(one["schema"].get("default")))
        for one in operation.get("parameters", ())
    ]
    for name, one in (schema or {}).get("properties", {}).items():
        rows.append((name, "in the body", one.get("description", ""), _shown(one.get("default"))))
    if rows:
        yield _table(("name", "where", "meaning", "default"), rows)
    yield tag("pre", _example(path, method, schema, has_token and operation.get("security") != []))


def _body_schema(operation: Any, document: Any) -> Any:
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if content is None:
        return None
    return document["components"]["schemas"][content["schema"]["$ref"].rpartition("/")[2]]


EXAMPLES = {
    "/rank": {"queries": ["an id", {"column": "value"}], "k": 3},
    "/score": {"pairs": [{"query": "an id", "object": "another id"}]},
    "/objects": {"objects": [{"id": "a new id", "column": "value"}]},
    "/objects/remove": {"ids": ["an id"]},
}


def _example(path: str, method: str, schema: Any, needs_token: bool) -> str:
    """A command that asks."""
    words = ["curl", f"'{HOST}{path.replace('{id}', 'ID')}'"]
    if needs_token:
        words.append('-H "Authorization: Bearer $CONDRANK_TOKEN"')
    if schema is not None:
        body = EXAMPLES.get(path, dict.fromkeys(schema.get("required", ()), "…"))
        words += ["-H 'Content-Type: application/json'", f"-d '{json.dumps(body, ensure_ascii=False)}'"]
    elif method != "get":
        words.append(f"-X {method.upper()}")
    return " ".join(words)


def _shown(value: Any) -> str:
    return "" if value is None else json.dumps(value)


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> Any:
    lines = [tag("tr", *(tag("th", one) for one in head))]
    lines += [tag("tr", *(tag("td", escape(one)) for one in row)) for row in rows]
    return tag("table", *lines)
