"""Rankings inside a file: names once, rounded numbers, as many nodes as fit."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from condrank.explorer import RankedNode, embedded, embedded_data
from condrank.explorer.embedded import clipped, rounded
from condrank.explorer.markup import script_data


def ranked(place):
    """Node at a place, which ranks the two after it."""
    objects = [place + 1, place + 2]
    names = [f"node {one}" for one in objects]
    return RankedNode(place, f"node {place}", 0.25, 2, [place / 3], objects, names, [2 / 3, np.nan], [1.0, np.nan])


def test_names_occur_once_and_numbers_are_rounded():
    data = embedded_data(3, ranked, ["x"], one_domain=True)
    assert sorted(data["names"]) == [f"node {i}" for i in range(5)]
    for place, query in enumerate(data["queries"]):
        assert data["names"][query[0]] == f"node {place}"
        assert query[1:4] == [0.25, 2, [f"{place / 3:.6g}"]]
        assert [data["names"][one] for one in query[4]] == [f"node {place + 1}", f"node {place + 2}"]
        assert query[5:] == [[0.66667, None], [1, None]]


def test_nodes_of_two_domains_have_names_of_their_own():
    data = embedded_data(3, ranked, ["x"], one_domain=False)
    assert sorted(data["names"]) == sorted([f"node {i}" for i in range(3)] + [f"node {i}" for i in range(1, 5)])
    assert [data["names"][query[0]] for query in data["queries"]] == ["node 0", "node 1", "node 2"]


def test_nodes_that_do_not_fit_are_left_out_at_random(monkeypatch):
    monkeypatch.setattr(embedded, "MOST_BYTES", 2000)
    data = embedded_data(200, ranked, ["x"], one_domain=True)
    places = [int(data["names"][query[0]].split()[1]) for query in data["queries"]]
    assert 10 < len(places) < 60
    assert places == sorted(places)
    assert max(places) > 150  # not the first ones only
    assert len(json.dumps(data["queries"], separators=(",", ":"))) < 2000


def test_one_node_is_kept_even_if_it_is_too_large(monkeypatch):
    monkeypatch.setattr(embedded, "MOST_BYTES", 1)
    assert len(embedded_data(5, ranked, ["x"], one_domain=True)["queries"]) == 1


def test_long_texts_are_cut():
    assert clipped("a" * 120) == "a" * 120
    assert clipped("a" * 121) == "a" * 119 + "…"
    assert clipped(1 / 3) == "0.333333"
    assert clipped(1234567) == "1234567"


@pytest.mark.parametrize(
    ("value", "expected"), [(np.nan, None), (np.inf, None), (2.0, 2), (0.123456, 0.12346), (1e20, 1e20), (-3.0, -3)]
)
def test_numbers_have_five_digits(value, expected):
    found = rounded(value)
    assert found == expected
    assert type(found) is type(expected)


@given(
    st.recursive(
        st.text() | st.none() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_data_of_a_script_are_the_same_data_and_no_markup(data):
    text = script_data(data)
    assert json.loads(text) == data
    assert not set("<>&") & set(text)
    assert text.isascii()
