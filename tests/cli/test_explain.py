"""``condrank explain``: a sentence, tables and JSON of contributions, and a picture."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from condrank import ConditionalRanker, TableRanker, cli
from condrank.cli.explain import as_options

N = 12


def run(*arguments, code=0):
    done = CliRunner().invoke(cli.app, list(map(str, arguments)))
    assert done.exit_code == code, done.output
    return done


@pytest.fixture(autouse=True)
def tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    speed = rng.normal(size=N)
    rows = "".join(f"p{i},{one:.3f},{'lr'[i % 2]}\n" for i, one in enumerate(speed))
    Path("players.csv").write_text("id,speed,hand\n" + rows)
    pairs = [(i, j) if speed[i] > speed[j] else (j, i) for i in range(N) for j in range(i)]
    Path("games.csv").write_text("winner,loser\n" + "".join(f"p{i},p{j}\n" for i, j in pairs))


def fit(*options):
    run("fit", "--nodes", "players.csv", "--edges", "games.csv", "--alpha", 1, "-o", "model/", *options)
    return TableRanker.load("model/")


def test_rows_and_json_are_those_of_the_explanation():
    ranker = fit("--kernel", "linear", "--loss", "regression")
    for by in ("labels", "nodes", "features", "parts"):
        asked = ("explain", "model", "p3", "p7", "--other", "p2", "--by", by, "--top", 5)
        expected = ranker.explain("p3", "p7", "p2").to_dict(by, top=5)
        rows = list(csv.DictReader(io.StringIO(run(*asked).stdout)))
        assert [*rows[0]] == [*expected["contributions"][0]]
        found = [float(row["contribution"]) for row in rows]
        np.testing.assert_allclose(found, [row["contribution"] for row in expected["contributions"]], rtol=1e-6)
        assert json.loads(run(*asked, "--json").stdout) == {"model": "model"} | expected
    shown = run("explain", "model", "p3", "p7", "--other", "p2", "--format", "table").stdout
    assert shown.startswith("p7 is ranked")
    assert "speed" in shown


def test_a_picture_is_written(tmp_path):
    fit("--kernel", "linear")
    run("explain", "model", "p3", "p7", "--plot", "why.png")
    assert Path("why.png").read_bytes()[1:4] == b"PNG"
    assert "nowhere" in run("explain", "model", "p3", "p7", "--plot", "nowhere/why.png", code=1).stderr
    assert "must end in" in run("explain", "model", "p3", "p7", "--plot", "why.txt", code=2).stderr


def test_the_rest_is_among_the_rows():
    values = "".join(f"p{i},p{j},{i * j % 5}\n" for i in range(N) for j in range(0, N, 2))
    Path("values.csv").write_text("source,target,value\n" + values)
    ranker = ConditionalRanker(loss="regression", fit_intercept=True)
    TableRanker(ranker).fit("players.csv", "values.csv").save("model/")
    rows = list(csv.DictReader(io.StringIO(run("explain", "model", "p3", "p7", "--top", 50).stdout)))
    total = TableRanker.load("model/").explain("p3", "p7").total
    assert sum(float(row["contribution"]) for row in rows) == pytest.approx(total)
    assert rows[-1]["side"] == "intercept"


def test_what_cannot_be_explained_is_said_in_the_words_of_the_command_line():
    fit("--kernel", "rbf", "--drop-labels")
    message = run("explain", "model", "p3", "p7", "--by", "labels", code=1).stderr
    assert "fit it with condrank fit --keep-labels" in message
    message = run("explain", "model", "p3", "p7", "--by", "features", code=1).stderr
    assert "--by parts instead, or fit with --kernel linear" in message
    assert "did you mean" in run("explain", "model", "p3", "p77", code=1).stderr
    assert "training=True" not in as_options("save the fitted one with ranker.save(path, training=True), or fit it")
