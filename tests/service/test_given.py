"""Nodes and lists of objects in a request: what is wrong is named."""

from __future__ import annotations

import json

import pytest

from service.served import JSON, NEW, refused

INVALID = {
    "an empty list": ({"queries": []}, "queries"),
    "no list": ({"queries": "Node 1"}, "queries"),
    "null": ({"queries": [None]}, "queries.0: expected an id (text or number) or an object of columns, got null"),
    "half a character": ({"queries": ["\ud800"]}, "queries.0: expected an id"),
    "a nested value": ({"queries": [{**NEW, "x": [1]}]}, "queries.0: column 'x' must be"),
    "candidates of null": ({"queries": ["Node 1"], "candidates": ["Node 2", None]}, "at place 1, got null"),
    "candidates mixed": ({"queries": ["Node 1"], "candidates": ["Node 2", ["Node 3"]]}, "at place 1, got a list"),
    "candidates of text": ({"queries": ["Node 1"], "candidates": "Node 2"}, "candidates: expected a list"),
    "very many columns": ({"queries": [{f"c{i}": 1 for i in range(1000)}]}, "has 1,000 columns, the model knows 3"),
    "a list": ([], "body: expected"),
    "a boolean": ({"queries": [True]}, "queries.0"),
    "an unknown name": ({"queries": ["Node 1"], "top": 3}, "unknown name 'top'"),
    "too many": ({"queries": ["Node 1"] * 6}, "queries: expected at most 5, got 6"),
    "k too large": ({"queries": ["Node 1"], "k": 51}, "k: expected at most 50, got 51"),
    "k zero": ({"queries": ["Node 1"], "k": 0}, "k: expected at least 1"),
    "k text": ({"queries": ["Node 1"], "k": "3"}, "k"),
    "a column missing": ({"queries": ["Node 1", {"x": 3, "kind": "a"}]}, "queries.1 lacks column 'born'"),
    "no column": ({"queries": [{}]}, "queries.0 is empty"),
    "a text for a number": ({"queries": [{**NEW, "x": "much"}]}, "queries.0: column 'x' must be a number"),
    "a missing value": (
        {"queries": [{**NEW, "x": None}]},
        "queries.0: column 'x' has no value (null); give a text, a finite number or a boolean",
    ),
    "no date": ({"queries": [{**NEW, "born": "late"}]}, "queries.0: column 'born'"),
    "a huge whole number": ({"queries": [{**NEW, "x": 10**400}]}, "queries.0"),
    "a huge id": ({"queries": ["Node 1"], "exclude": [10**400]}, "expected an id (text or number) at place 0"),
    "a date too far away": ({"queries": [{**NEW, "born": 1e9}]}, "queries.0: column 'born' must be a date, or at most"),
    "a date beyond the calendar": ({"queries": [{**NEW, "born": "9999-12-31T23:00-09:00"}]}, "queries.0 has a date"),
    "lists of another length": ({"queries": ["Node 1"], "exclude": [["Node 2"], []]}, "exclude must have one list"),
}


@pytest.mark.parametrize("name", INVALID)
def test_a_request_that_cannot_be_answered_is_refused_with_the_reason(client, name):
    body, message = INVALID[name]
    assert message in refused(client.post("/rank", content=json.dumps(body), headers=JSON), 422, "invalid")
