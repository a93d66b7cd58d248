"""Nodes with several views, from tables and matrices: aligned by id, encoded one by one, known by id, saved."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from builders import refused
from condrank import ConditionalRanker, RelationGraph, TableRanker
from condrank.kernels import RBF, Constant, Cosine, Identity, Precomputed, Unit
from condrank.tables import TableEncoder, default_kernel, read_graph

N = 12
RNG = np.random.default_rng(0)
NAMES = [f"n{i}" for i in range(N)]
ASSAY = pd.DataFrame({"id": NAMES, "dose": RNG.normal(size=N) * 10, "kind": list("abc" * 4)})
WORDS = pd.DataFrame({"id": NAMES, "about": [f"word{i % 5} other{i % 3} common text here" for i in range(N)]})
_F = RNG.normal(size=(N, 4))
K = pd.DataFrame(_F @ _F.T + np.eye(N), index=NAMES, columns=NAMES)
PAIRS = pd.DataFrame(
    [(a, b, float(RNG.normal())) for a in NAMES for b in NAMES if RNG.random() < 0.8],
    columns=["source", "target", "value"],
)
KERNEL = RBF("median", view="assay") + Unit(Precomputed(view="seq")) ** 2 + Identity() + 0.1 * Constant()
VIEWS = {"assay": ASSAY, "seq": K}


def shuffled(frame):
    return frame.sample(frac=1, random_state=1)


def by_hand():
    """The same ranker on arrays that are encoded and aligned by hand."""
    arrays = {"assay": TableEncoder().fit_transform(ASSAY.drop(columns="id")), "seq": K.to_numpy()}
    ends = [PAIRS[name].tolist() for name in ("source", "target")]
    graph = RelationGraph.from_edges(arrays, *ends, PAIRS["value"].to_numpy(), ids=NAMES)
    return ConditionalRanker(kernel=KERNEL).fit(graph)


@pytest.fixture(scope="module")
def ranker():
    return TableRanker(ConditionalRanker(kernel=KERNEL)).fit(None, PAIRS, views=VIEWS)


@pytest.fixture(scope="module")
def loaded(ranker, tmp_path_factory):
    path = tmp_path_factory.mktemp("views") / "model.safetensors"
    ranker.save(path)
    return TableRanker.load(path)


def test_views_in_any_order_give_the_scores_of_arrays_aligned_by_hand():
    moved = K.sample(frac=1, random_state=2).sample(frac=1, axis=1, random_state=3)
    found = TableRanker(ConditionalRanker(kernel=KERNEL)).fit(
        None, PAIRS, views={"assay": shuffled(ASSAY), "seq": moved}
    )
    np.testing.assert_allclose(found.predict(NAMES, NAMES), by_hand().predict(NAMES), atol=1e-6)


def test_files_are_read_by_their_form(tmp_path):
    ASSAY.to_csv(tmp_path / "assay.csv", index=False)
    K.to_csv(tmp_path / "seq.csv")
    np.savez(tmp_path / "seq.npz", kernel=K.to_numpy(), ids=np.array(NAMES))
    for name in ("seq.csv", "seq.npz"):
        graph = read_graph(None, PAIRS, views={"assay": tmp_path / "assay.csv", "seq": str(tmp_path / name)})
        assert graph.nodes.base.kernels == {"seq"}
        np.testing.assert_allclose(graph.nodes.view("seq").base, K.to_numpy())


def test_the_table_of_nodes_and_a_kernel_without_name_are_views_of_their_own():
    graph = read_graph(ASSAY, PAIRS, kernel=K, views={"words": WORDS})
    assert [*graph.nodes.base.parts] == ["nodes", "words", "kernel"]
    text = "RBF(gamma='median', view='nodes') + Cosine(view='words') + Unit(Precomputed(view='kernel'))"
    assert repr(default_kernel(graph.nodes)) == text
    alone = read_graph(ASSAY[["id"]], PAIRS, views={"words": WORDS})
    assert [*alone.nodes.base.parts] == ["words"]
    assert alone.ids.tolist() == NAMES


def test_views_without_a_kernel_get_a_sum_over_them():
    found = TableRanker(time_limit=0).fit(None, PAIRS, views=VIEWS | {"words": WORDS})
    assert found.ranker_.kernel == RBF("median", view="assay") + Unit(Precomputed(view="seq")) + Cosine(view="words")


def test_polars_frames_and_arrays_can_be_views():
    frame = pl.from_pandas(ASSAY)
    found = TableRanker(ConditionalRanker(kernel=KERNEL)).fit(
        None, PAIRS, views={"assay": frame, "seq": K.to_numpy()}, kernel=None
    )
    np.testing.assert_allclose(found.predict(NAMES, NAMES), by_hand().predict(NAMES), atol=1e-6)


def test_new_nodes_are_tables_by_view_and_known_ids_have_their_identity(ranker, loaded):
    assay, seq = ASSAY.iloc[[3, 1]], K.loc[["n1", "n3"]]
    for one in (ranker, loaded):
        known = one.predict(["n3", "n1"])
        columns = seq[NAMES[::-1]].rename_axis("id").reset_index()
        with pytest.raises(ValueError, match="Unit needs k"):  # rows have no k(v, v)
            one.predict({"assay": assay, "seq": columns})
        assert known.shape == (2, N)


@pytest.fixture(scope="module")
def plain():
    """A ranker whose matrix needs no k(v, v), so that new nodes can be rows of it."""
    kernel = RBF("median", view="assay") + Precomputed(view="seq") + 2 * Identity()
    return TableRanker(ConditionalRanker(kernel=kernel)).fit(None, PAIRS, views=VIEWS)


def test_identity_by_id_of_new_rows(plain, tmp_path):
    plain.save(tmp_path / "m.safetensors")
    for one in (plain, TableRanker.load(tmp_path / "m.safetensors")):
        rows = K.loc[["n1", "n3"], NAMES[::-1]].rename_axis("id").reset_index()
        same = one.predict({"assay": ASSAY.iloc[[3, 1]], "seq": rows})  # in another order: aligned by id
        np.testing.assert_allclose(same, one.predict(["n3", "n1"]), rtol=1e-7, atol=1e-9)
        renamed = {"assay": ASSAY.iloc[[3]].assign(id="new"), "seq": rows.iloc[[1]].assign(id="new")}
        without = one.predict(renamed)
        assert np.abs(without - one.predict(["n3"])).max() > 1e-3
        no_id = {"assay": ASSAY.iloc[[3]].drop(columns="id"), "seq": rows.iloc[[1]].drop(columns="id")}
        np.testing.assert_allclose(one.predict(no_id), without)


def test_a_saved_ranker_has_views_encoders_columns_and_identity(ranker, loaded):
    np.testing.assert_allclose(loaded.predict(NAMES), ranker.predict(NAMES), rtol=1e-9)
    assert loaded.rank(["n2"], top=3).ids.tolist() == ranker.rank(["n2"], top=3).ids.tolist()
    assert loaded.row("n2") == ranker.row("n2") == {"assay": {"dose": ASSAY["dose"][2], "kind": "c"}}


def test_a_held_out_node_has_no_identity_in_its_fold():
    """Identity alone knows nothing of new nodes: they all have the same scores, and half of the pairs are wrong."""
    table = TableRanker(ConditionalRanker(kernel=Identity() + Constant() + 0.0 * RBF(view="assay")))
    graph = read_graph(None, PAIRS, views={"assay": ASSAY})
    found = table.cross_validate(graph, 4, cv=3)
    np.testing.assert_allclose(found.mean("rank_loss"), 0.5)
    known = table.cross_validate(graph, 1, cv=3)
    assert not np.isclose(known.mean("rank_loss"), 0.5)


def test_encoders_of_a_fold_see_only_its_training_rows():
    graph = read_graph(None, PAIRS, views=VIEWS)
    part = TableRanker(ConditionalRanker(kernel=KERNEL)).fit(graph[:8])
    assert part.encoder_.encoders_["assay"].mean_["dose"] == pytest.approx(ASSAY["dose"][:8].mean())
    assert part.predict(graph[8:]).shape == (4, 4)


def test_two_domains_with_a_kernel_and_a_table(tmp_path):
    targets = pd.DataFrame({"id": ["t0", "t1", "t2"], "size": [1.0, 2.0, 4.0]})
    pairs = {"source": NAMES * 3, "target": np.repeat(targets["id"], N).tolist(), "value": RNG.normal(size=3 * N)}
    for options, params in (
        ({"kernel": K, "objects": targets}, {"kernel": "precomputed", "object_kernel": "rbf"}),
        (
            {"views": VIEWS, "object_views": {"body": targets}},
            {"kernel": KERNEL, "object_kernel": RBF(0.1, view="body") + Identity()},
        ),
        (
            {
                "views": {"a": ASSAY},
                "object_kernel": pd.DataFrame(np.eye(3), index=targets["id"], columns=targets["id"]),
            },
            {"kernel": "rbf", "object_kernel": Precomputed()},
        ),
    ):
        found = TableRanker(ConditionalRanker(**params)).fit(None, pairs, **options)
        found.save(tmp_path / "model.safetensors")
        again = TableRanker.load(tmp_path / "model.safetensors")
        np.testing.assert_allclose(again.predict(NAMES, ["t2", "t0"]), found.predict(NAMES)[:, [2, 0]], rtol=1e-7)


def test_wrong_views_are_refused_before_anything_is_fitted(ranker):
    fit = TableRanker(ConditionalRanker(kernel=KERNEL)).fit
    refused(
        r"lacks 'n0' \(1 in all\) and it has 'x0'",
        fit,
        None,
        PAIRS,
        views=VIEWS | {"seq": K.rename(index={"n0": "x0"}, columns={"n0": "x0"})},
    )
    refused("has no ids and must have 12 rows.*got 5", fit, None, PAIRS, views=VIEWS | {"seq": np.eye(5)})
    refused("uses the view 'seq', which the nodes do not have", fit, None, PAIRS, views={"assay": ASSAY})
    refused("two views have the name 'seq'", fit, None, PAIRS, views=VIEWS, kernel={"seq": K})
    refused("must be a dict of tables by name, got DataFrame", fit, None, PAIRS, views=ASSAY)
    refused("text without dots, got 'a.b'", fit, None, PAIRS, views={"a.b": ASSAY})
    refused("several views, so every kernel needs one", TableRanker(ConditionalRanker()).fit, None, PAIRS, views=VIEWS)
    refused("queries lack the view 'seq'", ranker.rank, {"assay": ASSAY})
    refused("have the view 'more'", ranker.rank, VIEWS | {"more": ASSAY})
    refused(r"a dict with the views \['assay', 'seq'\]", ranker.rank, ASSAY)
    refused("did you mean 'n1' or", ranker.rank, ["n1 "])


def test_a_frame_indexed_by_id_names_its_nodes():
    graph = read_graph(ASSAY.set_index("id"), PAIRS)
    assert graph.ids.tolist() == NAMES
    found = TableRanker(ConditionalRanker(kernel=RBF(0.1) + Identity())).fit(graph)
    np.testing.assert_allclose(found.predict(ASSAY.set_index("id").iloc[[4]]), found.predict(["n4"]), rtol=1e-7)
