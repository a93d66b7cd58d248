"""Tables as people have them, on the command line: ids, gaps, ignored columns, texts beside numbers."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from condrank import TableRanker, cli

N = 30
FILES = ["--nodes", "players.csv", "--edges", "games.csv", "--id", "name"]


@pytest.fixture(autouse=True)
def tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    speed = rng.normal(size=N)
    styles = ["likes to play at the net", "stays behind the base line", "serves hard and then waits"]
    rows = [
        f"{2 * i + 7},p{i},{'' if i == 3 else round(speed[i], 3)},{'lr'[i % 2]},{styles[i % 3]}{' a lot' * (i % 4)}"
        for i in range(N)
    ]
    Path("players.csv").write_text("user_id,name,speed,hand,about\n" + "\n".join(rows) + "\n")
    pairs = [rng.choice(N, 2, replace=False) for _ in range(200)]
    games = [(i, j) if speed[i] > speed[j] else (j, i) for i, j in pairs]
    Path("games.csv").write_text("winner,loser,court\n" + "".join(f"p{i},p{j},grass\n" for i, j in games))


def run(*arguments, code=0):
    done = CliRunner().invoke(cli.app, [str(one) for one in arguments])
    assert done.exit_code == code, done.output
    return done


def test_missing_values_are_refused_with_the_option_and_filled_with_it():
    said = run("fit", *FILES, "-o", "m", code=1).stderr
    assert "players.csv, row 5: column 'speed' has no value" in said
    assert "--impute median" in said
    run("fit", *FILES, "--impute", "mean", "--alpha", 1, "-o", "m")
    encoder = TableRanker.load("m").encoder_
    assert encoder.impute == "mean"
    header = "name,speed,hand,about\n"
    for name, speed in (("gap.csv", ""), ("filled.csv", repr(encoder.fill_["speed"]))):
        Path(name).write_text(f"{header}new,{speed},l,likes to wait\n")
    gap, filled = (
        json.loads(run("rank", "m", "--query-file", one, "--json").stdout) for one in ("gap.csv", "filled.csv")
    )
    assert gap == filled
    run("evaluate", "m", *FILES)
    run("evaluate", *FILES, "--impute", "constant", "--alpha", 1, "--folds", 2)
    run("plan", *FILES, "--impute", "constant", "--alpha", 1)


def test_columns_are_shown_with_what_they_were_taken_for():
    shown = run("fit", *FILES, "--impute", "median", "--alpha", 1, "-o", "m").stdout
    assert "nodes: id name · numbers speed · categories hand · texts about · ignored user_id\n" in shown
    assert "edges: winner · loser · ignored court\n" in shown
    found = json.loads(run("fit", *FILES, "--impute", "median", "--alpha", 1, "-o", "m", "--json").stdout)
    assert found["columns"]["nodes"] == {
        "id": "name",
        "numbers": ["speed"],
        "categories": ["hand"],
        "texts": ["about"],
        "ignored": ["user_id"],
    }
    assert found["columns"]["edges"] == {"winner": "winner", "loser": "loser", "ignored": ["court"]}
    assert found["kernel"] == "RBF(gamma='median', view='numbers') + Cosine(view='text')"


def test_the_wrong_relation_is_refused_with_the_right_one():
    said = run("fit", *FILES, "--impute", "median", "--relation", "symmetric", "-o", "m", code=1).stderr
    assert "--relation symmetric does not suit these labels" in said
    assert "use --relation reciprocal" in said


def test_games_without_known_names_are_told_of_their_options():
    text = Path("games.csv").read_text().replace("winner,loser,court", "one,two,court")
    Path("games.csv").write_text(text.replace("grass", "grass,3").replace("court", "court,day"))
    said = run("fit", *FILES, "--impute", "median", "-o", "m", code=1).stderr
    assert "--winner and --loser" in said
    run("fit", *FILES, "--impute", "median", "--winner", "one", "--loser", "two", "--alpha", 1, "-o", "m")
