"""The filled page: its policy names its own script and style, and what was given stays text."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import sha256

import pytest

from condrank.explorer import HTTP, Section, embedded_data, fill_page
from condrank.explorer.markup import tag

EMPTY = {"source": "embedded", "names": [], "columns": [], "queries": []}
PART = Section("part", "A part", "Part", tag("p", "text"))


def inside(html, opening, name):
    (found,) = re.findall(f"<{opening}>(.*?)</{name}>", html, re.DOTALL)
    return found


def digest(text):
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


@pytest.mark.parametrize("data", [EMPTY, HTTP], ids=["file", "service"])
@pytest.mark.parametrize("style", ["", ".tile { color: red; }"])
def test_the_policy_names_the_script_and_the_style_of_the_page(data, style):
    page = fill_page("A title", data, introduction="", style=style)
    rules = dict(one.split(" ", 1) for one in page.policy.split("; "))
    assert rules.pop("script-src") == digest(inside(page.html, "script", "script"))
    assert rules.pop("style-src") == digest(inside(page.html, "style", "style"))
    assert rules.pop("connect-src", None) == ("'self'" if data is HTTP else None)
    assert rules == {"default-src": "'none'", "img-src": "data:", "base-uri": "'none'", "form-action": "'none'"}
    assert f'content="{page.policy}"'.replace("'", "&#x27;") in page.html


def test_a_file_and_a_service_have_the_same_script_and_style():
    file, service = (fill_page("A title", data, introduction="") for data in (EMPTY, HTTP))
    for opening in ("script", "style"):
        assert inside(file.html, opening, opening) == inside(service.html, opening, opening)
    assert "token" in service.html.replace(inside(service.html, "script", "script"), "")
    assert "token" not in file.html.replace(inside(file.html, "script", "script"), "").replace("#locked", "")


def test_texts_are_escaped_and_data_cannot_end_its_script():
    bad = "</script><b>$title & 'x'"
    data = {**EMPTY, "names": [bad]}
    page = fill_page(bad, data, introduction=bad, about=bad, footer=bad, sections=[PART]).html
    assert "<b>" not in page
    assert page.count("</script>") == 2
    assert json.loads(inside(page, 'script type="application/json" id="data"', "script")) == data


def test_sections_come_with_navigation_and_a_way_past_them():
    page = fill_page("A title", EMPTY, introduction="", sections=[PART]).html
    assert '<section id="part" aria-labelledby="part-title"><h2 id="part-title">A part</h2><p>text</p>' in page
    assert re.findall(r'<a href="(.*?)">(.*?)</a>', page) == [("#part", "Part"), ("#explore", "Explore")]
    assert 'class="skip" href="#explore"' in page
    alone = fill_page("A title", EMPTY, introduction="").html
    assert "<nav" not in alone
    assert "href=" not in alone.replace('href="data:,"', "")


def test_an_empty_file_is_a_page_too():
    data = embedded_data(0, lambda place: pytest.fail("nothing is ranked"), ["x"], one_domain=True)
    assert data == {"source": "embedded", "names": [], "columns": ["x"], "queries": []}
    assert "Explore and compare" in fill_page("A title", data, introduction="").html
