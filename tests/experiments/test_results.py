"""Rows, verdicts, and runs that are stopped."""

import csv

import pytest

from experiment_modules import module


def test_a_killed_run_leaves_its_rows(tmp_path, experiments):
    results, report = module("results"), module("report")

    def broken(run):
        yield results.Row("Table", "data", "first", 0.25, seconds=1.0, protocol="p")
        yield results.Row("Table", "data", "second", 0.5, seconds=1.0, protocol="p")
        raise KeyboardInterrupt

    one = results.Experiment("broken", "Broken", "about", (), (), broken)
    with pytest.raises(KeyboardInterrupt):
        results.run_experiment(one, results.Run(), lambda outcome: report.write(outcome, tmp_path))
    with (tmp_path / "broken.csv").open(encoding="utf-8") as file:
        assert [row["method"] for row in csv.DictReader(file)] == ["first", "second"]
    assert "has not ended" in (tmp_path / "broken.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("measured", "error", "paper_error", "paper", "verdict"),
    [
        (0.30, 0.01, None, 0.31, "same"),
        (0.30, 0.01, None, 0.33, "better"),
        (0.30, 0.01, 0.02, 0.33, "same"),
        (0.30, 0.01, None, 0.27, "worse"),
        (0.30, None, None, 0.3, "same"),
        (0.30, 0.01, None, None, ""),
        (None, None, None, 0.3, ""),
    ],
)
def test_verdict_compares_with_two_standard_errors(measured, error, paper_error, paper, verdict):
    results = module("results")
    assert results.Row("", "", "", measured, error, paper, paper_error=paper_error).verdict == verdict
