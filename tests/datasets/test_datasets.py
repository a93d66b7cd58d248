"""Data sets: what the generators draw, and what the loaders make of files of the right and of the wrong form.

The real files are not needed: small ones of the same form are written. The last tests run on the real ones
when CONDRANK_DATA says where they are.
"""

import os
from urllib.error import URLError

import numpy as np
import pytest
import sklearn.datasets
from scipy import sparse
from scipy.special import softmax
from sklearn.utils import Bunch

from condrank import datasets
from condrank.datasets import generated

LOADERS = {
    "20 Newsgroups": (datasets.load_newsgroups, "20newsgroups/counts_csr.npz"),
    "bacteria": (datasets.load_bacteria, "micromass/micromass.npz"),
    "enzymes": (datasets.load_enzymes, "enzymes_pdb_ec/subset_ge5.npz"),
    "USPS": (datasets.load_usps, "usps/usps.npz"),
    "Pokémon": (datasets.load_pokemon, "pokemon/pokemon.npz"),
    "Davis": (datasets.load_davis, "davis/davis.npz"),
    "Metz": (datasets.load_metz, "metz/metz.npz"),
    "Yamanishi": (datasets.load_yamanishi, "yamanishi/nr.npz"),
}
DOWNLOADED = ("20 Newsgroups", "USPS")
GROUPS = ["alt.atheism", "comp.graphics", "comp.windows.x", "rec.autos", "rec.sport.baseball"]


def level_matrix(levels):
    """Naive twin of the class relation: how many leading levels two nodes share."""
    levels = np.asarray(levels)
    return np.array([[np.cumprod(a == b).sum() for b in levels] for a in levels], dtype=float)


def kernel(rng, n):
    Z = rng.random((n, 4))
    return (Z @ Z.T).astype(np.float32)


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    def refuse(*args, **kwargs):
        raise URLError("no network in tests")

    monkeypatch.setattr(sklearn.datasets, "fetch_20newsgroups", refuse)
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", refuse)


@pytest.fixture
def write(tmp_path):
    """Write arrays to tmp_path / file."""

    def write(file, **arrays):
        path = tmp_path / file
        path.parent.mkdir(exist_ok=True)
        np.savez(path, **arrays)

    return write


# --- generated -----------------------------------------------------------------------------------------


def test_rock_paper_scissors_graphs():
    train, test = datasets.make_rock_paper_scissors(10, n_players=20, n_games=300, random_state=0)
    assert train.n_nodes == test.n_nodes == 20
    assert train.n_edges == 600
    assert not train.is_complete
    assert train.is_reciprocal
    assert test.is_complete
    P = test.to_dense()
    np.testing.assert_allclose(P + P.T, 1)
    np.testing.assert_allclose(np.diagonal(P), 0.5)
    assert ((P >= 0) & (P <= 1)).all()


def test_rock_paper_scissors_is_seeded():
    def relation(seed):
        return datasets.make_rock_paper_scissors(1, n_players=5, n_games=9, random_state=seed)[1].to_dense()

    np.testing.assert_array_equal(relation(3), relation(3))
    assert not np.array_equal(relation(3), relation(4))
    np.testing.assert_array_equal(
        relation(np.random.default_rng(3)),
        relation(3),
    )
    np.testing.assert_array_equal(relation(np.random.RandomState(3)), relation(np.random.RandomState(3)))


def test_winning_probability_is_that_of_the_rules():
    # Naive twin: sum over all pairs of moves.
    rng = np.random.default_rng(0)
    players = softmax(rng.random((4, 3)) * 5, axis=1)
    beaten_by = {"rock": "paper", "paper": "scissors", "scissors": "rock"}
    moves = list(beaten_by)
    expected = np.zeros((4, 4))
    for a in range(4):
        for b in range(4):
            for i, mine in enumerate(moves):
                for j, theirs in enumerate(moves):
                    worth = 1.0 if beaten_by[theirs] == mine else 0.5 if mine == theirs else 0.0
                    expected[a, b] += worth * players[a, i] * players[b, j]
    np.testing.assert_allclose(generated._winning_probability(players), expected)


def test_games_follow_the_winning_probability():
    rng = np.random.default_rng(1)
    players = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [0.2, 0.6, 0.2]])
    first, second, outcome = generated._play(players, 60_000, rng)
    assert (first != second).all()
    assert set(np.unique(outcome)) == {-1, 0, 1}
    P = generated._winning_probability(players)
    for a in range(3):
        for b in set(range(3)) - {a}:
            games = outcome[(first == a) & (second == b)]
            assert len(games) == pytest.approx(10_000, abs=500)
            assert games.mean() == pytest.approx(2 * P[a, b] - 1, abs=0.04)


def test_tie_edges_are_kept_as_zero():
    rng = np.random.default_rng(0)
    outcome = generated._play(np.full((5, 3), 1 / 3), 30_000, rng)[2]
    assert (outcome == 0).mean() == pytest.approx(1 / 3, abs=0.015)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"w": -1}, "w must be"),
        ({"w": np.nan}, "w must be .* got nan"),
        ({"w": "10"}, "w must be .* got '10'"),
        ({"w": 1, "n_players": 1}, "n_players must be an integer >= 2, got 1"),
        ({"w": 1, "n_games": 0}, "n_games must be an integer >= 1, got 0"),
        ({"w": 1, "n_games": 2.5}, "n_games must be an integer >= 1, got 2.5"),
    ],
)
def test_rock_paper_scissors_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        datasets.make_rock_paper_scissors(**arguments)


def mean_rank_loss(Y, scores):
    """Pairs of objects in the wrong order, ties in the scores half, over all pairs that differ in Y."""
    wrong = total = 0.0
    for y, score in zip(Y, scores, strict=True):
        better = y[:, None] > y[None, :]
        gap = score[:, None] - score[None, :]
        wrong += (better & (gap < 0)).sum() + 0.5 * (better & (gap == 0)).sum()
        total += better.sum()
    return wrong / total


@pytest.mark.slow
@pytest.mark.parametrize(("w", "expected", "error"), [(1, 0.468, 0.024), (10, 0.0388, 0.0021), (100, 0.00131, 0.00013)])
def test_rock_paper_scissors_calibration(w, expected, error):
    # Ordinary regression on the nine product features of an edge, λ = 2⁻³⁰. Both means, the one expected and
    # the one computed, are over 100 repetitions with this standard error: four of it are 2.8 of the difference.
    losses = []
    for seed in range(100):
        train, test = datasets.make_rock_paper_scissors(w, random_state=seed)
        X, games, X_test = train.nodes.rows, train.relation, test.nodes.rows
        Phi = (X[games.sources][:, :, None] * X[games.indices][:, None, :]).reshape(-1, 9)
        weighted = Phi.T * games.weights  # a pair that met again is one entry of a larger weight
        W = np.linalg.solve(weighted @ Phi + 2.0**-30 * np.eye(9), weighted @ games.values).reshape(3, 3)
        losses.append(mean_rank_loss(test.to_dense(), X_test @ W @ X_test.T))
    assert np.mean(losses) == pytest.approx(expected, abs=4 * error)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_classes(dtype):
    graph = datasets.make_classes(30, 5, 4, dtype=dtype, random_state=0)
    assert graph.n_nodes == 30
    assert graph.is_complete
    assert graph.is_symmetric
    assert graph.nodes.rows.shape == (30, 5)
    assert graph.nodes.rows.dtype == dtype
    Y = graph.to_dense()
    assert set(np.unique(Y)) == {0.0, 1.0}
    assert sorted(Y.sum(axis=1)) == [7] * 14 + [8] * 16


def test_classes_in_groups():
    relation = datasets.make_classes(24, 3, 6, n_groups=2, random_state=0).to_dense()
    for value, count in {0: 12, 1: 8, 2: 4}.items():
        assert ((relation == value).sum(axis=1) == count).all()


def test_classes_lie_around_their_centres():
    graph = datasets.make_classes(100_000, 2, 2, class_sep=50.0, dtype=np.float32, random_state=1)
    # Two tight blobs: the spread around each is the noise, also in the second block of rows.
    far = graph.nodes.rows[:, 0] > graph.nodes.rows[:, 0].mean()
    for blob in (graph.nodes.rows[far], graph.nodes.rows[~far]):
        np.testing.assert_allclose(blob.std(axis=0), 1, atol=0.02)
        assert len(blob) == 50_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3, 2, 4), "n_nodes must be an integer >= n_classes = 4, got 3"),
        ((9, 0, 4), "n_features must be an integer >= 1, got 0"),
        ((9, 2, True), "n_classes must be an integer >= 1, got True"),
    ],
)
def test_classes_refuses_sizes(arguments, message):
    with pytest.raises(ValueError, match=message):
        datasets.make_classes(*arguments)


def test_classes_refuses():
    with pytest.raises(ValueError, match="n_classes must be an integer >= n_groups = 5, got 4"):
        datasets.make_classes(9, 2, 4, n_groups=5)
    with pytest.raises(ValueError, match="class_sep must be a finite number >= 0, got inf"):
        datasets.make_classes(9, 2, 4, class_sep=np.inf)
    with pytest.raises(ValueError, match="dtype must be float32 or float64, got int64"):
        datasets.make_classes(9, 2, 4, dtype=np.int64)


def digits_of(graph):
    return np.array([int(str(name)[5]) for name in graph.nodes.ids])


@pytest.mark.parametrize("unseen", [False, True])
def test_digits_task(unseen):
    train, test = datasets.make_digits_task(80, 60, unseen_classes=unseen, random_state=0)
    assert (train.n_nodes, test.n_nodes) == (80, 60)
    assert not set(train.nodes.ids) & set(test.nodes.ids)
    for graph in (train, test):
        digit = digits_of(graph)
        levels = np.column_stack([np.isin(digit, [0, 4, 6, 8, 9]), digit])
        np.testing.assert_array_equal(graph.to_dense(), level_matrix(levels))
        assert graph.nodes.rows.min() >= 0
        assert graph.nodes.rows.max() <= 1
        rows = [int(str(name)[7:]) for name in graph.nodes.ids]
        np.testing.assert_array_equal(graph.nodes.rows * 16, sklearn.datasets.load_digits().data[rows])
    if unseen:
        assert set(digits_of(test)) == {0, 2, 4, 7}
        assert set(digits_of(train)) == {1, 3, 5, 6, 8, 9}
    else:
        assert len(set(digits_of(train))) == 10


def test_digits_task_refuses_more_than_there_is():
    with pytest.raises(ValueError, match=r"n_train \+ n_test must be at most 1797, got 1797 \+ 1"):
        datasets.make_digits_task(1797, 1)
    with pytest.raises(ValueError, match="n_test must be at most 715 with unseen_classes=True, got 800"):
        datasets.make_digits_task(10, 800, unseen_classes=True)
    with pytest.raises(ValueError, match="n_train must be an integer >= 1, got 0"):
        datasets.make_digits_task(0, 8)


# --- files of the right form ---------------------------------------------------------------------------


def newsgroups_arrays():
    rng = np.random.default_rng(0)
    label = np.repeat(np.arange(5, dtype=np.uint8), 3)
    counts = sparse.random_array((15, 40), density=0.2, rng=rng, data_sampler=lambda size: rng.integers(1, 9, size))
    counts = sparse.csr_array(counts, dtype=np.uint16)
    return counts, {
        "label": label,
        "is_test": np.tile([False, False, True], 5),
        "article": np.arange(100, 115, dtype=np.int32),
        "group_names": np.array(GROUPS),
    }


def test_newsgroups_from_files(write, tmp_path, monkeypatch):
    counts, labels = newsgroups_arrays()
    write("20newsgroups/labels.npz", **labels)
    sparse.save_npz(tmp_path / "20newsgroups/counts_csr.npz", counts)
    bunch = datasets.load_newsgroups(GROUPS[1:], data_home=tmp_path)
    np.testing.assert_array_equal(bunch.X.toarray(), counts.toarray()[3:])
    assert bunch.X.dtype == np.float64
    levels = [("acr".index(GROUPS[group][0]), group) for group in labels["label"][3:]]
    np.testing.assert_array_equal(bunch.graph.to_dense(), level_matrix(levels))
    assert bunch.ids[0] == "comp.graphics/103"
    assert bunch.is_test.sum() == 4
    assert list(bunch.topic_names) == ["alt", "comp", "rec"]
    monkeypatch.setenv("CONDRANK_DATA", str(tmp_path))
    assert datasets.load_newsgroups("all").graph.n_nodes == 15
    with pytest.raises(ValueError, match=r"groups must be names of newsgroups out of .* got \['rec.boats'\]"):
        datasets.load_newsgroups(["rec.autos", "rec.boats"])


@pytest.mark.parametrize("groups", ["set3", "", []])
def test_newsgroups_refuses_groups_before_reading(groups):
    with pytest.raises(ValueError, match="groups must be 'set1', 'set2', 'all' or names of newsgroups"):
        datasets.load_newsgroups(groups)


def test_newsgroups_sets_of_the_paper():
    sets = datasets.newsgroups.NEWSGROUP_SETS
    assert len(sets["set1"]) == 4
    assert len(sets["set2"]) == 5
    assert not set(sets["set1"]) & set(sets["set2"])
    assert {name.split(".")[0] for names in sets.values() for name in names} == {"rec", "comp"}


def test_newsgroups_downloaded(monkeypatch, tmp_path):
    posts = {
        "train": [
            (2, "9", "From: a\nSubject: Cars\n\nA car, two CARS x."),
            (1, "12", "Subject: re: pixels\nFrom: sender\n\npixels and cars\n\ncars"),
        ],
        "test": [(1, "3", "Subject: none\n\npixels2cars sender"), (0, "5", "\n\nnothing")],
    }

    def fetch(subset, shuffle):
        assert not shuffle
        target, numbers, data = zip(*posts[subset], strict=True)
        names = np.array([f"some\\folder/20news/{number}" for number in numbers])
        return Bunch(
            data=list(data),
            target=np.array(target),
            filenames=names,
            target_names=["alt.x", "comp.y", "rec.z"],
        )

    monkeypatch.setattr(sklearn.datasets, "fetch_20newsgroups", fetch)
    monkeypatch.setenv("CONDRANK_DATA", str(tmp_path))  # has no such folder
    bunch = datasets.load_newsgroups("all")
    assert list(bunch.ids) == ["alt.x/5", "comp.y/12", "comp.y/3", "rec.z/9"]
    assert list(bunch.is_test) == [True, False, True, False]
    # Words of two documents: cars, pixels. The sender in a header does not count, nor do single letters.
    np.testing.assert_array_equal(bunch.X.toarray(), [[0, 0], [2, 2], [1, 1], [2, 0]])
    np.testing.assert_array_equal(bunch.graph.to_dense(), [[2, 0, 0, 0], [0, 2, 2, 0], [0, 2, 2, 0], [0, 0, 0, 2]])


def test_bacteria(write, tmp_path):
    X = np.random.default_rng(0).poisson(1.0, (6, 9)).astype(np.float32) * 100
    species, genus = np.array([0, 0, 1, 1, 2, 2], np.uint8), np.array([0, 0, 0, 0, 1, 1], np.uint8)
    write(
        "micromass/micromass.npz",
        X=X,
        species=species,
        genus=genus,
        species_names=np.array(["A a", "A b", "B c"]),
        genus_names=np.array(["A", "B"]),
        sample_id=np.array([f"s{i}" for i in range(6)]),
        gram_positive=genus == 0,
    )
    bunch = datasets.load_bacteria(data_home=str(tmp_path))
    np.testing.assert_array_equal(bunch.graph.to_dense(), species[:, None] == species)
    np.testing.assert_allclose(np.linalg.norm(bunch.X, axis=1), 1)
    np.testing.assert_array_equal(bunch.intensities, X)
    bunch = datasets.load_bacteria("taxonomy", data_home=tmp_path)
    np.testing.assert_array_equal(bunch.graph.to_dense(), level_matrix(np.column_stack([genus, species])))
    with pytest.raises(ValueError, match="relation must be 'species' or 'taxonomy', got 'genus'"):
        datasets.load_bacteria("genus", data_home=tmp_path)


def write_enzymes(write, **changes):
    rng = np.random.default_rng(0)
    scores = np.rint(kernel(rng, 4) * 1000).astype(np.int16)
    counts = sparse.csr_array(np.eye(4, 8000, k=7990, dtype=np.uint16) + np.eye(4, 8000, dtype=np.uint16))
    ec = np.array([[1, 1, 1, 1], [1, 1, 1, 2], [1, 2, 1, 1], [3, 1, 1, 1]], np.int16)
    arrays = {
        "chain": np.array(["1AAA-A", "1AAB-A", "1AAC-B", "1AAD-A"]),
        "ec": ec,
        "sw_score_upper": scores[np.triu_indices(4)],
        "spectrum3_data": counts.data,
        "spectrum3_indices": counts.indices.astype(np.int16),
        "spectrum3_indptr": counts.indptr,
    }
    write("enzymes_pdb_ec/subset_ge5.npz", **(arrays | changes))
    return scores.astype(float), ec


def test_enzymes(write, tmp_path):
    scores, ec = write_enzymes(write)
    bunch = datasets.load_enzymes(data_home=tmp_path)
    d = np.sqrt(np.diagonal(scores))
    np.testing.assert_allclose(bunch.X, scores / np.outer(d, d))
    np.testing.assert_array_equal(bunch.graph.to_dense(), level_matrix(ec))
    assert bunch.graph.to_dense()[0].tolist() == [4, 3, 1, 0]
    assert bunch.spectrum.shape == (4, 8000)
    bunch = datasets.load_enzymes("spectrum", data_home=tmp_path)
    assert sparse.issparse(bunch.X)
    np.testing.assert_allclose((bunch.X @ bunch.X.T).diagonal(), 1)
    with pytest.raises(ValueError, match="kernel must be 'smith_waterman' or 'spectrum', got 'blast'"):
        datasets.load_enzymes("blast", data_home=tmp_path)


def test_enzymes_refuses_a_triangle_of_another_size(write, tmp_path):
    write_enzymes(write, sw_score_upper=np.ones(9, np.int16))
    with pytest.raises(ValueError, match=r"sw_score_upper must have shape \(10,\) for 4 enzymes, got \(9,\)"):
        datasets.load_enzymes(data_home=tmp_path)


def test_usps_from_file(write, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.integers(-1000, 1001, (7, 256)).astype(np.int16)
    y = np.array([3, 1, 3, 0, 1, 3, 0], np.uint8)
    write("usps/usps.npz", X_train_milli=X[:4], y_train=y[:4], X_test_milli=X[4:], y_test=y[4:])
    for subset, rows in {"train": slice(4), "test": slice(4, 7), "all": slice(7)}.items():
        bunch = datasets.load_usps(subset, data_home=tmp_path)
        np.testing.assert_array_equal(bunch.X, X[rows] / 1000)
        np.testing.assert_array_equal(bunch.graph.to_dense(), y[rows, None] == y[rows])
    assert list(bunch.is_test) == [False] * 4 + [True] * 3
    assert bunch.ids[5] == "digit3-00005"
    with pytest.raises(ValueError, match="subset must be 'train', 'test' or 'all', got 'both'"):
        datasets.load_usps("both", data_home=tmp_path)


def test_usps_downloaded(monkeypatch):
    counts = datasets.real._USPS_TRAIN_COUNTS
    digits = np.concatenate([np.repeat(np.arange(10), counts), np.arange(10)])
    fetched = Bunch(data=np.zeros((len(digits), 2)), target=(digits + 1).astype(str))
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda **arguments: fetched)
    monkeypatch.delenv("CONDRANK_DATA", raising=False)
    bunch = datasets.load_usps("test")
    np.testing.assert_array_equal(bunch.labels, np.arange(10))
    fetched.target = fetched.target[::-1]
    with pytest.raises(ValueError, match="must begin with the 7291 training images"):
        datasets.load_usps("test")


def test_pokemon(write, tmp_path):
    rng = np.random.default_rng(0)
    write(
        "pokemon/pokemon.npz",
        stats=rng.integers(10, 200, (4, 6)).astype(np.int16),
        stat_names=np.array(["HP", "Attack", "Defense", "SpAtk", "SpDef", "Speed"]),
        types=rng.integers(0, 2, (4, 18)).astype(np.uint8),
        type_names=np.array([f"type{i}" for i in range(18)]),
        generation=np.ones(4, np.uint8),
        legendary=np.zeros(4, bool),
        names=np.array(["A", "B", "", "D"]),
        first=np.array([0, 2, 0], np.int16),
        second=np.array([1, 0, 1], np.int16),
        first_wins=np.array([True, False, True]),
    )
    bunch = datasets.load_pokemon(data_home=tmp_path)
    assert bunch.X.shape == (4, 24)
    assert list(bunch.ids) == ["A", "B", "unnamed-2", "D"]
    assert len(bunch.feature_names) == 24
    assert bunch.graph.n_nodes == 4
    assert bunch.graph.is_reciprocal
    Y = bunch.graph.to_dense()
    assert (Y[0, 1], Y[1, 0], Y[0, 2], Y[2, 0]) == (1, -1, 1, -1)
    assert np.isnan(Y[3]).all()


def write_davis(write, **changes):
    rng = np.random.default_rng(0)
    arrays = {
        "pKd": rng.uniform(5, 9, (3, 5)).astype(np.float32),
        "K_drug": kernel(rng, 3),
        "K_target_SW": kernel(rng, 5) * 900,
        "drug_ids": np.array(["1", "2", "3"]),
        "smiles": np.array(["C", "CC", "CCC"]),
        "target_names": np.array(list("abcde")),
    }
    write("davis/davis.npz", **(arrays | changes))
    return arrays


def test_davis(write, tmp_path):
    arrays = write_davis(write)
    bunch = datasets.load_davis(data_home=tmp_path)
    assert bunch.graph.shape == (3, 5)
    assert bunch.graph.is_complete
    np.testing.assert_array_equal(bunch.graph.to_dense(), arrays["pKd"])
    np.testing.assert_allclose(np.diagonal(bunch.K_target), 1)
    np.testing.assert_array_equal(bunch.K_drug, arrays["K_drug"])


def test_metz(write, tmp_path):
    rng = np.random.default_rng(0)
    write(
        "metz/metz.npz",
        drug=np.array([0, 2, 2], np.int16),
        target=np.array([1, 0, 1], np.int16),
        pKi=np.array([6.5, 7, 8], np.float32),
        K_drug=kernel(rng, 3),
        K_target=kernel(rng, 2),
    )
    bunch = datasets.load_metz(data_home=tmp_path)
    nan = np.nan
    np.testing.assert_array_equal(bunch.graph.to_dense(), [[nan, 6.5], [nan, nan], [7, 8]])
    assert not bunch.graph.is_complete
    assert bunch.graph.n_edges == 3
    assert "not positive semi-definite" in bunch.DESCR


@pytest.mark.parametrize("name", ["nr", "e"])
def test_yamanishi(name, write, tmp_path):
    rng = np.random.default_rng(0)
    K_drug = kernel(rng, 3)
    K_drug[0, 1] += 0.2
    A = np.array([[1, 0, 0], [0, 1, 1]], np.uint8)
    write(
        f"yamanishi/{name}.npz",
        A_target_by_drug=A,
        K_drug=K_drug,
        drug_ids=np.array(["D1", "D2", "D3"]),
        target_ids=np.array(["hsa1", "hsa2"]),
        **{"K_target_ppi" if name == "e" else "K_target": kernel(rng, 2)},
    )
    bunch = datasets.load_yamanishi(name, data_home=tmp_path)
    np.testing.assert_array_equal(bunch.graph.to_dense(), A.T)
    np.testing.assert_array_equal(bunch.K_drug, bunch.K_drug.T)
    np.testing.assert_allclose(bunch.K_drug[0, 1], (K_drug[0, 1] + K_drug[1, 0]) / 2)
    assert bunch.graph.is_complete
    assert ("interaction network" in bunch.DESCR) == (name == "e")


def test_yamanishi_refuses_another_name():
    with pytest.raises(ValueError, match=r"name must be one of \['nr', 'gpcr', 'ic', 'e'\], got 'xx'"):
        datasets.load_yamanishi("xx")


# --- files that are missing or of the wrong form -------------------------------------------------------


@pytest.mark.parametrize("what", LOADERS)
def test_missing_without_a_place_to_look(what, monkeypatch):
    monkeypatch.delenv("CONDRANK_DATA", raising=False)
    load, file = LOADERS[what]
    with pytest.raises(FileNotFoundError) as caught:
        load()
    message = str(caught.value)
    expected = "could not download it (<urlopen error no network in tests>)" if what in DOWNLOADED else "is set"
    for part in (what, file, "CONDRANK_DATA", "data_home", "Without it", expected):
        assert part in message


@pytest.mark.parametrize("what", LOADERS)
@pytest.mark.parametrize("by_variable", [False, True])
def test_missing_file(what, by_variable, monkeypatch, tmp_path):
    load, file = LOADERS[what]
    if by_variable:
        monkeypatch.setenv("CONDRANK_DATA", str(tmp_path))
        (tmp_path / file).parent.mkdir()
    with pytest.raises(FileNotFoundError) as caught:
        load() if by_variable else load(data_home=tmp_path)
    message = str(caught.value)
    for part in (what, repr(str(tmp_path / file)), "CONDRANK_DATA", "data_home", "Without it"):
        assert part in message


def test_missing_second_file(tmp_path):
    (tmp_path / "20newsgroups").mkdir()
    sparse.save_npz(tmp_path / "20newsgroups/counts_csr.npz", newsgroups_arrays()[0])
    with pytest.raises(FileNotFoundError, match=r"labels\.npz"):
        datasets.load_newsgroups(data_home=tmp_path)


def test_errors_of_another_kind_are_not_swallowed(monkeypatch):
    def broken(*args, **kwargs):
        raise TypeError("a bug, not a download")

    monkeypatch.delenv("CONDRANK_DATA", raising=False)
    monkeypatch.setattr(sklearn.datasets, "fetch_20newsgroups", broken)
    with pytest.raises(TypeError, match="a bug"):
        datasets.load_newsgroups()


def test_file_without_an_array(write, tmp_path):
    write("davis/davis.npz", pKd=np.ones((2, 2)))
    with pytest.raises(ValueError, match=r"davis\.npz' must have the arrays .* got none named \['K_drug'"):
        datasets.load_davis(data_home=tmp_path)


def test_truncated_file(write, tmp_path):
    write_davis(write)
    path = tmp_path / "davis/davis.npz"
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(ValueError, match=r"davis\.npz' must be an npz file of plain arrays"):
        datasets.load_davis(data_home=tmp_path)


def test_pickled_objects_are_refused(write, tmp_path):
    write_davis(write, smiles=np.array([{"a": 1}, None, 3], dtype=object))
    with pytest.raises(ValueError, match=r"must be an npz file of plain arrays.*allow_pickle=False"):
        datasets.load_davis(data_home=tmp_path)


# --- the real files ------------------------------------------------------------------------------------

real_data = pytest.mark.skipif(not os.environ.get("CONDRANK_DATA"), reason="CONDRANK_DATA is not set")


@real_data
@pytest.mark.parametrize(
    ("load", "arguments", "shape"),
    [
        (datasets.load_newsgroups, {"groups": "set1"}, (3954, 3954)),
        (datasets.load_newsgroups, {"groups": "set2"}, (4916, 4916)),
        (datasets.load_bacteria, {}, (571, 571)),
        (datasets.load_enzymes, {}, (1155, 1155)),
        (datasets.load_enzymes, {"kernel": "spectrum"}, (1155, 1155)),
        (datasets.load_usps, {"subset": "test"}, (2007, 2007)),
        (datasets.load_pokemon, {}, (800, 800)),
        (datasets.load_davis, {}, (68, 442)),
        (datasets.load_metz, {}, (1421, 156)),
        (datasets.load_yamanishi, {"name": "nr"}, (54, 26)),
        (datasets.load_yamanishi, {"name": "gpcr"}, (223, 95)),
        (datasets.load_yamanishi, {"name": "ic"}, (210, 204)),
        (datasets.load_yamanishi, {"name": "e"}, (445, 664)),
    ],
)
def test_real_data(load, arguments, shape):
    bunch = load(**arguments)
    assert bunch.graph.shape == shape
    assert bunch.DESCR


@real_data
def test_real_shares():
    Y = datasets.load_enzymes().graph.to_dense()
    off = Y[~np.eye(len(Y), dtype=bool)]
    np.testing.assert_allclose([(off == k).mean() for k in range(5)], [0.701, 0.186, 0.073, 0.022, 0.018], atol=6e-4)
    assert datasets.load_metz().graph.n_edges == 93_356
    assert datasets.load_pokemon().graph.n_edges == 100_000
    assert datasets.load_yamanishi("e").Y.sum() == 2926
