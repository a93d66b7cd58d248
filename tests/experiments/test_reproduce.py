"""``condrank reproduce``: every experiment runs on tiny data, and what cannot run is said before any work."""

import csv
import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from condrank import cli
from experiment_modules import module

runner = CliRunner()


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


def test_an_unknown_experiment_is_named():
    run = runner.invoke(cli.app, ["reproduce", "chess"])
    assert run.exit_code == 2
    assert "chess" in run.stderr
    assert "rps" in run.stderr
