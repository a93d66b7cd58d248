"""The object that users get: sentence, frames, plain values, HTML and picture."""

import json

import numpy as np
import pytest

from condrank import ConditionalRanker, RelationGraph
from condrank.explanations import Terms
from condrank.explanations.wording import sentence
from condrank.plots import WaterfallDisplay

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(8, 3)), RNG.normal(size=(8, 8))
GRAPH = RelationGraph(X, Y, ids=[f"<n{i}>" for i in range(8)])


@pytest.fixture
def explained():
    return ConditionalRanker(kernel="rbf").fit(GRAPH).explain("<n3>", "<n7>", "<n2>")


def terms(rows, by="nodes", rest=None):
    names, values = zip(*rows, strict=True)
    column = {"nodes": "node"}[by]
    return Terms(by, np.array(values), rest or {}, lambda at: {column: np.array(names, dtype=object)[at]})


def test_the_sentence_names_the_larger_reasons_first_and_what_speaks_against_it():
    found = terms([("a", 0.5), ("b", -0.2), ("c", 0.9), ("d", 0.01)])
    assert sentence(found, (3, 7, 12), 1.21) == (
        "7 is ranked above 12 for 3 (by 1.21), mostly because of what is known of c (+0.9) and a (+0.5); what is "
        "known of b (-0.2) speaks against it."
    )
    below = sentence(terms([("a", -0.5), ("b", 0.2)]), (3, 7, 12), -0.3)
    assert below.startswith("7 is ranked below 12 for 3 (by 0.3), mostly because of what is known of a (-0.5)")
    alone = sentence(terms([("a", 0.1)], rest={"prior": 0.8}), (3, 7, None), 0.9)
    assert alone.startswith("7 has the score 0.9 for 3, mostly because of their similarity (the prior) (+0.8)")
    assert sentence(terms([("a", 0.0)]), (3, 7, 8), 0.0) == "7 and 8 have the same score for 3."


def test_tables_are_sorted_by_size_and_can_be_cut(explained):
    frame = explained.to_frame("labels")
    assert len(frame) == 64
    assert (np.diff(frame["contribution"].abs()) <= 0).all()
    assert explained.to_frame("labels", top=5).equals(frame.head(5))
    assert explained.labels.largest(5).tolist() == explained.labels.largest()[:5].tolist()


def test_plain_values_can_be_written_as_json(explained):
    for by in ("labels", "nodes", "parts"):
        found = json.loads(json.dumps(explained.to_dict(by, top=3)))
        assert found["by"] == by
        assert found["total"] == pytest.approx(found["score"] - found["other_score"])
        assert len(found["contributions"]) == min(3, found["n_contributions"])
        assert found["sentence"] == explained.sentence(by)
    dates = RelationGraph(X, Y, ids=np.datetime64("2020-01-01") + np.arange(8))
    found = ConditionalRanker().fit(dates).explain(dates.ids[0], dates.ids[1]).to_dict("labels", top=1)
    assert found["query"] == "2020-01-01"
    json.dumps(found)


def test_html_is_escaped_and_has_the_sum(explained):
    text = explained._repr_html_()
    assert "&lt;n7&gt;" in text
    assert "<n7>" not in text
    assert "sum: " in text


def test_a_waterfall_goes_from_zero_to_the_total(explained):
    display = explained.plot("labels", top=4)
    assert isinstance(display, WaterfallDisplay)
    assert len(display.values) == 5  # the others are one bar
    assert display.values.sum() == pytest.approx(explained.total, abs=1e-9)
    bars = display.ax_.patches
    assert len(bars) == 6  # and the total
    assert [bar.get_width() for bar in bars[:5]] == pytest.approx(display.values.tolist())
    assert bars[0].get_x() == 0.0
    assert bars[4].get_x() + bars[4].get_width() == pytest.approx(explained.total, abs=1e-9)
    assert "<n7>" in display.ax_.get_title()
    low, high = display.ax_.get_xlim()
    reached = [0.0, *np.cumsum(display.values)]
    assert low <= min(reached)
    assert high >= max(reached)
    assert high - low > 1.1 * (max(reached) - min(reached))  # room for the numbers


def test_a_waterfall_names_the_rest_and_takes_axes():
    from matplotlib.figure import Figure

    ranker = ConditionalRanker("symmetric", "regression", fit_intercept=True, prior="similarity").fit(X, Y + Y.T)
    explained, ax = ranker.explain(0, 1), Figure().subplots()
    display = WaterfallDisplay.from_explanation(explained, "features", top=20).plot(ax=ax)
    assert display.ax_ is ax
    assert {"intercept", "prior"} <= set(display.labels)
    assert display.values.sum() == pytest.approx(explained.total)
