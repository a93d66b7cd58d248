"""A fitted ranker and its report, written once."""

import pytest

from condrank.report import write_report
from report.games import COLUMN, fit_games


@pytest.fixture(scope="session")
def ranker():
    return fit_games()


@pytest.fixture(scope="session")
def written(ranker, tmp_path_factory):
    steps = []
    path = tmp_path_factory.mktemp("report") / "deep" / "report.html"
    write_report(ranker, ranker.graph_, path, title="A & <b>", folds=2, top=12, classes=COLUMN, step=steps.append)
    assert {"ranking", "diagnosing", "drawing", "setting 4, model: fold 2 of 2"} <= set(steps)
    return path


@pytest.fixture(scope="session")
def text(written):
    return written.read_text("utf-8")
