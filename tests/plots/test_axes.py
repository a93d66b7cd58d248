"""What all displays have in common: axes of the caller, no pyplot, and what they refuse."""

import subprocess
import sys

import pytest
from matplotlib.figure import Figure

from condrank import ConditionalRanker
from condrank.plots import CoordinatesDisplay, HodgeDisplay, QueryLossDisplay, RelationDisplay, SimplexDisplay
from drawn import POINTS, Y, reciprocal


def test_displays_draw_on_the_callers_axes(tmp_path):
    figure = Figure()
    first, second, third = figure.subplots(1, 3)
    relation = RelationDisplay.from_predictions(Y, Y).plot(ax=(first, second))
    simplex = SimplexDisplay.from_predictions(POINTS, [0.1, 0.9, 0.5], query=0, corner_values=[0, 1, 0.5]).plot(
        ax=third
    )
    assert relation.figure_ is figure
    assert simplex.figure_ is figure
    figure.savefig(tmp_path / "both.png")
    assert (tmp_path / "both.png").read_bytes().startswith(b"\x89PNG")


def test_new_displays_draw_on_the_callers_axes_and_can_be_saved(tmp_path):
    figure = Figure(figsize=(12, 6))
    axes = figure.subplots(2, 3)
    graph = reciprocal(10, holes=0.2)
    ranker = ConditionalRanker("reciprocal").fit(graph)
    assert HodgeDisplay.from_relation(graph).plot(ax=axes[0]).figure_ is figure
    assert CoordinatesDisplay.from_estimator(ranker, graph).plot(ax=axes[1, 0]).ax_ is axes[1, 0]
    assert QueryLossDisplay.from_estimator(ranker, graph).plot(ax=axes[1, 1]).ax_ is axes[1, 1]
    figure.savefig(tmp_path / "all.svg")
    assert b"</svg>" in (tmp_path / "all.svg").read_bytes()


def test_drawing_does_not_import_pyplot():
    code = (
        "import sys, numpy as np; from condrank.plots import RelationDisplay; assert 'matplotlib' not in sys.modules; "
        "RelationDisplay.from_predictions(np.eye(2), np.eye(2)).plot(); assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_displays_of_rankers_need_a_graph_and_a_whole_number_of_nodes():
    graph = reciprocal(5)
    ranker = ConditionalRanker("reciprocal").fit(graph)
    for display in (RelationDisplay, CoordinatesDisplay, HodgeDisplay, QueryLossDisplay):
        with pytest.raises(ValueError, match="graph must be a RelationGraph"):
            display.from_estimator(ranker, graph.to_dense())
    with pytest.raises(ValueError, match="max_nodes"):
        RelationDisplay.from_estimator(ranker, graph, max_nodes=0)
    with pytest.raises(ValueError, match="needs groups"):
        RelationDisplay.from_estimator(ranker, graph, order="groups")
    with pytest.raises(ValueError, match="order must be"):
        RelationDisplay.from_estimator(ranker, graph, order="class")
