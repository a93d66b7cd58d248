"""Every suite of the benchmarks runs at tiny sizes and gives rows; what the rows say is for the real run."""

from __future__ import annotations

import csv
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NAMES = (
    *("fit", "path", "classes", "accuracy", "metrics", "judging", "imports", "peers", "incomplete"),
    *("iterations", "uneven", "grid", "explanations"),
    *(
        "large",
        "scaling",
        "products",
        "eigh",
        "logistic",
        "shortcuts",
        "folds",
        "search_memory",
        "lambdas",
        "constants",
        "top",
        "cli",
        "tables",
    ),
    *("distributed", "million", "growth", "approximate", "approximation_error", "approximation_loss"),
    *("memory", "serving", "soak", "kernels", "uncertainty", "defaults"),
)
pytestmark = pytest.mark.skipif(not (ROOT / "benchmarks").is_dir(), reason="the benchmarks are not part of the package")


@pytest.fixture(scope="module")
def benchmarks():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT))
        main = importlib.import_module("benchmarks.__main__")
        patch.setattr(importlib.import_module("benchmarks.harness"), "REST", 0)  # times of tiny sizes mean nothing
        main.load_suites()
        yield main


def run(benchmarks, *arguments):
    typer = pytest.importorskip("typer")
    testing = pytest.importorskip("typer.testing")
    app = typer.Typer()
    app.command()(benchmarks.main)
    return testing.CliRunner().invoke(app, list(arguments))


def test_every_suite_is_registered(benchmarks):
    assert set(benchmarks.SUITES) == set(NAMES)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "soak"])  # tests/benchmarks/test_soak.py
def test_suite_gives_rows(benchmarks, name):
    rows = benchmarks.SUITES[name].run(True)
    assert rows
    for row in rows:
        if row.floor is not None and row.measured is not None:
            assert row.ratio == row.measured / row.floor
        if row.bar is not None and row.ratio is not None:
            assert row.holds == (row.ratio <= row.bar)
    assert any(row.measured is not None for row in rows)


def test_tables_and_pictures_are_written(benchmarks, tmp_path):
    names = ["path", "grid", "peers", "products"]  # every manner of drawing, and rows without a measurement
    done = run(benchmarks, *names, "--quick", "--output", str(tmp_path))
    assert done.exit_code == 0, done.output
    for name in names:
        with (tmp_path / f"{name}.csv").open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        page = (tmp_path / f"{name}.md").read_text(encoding="utf-8")
        assert sum(line.startswith("|") for line in page.splitlines()) == len(rows) + 2
        assert "quick run" in page
        assert str(ROOT) not in page
        assert (tmp_path / f"{name}.png").stat().st_size > 1000
        assert f"({name}.md)" in (tmp_path / "index.md").read_text(encoding="utf-8")


def test_quick_run_writes_nothing_unasked(benchmarks, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(benchmarks, "metrics", "--quick").exit_code == 0
    assert not list(tmp_path.iterdir())


def test_broken_suite_leaves_the_others_running(benchmarks, tmp_path, monkeypatch):
    harness = importlib.import_module("benchmarks.harness")

    def broken(quick):
        raise ArithmeticError("no luck")

    monkeypatch.setitem(benchmarks.SUITES, "broken", harness.Suite("broken", "", "", broken, "bars", ("", "")))
    done = run(benchmarks, "broken", "metrics", "--quick", "--output", str(tmp_path))
    assert done.exit_code == 1
    assert "no luck" in done.output
    assert (tmp_path / "metrics.csv").exists()


def test_unknown_suite_is_named(benchmarks):
    done = run(benchmarks, "speed", "--quick")
    assert done.exit_code == 2
    assert "speed" in done.output


def test_measure_keeps_the_least_and_takes_turns(benchmarks):
    harness = importlib.import_module("benchmarks.harness")
    order = []
    times = harness.measure({"a": lambda: order.append("a"), "b": harness.Job(order.append, lambda: "b")}, 3)
    assert order == ["a", "b"] * 3
    assert set(times) == {"a", "b"}
