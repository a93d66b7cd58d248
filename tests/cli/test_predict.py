"""condrank predict: scores, probabilities and intervals of given pairs, known and new nodes."""

import csv
import io
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from condrank import ConditionalRanker, TableRanker
from condrank.cli import app

N = 14
RNG = np.random.default_rng(0)
NODES = {"id": [f"p{i}" for i in range(N)], "size": RNG.normal(size=N), "speed": RNG.normal(size=N)}
PAIRS = [(i, j) for i in range(N) for j in range(N) if i != j and (i + j) % 3]
NEW = {"id": ["x", "p3"], "size": [0.2, 0.1], "speed": [1.0, -1.0]}


def run(*given, code=0):
    found = CliRunner().invoke(app, [str(one) for one in given])
    assert found.exit_code == code, found.output
    return found


def write(name, columns):
    with open(name, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("nodes.csv", NODES)
    ends = {"source": [f"p{i}" for i, _ in PAIRS], "target": [f"p{j}" for _, j in PAIRS]}
    write("edges.csv", ends | {"value": [NODES["size"][i] * NODES["speed"][j] + RNG.normal() for i, j in PAIRS]})
    write("new.csv", NEW)
    write("pairs.csv", {"query": ["p1", "x", "p2", "x", "p3"], "object": ["p2", "p5", "x", "x", "p1"]})


def rows_of(found):
    return list(csv.DictReader(io.StringIO(found.stdout)))


def fit(*options):
    params = ["--relation", "ordinary", "--loss", "regression", "--alpha", 1]
    return run("fit", "--nodes", "nodes.csv", "--edges", "edges.csv", *params, *options, "-o", "model/")


def test_scores_and_intervals_are_those_of_the_ranker():
    fit("--intervals")
    ranker = TableRanker.load("model")
    found = rows_of(run("predict", "model", "--pairs", "pairs.csv", "--query-file", "new.csv", "--coverage", 0.6))
    new = {name: values[:1] for name, values in NEW.items()}
    again = {name: values[1:] for name, values in NEW.items()}
    asked = [(["p1"], ["p2"]), (new, ["p5"]), (["p2"], new), (new, new), (again, ["p1"])]
    for row, (query, one) in zip(found, asked, strict=True):
        lower, upper = ranker.predict_interval(query, one, coverage=0.6)
        assert float(row["score"]) == pytest.approx(ranker.predict(query, one)[0, 0])
        assert [float(row["lower"]), float(row["upper"])] == pytest.approx([lower[0, 0], upper[0, 0]])
    widths = [round(float(row["upper"]) - float(row["lower"]), 9) for row in found]
    assert len(set(widths)) == 4
    assert widths[0] == widths[4]  # a node of training with other columns


def test_a_model_without_residuals_has_scores_and_says_what_to_do():
    fit()
    (row, *_) = rows_of(run("predict", "model", "--pairs", "pairs.csv", "--query-file", "new.csv"))
    assert set(row) == {"query", "object", "score"}
    given = ["predict", "model", "--pairs", "pairs.csv", "--query-file", "new.csv", "--coverage", 0.5]
    assert "condrank fit --intervals" in run(*given, code=1).output


def test_too_much_coverage_has_no_ends():
    fit("--intervals")
    found = run("predict", "model", "--pairs", "pairs.csv", "--query-file", "new.csv", "--coverage", 0.99, "--json")
    row = json.loads(found.stdout)["pairs"][3]
    assert row["lower"] is None
    assert row["upper"] is None


def test_games_have_probabilities():
    write("games.csv", {"winner": [f"p{i}" for i, _ in PAIRS], "loser": [f"p{j}" for _, j in PAIRS]})
    ranker = TableRanker(ConditionalRanker("reciprocal", "logistic", kernel="rbf")).fit("nodes.csv", "games.csv")
    ranker.save("model/")
    write("pairs.csv", {"winner": ["p1", "p2"], "loser": ["p2", "p1"]})
    found = rows_of(run("predict", "model", "--pairs", "pairs.csv"))
    expected = ranker.predict_proba(["p1"], ["p2"])[0, 0]
    assert [float(row["probability"]) for row in found] == pytest.approx([expected, 1 - expected])
    assert (
        "loss='logistic' gives log-odds"
        in run("predict", "model", "--pairs", "pairs.csv", "--coverage", 0.5, code=1).output
    )


def test_refusals():
    fit()
    assert "no node has the id 'x'" in run("predict", "model", "--pairs", "pairs.csv", code=1).output
    assert "between 0 and 1" in run("predict", "model", "--pairs", "pairs.csv", "--coverage", 2, code=2).output
    write("one.csv", {"query": ["p1"]})
    assert "two columns of ids" in run("predict", "model", "--pairs", "one.csv", code=1).output
    given = ["predict", "model", "--pairs", "pairs.csv", "--objects", "new.csv"]
    assert "one kind of nodes" in run(*given, code=2).output


def test_intervals_of_a_model_without_a_level_are_said_to_be_wide():
    assert "no level" not in fit("--intervals").stderr
    tables = ["--nodes", "nodes.csv", "--edges", "edges.csv"]
    done = run(
        "fit", *tables, "--loss", "ranking", "--relation", "ordinary", "--alpha", 1, "--intervals", "-o", "model/"
    )
    assert "note: the ranking loss learns an order and no level" in done.stderr
