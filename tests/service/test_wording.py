"""What a service says about wrong requests: plain words, and what was probably meant."""

from __future__ import annotations

import pytest

BODIES = {
    "queries: is missing": {},
    "body: unknown name 'quieries'; did you mean 'queries'?": {"quieries": ["Node 1"]},
    "body: unknown name 'zzz'; expected queries, k,": {"zzz": 1, "queries": ["Node 1"]},
    "queries: expected a list": {"queries": "Node 1"},
    "queries: expected a list of at least 1": {"queries": []},
    "k: expected a whole number": {"queries": ["Node 1"], "k": "3"},
    "k: expected at least 1": {"queries": ["Node 1"], "k": 0},
    "exclude_self: expected true or false": {"queries": ["Node 1"], "exclude_self": "no"},
    "body: expected a JSON object": [1],
    "no node has the id 'Nod 1'; did you mean 'Node 1'": {"queries": ["Nod 1"]},
    "queries.0 lacks column": {"queries": [{"x": 1.0}]},
}


@pytest.mark.parametrize("said", BODIES)
def test_a_wrong_body(client, said):
    message = client.post("/rank", json=BODIES[said]).json()["error"]["message"]
    assert message.startswith(said)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("/rank/Node 1?kk=3", "unknown parameter 'kk'; did you mean 'k'?"),
        ("/rank/Node 1?top=3", "unknown parameter 'top'; this address takes k"),
        ("/nodes?limit=0", "limit: expected at least 1"),
        ("/rang/Node 1", "there is nothing at '/rang/Node 1'; /docs lists what can be asked"),
        ("/score", "GET is not for this address: use POST"),
    ],
)
def test_a_wrong_address(client, address, said):
    assert client.get(address).json()["error"]["message"].startswith(said)
