"""condrank suggest: pairs of a saved model to measure next."""

import csv
import io

import numpy as np
import pytest
from typer.testing import CliRunner

from condrank import ConditionalRanker, TableRanker
from condrank.cli import app

N = 8
RNG = np.random.default_rng(0)
IDS = [f"p{i}" for i in range(N)]
NODES = {"id": IDS, "size": RNG.normal(size=N), "speed": RNG.normal(size=N)}
PAIRS = [(i, j) for i in range(N) for j in range(N) if (i + 2 * j) % 3]
EDGES = {
    "source": [IDS[i] for i, _ in PAIRS],
    "target": [IDS[j] for _, j in PAIRS],
    "value": RNG.normal(size=len(PAIRS)),
}


def run(*given, code=0):
    found = CliRunner().invoke(app, [str(one) for one in given])
    assert found.exit_code == code, found.output
    return found


@pytest.fixture
def ranker(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fitted = TableRanker(ConditionalRanker(loss="regression", kernel="rbf")).fit(NODES, EDGES)
    fitted.save("model/")
    return fitted


def test_suggestions_are_those_of_the_ranker(ranker):
    for by in ("variance", "order", "top"):
        rows = list(csv.DictReader(io.StringIO(run("suggest", "model", "-n", 4, "--by", by).stdout)))
        expected = ranker.suggest_edges(4, by=by, random_state=0).to_dict()
        assert [row["query"] for row in rows] == expected["query"]
        assert [row["object"] for row in rows] == expected["object"]
        assert [float(row["std"]) for row in rows] == pytest.approx(expected["std"])


def test_costs_and_new_nodes(ranker, tmp_path):
    (tmp_path / "cost.csv").write_text("object,cost\n" + "".join(f"{one},{1 if one == 'p3' else 1e9}\n" for one in IDS))
    rows = list(csv.DictReader(io.StringIO(run("suggest", "model", "-n", 2, "--cost", "cost.csv").stdout)))
    assert {row["object"] for row in rows} == {"p3"}
    (tmp_path / "new.csv").write_text("id,size,speed\nx,0.1,0.3\n")
    rows = list(csv.DictReader(io.StringIO(run("suggest", "model", "-n", 2, "--query-file", "new.csv").stdout)))
    assert {row["query"] for row in rows} == {"x"}


def test_refusals(ranker, tmp_path):
    (tmp_path / "cost.csv").write_text("object,cost\np1,3\n")
    assert "no cost of the object 'p0'" in run("suggest", "model", "--cost", "cost.csv", code=1).output
    (tmp_path / "cost.csv").write_text("object,price\np1,3\n")
    assert "columns object and cost" in run("suggest", "model", "--cost", "cost.csv", code=1).output
