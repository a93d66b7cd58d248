"""Saved indexes: they answer as before; damaged, contradictory, newer and other files are refused."""

import json
import struct
from pathlib import Path

import numpy as np
import pytest

from builders import SMALL_KERNEL, index_of_classes
from condrank import ConditionalRanker, ConditionalRankerCV, ObjectIndex, RelationGraph, TableRanker
from condrank.persistence import read_file, write_file
from reference_index import BY_MODEL, NAMES, OBJECTS, QUERIES, D, X, Y, assert_same, fitted, linear

OLD_GRAPH = Path(__file__).parents[1] / "fixtures" / "models" / "graphs" / "index-approximate.safetensors"


def test_an_index_is_not_loaded_as_a_ranker(tmp_path):
    ConditionalRanker().fit(np.eye(3), SMALL_KERNEL).index().save(tmp_path / "objects")
    for load in (ConditionalRanker.load, TableRanker.load):
        with pytest.raises(ValueError, match=r"load it with ObjectIndex\.load"):
            load(tmp_path / "objects")
    assert len(ObjectIndex.load(tmp_path / "objects")) == 3


def test_the_file_of_an_index_is_not_loaded_as_a_ranker(tmp_path):
    index_of_classes("exact").save(tmp_path / "index")
    with pytest.raises(ValueError, match=r"ObjectIndex\.load"):
        ConditionalRanker.load(tmp_path / "index")


def test_a_chosen_ranker_is_saved_with_its_index(tmp_path):
    ranker = ConditionalRankerCV([0.1, 1.0, 100.0, 1000.0]).fit(X, Y)
    ranker.index(OBJECTS).save(tmp_path / "chosen")
    assert_same(ObjectIndex.load(tmp_path / "chosen").top(QUERIES, 4), ranker.rank(QUERIES, OBJECTS, 4))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("name", ["ordinary ranking linear outgoing", "symmetric ranking rbf incoming", *BY_MODEL])
def test_a_loaded_index_answers_as_before(name, mmap, tmp_path):
    ranker = fitted(name)
    for objects, ids in ((OBJECTS, NAMES), (OBJECTS, None), (None, None)):
        index = ranker.index(objects, ids=ids)
        named = index._held.ids is not None
        index.remove(index._held.ids[[1, 3]] if named else [1, 3])
        index.add(QUERIES[:2], [index._held.ids[3], "new"] if named else None)
        index.save(tmp_path / "saved")
        loaded = ObjectIndex.load(tmp_path / "saved", mmap=mmap)
        assert len(loaded) == len(index)
        assert_same(loaded.top(QUERIES, 6), index.top(QUERIES, 6))
        assert_same(loaded.top(ids=["n2"], k=6), index.top(ids=["n2"], k=6))
        names = ["x", "y"] if named else None
        np.testing.assert_array_equal(loaded.add(QUERIES[2:4], names), index.add(QUERIES[2:4], names))
        assert_same(loaded.top(QUERIES, 6), index.top(QUERIES, 6))


def test_training_features_are_saved_once(tmp_path):
    linear().index().save(f"{tmp_path}/folder/")
    manifest, arrays = read_file(tmp_path / "folder" / "index.safetensors")
    assert not any(name.startswith("index.objects") for name in arrays)
    assert_same(ObjectIndex.load(tmp_path / "folder").top(QUERIES), linear().index().top(QUERIES))
    assert manifest["index"]["version"] == 1


@pytest.mark.parametrize("mmap", [False, True])
def test_a_loaded_approximate_index_answers_as_before(mmap, tmp_path):
    pytest.importorskip("faiss")
    objects = np.random.default_rng(3).normal(size=(2000, D))
    index = linear().index(objects, kind="approximate")
    index.remove([5, 6])
    index.add(QUERIES)
    index.save(tmp_path / "lists")
    loaded = ObjectIndex.load(tmp_path / "lists", mmap=mmap)
    assert loaded.kind == "approximate"
    assert_same(loaded.top(QUERIES), index.top(QUERIES))
    loaded.add(objects[:3])
    assert len(loaded) == len(index) + 3


def test_an_index_with_a_search_graph_is_to_be_made_again():
    with pytest.raises(ValueError, match=r"search graph.*make the index again"):
        ObjectIndex.load(OLD_GRAPH)


def test_damaged_and_other_files_are_refused(tmp_path):
    file = tmp_path / "index"
    index = linear().index(OBJECTS, ids=NAMES)
    index.remove(["o1"])
    index.save(file)
    whole = file.read_bytes()
    for cut in (0, 5, 100, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:cut])
        with pytest.raises(ValueError, match=str(file)):
            ObjectIndex.load(file)
    for place in range(8, len(whole), 397):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(ValueError, match=str(file)):
            ObjectIndex.load(file)
    linear().save(file)
    with pytest.raises(ValueError, match="no index"):
        ObjectIndex.load(file)
    file.write_bytes(whole)
    with pytest.raises(ValueError, match="not a complete condrank model"):
        ConditionalRanker.load(file)


def test_contents_that_contradict_each_other_are_refused(tmp_path):
    file = tmp_path / "index"
    index = linear().index(OBJECTS, ids=NAMES)
    index.remove(["o1", "o4"])
    index.save(file)
    manifest, arrays = read_file(file)
    manifest = {name: value for name, value in manifest.items() if name not in ("format", "version", "sha256")}

    def refused(message, change=None, **others):
        about = manifest["index"] | (change or {})
        write_file(file, manifest | {"index": about}, {k: v for k, v in (arrays | others).items() if v is not None})
        with pytest.raises(ValueError, match=message):
            ObjectIndex.load(file)

    refused("version 3 of an index", {"version": 3})
    refused("not that of version 2", {"version": 2})
    refused("do not agree", {"n": 3})
    refused("must be whole of shape", {"n_gone": 1})
    refused("vectors are missing|objects", {"stored": [False]})
    refused("within 0..56", **{"index.gone": np.array([1, 57])})
    refused("do not agree", **{"index.gone": np.array([4, 1])})
    refused("finite", **{"index.objects.0": OBJECTS * np.nan})
    refused("length 4, got 3", **{"index.objects.0": OBJECTS[:, :3]})
    refused("that no part of the index uses", **{"index.more": OBJECTS})
    refused("index", **{"index.gone": None})
    refused("W", W=None)


def test_a_newer_file_is_refused_as_newer(tmp_path):
    file = tmp_path / "index"
    linear().index(OBJECTS).save(file)
    data = file.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    header["__metadata__"]["manifest"] = header["__metadata__"]["manifest"].replace('"version": 1', '"version": 9', 1)
    text = json.dumps(header).encode()
    file.write_bytes(struct.pack("<Q", len(text)) + text + data[8 + length :])
    with pytest.raises(ValueError, match="newer"):
        ObjectIndex.load(file)


def test_a_loaded_index_recognises_known_objects(tmp_path):
    from condrank.kernels import RBF, Identity

    rng = np.random.default_rng(0)
    X, Y, names = rng.normal(size=(6, 3)), rng.normal(size=(6, 6)), list("abcdef")
    ranker = ConditionalRanker("symmetric", kernel=RBF(0.1) + Identity(), prior="similarity")
    index = ranker.fit(RelationGraph(X, Y + Y.T, ids=names)).index(X[:3], names[:3])
    index.save(tmp_path / "index.safetensors")
    again = ObjectIndex.load(tmp_path / "index.safetensors")
    want = ranker.rank(["a"], ["a", "b", "c"], 3)
    for one in (index, again):
        np.testing.assert_allclose(one.top(["a"], 3).scores, want.scores)
