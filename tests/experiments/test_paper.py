"""Each experiment runs on tiny data; tables, pages and messages say what they should. Numbers are for real runs."""

import csv
import importlib
import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from typer.testing import CliRunner

from condrank import ConditionalRanker, RelationGraph, cli, datasets
from condrank.baselines import RankSVM
from condrank.cli.reproduce import load_package
from condrank.metrics import rank_loss

runner = CliRunner()
GROUPS = (
    *("alt.atheism", "comp.graphics", "comp.os.ms-windows.misc", "comp.sys.ibm.pc.hardware", "comp.sys.mac.hardware"),
    *("comp.windows.x", "rec.autos", "rec.motorcycles", "rec.sport.baseball", "rec.sport.hockey"),
)


@pytest.fixture(scope="module")
def experiments():
    return load_package()


def module(name):
    load_package()
    return importlib.import_module(f"condrank.experiments.{name}")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Newsgroups of a few documents each and a few digits, in the files that the loaders read."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    label = np.repeat(np.arange(len(GROUPS)), 12)
    topic = np.array([name.partition(".")[0] for name in GROUPS])[label] == "comp"
    rates = 0.3 + 2.0 * (np.arange(30) % len(GROUPS) == label[:, None]) + 1.0 * (np.arange(30) % 2 == topic[:, None])
    (folder / "20newsgroups").mkdir()
    sparse.save_npz(folder / "20newsgroups/counts_csr.npz", sparse.csr_matrix(rng.poisson(rates).astype(np.uint16)))
    np.savez(
        folder / "20newsgroups/labels.npz",
        label=label,
        is_test=np.zeros(len(label), bool),
        article=np.arange(len(label)),
        group_names=np.array(GROUPS),
    )
    (folder / "usps").mkdir()
    X = rng.integers(-1000, 1000, size=(60, 8)).astype(np.int16)
    y = np.arange(60) % 10
    np.savez(folder / "usps/usps.npz", X_train_milli=X, y_train=y, X_test_milli=X[:4], y_test=y[:4])
    return folder


@pytest.mark.parametrize("name", ["rps", "newsgroups", "newsgroups_beyond", "newsgroups_all", "runtime", "theory"])
def test_experiment_writes_tables_pages_and_pictures(name, data, tmp_path, experiments):
    run = runner.invoke(
        cli.app, ["reproduce", name, "--quick", "--output", str(tmp_path), "--data", str(data), "--seed", "1"]
    )
    assert run.exit_code == 0, run.output
    with (tmp_path / f"{name}.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    page = (tmp_path / f"{name}.md").read_text(encoding="utf-8")
    tables = {row["table"] for row in rows}
    # Each table has a header and a rule above its rows.
    assert sum(line.startswith("|") for line in page.splitlines()) == len(rows) + 2 * len(tables)
    assert "quick run" in page
    assert "has not ended" not in page
    assert str(tmp_path) not in page
    assert str(data) not in page
    assert "--quick --seed 1`" in page
    pictures = list(tmp_path.glob(f"{name}-*.png"))
    assert bool(pictures) == (name not in ("newsgroups_beyond", "newsgroups_all"))
    for picture in pictures:
        assert f"({picture.name})" in page
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert len(picture.with_suffix(".csv").read_text(encoding="utf-8").splitlines()) > 2
    assert f"({name}.md)" in (tmp_path / "index.md").read_text(encoding="utf-8")
    for row in rows:
        assert row["seed"] == "1"
        if row["measured"]:
            assert float(row["measured"]) >= 0
            assert row["protocol"]
            assert row["seconds"]
        else:
            assert row["note"]


def test_pokemon_on_a_few_battles(tmp_path, experiments):
    rng = np.random.default_rng(0)
    n, stats = 80, rng.integers(20, 120, size=(80, 6))
    first, second = rng.integers(0, n, size=(2, 4000))
    first, second = first[first != second], second[first != second]
    (tmp_path / "pokemon").mkdir()
    np.savez(
        tmp_path / "pokemon/pokemon.npz",
        stats=stats,
        stat_names=np.array(["HP", "Attack", "Defense", "Sp. Atk", "Sp. Def", "Speed"]),
        types=rng.integers(0, 2, size=(n, 18)),
        type_names=np.array([f"type {i}" for i in range(18)]),
        generation=np.ones(n, int),
        legendary=np.zeros(n, bool),
        names=np.array([f"p{i}" for i in range(n)]),
        first=first,
        second=second,
        first_wins=stats[first, 5] > stats[second, 5],
    )
    results = module("results")
    one = experiments.load_experiments()["pokemon"]
    rows = {row.method: row for row in one.run(results.Run(quick=True, data=tmp_path))}
    searched, simple = rows["similarity search"], rows["RBF"]
    assert " features, {" in searched.note  # what it found
    assert searched.measured <= simple.measured
    for library in ("LightGBM", "XGBoost"):
        assert f"{library} on pairs" in rows


def test_a_killed_run_leaves_its_rows(tmp_path, experiments):
    results, report = module("results"), module("report")

    def broken(run):
        yield results.Row("Table", "data", "first", 0.25, seconds=1.0, protocol="p")
        yield results.Row("Table", "data", "second", 0.5, seconds=1.0, protocol="p")
        raise KeyboardInterrupt

    one = results.Experiment("broken", "Broken", "about", (), (), broken)
    with pytest.raises(KeyboardInterrupt):
        results.run_experiment(one, results.Run(), lambda outcome: report.write(outcome, tmp_path))
    with (tmp_path / "broken.csv").open(encoding="utf-8") as file:
        assert [row["method"] for row in csv.DictReader(file)] == ["first", "second"]
    assert "has not ended" in (tmp_path / "broken.md").read_text(encoding="utf-8")


def test_rps_has_the_papers_eighteen_numbers(tmp_path, experiments):
    rps = module("rps")
    assert [len(row) for row in rps.PAPER.values()] == [6, 6, 6]
    results = module("results")
    one = experiments.load_experiments()["rps"]
    rows = [row for row in one.run(results.Run(quick=True, repetitions=2)) if isinstance(row, results.Row)]
    assert [row.paper for row in rows if row.paper is not None] == [x for row in rps.PAPER.values() for x in row]
    assert {row.method for row in rows if row.paper is None} == {"logistic (r)"}
    assert all(row.note.startswith("seeds 0 to 1") for row in rows)


@pytest.mark.parametrize(
    ("measured", "error", "paper_error", "paper", "verdict"),
    [
        (0.30, 0.01, None, 0.31, "same"),
        (0.30, 0.01, None, 0.33, "better"),
        (0.30, 0.01, 0.02, 0.33, "same"),
        (0.30, 0.01, None, 0.27, "worse"),
        (0.30, None, None, 0.3, "same"),
        (0.30, 0.01, None, None, ""),
        (None, None, None, 0.3, ""),
    ],
)
def test_verdict(measured, error, paper_error, paper, verdict):
    results = module("results")
    assert results.Row("", "", "", measured, error, paper, paper_error=paper_error).verdict == verdict


@pytest.mark.parametrize("given", [[], ["--data", "nowhere"]])
def test_missing_data_is_named_with_code_2_before_any_work(given, tmp_path, experiments, monkeypatch):
    monkeypatch.delenv("CONDRANK_DATA", raising=False)
    monkeypatch.setattr(module("results"), "run_experiment", lambda *_: pytest.fail("worked before checking"))
    run = runner.invoke(cli.app, ["reproduce", "rps", "newsgroups", "--output", str(tmp_path / "new"), *given])
    assert run.exit_code == 2
    assert "CONDRANK_DATA" in run.stderr
    assert "20newsgroups/counts_csr.npz" in run.stderr
    assert "Traceback" not in run.output
    assert not (tmp_path / "new").exists()


def test_data_folder_comes_from_the_environment(data, tmp_path):
    environment = {**os.environ, "CONDRANK_DATA": str(data / "nothing"), "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-c", "from condrank.cli import app; app()", "reproduce", "runtime", "-o", str(tmp_path)]
    run = subprocess.run(command, capture_output=True, encoding="utf-8", env=environment)
    assert run.returncode == 2
    assert repr(str(data / "nothing")) in run.stderr
    assert run.stdout == ""


def test_unreadable_data_fail_in_one_line(tmp_path, experiments):
    (tmp_path / "micromass").mkdir()
    (tmp_path / "micromass/micromass.npz").write_text("garbage\n")
    output = str(tmp_path / "new")
    run = runner.invoke(cli.app, ["reproduce", "bacteria", "--quick", "--data", str(tmp_path), "--output", output])
    assert run.exit_code == 1
    assert run.stdout == ""
    assert run.stderr.startswith("condrank: bacteria: ")
    assert "micromass.npz" in run.stderr
    assert run.stderr.count("\n") == 1


def test_quick_runs_have_a_folder_of_their_own(tmp_path, experiments, monkeypatch):
    monkeypatch.chdir(tmp_path)
    results = module("results")
    known = experiments.load_experiments()["rps"]
    row = results.Row("table", "data", "method", 0.25, seconds=1.0)
    monkeypatch.setattr(results, "run_experiment", lambda one, run, keep: results.Outcome(known, [row], [], 1.0, run))
    for arguments in ([], ["--quick"]):
        assert runner.invoke(cli.app, ["reproduce", "rps", *arguments]).exit_code == 0
    real, quick = ((tmp_path / name / "index.md").read_text("utf-8") for name in ("results", "results-quick"))
    assert "(quick run)" in quick
    assert "(quick run)" not in real


def test_unknown_experiment_is_named():
    run = runner.invoke(cli.app, ["reproduce", "chess"])
    assert run.exit_code == 2
    assert "chess" in run.stderr
    assert "rps" in run.stderr


def test_index_is_read_from_the_files(tmp_path, experiments):
    experiments.load_experiments()
    (tmp_path / "rps.csv").write_text("verdict,seconds\nsame,1\nsame,2\nworse,\n,4\n", encoding="utf-8")
    page = module("report").index(tmp_path)
    assert page.splitlines()[-1] == "| [Rock-paper-scissors](rps.md) | 2 | 0 | 1 | 1 | 7 s |"


@pytest.mark.parametrize(
    ("value", "told"), [(0.25, ".25"), (10.05, "10.05"), (20.0, "20"), (0.0, "0"), (1.05, "1.05"), (1e-5, "1e-05")]
)
def test_numbers_in_cells(value, told):
    cells = module("report").cells_of(module("results").Row("", "", "", value, value, value))
    assert (cells["ours"], cells["paper"]) == (told, told)
    assert float(cells["± s.e."]) == pytest.approx(value, rel=0.05)


def test_only_a_refusal_for_memory_is_a_row():
    runtime, run = module("runtime"), module("results").Run(quick=True)
    graph = RelationGraph(np.eye(6), np.eye(6))
    too_large = RankSVM(C=0.5, max_bytes=1).fit
    rows, _ = runtime.measure(run, "title", "nodes", {6: graph}, {"RankSVM": too_large})
    assert [row.measured for row in rows] == [None]
    assert "needs about" in rows[0].note
    with pytest.raises(ValueError, match="alpha"):
        runtime.measure(run, "title", "nodes", {6: graph}, {"broken": ConditionalRanker(alpha=-1.0).fit})


@pytest.mark.parametrize("library", ["LightGBM", "XGBoost"])
@pytest.mark.parametrize("objective", ["lambdarank", "regression"])
def test_trees_learn_a_relation(library, objective):
    trees = module("trees")
    if not trees.is_installed(library):
        pytest.skip(f"{library} is not installed")
    train, test = datasets.make_rock_paper_scissors(100, n_players=40, n_games=600, random_state=0)
    ranker = trees.TreeRanker(library, objective, "reciprocal", n_trees=20, n_leaves=7).fit(train)
    loss = 1 - ranker.score(test)
    assert loss < 0.25
    assert loss == pytest.approx(rank_loss(test.to_dense(), ranker.predict(test)))
    assert ranker.rank(test, top=3).indices.shape == (40, 3)


def test_pair_features():
    trees = module("trees")
    a, b = np.array([[1.0, 2.0]]), np.array([[3.0, -1.0]])
    both = [1, 2, 3, -1]
    assert trees.pair_features("ordinary", a, b, True).tolist() == [both]
    assert trees.pair_features("ordinary", a, b, False).tolist() == [[*both, 3, -2, 2, 3]]
    assert trees.pair_features("reciprocal", a, b, False).tolist() == [[*both, 3, -2, 2, 3, -2, 3]]
    assert trees.pair_features("symmetric", a, b, False)[0, -1] == pytest.approx(1 / 50**0.5)


def test_pairs_are_sampled_with_their_own_values():
    trees = module("trees")
    X = np.arange(40.0)[:, None]
    graph = RelationGraph(X, X - 2 * X.T)
    n_pairs = 0
    for a, b, (rows, columns), values in trees.sample(graph, 250, seed=0):
        np.testing.assert_array_equal(values, a[rows, 0] - 2 * b[columns, 0])
        n_pairs += len(values)
    assert 150 <= n_pairs <= 250
    holes = RelationGraph(X, np.where(X > X.T, X - 2 * X.T, np.nan))
    ((a, b, (rows, columns), values),) = trees.sample(holes, 100, seed=0)
    assert len(values) == 100
    np.testing.assert_array_equal(values, a[rows, 0] - 2 * b[columns, 0])


def test_relevance_levels_keep_the_order():
    trees = module("trees")
    assert trees.relevance_levels(np.array([0.5, -1.0, 3.0, 0.5])).tolist() == [1, 0, 2, 1]
    values = np.random.default_rng(0).normal(size=500)
    levels = trees.relevance_levels(values)
    assert levels.max() < 31
    assert (np.diff(levels[np.argsort(values)]) >= 0).all()
