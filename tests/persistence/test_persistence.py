"""Saving and loading: the same rankings, no code, the old file or the new one, and clear words about damaged files."""

import copy
import json
import os
import signal
import struct
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from scipy import sparse

from condrank import ConditionalRanker, ConditionalRankerCV, RelationGraph
from condrank.datasets import make_rock_paper_scissors
from condrank.persistence import read_file, write_file
from condrank.persistence.layout import _digest

RNG = np.random.default_rng(0)
N = 20
X = RNG.normal(size=(N, 4))
NEW = RNG.normal(size=(5, 4))
Y = X @ RNG.normal(size=(4, 4)) @ X.T
HOLES = np.where(RNG.random((N, N)) < 0.4, Y, np.nan)
SKEW = np.where(np.isnan(HOLES) | np.isnan(HOLES.T), np.nan, Y - Y.T)
GAMES = np.sign(SKEW)

RANKERS = {
    "closed form": (ConditionalRanker("symmetric", kernel="rbf", constant=True), X, Y + Y.T),
    "explicit features": (ConditionalRanker(loss="regression"), X, Y),
    "sparse cosine": (ConditionalRanker(kernel="cosine"), sparse.csr_array(np.abs(X)), Y),
    "prior": (ConditionalRanker("symmetric", kernel="rbf", prior="similarity", prior_weight=0.3), X, Y + Y.T),
    "incoming": (ConditionalRanker(kernel="poly", degree=2, rank_by="incoming"), X, Y),
    "primal": (ConditionalRanker(kernel="rbf", solver="primal"), X, HOLES),
    "dual": (ConditionalRanker(kernel="rbf", solver="dual"), X, HOLES),
    "reciprocal dual": (ConditionalRanker("reciprocal", kernel="rbf", solver="dual"), X, SKEW),
    "pairwise kernel": (ConditionalRanker(kernel="rbf", pairwise_kernel="poly2D"), X, HOLES),
    "logistic": (ConditionalRanker("reciprocal", "logistic", constant=True), X, GAMES),
    "logistic dual": (ConditionalRanker("reciprocal", "logistic", kernel="rbf", constant=True), X, GAMES),
    "compared": (ConditionalRanker("reciprocal", kernel="rbf", compared=[1, 3]), X, SKEW),
    "feature weights": (ConditionalRanker(kernel="rbf", feature_weights=np.array([1.0, 0, 2, 0.5])), X, Y),
    "early stopping": (ConditionalRanker(solver="early_stopping", alpha=0.0, random_state=0, max_iter=5), X, Y),
    "float32": (ConditionalRanker(kernel="rbf"), X.astype(np.float32), Y.astype(np.float32)),
}


def assert_same(loaded, before):
    """Equal but for rounding: arrays are written in one order, and sums over the other differ in the last digits."""
    loaded, before = (one.toarray() if sparse.issparse(one) else np.asarray(one) for one in (loaded, before))
    assert loaded.dtype == before.dtype
    tolerance = 1e-4 if loaded.dtype == np.float32 else 1e-11
    np.testing.assert_allclose(loaded, before, rtol=tolerance, atol=tolerance * np.abs(before).max())


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", RANKERS)
def test_a_loaded_ranker_ranks_as_before(name, tmp_path):
    ranker, features, labels = RANKERS[name]
    ranker = ConditionalRanker(**ranker.get_params()).fit(RelationGraph(features, labels, probabilities=False))
    new = sparse.csr_array(np.abs(NEW)) if sparse.issparse(features) else NEW.astype(features.dtype)
    ranker.save(tmp_path / "model")
    for mmap in (False, True):
        loaded = ConditionalRanker.load(tmp_path / "model", mmap=mmap)
        assert_same(loaded.predict(new), ranker.predict(new))
        assert_same(loaded.predict(new, new), ranker.predict(new, new))
        np.testing.assert_array_equal(loaded.rank(new, top=3).indices, ranker.rank(new, top=3).indices)
        assert_same(loaded.dual_coef_, ranker.dual_coef_)
        if name.startswith("logistic"):
            assert_same(loaded.predict_proba(new, new), ranker.predict_proba(new, new))
            assert_same(loaded.strengths(new), ranker.strengths(new))
    assert str(loaded.plan_) == str(ranker.plan_)
    for attribute in ("alpha_", "n_iter_", "solver_", "n_features_in_"):
        assert getattr(loaded, attribute) == getattr(ranker, attribute)
    assert {k: v for k, v in loaded.get_params().items() if k != "feature_weights"} == {
        k: v for k, v in ranker.get_params().items() if k != "feature_weights"
    }
    with pytest.raises(ValueError, match="path"):
        loaded.path([1.0])
    loaded.fit(RelationGraph(features, labels, probabilities=False))  # and learns again


def test_precomputed_kernels_and_two_domains(tmp_path):
    K = X @ X.T + np.eye(N)
    ranker = ConditionalRanker(kernel="precomputed").fit(K, Y)
    ranker.save(tmp_path / "one")
    rows = NEW @ X.T
    assert_same(ConditionalRanker.load(tmp_path / "one").predict(rows), ranker.predict(rows))
    half = RelationGraph(K, Y)[: N // 2]
    ranker = ConditionalRanker(kernel="precomputed").fit(half)
    ranker.save(tmp_path / "half")
    loaded = ConditionalRanker.load(tmp_path / "half")
    assert_same(loaded.predict(rows[:, : N // 2]), ranker.predict(rows[:, : N // 2]))
    graph = RelationGraph(X, Y[:, :7], objects=RNG.normal(size=(7, 3)), object_ids=list("abcdefg"))
    ranker = ConditionalRanker(kernel="rbf").fit(graph)
    ranker.save(tmp_path / "two")
    loaded = ConditionalRanker.load(tmp_path / "two")
    assert_same(loaded.predict(NEW), ranker.predict(NEW))
    assert str(loaded.rank(NEW, top=2)) == str(ranker.rank(NEW, top=2))


@pytest.mark.parametrize(
    "ids",
    [
        [f"node {i}" for i in range(N)],
        list(range(100, 100 + N)),
        np.arange(N, dtype=np.uint16),
        np.arange(N) / 4,
        np.datetime64("2020-01-01") + np.arange(N),
        np.array([f"n{i}" if i % 2 else i for i in range(N)], dtype=object),
    ],
    ids=["str", "int", "uint16", "float", "date", "mixed"],
)
def test_ids_come_back_as_they_were(ids, tmp_path):
    ranker = ConditionalRanker().fit(RelationGraph(X, Y, ids=ids))
    ranker.save(tmp_path / "model")
    loaded, before = ConditionalRanker.load(tmp_path / "model").fitted_.objects.ids, ranker.fitted_.objects.ids
    assert loaded.dtype.kind == before.dtype.kind
    assert loaded.tolist() == before.tolist()


@pytest.mark.filterwarnings("ignore:the best λ")
def test_what_was_chosen_is_saved_of_a_search(tmp_path):
    search = ConditionalRankerCV([0.1, 1.0, 10.0], 3, [0.1, 0.5], kernel="rbf", random_state=0)
    search.fit(X, Y)
    search.save(tmp_path / "model")
    loaded = ConditionalRankerCV.load(tmp_path / "model")
    assert type(loaded) is ConditionalRanker
    assert (loaded.alpha, loaded.gamma) == (search.alpha_, search.gamma_)
    assert_same(loaded.predict(NEW), search.predict(NEW))


def test_folders_and_other_readers(tmp_path):
    ranker = ConditionalRanker().fit(X, Y)
    ranker.save(f"{tmp_path}/model/")
    assert (tmp_path / "model" / "model.safetensors").is_file()
    assert [file.name for file in (tmp_path / "model").iterdir()] == ["model.safetensors"]
    assert_same(ConditionalRanker.load(tmp_path / "model").predict(NEW), ranker.predict(NEW))
    safetensors = pytest.importorskip("safetensors.numpy")
    np.testing.assert_array_equal(
        safetensors.load_file(tmp_path / "model" / "model.safetensors")["W"], ranker.fitted_.model.W
    )


def test_code_is_refused(tmp_path):
    ranker = ConditionalRanker(kernel=lambda x, y: float(x @ y)).fit(X, Y)
    with pytest.raises(ValueError, match="parameter kernel cannot be saved: it is a function"):
        ranker.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match="parameter random_state cannot be saved: it is a RandomState"):
        ConditionalRanker(random_state=np.random.RandomState(0)).fit(X, Y).save(tmp_path / "model")
    with pytest.raises(ValueError, match="ids must be strings"):
        ConditionalRanker().fit(RelationGraph(X, Y, ids=_tuples())).save(tmp_path / "m")


def _tuples():
    ids = np.empty(N, dtype=object)
    ids[:] = [(i, i) for i in range(N)]
    return ids


def test_unfitted_is_refused(tmp_path):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        ConditionalRanker().save(tmp_path / "model")


@pytest.fixture
def saved(tmp_path):
    ConditionalRanker(kernel="rbf").fit(X, Y).save(tmp_path / "model")
    return tmp_path / "model"


def test_every_truncation_is_told(saved):
    whole = saved.read_bytes()
    for length in {0, 1, 7, 8, 9, 100, 1000, len(whole) // 2, len(whole) - 1}:
        saved.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"model is (not a model|truncated|damaged)"):
            ConditionalRanker.load(saved)
    saved.write_bytes(whole + b"x")
    with pytest.raises(ValueError, match="1 bytes more"):
        ConditionalRanker.load(saved)


def test_every_flipped_bit_is_told(saved):
    whole = bytearray(saved.read_bytes())
    rng = np.random.default_rng(0)
    length = struct.unpack("<Q", whole[:8])[0]
    places = [*range(8), *rng.integers(8, len(whole), size=300).tolist()]
    for place in places:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(rng.integers(8))
        saved.write_bytes(damaged)
        if place < 8 + length and whole[place] == ord(" "):
            continue  # blanks behind the header may become others unseen
        with pytest.raises(ValueError, match="model"):
            ConditionalRanker.load(saved)


def test_newer_versions_and_other_files_are_told(saved, tmp_path):
    manifest, arrays = read_file(saved)
    write_file(tmp_path / "newer", manifest | {"version": 2, "condrank": "9.0"}, arrays)
    with pytest.raises(ValueError, match=r"format version 2, written by condrank '9.0'.*reads versions up to 1"):
        ConditionalRanker.load(tmp_path / "newer")
    write_file(tmp_path / "other", manifest | {"format": "other"}, arrays)
    with pytest.raises(ValueError, match="holds arrays, but no model"):
        ConditionalRanker.load(tmp_path / "other")
    for missing in ("model", "params", "settings"):
        write_file(tmp_path / "part", {k: v for k, v in manifest.items() if k != missing}, arrays)
        with pytest.raises(ValueError, match=f"not a whole model of condrank: KeyError '{missing}'"):
            ConditionalRanker.load(tmp_path / "part")
    write_file(tmp_path / "part", manifest, {k: v for k, v in arrays.items() if k != "W"})
    with pytest.raises(ValueError, match="not a whole model of condrank: KeyError 'W'"):
        ConditionalRanker.load(tmp_path / "part")
    with pytest.raises(FileNotFoundError):
        ConditionalRanker.load(tmp_path / "nothing")


def test_headers_that_lie_are_told(tmp_path):
    for header in (b"[]", b"{}", b'{"a": 1}', b"nonsense", b'{"__metadata__": {"manifest": "{"}}', b"[" * 5000):
        (tmp_path / "file").write_bytes(struct.pack("<Q", len(header)) + header)
        with pytest.raises(ValueError, match=r"no model|not a model"):
            ConditionalRanker.load(tmp_path / "file")
    (tmp_path / "file").write_bytes(struct.pack("<Q", 2**63) + b"{}")
    with pytest.raises(ValueError, match="no sensible length"):
        ConditionalRanker.load(tmp_path / "file")


def small(name):
    """A fitted ranker of each kind of model, coordinates and ids."""
    if name == "two domains":
        graph = RelationGraph(X, Y[:, :7], objects=RNG.normal(size=(7, 3)), object_ids=list("abcdefg"))
        return ConditionalRanker(kernel="rbf", rank_by="outgoing").fit(graph)
    if name == "dates":
        return ConditionalRanker(solver="primal").fit(
            RelationGraph(X, HOLES, ids=np.datetime64("2020-01-01") + np.arange(N))
        )
    ranker, features, labels = RANKERS[name]
    return ConditionalRanker(**ranker.get_params()).fit(RelationGraph(features, labels, probabilities=False))


KINDS = ["two domains", "dates", "explicit features", "sparse cosine", "prior", "reciprocal dual", "compared"]
KINDS += ["logistic", "early stopping"]


def _refused(path, manifest, arrays, match):
    write_file(path, manifest, arrays)
    with pytest.raises(ValueError, match=match) as error:
        ConditionalRanker.load(path)
    assert str(path) in str(error.value)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", KINDS)
def test_arrays_of_a_wrong_shape_or_type_are_told(name, tmp_path):
    small(name).save(tmp_path / "model")
    manifest, arrays = read_file(tmp_path / "model")
    del manifest["sha256"]
    for one, array in arrays.items():
        told = r"is not a whole model of condrank"
        _refused(tmp_path / "bad", manifest, arrays | {one: array[:-1]}, told)
        _refused(tmp_path / "bad", manifest, arrays | {one: array[None]}, told)
        other = np.int64 if array.dtype.kind == "f" else np.float64
        _refused(tmp_path / "bad", manifest, arrays | {one: array.astype(other)}, told)
        if array.dtype.kind == "f":
            for value in (np.nan, np.inf):
                wrong = array.copy()
                wrong.flat[-1] = value
                _refused(tmp_path / "bad", manifest, arrays | {one: wrong}, f"{told}: {one}.* must be finite")
    _refused(tmp_path / "bad", manifest, arrays | {"more": np.zeros(2)}, r"no part of the model asks for: \['more'\]")


def test_edges_that_do_not_fit_are_told(tmp_path):
    small("reciprocal dual").save(tmp_path / "model")
    manifest, arrays = read_file(tmp_path / "model")
    del manifest["sha256"]
    bad = tmp_path / "bad"
    for name in ("sources", "targets"):
        for value in (-1, N, 2**62):
            wrong = arrays[name].copy()
            wrong[0] = value
            _refused(bad, manifest, arrays | {name: wrong}, rf"{name} must lie within 0..{N - 1}")
    twice = {name: np.concatenate([arrays[name][:1], arrays[name][:-1]]) for name in ("sources", "targets")}
    _refused(bad, manifest, arrays | twice, "different pairs")
    _refused(bad, manifest, arrays | {"label_weights": 0 * arrays["labels"]}, "label_weights must be greater than zero")
    for shape in ([N, N + 1], [N, 10**30], [N], None):
        _refused(bad, manifest | {"model": manifest["model"] | {"shape": shape}}, arrays, "shape of the model is")


@pytest.mark.parametrize(
    ("part", "changes", "match"),
    [
        ("fitted", {"predict": 1}, "fitted attributes must be"),
        ("fitted", {"alpha_": 2.0}, "alpha_ is 2.0, which contradicts the 1.0"),
        ("fitted", {"n_iter_": True}, "n_iter_ must be"),
        ("fitted", {"n_features_in_": 3}, "n_features_in_ is 3"),
        ("fitted", {"solver_": "dual"}, "solver_ is 'dual'"),
        ("fitted", {"history_": "abc"}, "history_ must be a sequence"),
        ("plan", {"solver": "dual"}, "solver_ is 'closed_form'"),
        ("plan", {"memory": "much"}, "memory of the plan must be a finite number"),
        ("params", {"nonsense": 1}, "unexpected keyword"),
        ("params", {"relation": "symmetric"}, "relation of the fit is 'ordinary', which contradicts the 'symmetric'"),
        ("params", {"loss": "regression"}, "loss of the fit"),
        ("params", {"alpha": 3.0}, "alpha of the fit"),
        ("params", {"rank_by": "incoming"}, "rank_by of the fit"),
        ("params", {"kernel": "laplacian"}, "kernel of the fit"),
        ("params", {"gamma": "wide"}, "gamma must be a finite number"),
        ("params", {"degree": 10**400}, "OverflowError"),
        ("params", {"n_iter_no_change": 0}, "n_iter_no_change must be"),
        ("params", {"random_state": "dice"}, "seed"),
        ("settings", {"centre": float("inf")}, "centre must be a finite number"),
        ("settings", {"kernel": {}}, "kernel of the fit"),
        ("model", {"offset": float("nan")}, "offset of the model"),
        ("model", {"prior_weight": float("inf")}, "prior_weight of the model"),
        ("model", {"class": "EdgeModel"}, "class of the model"),
        ("model", {"logistic": True}, "logistic of the model"),
        ("model", {"rows": {"class": "ExplicitFeatures", "ids": None}}, "coordinates of rows must be one of"),
        ("model", {"rows": {"class": "ExactKernel", "ids": None, "outside": -1}}, "outside of rows must be"),
        ("objects", {"dtype": "str", "names": ["a"]}, "ids of objects must name each of the 20 nodes"),
        ("objects", {"dtype": "str", "names": ["a"] * N}, "ids of objects must be different"),
        ("objects", {"dtype": "str", "names": [["a"]] * N}, "ids of objects must be strings"),
        ("objects", {"dtype": "<U9"}, "ids of objects must be numbers or dates"),
        ("objects", {"dtype": "i8,(3"}, "ids of objects must be numbers or dates"),
        ("objects", {"dtype": "<i3"}, "is not a whole model"),
        ("objects", {"dtype": "<M8[moons]"}, "is not a whole model"),
    ],
)
def test_manifests_that_contradict_themselves_are_told(saved, part, changes, match):
    manifest, arrays = read_file(saved)
    _refused(saved, manifest | {part: (manifest[part] or {}) | changes}, arrays, match)


@pytest.mark.parametrize("version", [True, 0, -1, 1.0, "1", None])
def test_versions_are_whole_numbers(saved, version):
    manifest, arrays = read_file(saved)
    _refused(saved, manifest | {"version": version}, arrays, "format version is")


SILLY = [
    None, True, False, -1, 0, 1, 3, 0.5, 1e308, float("inf"), float("nan"), 10**30, 10**400, 2**63, "", "rbf", "linear",
    "reciprocal", "object", "<f2", "predict", "\ud800", [], {}, [[]], [1, 3], [0.0] * N, list("abcdefghijklmnopqrst"),
]  # fmt: skip


def _places(tree):
    """Every container of a tree with each of its keys."""
    if isinstance(tree, dict | list):
        for key in tree if isinstance(tree, dict) else range(len(tree)):
            yield tree, key
            yield from _places(tree[key])


def _mutate(tree, rng):
    """The tree with one place changed, taken away, put elsewhere, or added."""
    tree = copy.deepcopy(tree)
    places = list(_places(tree))
    container, key = places[rng.integers(len(places))]
    kind = rng.integers(5)
    if kind == 0:
        del container[key]
    elif kind == 1:
        other, name = places[rng.integers(len(places))]
        container[key] = copy.deepcopy(other[name])
    elif kind == 2 and isinstance(container, dict):
        container[["fit", "__class__", "_model", "kernel", "names"][rng.integers(5)]] = SILLY[rng.integers(len(SILLY))]
    else:
        container[key] = SILLY[rng.integers(len(SILLY))]
    return tree


def _loads_finite_or_tells(path, mmap, new):
    try:
        loaded = ConditionalRanker.load(path, mmap=mmap)
    except ValueError as error:
        return str(path) not in str(error) and pytest.fail(f"the file is not named: {error}")
    assert np.isfinite(loaded.predict(new)).all()
    assert str(loaded.plan_)
    assert str(loaded.rank(new, top=2))
    return True


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", KINDS)
def test_mutated_manifests_load_or_are_told(name, tmp_path):
    small(name).save(tmp_path / "model")
    manifest, arrays = read_file(tmp_path / "model")
    new = sparse.csr_array(np.abs(NEW)) if name == "sparse cosine" else NEW
    rng = np.random.default_rng(KINDS.index(name))
    loaded = 0
    for attempt in range(40):
        mutant = _mutate(manifest, rng)
        if attempt % 4 == 3:
            mutant = _mutate(mutant, rng)
        write_file(tmp_path / "mutant", mutant, arrays)
        loaded += _loads_finite_or_tells(tmp_path / "mutant", attempt % 5 == 4, new)
    assert loaded < 20


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", KINDS)
def test_mutated_headers_load_or_are_told(name, tmp_path):
    small(name).save(tmp_path / "model")
    whole = (tmp_path / "model").read_bytes()
    end = 8 + struct.unpack("<Q", whole[:8])[0]
    header = json.loads(whole[8:end])
    metadata = header.pop("__metadata__")
    new = sparse.csr_array(np.abs(NEW)) if name == "sparse cosine" else NEW
    rng = np.random.default_rng(KINDS.index(name))
    for attempt in range(30):
        mutant = _mutate(header, rng)
        if attempt % 3 == 2:
            part = mutant[list(mutant)[rng.integers(len(mutant))]]
            if isinstance(part, dict):
                part["dtype"] = ["F64", "F32", "I64", "I32", "U8", "BOOL"][rng.integers(6)]
        mutant["__metadata__"] = metadata | {"sha256": _digest(metadata["manifest"], mutant)}
        text = json.dumps(mutant).encode()
        (tmp_path / "mutant").write_bytes(struct.pack("<Q", len(text)) + text + whole[end:])
        _loads_finite_or_tells(tmp_path / "mutant", attempt % 2 == 1, new)


def test_deep_and_strange_headers_are_told(saved):
    for depth in (500, 900, 990, 5000, 100_000):
        deep = b'{"a": ' + b"[" * depth + b"1" + b"]" * depth + b"}"
        saved.write_bytes(struct.pack("<Q", len(deep)) + deep)
        with pytest.raises(ValueError, match="model of condrank"):
            ConditionalRanker.load(saved)
        inner = json.dumps({"format": "condrank", "version": 1, "sha256": {}})
        deep = deep[:-1] + b', "__metadata__": ' + json.dumps({"manifest": inner, "sha256": "0"}).encode() + b"}"
        saved.write_bytes(struct.pack("<Q", len(deep)) + deep)
        with pytest.raises(ValueError, match=r"damaged"):
            ConditionalRanker.load(saved)
    inner = json.dumps({"format": "condrank", "version": 1, "sha256": {}})[:-1] + ', "\ud800": 1}'
    header = json.dumps({"__metadata__": {"manifest": inner, "sha256": "0"}}).encode()
    saved.write_bytes(struct.pack("<Q", len(header)) + header)
    with pytest.raises(ValueError, match="checksum of its header"):
        ConditionalRanker.load(saved)


def test_parameters_changed_since_the_fit_are_not_saved(tmp_path):
    ranker = ConditionalRanker(kernel="rbf").fit(X, Y).set_params(rank_by="incoming")
    with pytest.raises(ValueError, match=r"parameters were changed since the fit.*rank_by of the fit is 'outgoing'"):
        ranker.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []
    ranker.set_params(rank_by="outgoing", max_iter=3).save(tmp_path / "model")  # says nothing of predictions
    assert ConditionalRanker.load(tmp_path / "model").max_iter == 3


def test_a_ranker_of_a_path_is_saved_with_its_own_alpha(tmp_path):
    other = next(ConditionalRanker(kernel="rbf").fit(X, Y).path([7.0]))
    other.save(tmp_path / "model")
    loaded = ConditionalRanker.load(tmp_path / "model")
    assert loaded.alpha == loaded.alpha_ == 7.0
    assert_same(loaded.predict(NEW), other.predict(NEW))


def test_a_loaded_precomputed_ranker_knows_no_other_nodes_of_its_graph(tmp_path):
    graph = RelationGraph(X @ X.T + np.eye(N), Y + Y.T)
    ranker = ConditionalRanker("symmetric", kernel="precomputed", prior="similarity").fit(graph[: N // 2])
    ranker.predict(graph[N // 2 :])
    ranker.save(tmp_path / "model")
    loaded = ConditionalRanker.load(tmp_path / "model")
    with pytest.raises(ValueError, match=r"must have 10 columns.*got 20 .if the ranker was loaded from a file"):
        loaded.predict(graph[N // 2 :])
    rows = NEW @ X[: N // 2].T
    with pytest.raises(ValueError, match=r"only their rows.*loaded from a file, subgraphs"):
        loaded.predict(rows, rows + 1)
    assert_same(loaded.predict(rows), ranker.predict(rows))


@pytest.mark.skipif(os.name != "posix", reason="permissions")
def test_permissions_follow_the_mask_which_stays(tmp_path, monkeypatch):
    before = os.umask(0o027)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(os, "umask", lambda mask: pytest.fail("the mask belongs to the whole process"))
            threads = [
                threading.Thread(target=write_file, args=(tmp_path / "model", {"fill": i}, {"a": np.full(9, i)}))
                for i in range(8)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert (tmp_path / "model").stat().st_mode & 0o777 == 0o640
    finally:
        assert os.umask(before) == 0o027
    manifest, arrays = read_file(tmp_path / "model")
    assert (arrays["a"] == manifest["fill"]).all()
    assert [file.name for file in tmp_path.iterdir()] == ["model"]


def test_a_failed_save_leaves_the_old_model(saved, monkeypatch):
    before = saved.read_bytes()

    def fail(*args):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        ConditionalRanker().fit(X, Y).save(saved)
    assert saved.read_bytes() == before
    assert [file.name for file in saved.parent.iterdir()] == ["model"]


KILLED = """
import sys, numpy as np
from condrank.persistence import write_file
fill = int(sys.argv[2])
print("ready", flush=True)
while True:
    fill += 1
    write_file(sys.argv[1], {"fill": fill}, {"a": np.full(200_000, fill, dtype=float)})
"""


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_killed_save_leaves_a_whole_model(tmp_path):
    target = tmp_path / "model"
    for attempt in range(4):
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(target), str(1000 * attempt)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.05 + 0.03 * attempt)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        if target.exists():
            manifest, arrays = read_file(target)
            assert (arrays["a"] == manifest["fill"]).all()
    assert target.exists()


def test_manifest_is_readable_json(saved):
    manifest, _ = read_file(saved)
    assert json.loads(json.dumps(manifest))["params"]["kernel"] == "rbf"


def test_games(tmp_path):
    train, test = make_rock_paper_scissors(10, n_players=30, n_games=300, random_state=0)
    ranker = ConditionalRanker("reciprocal", kernel="rbf").fit(train)
    ranker.save(tmp_path / "model")
    assert ConditionalRanker.load(tmp_path / "model").score(test) == pytest.approx(ranker.score(test))
