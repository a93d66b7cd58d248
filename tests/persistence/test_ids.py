"""Ids of every type come back as they were."""

import datetime
import tracemalloc

import numpy as np
import pytest

from condrank import ConditionalRanker, RelationGraph
from condrank.persistence.arrays import Arrays, Held
from condrank.persistence.ids import ids_from, ids_to
from saved_rankers import N, X, Y

IDS = {
    "str": [f"node {i}" for i in range(N)],
    "int": list(range(100, 100 + N)),
    "uint16": np.arange(N, dtype=np.uint16),
    "float": np.arange(N) / 4,
    "date": np.datetime64("2020-01-01") + np.arange(N),
    "mixed": np.array([f"n{i}" if i % 2 else i for i in range(N)], dtype=object),
}


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
def test_ids_come_back_as_they_were(ids, tmp_path):
    ranker = ConditionalRanker().fit(RelationGraph(X, Y, ids=ids))
    ranker.save(tmp_path / "model")
    loaded, before = ConditionalRanker.load(tmp_path / "model").fitted_.objects.ids, ranker.fitted_.objects.ids
    assert loaded.dtype.kind == before.dtype.kind
    assert loaded.tolist() == before.tolist()


@pytest.mark.parametrize("kind", ["int8", "uint64", "float32", "bool", "datetime64[s]", "timedelta64[D]"])
def test_numbers_and_dates_keep_their_type(kind):
    ids, arrays = np.array([0, 1], dtype=np.int64).astype(kind), Arrays(name="rows")
    given = ids_to(ids, arrays)
    assert list(arrays.named) == ["rows.ids"]
    again = ids_from(given, 2, Held(arrays.named, name="rows"))
    assert again is not None
    assert again.dtype == ids.dtype
    assert again.tolist() == ids.tolist()


def test_the_largest_unsigned_numbers_are_kept():
    ids, arrays = np.array([0, 2**64 - 1], dtype=np.uint64), Arrays()
    given = ids_to(ids, arrays)
    again = ids_from(given, 2, Held(arrays.named))
    assert again is not None
    assert again.tolist() == [0, 2**64 - 1]


def test_nodes_without_ids_store_none():
    arrays = Arrays()
    assert ids_to(None, arrays) is None
    assert ids_from(None, 2, Held({})) is None
    assert arrays.named == {}


def test_ids_that_json_cannot_hold_are_refused():
    pair = np.empty(2, dtype=object)
    pair[:] = [(0, 0), (1, 1)]
    with pytest.raises(ValueError, match=r"must be strings, numbers or numpy.datetime64 to be saved, got \(0, 0\)$"):
        ids_to(pair, Arrays())
    with pytest.raises(ValueError, match=r"make dates an array of numpy\.datetime64"):
        ids_to(np.array([datetime.date(2020, 1, 1)], dtype=object), Arrays())


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"dtype": "str", "names": ["a"]}, "ids of rows must name each of the 2 nodes"),
        ({"dtype": "str", "names": ["a", "a"]}, "ids of rows must be unique"),
        ({"dtype": "str", "names": ["a", 1]}, "ids of rows must be strings"),
        ({"dtype": "str", "names": "ab"}, "ids of rows must be strings"),
        ({"dtype": "list", "names": ["a", "b"]}, "type of ids of rows must be one of"),
        ({"dtype": "<i8"}, "ids of rows must be unique"),
        ({"dtype": "<f8"}, r"rows.ids must be floating of shape \(2\)"),
        ({"dtype": "O"}, "ids of rows must be numbers or dates, got type 'O'"),
    ],
)
def test_stored_ids_that_make_no_sense_are_refused(given, match):
    with pytest.raises(ValueError, match=match):
        ids_from(given, 2, Held({"rows.ids": np.array([3, 3])}, name="rows"))


def test_one_long_id_among_many_does_not_take_its_room_for_all():
    names = ["x" * 100_000, *(f"{number}" for number in range(20_000))]
    given = {"dtype": "str", "names": names}
    tracemalloc.start()
    try:
        found = ids_from(given, len(names), Held({}, name="nodes"))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found is not None
    assert found.tolist() == names
    assert peak < 20_000_000  # an array of strings would take 8 GB
    assert ids_to(found, Arrays()) == {"dtype": "object", "names": names}
    for few in (names[:100], names[1:]):
        found = ids_from({"dtype": "str", "names": few}, len(few), Held({}, name="nodes"))
        assert found is not None
        assert found.dtype.kind == "U"
        assert found.tolist() == few
