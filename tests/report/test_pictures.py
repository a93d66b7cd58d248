"""Pictures of the page."""

from condrank import ConditionalRanker, TableRanker
from condrank.report import write_report
from report.games import Reader, make_games


def test_every_image_has_a_description_and_every_field_a_label(text):
    reader = Reader(text)
    charts = [one for one in reader.named("svg") if one.get("role") == "img"]
    assert len(charts) >= 4 + 7  # settings; calibration, two of how sure, two relations, order, λ, coordinates
    assert all(one["aria-label"] for one in charts)
    assert all(one.get("aria-hidden") == "true" or one.get("role") == "img" for one in reader.named("svg"))
    assert reader.named("img") == []
    assert {one["for"] for one in reader.named("label")} == {one["id"] for one in reader.named("input")}
    ids = [attributes["id"] for _, attributes in reader.elements if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_early_stopping_has_its_curve(tmp_path):
    asked = ConditionalRanker(relation="reciprocal", loss="regression", solver="early_stopping", random_state=0)
    ranker = TableRanker(asked).fit(*make_games())
    text = write_report(ranker, ranker.graph_, tmp_path / "r.html", settings=[]).read_text("utf-8")
    assert "Rank loss against iteration" in text
