"""Data frames as nodes, views and relations: labels are ids, names of columns are names of features."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from builders import refused
from condrank import ConditionalRanker, RelationGraph
from condrank.baselines import SimilarityRanker
from condrank.kernels import RBF, Identity, Precomputed

NAMES = list("abcdef")
RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(6, 3)), index=NAMES, columns=list("xyz"))
K = pd.DataFrame(X.to_numpy() @ X.to_numpy().T + np.eye(6), index=NAMES, columns=NAMES)
Y = pd.DataFrame(RNG.normal(size=(6, 6)), index=NAMES, columns=NAMES)
BACK = NAMES[::-1]


def scores(graph, kernel, *given):
    return ConditionalRanker(kernel=kernel).fit(graph).predict(*given)


def test_labels_of_nodes_views_and_relation_are_aligned():
    want = scores(RelationGraph({"x": X.to_numpy(), "k": K.to_numpy()}, Y.to_numpy(), ids=NAMES), KERNEL, NAMES)
    graph = RelationGraph({"x": X, "k": K.loc[BACK, ["c", "a", "b", "f", "e", "d"]]}, Y.loc[BACK, NAMES])
    assert graph.ids.tolist() == graph.object_ids.tolist() == NAMES
    np.testing.assert_allclose(scores(graph, KERNEL, NAMES), want)
    shuffled = {"x": X.loc[["c", "a"], ["z", "x", "y"]], "k": K.loc[["a", "c"], BACK]}
    np.testing.assert_allclose(scores(graph, KERNEL, shuffled), want[[2, 0]])


KERNEL = RBF(0.1, view="x") + Precomputed(view="k") + Identity()


@pytest.mark.parametrize("kernel", [RBF(0.1) + Identity(), Precomputed() + Identity()])
def test_rows_of_a_frame_keep_their_ids(kernel, tmp_path):
    data = K if kernel.matrices else X
    ranker = ConditionalRanker(kernel=kernel).fit(RelationGraph(data, Y))
    ranker.save(tmp_path / "m.safetensors")
    for one in (ranker, ConditionalRanker.load(tmp_path / "m.safetensors")):
        known = one.predict(["d", "b"])
        columns = BACK if kernel.matrices else ["y", "z", "x"]
        np.testing.assert_allclose(one.predict(data.loc[["d", "b"], columns]), known)
        np.testing.assert_allclose(one.rank(data.loc[["d"], columns]).scores, one.rank(["d"]).scores)
        new = one.predict(data.loc[["d", "b"]].to_numpy())
        assert np.abs(new - known).max() > 1e-3
        np.testing.assert_allclose(one.predict(data.loc[["d", "b"]].reset_index(drop=True)), new)
        np.testing.assert_allclose(one.predict(data.loc[["d", "b"]].rename(index={"d": "q", "b": "r"})), new)
        # All training nodes in another order, which is square too.
        np.testing.assert_allclose(one.predict(data.loc[BACK]), one.predict(BACK))


def test_polars_frames_have_names_of_columns_but_no_ids():
    graph = RelationGraph(pl.from_pandas(X), Y.to_numpy())
    assert graph.ids is None
    assert graph.object_ids is None
    ranker = ConditionalRanker().fit(graph)
    np.testing.assert_allclose(ranker.predict(pl.from_pandas(X[["z", "x", "y"]])), ranker.predict(X.to_numpy()))
    refused(r"unknown \['w'\], missing \['x'\]", ranker.predict, pl.from_pandas(X.rename(columns={"x": "w"})))


def test_a_range_index_is_no_ids_and_a_relation_can_bring_them():
    plain = X.reset_index(drop=True)
    assert RelationGraph(plain, Y.to_numpy()).ids is None
    graph = RelationGraph(plain, Y.loc[:, BACK])
    assert graph.ids.tolist() == NAMES
    np.testing.assert_array_equal(graph.to_dense(), Y.to_numpy())
    two = RelationGraph(X, Y.iloc[:, :2].set_axis(["s", "t"], axis=1), objects=np.eye(2))
    assert (two.ids.tolist(), two.object_ids.tolist()) == (NAMES, ["s", "t"])


def test_labels_that_do_not_match_are_refused_with_the_first_of_them():
    refused(r"index of Y .*lacks 'a' \(1 in all\) and it has 'q'", RelationGraph, X, Y.rename(index={"a": "q"}))
    refused(r"columns of Y .*lacks 'e' \(2 in all\)", RelationGraph, X, Y[NAMES[:4]])
    refused(r"index of view 'k' of X .*labels of view 'x'.*lacks 'f'", RelationGraph, {"x": X, "k": K.iloc[:5, :5]}, Y)
    refused("index of X must be unique", RelationGraph, X.set_axis(list("aabcde")), Y.to_numpy())
    ranker = ConditionalRanker(kernel=KERNEL).fit(RelationGraph({"x": X, "k": K}, Y))
    refused("view 'k', which the nodes do not have; they have", ranker.predict, {"x": X})
    refused("have the view 'z', which", ranker.predict, {"x": X, "k": K, "z": X})
    refused(r"2 of 6 are missing, such as 'e'", ranker.predict, {"x": X, "k": K[NAMES[:4]]})
    refused(r"a dict with the views \['x', 'k'\]", ranker.predict, X)
    refused("did you mean 'a'", ranker.predict, ["a "])


def test_an_object_that_is_asked_for_twice_is_the_same_node_both_times():
    ranker = SimilarityRanker(RBF(0.1) + Identity()).fit(RelationGraph(X, Y))
    once = ranker.predict(["a", "b"], ["b"])
    np.testing.assert_allclose(ranker.predict(["a", "b"], ["b", "b"]), np.hstack([once, once]))


def test_index_takes_ids_views_and_frames_and_recognises_known_objects():
    ranker = ConditionalRanker(kernel=KERNEL).fit(RelationGraph({"x": X, "k": K}, Y))
    want = ranker.predict(["a", "e"])
    for objects, ids in (
        ({"x": X, "k": K}, None),
        ({"x": X.to_numpy(), "k": K.to_numpy()}, NAMES),
        (NAMES, None),
    ):
        index = ranker.index(objects, ids)
        for queries in (["a", "e"], {"x": X.loc[["a", "e"]], "k": K.loc[["a", "e"], BACK]}):
            found = index.top(queries, 6)
            places = [[NAMES.index(one) for one in row] for row in found.ids.tolist()]
            np.testing.assert_allclose(np.take_along_axis(want, np.array(places), axis=1), found.scores)
    new = ranker.index({"x": X.to_numpy()[:5], "k": K.to_numpy()[:5]}, list("ABCDE")).top(["a"], 5)
    assert np.abs(np.sort(new.scores[0]) - np.sort(want[0][:5])).max() > 1e-3
    index.remove(["b"])
    index.add({"x": X.loc[["b"]], "k": K.loc[["b"]]}, ["b"])
    assert dict(index.top(["a"], 6)[0])["b"] == pytest.approx(want[0, 1])
