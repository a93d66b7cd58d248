"""What ``condrank fit`` says while it learns: two lines on stderr at most, all of it if asked."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from condrank import TableRanker, cli
from condrank.cli.learning import LastFit, warnings_kept

runner = CliRunner()
N = 20


def run(*arguments, code=0):
    done = runner.invoke(cli.app, list(map(str, arguments)))
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert done.exit_code == code, done.output
    return done


@pytest.fixture(autouse=True)
def tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 2))
    Path("nodes.csv").write_text("id,a,b\n" + "".join(f"p{i},{x[0]:.4f},{x[1]:.4f}\n" for i, x in enumerate(X)))
    pairs = [(i, j) for i in range(N) for j in range(N)]
    alike = "".join(f"p{i},p{j},{X[i] @ X[j]:.4f}\n" for i, j in pairs)
    Path("alike.csv").write_text("source,target,value\n" + alike)
    nearly = "".join(f"p{i},p{j},{X[i] @ X[j] + 0.05 * rng.normal():.4f}\n" for i, j in pairs if (i + j) % 3)
    Path("nearly.csv").write_text("source,target,value\n" + nearly)
    won = [(i, j) if X[i, 0] > X[j, 0] else (j, i) for i, j in pairs if i < j and (i + j) % 2]
    Path("games.csv").write_text("winner,loser\n" + "".join(f"p{i},p{j}\n" for i, j in won))


def lines(*arguments):
    done = run("fit", "--nodes", "nodes.csv", *arguments, "--quick", "-o", "m")
    assert all(line.startswith("condrank: ") for line in done.stderr.splitlines())
    return done.stderr.splitlines()


def test_choices_take_two_lines():
    said = lines("--edges", "games.csv")
    assert len(said) == 2
    assert said[0].startswith("condrank: relation reciprocal and loss logistic, by the labels: The two directions")
    assert said[1].startswith("condrank: λ = ")
    assert "holding out 30% of the edges, 5 times" in said[1]
    said = lines("--edges", "alike.csv")
    assert len(said) == 2
    assert "leaving out one node at a time" in said[1]


def test_what_is_given_is_not_said():
    assert lines("--edges", "games.csv", "--relation", "reciprocal", "--loss", "ranking", "--alpha", 1) == []
    (said,) = lines("--edges", "games.csv", "--alpha", 1)
    assert said.startswith("condrank: relation reciprocal and loss logistic")
    (said,) = lines("--edges", "games.csv", "--relation", "reciprocal", "--loss", "ranking")
    assert said.startswith("condrank: λ = ")


def test_a_warning_takes_one_of_the_two_lines():
    choices, warning = lines("--edges", "nearly.csv")
    assert choices.startswith("condrank: relation symmetric and loss ranking, by the labels; λ = ")
    assert warning.startswith("condrank: warning: --relation symmetric, but the two directions of some pairs disagree")


def test_many_warnings_are_one_line_and_all_with_verbose(monkeypatch):
    fit = TableRanker.fit

    def warned(self, *given, **more):
        for number in range(3):
            warnings.warn(f"number {number}: use constant=True", UserWarning, stacklevel=2)
        return fit(self, *given, **more)

    monkeypatch.setattr(TableRanker, "fit", warned)
    _, warning = lines("--edges", "games.csv")
    assert warning == "condrank: warning: number 0: use --constant (and 2 more, see --verbose)"
    said = lines("--edges", "games.csv", "--verbose")
    assert [line for line in said if "warning" in line] == [
        f"condrank: warning: number {number}: use --constant" for number in range(3)
    ]
    done = run("fit", "--nodes", "nodes.csv", "--edges", "games.csv", "-o", "m", "--json")
    assert json.loads(done.stdout)["warnings"] == [f"number {number}: use --constant" for number in range(3)]
    assert done.stderr.count("\n") == 2


def test_verbose_has_reasons_losses_and_plan():
    said = lines("--edges", "games.csv", "-v")
    text = "\n".join(said)
    assert len(said) > 4
    assert "If only the order matters" in text  # not in the first sentence of the reason
    assert "rank loss of each λ: " in text
    assert text.count(" for ") >= 6
    assert "coordinates; about" in said[-1]
    found = json.loads(run("fit", "--nodes", "nodes.csv", "--edges", "games.csv", "-o", "m", "--json").stdout)
    assert "If only the order matters" in found["reasons"][1]


def test_a_failure_is_said_after_one_line_of_warnings(monkeypatch):
    def fails(self, *given, **more):
        for number in range(2):
            warnings.warn(f"number {number}", UserWarning, stacklevel=2)
        raise ValueError("constant=True is wrong")

    monkeypatch.setattr(TableRanker, "fit", fails)
    said = run("fit", "--nodes", "nodes.csv", "--edges", "games.csv", "-o", "m", code=1).stderr.splitlines()
    assert said == [
        "condrank: warning: number 0 (and 1 more, see --verbose)",
        "condrank: --constant is wrong",
    ]


def test_warnings_are_shown_again_after_the_work():
    before = warnings.showwarning
    with warnings_kept(str.upper) as kept:
        warnings.warn("first", UserWarning, stacklevel=1)
    assert kept == ["FIRST"]
    assert warnings.showwarning is before


def test_the_last_fit_of_a_search_is_a_step_of_its_own(monkeypatch):
    named = []
    make = LastFit.__init__

    def watched(self, step):
        make(self, lambda name: (named.append(name), step(name)))

    monkeypatch.setattr(LastFit, "__init__", watched)
    lines("--edges", "games.csv")
    assert named == ["learning"]
    lines("--edges", "games.csv", "--alpha", 1)
    assert named == ["learning"]
