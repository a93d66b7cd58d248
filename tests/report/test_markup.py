"""Ids, columns and cells are text, whatever they contain."""

from report.games import NASTY, Reader, embedded


def test_no_id_column_or_cell_becomes_markup(text):
    reader = Reader(text)
    assert [one.get("type") for one in reader.named("script")] == ["application/json", None]
    assert reader.named("img") == []
    assert reader.named("image")
    assert all(one["href"].startswith("data:image/png;base64,") for one in reader.named("image"))
    assert not any(name.startswith("on") for _, attributes in reader.elements for name in attributes)
    assert not reader.named("b") or all(not one for one in reader.named("b"))
    assert not reader.named("u")
    words = "".join(reader.words)
    assert "A & <b>" in words
    assert set(NASTY) <= set(embedded(text)["names"])
    addresses = [one.get("href", "") for one in [*reader.named("a"), *reader.named("link")]]
    assert all(one.startswith(("#", "data:")) for one in addresses)
