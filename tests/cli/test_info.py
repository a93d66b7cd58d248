"""What a saved model is, what stands beside its measures, and which experiments there are."""

import csv
import hashlib
import io
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from condrank import ConditionalRanker, TableRanker, __version__, cli
from condrank.baselines import SimilarityRanker
from condrank.cli.beside import legend
from condrank.cli.output import Format
from condrank.kernels import RBF, Constant
from condrank.metrics import MEASURES, rank_loss
from condrank.model_selection.scoring import judged
from condrank.report.identity import model_fingerprint
from condrank.tables import read_graph

RNG = np.random.default_rng(0)
N = 24
SKILL = RNG.normal(size=(N, 2))
PLAYERS = {
    "id": [f"p{i}" for i in range(N)],
    "speed": SKILL[:, 0],
    "reach": SKILL[:, 1],
    "hand": ["left", "right"] * 12,
}
PAIRS = [(i, j) for i, j in RNG.integers(N, size=(150, 2)) if i != j]
WON = [
    (i, j) if SKILL[i, 0] + SKILL[i, 1] * SKILL[j, 0] > SKILL[j, 0] + SKILL[j, 1] * SKILL[i, 0] else (j, i)
    for i, j in PAIRS
]
FILES = ["--nodes", "players.csv", "--edges", "games.csv"]


def run(*arguments, code=0):
    done = CliRunner().invoke(cli.app, list(map(str, arguments)))
    assert done.exit_code == code, done.output
    return done


def write(path, columns):
    rows = zip(*columns.values(), strict=True)
    Path(path).write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]) + "\n")


@pytest.fixture(autouse=True)
def tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("players.csv", PLAYERS)
    write("games.csv", {"winner": [f"p{i}" for i, _ in WON], "loser": [f"p{j}" for _, j in WON]})


def saved(rank_by="outgoing", loss="regression", **params):
    ranker = TableRanker(ConditionalRanker("reciprocal", loss, alpha=0.5, constant=True, rank_by=rank_by, **params))
    ranker.fit("players.csv", "games.csv").save("model/")
    return TableRanker.load("model/")


def test_info_says_what_the_model_is():
    ranker = saved(kernel="rbf", gamma=0.3)
    found = json.loads(run("info", "model", "--json").stdout)
    names = ("relation", "loss", "rank_by", "alpha", "nodes", "objects")
    assert [found[name] for name in names] == ["reciprocal", "regression", "outgoing", 0.5, N, None]
    assert found["kernel"] == repr(RBF(0.3) + Constant())
    assert found["columns"] == {"speed": "numeric", "reach": "numeric", "hand": "categorical"}
    assert found["solver"] == ranker.ranker_.solver_
    assert found["features"] == ranker.ranker_.n_features_in_ == 4
    assert found["fingerprint"] == model_fingerprint(ranker)
    whole = Path("model/model.safetensors").read_bytes()
    length = int.from_bytes(whole[:8], "little")
    assert found["file_fingerprint"] == hashlib.sha256(whole[8 : 8 + length]).hexdigest()
    assert found["bytes"] == len(whole)
    assert found["written_by"] == f"condrank {__version__}"
    rows = dict(csv.reader(io.StringIO(run("info", "model").stdout)))
    assert rows["λ"] == "0.5"
    assert rows["columns"] == "speed (numeric), reach (numeric), hand (categorical)"
    assert "objects" not in rows


def test_info_of_a_plain_ranker_of_two_domains():
    from condrank import RelationGraph

    graph = RelationGraph(SKILL, SKILL @ RNG.normal(size=(2, 5)), objects=RNG.normal(size=(5, 3)))
    ConditionalRanker(object_kernel="rbf").fit(graph).save("two.safetensors")
    found = json.loads(run("info", "two.safetensors", "--json").stdout)
    assert (found["nodes"], found["objects"], found["columns"]) == (N, 5, None)
    assert found["kernel"].startswith("Linear")
    assert found["object_kernel"].startswith("RBF")


def test_info_of_something_else_is_one_line():
    assert run("info", "players.csv", code=1).stderr.count("\n") == 1
    assert run("info", "nothing", code=1).stderr.count("\n") == 1


@pytest.mark.parametrize("rank_by", ["outgoing", "incoming"])
@pytest.mark.parametrize("loss", ["regression", "logistic"])
def test_evaluate_shows_similarity_and_strengths_on_the_same_edges(rank_by, loss):
    ranker = saved(rank_by, loss, kernel="rbf")
    asked = ["--measure", "rank_loss", "--measure", "log_loss", "--json"]
    found = json.loads(run("evaluate", "model", *FILES, *asked).stdout)
    graph = read_graph("players.csv", "games.csv")
    truth, _ = judged(ranker, graph)
    truth = np.where((truth != 0).toarray(), truth.toarray(), np.nan)
    # By plain loops: strengths of both ends, from the side of the conditioning node; and the kernel of the nodes.
    f = ranker.strengths([f"p{i}" for i in range(N)])
    sign = 1 if rank_by == "outgoing" else -1
    alone = np.array([[sign * (f[i] - f[j]) for j in range(N)] for i in range(N)])
    X = ranker.queries_.nodes.rows
    alike = np.array([[np.exp(-((X[i] - X[j]) ** 2).sum() / X.shape[1]) for j in range(N)] for i in range(N)])
    assert found["strengths"]["rank_loss"] == pytest.approx(rank_loss(truth, alone))
    assert found["similarity"] == {"rank_loss": pytest.approx(rank_loss(truth, alike))}
    assert found["scores"]["log_loss"] != found["strengths"]["log_loss"]


def test_evaluate_has_no_strengths_without_a_constant_and_no_similarity_of_values():
    TableRanker(ConditionalRanker("reciprocal", "regression")).fit("players.csv", "games.csv").save("model/")
    found = json.loads(run("evaluate", "model", *FILES, "--measure", "mean_squared_error", "--json").stdout)
    assert set(found) == {"model", "nodes", "edges", "scores"}


def test_cross_validation_ranks_by_similarity_on_the_same_folds():
    given = [*FILES, "--kernel", "rbf", "--alpha", 1, "--folds", 3, "--setting", 4]
    found = json.loads(run("evaluate", *given, "--json").stdout)
    graph = read_graph("players.csv", "games.csv")
    expected = TableRanker(SimilarityRanker("rbf")).cross_validate(graph, 4, cv=3, scoring="rank_loss")
    model = TableRanker(ConditionalRanker("reciprocal", "logistic", kernel="rbf", constant=True))
    assert (model.cross_validate(graph, 4, cv=3).fold_keys == expected.fold_keys).all()
    assert found["similarity"]["4"]["rank_loss"]["mean"] == pytest.approx(expected.mean())
    row, *_ = csv.DictReader(io.StringIO(run("evaluate", *given).stdout))
    assert float(row["similarity"]) == pytest.approx(expected.mean(), abs=1e-6)


def test_a_terminal_shows_a_legend(monkeypatch):
    saved()
    assert "is better" not in run("evaluate", "model", *FILES).output
    monkeypatch.setattr("condrank.cli.evaluate.choose_format", lambda *given: Format.table)
    shown = run("evaluate", "model", *FILES, "--measure", "kendall_tau").output
    assert "higher is better" in shown
    assert "similarity: the same edges" in shown


def test_every_measure_has_a_line_in_the_legend():
    lines = legend(MEASURES)
    assert [line.split(":")[0] for line in lines] == list(MEASURES)
    assert all(line.endswith("is better") for line in lines)


def test_reproduce_without_a_name_lists_the_experiments(tmp_path):
    rows = list(csv.DictReader(io.StringIO(run("reproduce").stdout)))
    assert {"rps", "newsgroups", "theory"} <= {row["experiment"] for row in rows}
    assert all(row["about"] for row in rows)
    assert {path.name for path in tmp_path.iterdir()} == {"players.csv", "games.csv"}


@pytest.mark.parametrize("loss", ["regression", "logistic"])
def test_games_with_the_logistic_loss_are_measured_as_games(loss):
    saved("outgoing", loss)
    found = json.loads(run("evaluate", "model", *FILES, "--json").stdout)["scores"]
    of_games = {"log_loss", "brier_score", "accuracy"} if loss == "logistic" else set()
    assert set(found) == {"rank_loss"} | of_games
