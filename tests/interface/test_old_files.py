"""Model and index files of released versions load, rank, learn on and are written again as when they were written."""

import json
from math import prod
from pathlib import Path

import numpy as np
import pytest

import condrank
from condrank import ConditionalRanker, ObjectIndex, TableRanker
from fixtures.answers import answers, further_block, named_nodes

FOLDER = Path(__file__).parents[1] / "fixtures" / "models" / "0.1.0"
TOLERANCE = {"float32": 1e-6, "float64": 1e-9}

with np.load(FOLDER / "expected.npz", allow_pickle=False) as stored:
    STORED = dict(stored)
ABOUT = json.loads(STORED.pop("about").tobytes())
ANSWERS = STORED.pop("answers")
MODELS = ABOUT["models"]
NODES = named_nodes(STORED)
PLAIN = [name for name, about in MODELS.items() if about["class"] == "ConditionalRanker"]
WITH_SUMS = [name for name in PLAIN if MODELS[name]["asked"]["more"] is not None]
WITHOUT_SUMS = [name for name in PLAIN if name not in WITH_SUMS]


def expected_arrays():
    """The arrays of all models, taken from the numbers in their order."""
    found, start = {}, 0
    for name, about in MODELS.items():
        found[name] = {}
        for part, (dtype, shape) in about["arrays"].items():
            end = start + prod(shape)
            found[name][part] = ANSWERS[start:end].reshape(shape).astype(dtype)
            start = end
    assert start == len(ANSWERS)
    return found


EXPECTED = expected_arrays()


def file_of(name):
    return FOLDER / f"{name}.safetensors"


def load(name, path=None, mmap=False):
    if "approximate" in name:
        pytest.importorskip("faiss")
    return getattr(condrank, MODELS[name]["class"]).load(file_of(name) if path is None else path, mmap=mmap)


def assert_same(given, expected, what):
    """Equal but for rounding, relative to the largest number."""
    assert given.dtype == expected.dtype, what
    assert given.shape == expected.shape, what
    assert (np.isfinite(given) == np.isfinite(expected)).all(), what
    tolerance = TOLERANCE[expected.dtype.name]
    scale = np.abs(expected[np.isfinite(expected)]).max(initial=0.0)
    np.testing.assert_allclose(given, expected, rtol=tolerance, atol=tolerance * scale, err_msg=what)


def assert_answers(what, name):
    """The answers to all questions of a model are those that were kept."""
    plain, arrays = answers(what, MODELS[name]["asked"], NODES)
    expected = {part: values for part, values in EXPECTED[name].items() if part != "more.scores"}
    kept = MODELS[name]["plain"]
    assert plain.keys() == kept.keys()
    for part, value in json.loads(json.dumps(plain)).items():
        assert value == kept[part], part
    assert arrays.keys() == expected.keys()
    for part, values in arrays.items():
        assert_same(np.asarray(values), expected[part], part)


def contents(path):
    """Manifest and arrays of a file, by its layout and not by the version under test."""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    manifest = json.loads(header.pop("__metadata__")["manifest"])
    places = {name: (one["dtype"], one["shape"], *one["data_offsets"]) for name, one in header.items()}
    return manifest, {
        name: (dtype, shape, data[start + first : start + end]) for name, (dtype, shape, first, end) in places.items()
    }


def test_every_file_of_0_1_0_has_expected_answers():
    assert ABOUT["version"] == FOLDER.name
    assert {path.name for path in FOLDER.glob("*.safetensors")} == {file_of(name).name for name in MODELS}


@pytest.mark.parametrize("mmap", [False, True], ids=["read", "mmap"])
@pytest.mark.parametrize("name", MODELS)
def test_a_model_file_of_0_1_0_ranks_as_it_did(name, mmap):
    loaded = load(name, mmap=mmap)
    assert type(loaded).__name__ == MODELS[name]["class"]
    assert_answers(loaded, name)


@pytest.mark.parametrize("mmap", [False, True], ids=["read", "mmap"])
@pytest.mark.parametrize("name", MODELS)
def test_a_model_file_of_0_1_0_is_saved_again_and_ranks_as_it_did(name, mmap, tmp_path):
    load(name, mmap=mmap).save(tmp_path / "again")
    assert_answers(load(name, tmp_path / "again"), name)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_of_0_1_0_is_written_as_0_1_0_reads_it(name, tmp_path):
    load(name).save(tmp_path / "again")
    (before, arrays), (manifest, again) = contents(file_of(name)), contents(tmp_path / "again")
    assert again == arrays
    assert {part: manifest.get(part) for part in before if part != "condrank"} == {
        part: value for part, value in before.items() if part != "condrank"
    }


@pytest.mark.parametrize("mmap", [False, True], ids=["read", "mmap"])
@pytest.mark.parametrize("name", WITH_SUMS)
def test_partial_fit_goes_on_from_a_model_file_of_0_1_0(name, mmap, tmp_path):
    asked = MODELS[name]["asked"]
    queries, objects = NODES[asked["queries"]], NODES[asked["objects"]]
    ranker = load(name, mmap=mmap).partial_fit(further_block(asked["more"], NODES))
    assert_same(ranker.predict(queries, objects), EXPECTED[name]["more.scores"], "scores after a further block")
    ranker.save(tmp_path / "more")
    loaded = ConditionalRanker.load(tmp_path / "more")
    assert_same(loaded.predict(queries, objects), EXPECTED[name]["more.scores"], "scores of the file after it")


@pytest.mark.filterwarnings("ignore::condrank.exceptions.RelationWarning")
@pytest.mark.parametrize("name", WITHOUT_SUMS)
def test_partial_fit_refuses_a_model_file_of_0_1_0_without_sums(name):
    block = further_block(MODELS["classes"]["asked"]["more"], NODES)
    with pytest.raises(ValueError, match="partial_fit"):
        load(name).partial_fit(block)


@pytest.mark.parametrize("name", PLAIN)
def test_a_plain_model_file_of_0_1_0_opens_as_a_ranker_of_tables(name):
    ranker, asked = TableRanker.load(file_of(name)), MODELS[name]["asked"]
    queries, expected = NODES[asked["queries"]], EXPECTED[name]
    if asked["own_objects"]:
        assert_same(ranker.predict(queries), expected["own.scores"], "own objects")
    if asked["objects"] is not None and asked["own_objects"]:
        assert_same(ranker.predict(queries, NODES[asked["objects"]]), expected["new.scores"], "new objects")
    assert len(ranker.object_ids_) == (expected["own.scores"].shape[1] if asked["own_objects"] else 0)


def test_a_file_of_0_1_0_is_refused_by_the_wrong_class():
    with pytest.raises(ValueError, match=r"TableRanker\.load"):
        ConditionalRanker.load(file_of("tables"))
    for kind in (ConditionalRanker, TableRanker):
        with pytest.raises(ValueError, match=r"ObjectIndex\.load"):
            kind.load(file_of("index-exact"))
    with pytest.raises(ValueError, match="no index"):
        ObjectIndex.load(file_of("dual"))
