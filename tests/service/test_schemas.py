"""Random requests, made from the OpenAPI document and by hand, are answered or refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from service.served import JSON, NEW, NODES, Limits, ModelHolder, create_app


def fuzz(app, examples):
    """Try every operation with requests that follow its description, and such that do not."""
    schemathesis = pytest.importorskip("schemathesis")
    checks = schemathesis.checks
    wanted = [
        checks.not_a_server_error,
        checks.status_code_conformance,
        checks.content_type_conformance,
        checks.response_schema_conformance,
        checks.negative_data_rejection,
    ]
    operations = [one.ok() for one in schemathesis.openapi.from_asgi("/openapi.json", app).get_all_operations()]
    assert len(operations) == 8
    n_asked = 0
    for operation in operations:
        for mode in schemathesis.GenerationMode:
            if mode == schemathesis.GenerationMode.NEGATIVE and not (operation.query or operation.body):
                continue

            @seed(0)
            @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))
            @given(operation.as_strategy(generation_mode=mode))
            def asked(case):
                nonlocal n_asked
                n_asked += 1
                case.call_and_validate(checks=wanted)

            asked()
    return n_asked


def test_random_requests_do_not_break_it(folder):
    app = create_app(ModelHolder(folder), Limits(queries=20, seconds=60.0))
    assert fuzz(app, 20) > 150


@pytest.mark.slow
def test_many_random_requests_do_not_break_it(folder):
    assert fuzz(create_app(ModelHolder(folder), Limits(seconds=60.0)), 200) > 1500


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
