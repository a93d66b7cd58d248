"""Bacteria, enzymes, drugs: quick runs on small files of the loaders' form, and the folds that they are judged on."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from condrank import ConditionalRankerCV, RelationGraph, datasets
from condrank.baselines import NearestNeighbours, SimilarityRanker
from condrank.model_selection import SettingShuffleSplit, cross_validate
from reference_metrics import pair_counts

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(not (ROOT / "experiments").is_dir(), reason="the experiments are not in this folder")


@pytest.fixture(scope="module")
def experiments():
    """The modules by name."""
    names = ("results", "report", "folds", "trees", "bacteria", "enzymes", "drugs")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT))
        modules = SimpleNamespace(**{name: importlib.import_module(f"experiments.{name}") for name in names})
        # One library is enough to see that trees are judged.
        patch.setattr(modules.trees, "LIBRARIES", {"LightGBM": "lightgbm"})
        yield modules


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Files of all three experiments, with structure to be found."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)

    def write(file, **arrays):
        (folder / file).parent.mkdir(exist_ok=True)
        np.savez(folder / file, **arrays)

    species = np.repeat(np.arange(12), 7)
    write(
        "micromass/micromass.npz",
        X=np.exp(rng.normal(size=(12, 30))[species] + 0.4 * rng.normal(size=(len(species), 30))),
        species=species,
        species_names=np.array([f"species {one}" for one in range(12)]),
        genus=species // 2,
        genus_names=np.array([f"genus {one}" for one in range(6)]),
        sample_id=np.array([f"s{row}" for row in range(len(species))]),
        gram_positive=species % 2 == 0,
    )
    ec = np.repeat([(top, sub, 1, last) for top in (1, 2, 3) for sub in (1, 2) for last in (1, 2, 3, 4)], 6, axis=0)
    counts = rng.poisson(rng.gamma(0.5, size=(7, 40))[ec[:, 0] + ec[:, 1]] + 0.2).astype(float)
    spectrum = sparse.csr_array(counts)
    spectrum.resize((len(ec), 8000))
    scores = counts @ counts.T + 5 * np.eye(len(ec))
    write(
        "enzymes_pdb_ec/subset_ge5.npz",
        chain=np.array([f"chain{row}" for row in range(len(ec))]),
        ec=ec,
        sw_score_upper=scores[np.triu_indices(len(ec))],
        spectrum3_data=spectrum.data,
        spectrum3_indices=spectrum.indices,
        spectrum3_indptr=spectrum.indptr,
    )
    drug, target = rng.normal(size=(32, 3)), rng.normal(size=(26, 3))
    affinity = drug @ target.T + 0.1 * rng.normal(size=(32, 26))
    K_drug, K_target = drug @ drug.T + np.eye(32), target @ target.T + np.eye(26)
    names = {"drug_ids": np.arange(32).astype(str)}
    write(
        "davis/davis.npz",
        pKd=affinity,
        K_drug=K_drug,
        K_target_SW=K_target,
        smiles=names["drug_ids"],
        target_names=np.arange(26).astype(str),
        **names,
    )
    rows, columns = np.nonzero(rng.random(affinity.shape) < 0.7)
    indefinite = K_target - 3 * np.eye(26)
    write("metz/metz.npz", drug=rows, target=columns, pKi=affinity[rows, columns], K_drug=K_drug, K_target=indefinite)
    known = {"A_target_by_drug": (affinity > 1).T, "target_ids": np.arange(26).astype(str), "K_target": K_target}
    write("yamanishi/gpcr.npz", K_drug=K_drug, **known, **names)
    return folder


def naive_rank_loss(truth, scores):
    """Wrong over comparable pairs of all rows, pair by pair."""
    wrong, comparable = np.sum([pair_counts(y, h) for y, h in zip(truth, scores, strict=True)], axis=0)
    return wrong / comparable


def run(experiments, home, name, seed=3):
    results = experiments.results
    return results.run_experiment(results.EXPERIMENTS[name], results.Run(quick=True, seed=seed, data=home))


def check_rows(rows):
    for row in rows:
        assert 0 <= row.measured <= 1
        assert row.seconds > 0
        assert row.seed == 3
        assert row.protocol
        assert row.verdict == ""


# Bacteria


@pytest.fixture(scope="module")
def outcome(experiments, home):
    return run(experiments, home, "bacteria")


def test_bacteria(experiments, outcome, tmp_path):
    check_rows(outcome.rows)
    bacteria = experiments.bacteria
    n_methods = 9 + experiments.trees.is_installed("LightGBM")
    assert [row.data for row in outcome.rows] == [bacteria.SEEN] * n_methods + [bacteria.UNSEEN] * n_methods
    found = {(row.data, row.method): row for row in outcome.rows}
    assert found[bacteria.SEEN, "c.rank"].paper == 0.1082
    assert found[bacteria.UNSEEN, "c.reg"].paper == 0.07762
    assert found[bacteria.SEEN, bacteria.COSINE].note == ""
    assert "τ" in found[bacteria.UNSEEN, "c.rank, similarity prior"].note
    assert "τ" not in found[bacteria.UNSEEN, "c.rank"].note
    experiments.report.write(outcome, tmp_path)
    assert "replace them" in (tmp_path / "bacteria.md").read_text(encoding="utf-8")


def test_bacteria_are_judged_without_loops(experiments, home, outcome):
    bunch = datasets.load_bacteria(data_home=home)
    few = np.concatenate([np.flatnonzero(bunch.labels == one)[:6] for one in range(12)])
    expected = []
    for seed in (3, 4):
        _, _, test = experiments.bacteria.split_species(bunch.labels[few], np.random.default_rng(seed))
        X, species = bunch.X[few][test], bunch.labels[few][test]
        truth = np.where(np.eye(len(test), dtype=bool), np.nan, np.equal.outer(species, species))
        expected.append(naive_rank_loss(truth, X @ X.T))
    (cosine,) = [
        r for r in outcome.rows if (r.data, r.method) == (experiments.bacteria.UNSEEN, experiments.bacteria.COSINE)
    ]
    assert cosine.measured == pytest.approx(np.mean(expected), abs=1e-12)
    assert cosine.error == pytest.approx(np.std(expected, ddof=1) / np.sqrt(2), abs=1e-12)


def test_species_are_split_as_in_the_paper(experiments):
    species = np.repeat(np.arange(9), [4, 9, 3, 5, 8, 2, 5, 4, 6])
    sets = experiments.bacteria.split_species(species, np.random.default_rng(0))
    assert np.array_equal(np.sort(np.concatenate(sets)), np.arange(len(species)))
    train, first, second = (species[positions] for positions in sets)
    assert set(first) == {1, 4}
    assert set(first) <= set(train)
    assert not set(second) & set(train)
    assert abs(len(first) - np.isin(train, (1, 4)).sum()) <= 1
    assert len(set(second)) == 3


# Enzymes


def test_enzymes(experiments, home, tmp_path):
    outcome = run(experiments, home, "enzymes")
    enzymes = experiments.enzymes
    paper, ours = outcome.rows[:15], outcome.rows[15:]
    assert all(row.measured is None and row.paper is not None for row in paper)
    check_rows(ours)
    n_methods = 2 * 5 + experiments.trees.is_installed("LightGBM")
    assert [row.table for row in ours] == [enzymes.TABLE] * n_methods + [enzymes.BEYOND] * n_methods
    assert {row.data for row in ours} == set(enzymes.KERNELS)
    (picture,) = outcome.pictures
    titles = [ax.get_title() for ax in picture.figure.axes]
    assert titles[:4] == ["true", *(f"Smith-Waterman: {m}" for m in ("unsupervised", "c.reg", "c.rank"))]
    assert len(titles) == 8
    experiments.report.write(outcome, tmp_path)
    assert (tmp_path / "enzymes-heat-maps.png").stat().st_size > 0


def test_heat_maps_are_in_the_order_of_ec_numbers(experiments):
    ec = np.array([(2, 1, 1, 1), (1, 2, 1, 1), (1, 1, 3, 1), (1, 1, 3, 1)])
    truth = np.array([[np.cumprod(a == b).sum() for b in ec] for a in ec], dtype=float)
    scores = dict.fromkeys(("unsupervised", "c.reg", "c.rank"), truth)
    picture = experiments.enzymes.heat_maps({"kernel": (ec, truth, scores)})
    arranged = [[4, 4, 1, 0], [4, 4, 1, 0], [1, 1, 4, 0], [0, 0, 0, 4]]
    for ax in picture.figure.axes:
        np.testing.assert_array_equal(ax.images[0].get_array(), arranged)


def test_unseen_ec_numbers_are_unseen(experiments, home):
    bunch = datasets.load_enzymes(data_home=home)
    numbers = np.unique(bunch.labels, axis=0, return_inverse=True)[1]
    request = experiments.results.Run(quick=True)
    graph = experiments.enzymes.few(bunch.graph, numbers)
    assert len(graph) == 5 * 6
    for train, test in experiments.enzymes.folds(request, 4, numbers).split(graph):
        assert not set(numbers[train.nodes.positions]) & set(numbers[test.nodes.positions])
        for part, held_out in experiments.enzymes.folds(request, 10, numbers).split(train):
            assert not set(numbers[part.nodes.positions]) & set(numbers[held_out.nodes.positions])


# Drugs


@pytest.fixture(scope="module")
def drugs(experiments, home):
    return run(experiments, home, "drugs")


def test_drugs(experiments, drugs):
    check_rows(drugs.rows)
    methods = {}
    for row in drugs.rows:
        methods.setdefault((row.table.split(":")[0], int(row.data[8])), []).append(row.method)
    peers = ["LightGBM on pairs"] if experiments.trees.is_installed("LightGBM") else []
    plain = ["nearest neighbours", "c.reg, mean not taken off", "c.reg", "c.rank", "c.rank, kernels to a power"]
    for (name, setting), found in methods.items():
        expected = plain + (peers if name == "Davis" else [])
        expected += ["two-step ridge"] if setting > 1 and name != "Metz" else []
        assert sorted(found) == sorted(expected)
    assert len(methods) == 12
    assert all("concordance over all edges" in row.note for row in drugs.rows)


def test_drugs_learn_and_tell_what_is_clipped(drugs):
    for row in drugs.rows:
        assert ("clipped: target kernel, eigenvalues from -" in row.protocol) == row.table.startswith("Metz")
        if row.method in ("c.reg", "c.rank") and row.data.startswith("setting 1") and not row.table.startswith("Yam"):
            assert row.measured < 0.2


def test_clipped_kernels_are_the_nearest(experiments, home):
    bunch = datasets.load_metz(data_home=home)
    given, with_mean, clipped, short = experiments.drugs.forms(bunch)
    sigma, Q = np.linalg.eigh(bunch.K_target)
    assert sigma[0] < -1
    np.testing.assert_allclose(clipped.objects.base, (Q * np.maximum(sigma, 0)) @ Q.T, atol=1e-10)
    np.testing.assert_array_equal(given.objects.base, bunch.K_target)
    Z = short.nodes.base
    assert Z.shape == (32, experiments.folds.TREE_COORDINATES)
    assert np.abs(Z @ Z.T - bunch.K_drug).max() < 1.5
    np.testing.assert_array_equal(with_mean.to_dense(), bunch.Y)
    np.testing.assert_allclose(given.to_dense(), bunch.Y - np.nanmean(bunch.Y))
    assert given.n_edges == clipped.n_edges == short.n_edges
    text = experiments.drugs.indefinite("target", bunch.K_target)
    share = -sigma[sigma < 0].sum() / np.abs(sigma).sum()
    assert text.endswith(f"{share:.1%} of the spectrum negative")
    assert experiments.drugs.indefinite("drug", bunch.K_drug) == ""


def test_best_of_takes_the_lowest_held_out_loss(experiments, home):
    graph = datasets.load_davis(data_home=home).graph
    cv = SettingShuffleSplit(2, 2, test_size=1 / 3, random_state=0)
    rankers = [NearestNeighbours(k, kernel="precomputed") for k in (1, 5, 30)]
    losses = [cross_validate(ranker, graph, cv=cv).mean() for ranker in rankers]
    best = experiments.drugs.best_of(rankers, graph, cv)
    assert best.n_neighbors == (1, 5, 30)[int(np.argmin(losses))]
    assert best.n_features_in_ == 32


@pytest.mark.filterwarnings("ignore:the best λ")
@pytest.mark.parametrize("setting", [1, 2, 4])
def test_sharpened_kernels(experiments, home, setting):
    bunch = datasets.load_davis(data_home=home)
    cv = SettingShuffleSplit(setting, 1, test_size=1 / 3, random_state=0)
    options = {"alphas": [0.1, 10.0], "cv": cv, "kernel": "precomputed", "tol": 1e-10}
    losses, scores = [], []
    powers = (1, 3)
    for power in powers:
        graph = RelationGraph(bunch.K_drug**power, bunch.Y, objects=bunch.K_target**power)
        train, test = next(cv.split(graph))
        ranker = ConditionalRankerCV(**options).fit(train)
        losses.append(ranker.cv_losses_.min())
        scores.append(ranker.predict(test))
    train, test = next(cv.split(bunch.graph))
    sharpened = experiments.drugs.Sharpened(ConditionalRankerCV(**options), powers).fit(train)
    best = int(np.argmin(losses))
    assert sharpened.power == powers[best]
    np.testing.assert_allclose(sharpened.predict(test), scores[best], atol=1e-6)


# Folds


@pytest.fixture
def table(experiments):
    return experiments.folds.Folds(
        experiments.results.Run(seed=3), "table", "data", "protocol", "similarity", across=True
    )


def graph_and_parts(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(24, 3))
    graph = RelationGraph(X, X @ X.T + 0.1 * rng.normal(size=(24, 24)))
    return [(graph[:12], graph[12:]), (graph[12:], graph[:12])]


def test_rows_of_folds(experiments, table):
    losses = []
    for place, (train, test) in enumerate(graph_and_parts()):
        scores = table.judge("similarity", SimilarityRanker("linear").fit, train, test)
        truth = np.where(np.eye(12, dtype=bool), np.nan, test.to_dense())
        losses.append(naive_rank_loss(truth, scores))
        fit = ConditionalRankerCV([1e-2, 1.0, 1e9], cv=2, random_state=0).fit
        table.judge("ranker", fit, train, test)
        if place == 0:
            table.judge("first only", SimilarityRanker("rbf").fit, train, test)
    plain, ranker, first = table.rows({"ranker": 0.25})
    assert plain.measured == pytest.approx(np.mean(losses), abs=1e-12)
    assert (plain.seed, plain.table, plain.data, plain.protocol, plain.paper) == (3, "table", "data", "protocol", None)
    assert "against" not in plain.note
    difference = ranker.measured - plain.measured
    assert f"{difference:+.4f} ± " in ranker.note
    assert ranker.note.startswith("λ ")
    assert (ranker.paper, ranker.verdict != "") == (0.25, True)
    assert first.error is None
    assert "on the first 1 folds" in first.note
    assert next(table.rows({"similarity": 0.25}, experiments.folds.StandIn)).verdict == ""


def test_an_outermost_alpha_is_told_and_not_warned_of(table, recwarn):
    train, test = graph_and_parts()[0]
    table.judge("ranker", ConditionalRankerCV([1e8, 1e9], cv=2, random_state=0).fit, train, test)
    assert "λ at an end of the grid in 1 of 1" in next(table.rows()).note
    assert not [warning for warning in recwarn if "λ" in str(warning.message)]


def test_choices_are_summed_up(experiments):
    chosen = [{"λ": 1.0, "": "lambdarank"}, {"λ": 4.0, "": "regression"}, {"λ": 2.0, "": "regression"}]
    assert experiments.folds.summary(chosen) == "λ 2 (1 to 4), regression"
    assert experiments.folds.summary([{"k": 3}, {"k": 3}]) == "k 3"
    assert experiments.folds.summary([{}]) == ""
