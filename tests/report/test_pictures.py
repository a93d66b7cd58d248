"""Pictures of the page."""

import pytest

from condrank import ConditionalRanker, TableRanker
from condrank.report import write_report
from report.games import Reader, make_games


def test_every_image_has_a_description_and_every_field_a_label(text):
    reader = Reader(text)
    assert len(reader.named("img")) == 6  # heat maps, Hodge, losses, settings, coordinates, λ
    assert all(one["alt"] for one in reader.named("img"))
    assert {one["for"] for one in reader.named("label")} == {one["id"] for one in reader.named("input")}
    ids = [attributes["id"] for _, attributes in reader.elements if "id" in attributes]
    assert len(ids) == len(set(ids))


@pytest.mark.usefixtures("undrawn")
def test_early_stopping_has_its_curve(tmp_path):
    asked = ConditionalRanker(relation="reciprocal", loss="regression", solver="early_stopping", random_state=0)
    ranker = TableRanker(asked).fit(*make_games())
    text = write_report(ranker, ranker.graph_, tmp_path / "r.html", settings=[]).read_text("utf-8")
    assert "Rank loss against iteration" in text
