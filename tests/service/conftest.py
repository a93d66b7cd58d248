"""A fitted ranker, its saved model, and a client of a service with small limits.

``service.served`` is imported within the fixtures: it skips where the packages of the service are not installed, which
a conftest may not do.
"""

from __future__ import annotations

import pytest

from condrank import ConditionalRanker, TableRanker


@pytest.fixture(scope="session")
def ranker():
    from service.served import EDGES, NODES

    return TableRanker(ConditionalRanker("reciprocal", constant=True)).fit(NODES, EDGES)


@pytest.fixture(scope="session")
def folder(ranker, tmp_path_factory):
    path = tmp_path_factory.mktemp("model")
    ranker.save(path)
    return path


@pytest.fixture(scope="module")
def client(folder):
    from service.served import Limits, ModelHolder, TestClient, create_app

    with TestClient(create_app(ModelHolder(folder), Limits(k=50, queries=5, body=20_000))) as found:
        yield found
