"""A file whose parts contradict each other is refused, by name, or loads with finite predictions."""

import numpy as np
import pytest

from condrank.persistence import read_file, write_file
from saved_rankers import KINDS, NEW, RANKERS, N, assert_refused, fitted, loads_finite, mutated, new_nodes

NOT_WHOLE = r"is not a complete condrank model"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", KINDS)
def test_arrays_of_a_wrong_shape_or_type_are_refused(name, tmp_path):
    fitted(name).save(tmp_path / "model")
    manifest, arrays = read_file(tmp_path / "model")
    del manifest["sha256"]
    for one, array in arrays.items():
        assert_refused(tmp_path / "bad", manifest, arrays | {one: array[:-1]}, NOT_WHOLE)
        assert_refused(tmp_path / "bad", manifest, arrays | {one: array[None]}, NOT_WHOLE)
        other = np.int64 if array.dtype.kind == "f" else np.float64
        assert_refused(tmp_path / "bad", manifest, arrays | {one: array.astype(other)}, NOT_WHOLE)
        if array.dtype.kind == "f":
            for value in (np.nan, np.inf):
                wrong = array.copy()
                wrong.flat[-1] = value
                assert_refused(
                    tmp_path / "bad", manifest, arrays | {one: wrong}, f"{NOT_WHOLE}: {one}.* must be finite"
                )
    more = arrays | {"more": np.zeros(2)}
    assert_refused(tmp_path / "bad", manifest, more, r"no part of the model uses: \['more'\]")


def test_edges_that_do_not_fit_are_refused(tmp_path):
    fitted("reciprocal dual").save(tmp_path / "model")
    manifest, arrays = read_file(tmp_path / "model")
    del manifest["sha256"]
    bad = tmp_path / "bad"
    for name in ("sources", "targets"):
        for value in (-1, N, 2**62):
            wrong = arrays[name].copy()
            wrong[0] = value
            assert_refused(bad, manifest, arrays | {name: wrong}, rf"{name} must lie within 0..{N - 1}")
    twice = {name: np.concatenate([arrays[name][:1], arrays[name][:-1]]) for name in ("sources", "targets")}
    assert_refused(bad, manifest, arrays | twice, "different pairs")
    zero = {"label_weights": 0 * arrays["labels"]}
    assert_refused(bad, manifest, arrays | zero, "label_weights must be greater than zero")
    for shape in ([N, N + 1], [N, 10**30], [N], None):
        other = manifest | {"model": manifest["model"] | {"shape": shape}}
        assert_refused(bad, other, arrays, "shape of the model is")


@pytest.mark.parametrize(
    ("part", "changes", "match"),
    [
        ("fitted", {"predict": 1}, "fitted attributes must be"),
        ("fitted", {"alpha_": 2.0}, "alpha_ is 2.0, which contradicts the 1.0"),
        ("fitted", {"n_iter_": True}, "n_iter_ must be"),
        ("fitted", {"n_features_in_": 3}, "n_features_in_ is 3"),
        ("fitted", {"n_features_in_": "four"}, "n_features_in_ must be a whole number"),
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
        ("params", {"degree": 10**400}, "degree must be a finite number, got 1000"),
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
        ("objects", {"dtype": "str", "names": ["a"] * N}, "ids of objects must be unique"),
        ("objects", {"dtype": "str", "names": [["a"]] * N}, "ids of objects must be strings"),
        ("objects", {"dtype": "<U9"}, "ids of objects must be numbers or dates"),
        ("objects", {"dtype": "i8,(3"}, "ids of objects must be numbers or dates"),
        ("objects", {"dtype": "<i3"}, "is not a complete condrank model"),
        ("objects", {"dtype": "<M8[moons]"}, "is not a complete condrank model"),
    ],
)
def test_manifests_that_contradict_themselves_are_refused(saved, part, changes, match):
    manifest, arrays = read_file(saved)
    assert_refused(saved, manifest | {part: (manifest[part] or {}) | changes}, arrays, match)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", KINDS)
def test_mutated_manifests_load_or_are_refused(name, tmp_path):
    fitted(name).save(tmp_path / "model")
    manifest, arrays = read_file(tmp_path / "model")
    new = new_nodes(RANKERS[name][1]) if name in RANKERS else NEW
    rng = np.random.default_rng(KINDS.index(name))
    loaded = 0
    for attempt in range(40):
        mutant = mutated(manifest, rng)
        if attempt % 4 == 3:
            mutant = mutated(mutant, rng)
        write_file(tmp_path / "mutant", mutant, arrays)
        loaded += loads_finite(tmp_path / "mutant", attempt % 5 == 4, new)
    assert loaded < 20
