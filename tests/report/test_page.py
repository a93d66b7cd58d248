"""`write_report` as a whole: bad input, failures, and the command."""

import csv
import os

import numpy as np
import pytest
from typer.testing import CliRunner

from condrank import ConditionalRanker, TableRanker
from condrank.cli import app
from condrank.model_selection import cross_validate
from condrank.report import write_report
from condrank.report.measured import SETTINGS
from report.games import COLUMN, Reader, make_games


def test_the_old_page_survives_a_failure(ranker, tmp_path, monkeypatch):
    path = tmp_path / "r.html"
    path.write_text("old")
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "full")))
    with pytest.raises(OSError, match="full"):
        write_report(ranker, ranker.graph_, path, settings=[])
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["r.html"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ranker": ConditionalRanker()}, "ranker must be a fitted TableRanker, got ConditionalRanker"),
        ({"graph": 3}, "graph must be a RelationGraph, got int"),
        ({"folds": 1}, "folds must be a whole number of at least 2, got 1"),
        ({"settings": [5]}, "settings must be one of"),
        ({"top": 0}, "top must be"),
        ({"classes": "age"}, "classes must be a column of the nodes, one of .* got 'age'"),
        ({"path": "."}, "path must be a file to write"),
    ],
)
def test_bad_input_is_refused_before_long_work(ranker, tmp_path, change, message):
    given = {"ranker": ranker, "graph": ranker.graph_, "path": tmp_path / "r.html"} | change
    with pytest.raises(ValueError, match=message):
        write_report(**given)
    assert not (tmp_path / "r.html").exists()


def write_csv(path, columns):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def test_command_takes_a_saved_model_or_fits_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    players, games = make_games(30, 500)
    players["notes"] = [""] * 30  # not in the model: missing values there are no matter
    write_csv(tmp_path / "players.csv", players)
    write_csv(tmp_path / "games.csv", games)
    asked = ConditionalRanker(relation="reciprocal", loss="regression", alpha=2.0)
    ranker = TableRanker(asked).fit("players.csv", "games.csv", drop=["notes", COLUMN])
    ranker.save("model/")
    tables = ["--nodes", "players.csv", "--edges", "games.csv"]
    some = ["--quick", "--setting", "2"]
    run = CliRunner().invoke(app, ["report", "model/", *tables, *some, "--classes", COLUMN, "--title", "T"])
    assert (run.exit_code, run.stdout) == (0, "Written: report.html\n"), run.output
    words = "".join(Reader((tmp_path / "report.html").read_text("utf-8")).words)
    # Two folds of the whole graph, not of a sample; each holds out one part in five.
    found = cross_validate(TableRanker(asked), ranker.graph_, 2, cv=5).scores["rank_loss"][:2]
    assert f"2{SETTINGS[2]}{found.mean():.4f} ± {found.std(ddof=1) / np.sqrt(2):.4f}" in words
    assert "drawn at random" not in words
    assert "For new players, " in words
    fitted = ["--drop", "notes", "--relation", "reciprocal", "--loss", "regression", "--alpha", "2", "-o", "b.html"]
    run = CliRunner().invoke(app, ["report", *tables, *some, *fitted])
    assert (run.exit_code, run.stdout) == (0, "Written: b.html\n"), run.output
    run = CliRunner().invoke(app, ["report", "nothing/", *tables])
    assert run.exit_code == 1
    assert "nothing" in run.output
