"""The OpenAPI document accepts what the service accepts: both are asked the same."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, seed, settings
from hypothesis import strategies as st
from pandas import DataFrame

from condrank import ConditionalRanker, RelationGraph, TableRanker
from service.served import EDGES, JSON, NEW, NODES, UNSTATED, Limits, ModelHolder, TestClient, create_app

jsonschema = pytest.importorskip("jsonschema_rs")

NAMES = [f"n{number}" for number in range(6)]
X = np.random.default_rng(3).normal(size=(6, 3))


def pairs_of_names():
    return {"source": np.repeat(NAMES, 6), "target": np.tile(NAMES, 6), "value": (X @ X.T).ravel()}


@cache
def rankers():
    """A model of each kind of columns."""
    plain = RelationGraph(X, X @ X.T, ids=NAMES)
    words = ["red car", "blue car", "green", "red", "blue sky", "a sky"]
    drugs = {"id": NAMES, "x": X[:, 0], "text": words}
    targets = {
        "id": [f"t{number}" for number in range(6)],
        "day": [f"2020-01-0{i + 1}" for i in range(6)],
        "y": X[:, 1],
    }
    pairs = {"source": np.repeat(NAMES, 6), "target": np.tile(targets["id"], 6), "value": (X @ X.T).ravel()}
    return {
        "table": TableRanker(ConditionalRanker("reciprocal", constant=True)).fit(NODES, EDGES),
        "plain": TableRanker(ConditionalRanker()).fit(plain),
        "kernel": TableRanker(ConditionalRanker(kernel="precomputed")).fit(RelationGraph(X @ X.T, X @ X.T, ids=NAMES)),
        "views": TableRanker(ConditionalRanker(kernel="Linear(view='t') + Precomputed(view='k') + Identity()")).fit(
            None, pairs_of_names(), views={"t": drugs}, kernel={"k": DataFrame(X @ X.T, index=NAMES, columns=NAMES)}
        ),
        "two domains": TableRanker(ConditionalRanker()).fit(drugs, pairs, objects=targets, text=["text"]),
    }


NEW_NODES = {
    "views": ({"views": {"t": {"x": 1.5, "text": "red sky"}, "k": dict.fromkeys(NAMES, 0.5)}, "id": "n1"},) * 2,
    "table": (NEW, NEW),
    "plain": ({"a": 1.0, "b": 2.0, "c": 0.5},) * 2,
    "kernel": (dict.fromkeys(NAMES, 0.5),) * 2,
    "two domains": ({"x": 1.5, "text": "red sky"}, {"day": "2020-02-03", "y": 2}),
}


@st.composite
def kept(draw, strategy):
    """A strategy as one alternative: hypothesis counts those of an alternative like its own."""
    return draw(strategy)


NUMBERS = st.integers(-3, 3) | st.floats() | st.sampled_from([10**30, -(10**400), 1.7e308, 106_751_991, -106_751_992])
SPACES = st.sampled_from(["", " ", "\n", "\x1c", "\x85", "\u3000", "\ufeff", "\u200b"])
TIME = r"[T ][0-2]\d:[0-6]\d(:[0-6]\d(\.\d{1,7})?)?(Z|[+-][0-2]\d:?\d\d)?"
TEXTS = (
    st.text(max_size=4)
    | st.tuples(SPACES, st.from_regex(r"[+-]?\d{0,3}\.?\d{0,2}([eE]\d{0,3})?", fullmatch=True), SPACES).map("".join)
    | st.from_regex(rf"(19|20|00|99)\d\d-[01]\d-[0-3]\d({TIME})?")
    | st.sampled_from(["true", "FALSE", "True ", "true\x1c", " true", "nan", "inf", "1_0", "0x1", "１２", "", "1e400"])
)
VALUES = kept(kept(NUMBERS) | kept(TEXTS) | st.booleans() | st.none() | st.lists(st.integers(), max_size=1))
NAMED = st.sampled_from(["id", "x", "y", "z", "born", "kind", "text", "", " ", "\x85", "\ufeff"]) | st.text(max_size=2)


def nodes(known, new):
    """Ids and new nodes: half of them right, the others changed in one place, which may be right too."""
    changed = st.tuples(st.sampled_from(list(new)) | NAMED, VALUES).map(lambda item: {**new, item[0]: item[1]})
    less = st.sampled_from(list(new)).map(lambda name: {key: value for key, value in new.items() if key != name})
    wide = st.sampled_from([1, 99, 100, 101]).map(lambda n: {**new, **{f"more {one}": one for one in range(n)}})
    right = kept(st.sampled_from(known) | st.just(new))
    return kept(right | right | kept(st.one_of(changed, changed, changed, less, wide, VALUES)))


def spoiled(bodies):
    """Bodies with one name added or changed."""
    return st.tuples(bodies, st.sampled_from(SPOILED) | NAMED, VALUES).map(lambda item: {**item[0], item[1]: item[2]})


SPOILED = ["queries", "pairs", "k", "by", "other", "top", "exclude", "candidates", "exclude_self"]


def bodies(ranker, kind):
    """Paths, and bodies for them."""
    queries, objects = ranker.query_ids_.tolist(), ranker.object_ids_.tolist()
    asked, queries_known = nodes(queries, NEW_NODES[kind][0]), queries
    known = st.lists(st.sampled_from(objects), max_size=3)
    ids = kept(known | known | st.lists(st.sampled_from(objects) | VALUES, max_size=2))
    options = {
        "k": st.integers(1, 7) | st.sampled_from([0, 1.0, 2.5, 7.0, 8]),
        "exclude": st.none() | ids | st.lists(ids, max_size=2),
        "candidates": st.none() | ids | st.lists(ids, max_size=2),
        "exclude_self": st.booleans(),
    }
    few = st.lists(asked, min_size=1, max_size=2)
    queries = kept(few | few | few | st.lists(asked, max_size=6))
    rank = st.fixed_dictionaries({"queries": queries}, optional=options)
    pair = st.fixed_dictionaries({"query": asked, "object": nodes(objects, NEW_NODES[kind][1])})
    few = st.lists(pair, min_size=1, max_size=2)
    many = st.tuples(pair, st.sampled_from([49, 50, 51])).map(lambda item: [item[0]] * item[1])
    score = st.fixed_dictionaries({"pairs": kept(few | few | few | st.lists(pair | VALUES, max_size=2) | many)})
    extra = {"coverage": st.none() | st.floats(-0.5, 1.5), "std": st.booleans()}
    predict = st.fixed_dictionaries({"pairs": kept(few | few | st.lists(pair | VALUES, max_size=2))}, optional=extra)
    other = kept(st.sampled_from(objects) | nodes(objects, NEW_NODES[kind][1]))
    sums = st.sampled_from(["labels", "nodes", "features", "parts", "parts", "all"])
    why = st.fixed_dictionaries(
        {"query": kept(st.sampled_from(queries_known) | asked), "object": other},
        optional={"other": st.none() | other, "by": sums, "top": st.integers(1, 8)},
    )
    given = {"/rank": rank, "/score": score, "/predict": predict, "/explain": why}
    return st.one_of(
        *(st.tuples(st.just(path), kept(body | body | spoiled(body) | VALUES)) for path, body in given.items())
    )


def validators(client):
    """Schemas of the bodies by path, as any client can read them."""
    document = client.get("/openapi.json").json()
    found = {}
    for path in ("/rank", "/score", "/predict", "/explain"):
        schema = document["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]
        found[path] = jsonschema.Draft202012Validator({**schema, "components": document["components"]})
    return found


def compare(client, schemas, path, body):
    """Ask both, and note what they say."""
    text = json.dumps(body)
    answer = client.post(path, content=text, headers=JSON)
    is_valid = schemas[path].is_valid(json.loads(text))
    what = answer.text if answer.status_code != 200 else ""
    if is_valid:
        is_known = answer.status_code != 404  # the schema does not list all ids
        assert answer.status_code == 200 or not is_known or UNSTATED.search(what), (body, what)
    else:
        assert answer.status_code in (400, 404, 413, 422), body
    event(f"{'valid' if is_valid else 'invalid'}, {answer.status_code}")


def fuzz(tmp_path, kind, examples):
    ranker = rankers()[kind]
    ranker.save(tmp_path)
    tried = []
    with TestClient(create_app(ModelHolder(tmp_path), Limits(k=7, queries=5, seconds=60.0))) as client:
        schemas = validators(client)

        @seed(0)
        @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        @given(bodies(ranker, kind))
        def asked(given):
            compare(client, schemas, *given)
            tried.append(schemas[given[0]].is_valid(json.loads(json.dumps(given[1]))))

        asked()
    return tried


@pytest.mark.filterwarnings("ignore:.*standard deviations beyond")
@pytest.mark.parametrize("kind", NEW_NODES)
def test_the_document_and_the_service_accept_the_same_bodies(tmp_path, kind):
    tried = fuzz(tmp_path, kind, 200)
    assert min(sum(tried), len(tried) - sum(tried)) > 20


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*standard deviations beyond")
@pytest.mark.parametrize("kind", NEW_NODES)
def test_the_document_and_the_service_accept_the_same_bodies_in_many_tries(tmp_path, kind):
    assert len(fuzz(tmp_path, kind, 5000)) >= 5000
