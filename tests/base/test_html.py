"""What notebooks show: the facts of the text, escaped, and small for large results."""

import re
from html.parser import HTMLParser

from builders import noisy_graph
from condrank import ConditionalRanker, RelationGraph, diagnose
from condrank.model_selection import cross_validate, cross_validate_settings

EVIL = "<script>alert('x')</script>"


def cells(html):
    """Text of the cells and lines, after a check that all elements are closed."""
    found, opened = [], []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attributes):
            assert tag in {"table", "thead", "tbody", "caption", "tr", "th", "td", "p", "pre"}
            opened.append(tag)

        def handle_endtag(self, tag):
            assert opened.pop() == tag

        def handle_data(self, data):
            found.append(data)

    Reader().feed(html)
    assert opened == []
    return found


def test_a_ranking_is_escaped_and_short():
    ids = [EVIL, *(f"n{i}" for i in range(39))]
    graph = noisy_graph()
    ranking = ConditionalRanker().fit(RelationGraph(graph.nodes.rows, graph.relation.Y, ids=ids)).rank(ids, top=20)
    html = ranking._repr_html_()
    assert "<script" not in html
    assert EVIL in cells(html)
    assert html.count("<tr>") == 1 + 5 * 10
    assert "40 conditioning nodes, 20 objects each" in cells(html)
    first = ranking[0][0]
    assert cells(html)[4:8] == [EVIL, "1", first[0], f"{first[1]:.4g}"]


def test_a_ranking_shows_no_places_without_an_object():
    ranking = ConditionalRanker().fit(noisy_graph()).rank([0, 1], top=3, exclude=[[], list(range(39))])
    assert ranking._repr_html_().count("<tr>") == 1 + 3 + 1
    assert "<p>" not in ranking._repr_html_()


def test_cross_validation_shows_what_is_printed():
    found = cross_validate(ConditionalRanker(), noisy_graph(), cv=3, scoring={"a<b": "rank_loss"})
    assert cells(found._repr_html_()) == re.split(r"\s{2,}|\n\s*", str(found).strip())
    several = cross_validate_settings(ConditionalRanker(), noisy_graph(), settings=(1, 4), cv=3)
    assert cells(several._repr_html_()) == re.split(r"\s{2,}|\n\s*", str(several).strip())


def test_plan_graph_and_diagnosis_say_what_their_text_says():
    graph = noisy_graph("holes")
    plan = ConditionalRanker().plan(graph)
    assert {plan.solver, plan.reason} <= set(cells(plan._repr_html_()))
    assert all(f"flops of {name}" in cells(plan._repr_html_()) for name in plan.alternatives)
    assert "".join(cells(diagnose(graph)._repr_html_())) == str(diagnose(graph))
    name, *facts = cells(graph._repr_html_())
    assert f"{name}({', '.join(facts)})" == repr(graph)
