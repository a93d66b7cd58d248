"""What the commands say on stderr: arguments as options, notes and warnings, and reasons for what was chosen."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from condrank import TableRanker, cli
from condrank.cli.wording import as_typed

runner = CliRunner()
NAMES = [f"p{i}" for i in range(12)]
FILES = ["--nodes", "players.csv", "--edges", "games.csv"]
QUICK = ["--kernel", "linear", "--alpha", "1"]
OPTIONS = (
    "drop",
    "id",
    "object_id",
    "winner",
    "loser",
    "wins",
    "mirror",
    "kernel",
    "constant",
    "probabilities",
    "text",
)


def run(*arguments, code=0, **options):
    done = runner.invoke(cli.app, list(map(str, arguments)), **options)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert done.exit_code == code, done.output
    return done


@pytest.fixture(autouse=True)
def tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 2))
    rows = "".join(f"{name},{x[0]:.3f},{x[1]:.3f}\n" for name, x in zip(NAMES, X, strict=True))
    Path("players.csv").write_text("id,speed,reach\n" + rows)
    pairs = [(i, j) for i in range(12) for j in range(i)]
    won = [(i, j) if X[i, 0] > X[j, 0] else (j, i) for i, j in pairs]
    Path("games.csv").write_text("winner,loser\n" + "".join(f"{NAMES[i]},{NAMES[j]}\n" for i, j in won))
    both = [(i, j) for i in range(12) for j in range(12)]
    alike = "".join(f"{NAMES[i]},{NAMES[j]},{1 + abs(X[i, 0] - X[j, 0]):.3f}\n" for i, j in both)
    Path("alike.csv").write_text("source,target,value\n" + alike)


# Arguments as options


@pytest.mark.parametrize(
    ("message", "typed"),
    [
        ("leave the column out with drop=", "leave the column out with --drop"),
        ("by drop=['hand', 'a b']", "by --drop hand --drop 'a b'"),
        ("winner='Winer' is not a column of games.csv", "--winner Winer is not a column of games.csv"),
        ("p2 (read as loser=): no", "p2 (read as --loser): no"),
        ("use wins=('won', 'lost'), or", "use --wins won lost, or"),
        ("mirror=None will do.", "--mirror none will do."),
        ("use constant=True, or constant=False.", "use --constant, or --no-constant."),
        ("say so with RelationGraph(..., probabilities=True)", "say so with --probabilities"),
        ("by categorical=, text= or drop=", "by categorical=, --text or --drop"),
        ("needs kernel='precomputed', not kernel='rbf'", "needs --kernel-matrix, not --kernel rbf"),
        ("winner and loser must both be given", "--winner and --loser must both be given"),
        ("object_id needs objects", "--object-id needs objects"),
        ("value and wins must not", "value and wins must not"),  # not all of them are options here
        ("id=3/games.csv: got 'id=', \"drop=\"", "id=3/games.csv: got 'id=', \"drop=\""),
        ("the model's id='it\\'s'", "the model's --id 'it'\"'\"'s'"),
        ("id='\\x00' is no column", "--id '\\x00' is no column"),
        ("id='\\xq' is no column", "id='\\xq' is no column"),
        ("solver='dual' is not", "solver='dual' is not"),
    ],
)
def test_arguments_are_shown_as_they_are_typed(message, typed):
    assert as_typed(message, OPTIONS) == typed


def test_errors_name_options():
    Path("gaps.csv").write_text("id,speed,hand\n" + "".join(f"{name},,left\n" for name in NAMES))
    said = run("fit", "--nodes", "gaps.csv", "--edges", "games.csv", "-o", "m", code=1).stderr
    assert said.endswith("or leave the column out with --drop, or have missing values filled with --impute median\n")
    assert "--winner Winer is not a column" in run("fit", *FILES, "--winner", "Winer", "-o", "m", code=1).stderr
    assert "--object-id needs objects" in run("fit", *FILES, "--object-id", "id", "-o", "m", code=1).stderr


def test_warnings_name_options():
    Path("half.csv").write_text("source,target,value\np0,p1,1\np0,p2,0\np3,p1,1\n")
    given = ["--nodes", "players.csv", "--edges", "half.csv", "--relation", "reciprocal", "--loss", "logistic"]
    assert "say so with --probabilities" in run("fit", *given, *QUICK, "-o", "m").stderr


# Evaluation


def test_a_model_judged_on_its_own_nodes_is_reported():
    run("fit", *FILES, *QUICK, "-o", "model/")
    done = run("evaluate", "model", *FILES, "--measure", "rank_loss")
    assert "all of these nodes were in training" in done.stderr
    assert "--setting 4" in done.stderr
    want = 1 - TableRanker.load("model").score("players.csv", "games.csv")
    head, row = done.stdout.splitlines()
    assert head == "measure,score,similarity,strengths"
    assert row.startswith(f"rank_loss,{round(want, 6)},")
    # Nodes without edges are not measured; a new one with an edge is.
    players = Path("players.csv").read_text()
    Path("more.csv").write_text(f"{players}new,1,1\n")
    assert "in training" in run("evaluate", "model", "--nodes", "more.csv", "--edges", "games.csv").stderr
    Path("games2.csv").write_text(Path("games.csv").read_text() + "new,p0\n")
    assert run("evaluate", "model", "--nodes", "more.csv", "--edges", "games2.csv").stderr == ""


def test_new_objects_of_known_nodes_are_no_training_nodes():
    Path("drugs.csv").write_text("id,size\n" + "".join(f"d{i},{i}\n" for i in range(5)))
    for name, first in (("old", 0), ("new", 3)):
        Path(f"{name}.csv").write_text("id,mass\n" + "".join(f"t{j},{j * j}\n" for j in range(first, first + 4)))
        rows = "".join(f"d{i},t{j},{i - j}\n" for i in range(5) for j in range(first, first + 4))
        Path(f"{name}_bound.csv").write_text("source,target,value\n" + rows)
    for by in ("outgoing", "incoming"):
        old, new = (
            ["--nodes", "drugs.csv", "--objects", f"{one}.csv", "--edges", f"{one}_bound.csv"] for one in ("old", "new")
        )
        run("fit", *old, *QUICK, "--relation", "ordinary", "--loss", "ranking", "--rank-by", by, "-o", "two/")
        assert "in training" in run("evaluate", "two", *old).stderr
        assert run("evaluate", "two", *new).stderr == ""


def test_a_measure_that_is_not_defined_is_reported():
    given = ["--nodes", "players.csv", "--edges", "alike.csv", *QUICK, "--relation", "symmetric", "--loss", "ranking"]
    done = run("evaluate", *given, "--setting", 2, "--folds", 3, "--scoring", "auc", "--scoring", "rank_loss")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert rows[0]["mean"] == ""
    assert float(rows[1]["mean"]) > 0
    assert done.stderr == "condrank: warning: auc is not defined for any of the 4 queries; the average is set to NaN\n"


# What was chosen, and why


def test_relation_and_loss_have_reasons_of_their_own():
    given = ["--nodes", "players.csv", "--edges", "alike.csv", *QUICK]
    said = run("plan", *given).stderr
    assert said.startswith(
        "condrank: relation symmetric and loss ranking, by the labels: Both directions of a pair agree"
    )
    assert "The aim is a ranking" in said
    said = run("plan", *given, "--relation", "symmetric").stderr
    assert said.startswith("condrank: loss ranking, by the labels: The aim is a ranking")
    said = run("plan", *given, "--loss", "ranking").stderr
    assert said.startswith("condrank: relation symmetric, by the labels: Both directions")
    assert "The aim" not in said
    said = run("plan", *FILES, *QUICK, "--relation", "ordinary").stderr
    assert "loss ranking, by the labels: The logistic loss, for wins and losses, needs a reciprocal relation" in said


# Kernels


def write_kernel(ids, path="K.csv"):
    X = np.random.default_rng(1).normal(size=(len(ids), 3))
    rows = [f"{one},{','.join(map(str, row))}" for one, row in zip(ids, X @ X.T, strict=True)]
    Path(path).write_text("\n".join([",".join(["", *ids]), *rows]) + "\n")


def test_options_of_another_kernel_are_refused_beside_a_matrix():
    write_kernel(NAMES)
    given = ["fit", "--kernel-matrix", "K.csv", "--edges", "alike.csv", "-o", "m"]
    for option in (["--kernel", "rbf"], ["--gamma", "2"]):
        said = " ".join(run(*given, *option, code=2).stderr.split())
        assert option[0] in said
        assert "has no use beside --kernel-matrix" in said
    found = json.loads(run("fit", *FILES, "--alpha", "1", "-o", "m", "--json").stdout)
    assert found["kernel"] == "RBF(gamma='median')"


def test_a_kernel_file_of_new_nodes_may_have_a_blank_corner():
    write_kernel(NAMES)
    run("fit", "--kernel-matrix", "K.csv", "--edges", "alike.csv", "--alpha", "1", "-o", "model/")
    values = np.random.default_rng(2).normal(size=12)
    header, row = ",".join(NAMES[::-1]), ",".join(map(str, values[::-1]))
    Path("new.csv").write_text(f",{header}\nnew,{row}\n")
    rows = list(csv.DictReader(io.StringIO(run("rank", "model", "--query-file", "new.csv", "--top", 3).stdout)))
    assert [one["query"] for one in rows] == ["new"] * 3
    assert [one["object"] for one in rows] == TableRanker.load("model").rank(values[None], top=3).ids[0].tolist()
    # As new objects, and on standard input, too; but not for a model of columns.
    done = run("rank", "model", "-q", "p0", "--objects", "-", input=Path("new.csv").read_text())
    assert [one["object"] for one in csv.DictReader(io.StringIO(done.stdout))] == ["new"]
    run("fit", *FILES, *QUICK, "-o", "columns/")
    Path("new.csv").write_text(",speed,reach\nnew,1,2\n")
    assert "column 1 has no name" in run("rank", "columns", "--query-file", "new.csv", code=1).stderr


def test_an_id_that_a_kernel_file_has_twice():
    write_kernel([*NAMES, "p2"])
    said = run("fit", "--kernel-matrix", "K.csv", "--edges", "alike.csv", "-o", "m", code=1).stderr
    assert "K.csv: nodes 3 and 13 both have the id 'p2'" in said
    assert "column" not in said


def test_a_kernel_without_ids():
    np.savez("K.npz", kernel=np.eye(12), names=NAMES)
    said = run("fit", "--kernel-matrix", "K.npz", "--edges", "alike.csv", "-o", "m", code=1).stderr
    assert "no node has the id 'p0'; 12 ids in 144 rows belong to no node: 'p0', 'p1', 'p2', …" in said
    assert (
        "the kernel has no ids, so its nodes are 0 to 11; pass a table with their ids, in the same order, as --nodes"
        in said
    )
    assert "--objects" not in said
