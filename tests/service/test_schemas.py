"""Random requests, made from the OpenAPI document and by hand, are answered or refused."""

from __future__ import annotations

import json
from collections import Counter
from importlib import import_module
from unittest.mock import MagicMock

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from service.served import JSON, NEW, NODES, UNSTATED, Limits, ModelHolder, create_app

ID_SCHEMA = import_module("condrank.service.given").ID_SCHEMA


def with_real_ids(document, ids):
    """The document with the ids of the model instead of any text or number, so that requests find nodes."""
    if isinstance(document, list):
        return [with_real_ids(one, ids) for one in document]
    if not isinstance(document, dict):
        return document
    if document == ID_SCHEMA or (document.get("in"), document.get("name")) == ("path", "id"):
        return {**document, "schema": {"enum": ids}} if "in" in document else {"enum": ids}
    return {name: with_real_ids(one, ids) for name, one in document.items()}


def fuzz(app, examples, token=None):
    """Try every operation with requests that follow its description, and with others. The numbers of both.

    Requests that follow it have real ids, so all must be answered, except for reasons that no schema can give. The
    others must all be refused.
    """
    schemathesis = pytest.importorskip("schemathesis")
    document, headers = app.openapi(), {} if token is None else {"Authorization": f"Bearer {token}"}
    asked = Counter()
    for is_right in (True, False):
        mode = schemathesis.GenerationMode.POSITIVE if is_right else schemathesis.GenerationMode.NEGATIVE
        shown = with_real_ids(document, NODES["id"]) if is_right else document
        app.openapi = MagicMock(return_value=shown)
        found = schemathesis.openapi.from_asgi("/openapi.json", app, headers=dict(headers))
        operations = [one.ok() for one in found.get_all_operations()]
        assert len(operations) == 12
        operations.sort(key=lambda one: one.path.startswith("/objects"))  # what they change, others would miss
        for operation in operations:
            if is_right or operation.query or operation.body:
                asked[is_right] += try_one(operation.as_strategy(generation_mode=mode), is_right, examples, headers)
    return asked[True], asked[False]


def try_one(cases, is_right, examples, headers):
    """Requests to one operation; how many."""
    checks = import_module("schemathesis").checks
    wanted = [
        checks.not_a_server_error,
        checks.status_code_conformance,
        checks.content_type_conformance,
        checks.response_schema_conformance,
        checks.negative_data_rejection,
    ]
    asked = []

    @seed(0)
    @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(cases)
    def ask(case):
        answer = case.call_and_validate(checks=wanted, headers=dict(headers))
        asked.append(answer.status_code)
        if is_right and answer.status_code != 200 and not UNSTATED.search(answer.text):
            # A service without a token changes nothing by request.
            if (answer.status_code, case.path) == (404, "/objects/remove"):
                return  # it was removed before
            assert (answer.status_code, headers) == (403, {}), answer.text
            assert case.path in ("/reload", "/objects", "/objects/remove")

    ask()
    return len(asked)


@pytest.mark.filterwarnings("ignore:.*standard deviations beyond")
def test_random_requests_do_not_break_it(folder):
    app = create_app(ModelHolder(folder), Limits(queries=20, k=50, seconds=60.0))
    assert min(fuzz(app, 20)) > 80


@pytest.mark.filterwarnings("ignore:.*standard deviations beyond")
def test_random_requests_with_a_token_do_not_break_it(folder):
    app = create_app(ModelHolder(folder), Limits(queries=20, k=50, seconds=60.0), token="t0ken")
    assert min(fuzz(app, 5, "t0ken")) > 20


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*standard deviations beyond")
def test_many_random_requests_do_not_break_it(folder):
    assert sum(fuzz(create_app(ModelHolder(folder), Limits(seconds=60.0), token="t0ken"), 300, "t0ken")) > 2500


IDS = st.sampled_from(NODES["id"]) | st.text(max_size=3) | st.integers() | st.floats(allow_nan=False)

VALUES = st.floats() | st.integers() | st.text(max_size=8) | st.booleans() | st.none() | st.just("1e400")

COLUMNS = st.fixed_dictionaries({"x": VALUES, "kind": VALUES, "born": VALUES | st.just("1980-02-03")}) | st.builds(
    lambda x, kind: {**NEW, "x": x, "kind": kind}, st.floats(allow_nan=False, allow_infinity=False), st.text(min_size=1)
)

CHOSEN = st.none() | st.lists(st.sampled_from(NODES["id"])) | st.lists(st.lists(IDS, max_size=3), max_size=3)


@seed(0)
@settings(max_examples=150, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(
    queries=st.lists(IDS | COLUMNS, min_size=1, max_size=3),
    exclude=CHOSEN,
    candidates=CHOSEN,
    k=st.integers(1, 50),
    exclude_self=st.booleans(),
)
def test_nearly_right_requests_are_answered_or_refused(client, queries, **options):
    body = json.dumps({"queries": queries, **options})
    answer = client.post("/rank", content=body, headers=JSON)
    assert answer.status_code in (200, 404, 413, 422), answer.text
    if answer.status_code == 200:
        for one in answer.json()["rankings"]:
            scores = [place["score"] for place in one["ranking"]]
            assert len(scores) <= options["k"]
            assert scores == sorted(scores, reverse=True)
    pairs = json.dumps({"pairs": [{"query": one, "object": queries[0]} for one in queries]})
    assert client.post("/score", content=pairs, headers=JSON).status_code in (200, 404, 422)
