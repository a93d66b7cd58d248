"""The page at /. How it behaves in a browser is tested in tests/explorer."""

from __future__ import annotations

import re


def test_the_page_brings_all_that_it_needs(client):
    answer = client.get("/")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"(src|href)=\"(?!data:)", answer.text)
    assert "http:" not in answer.text
    assert "https:" not in answer.text


def test_the_page_may_ask_its_own_service_only_and_holds_no_data(client):
    answer = client.get("/")
    assert "connect-src 'self';" in answer.headers["content-security-policy"]
    assert re.findall(r'<script type="application/json" id="data">(.*?)</script>', answer.text) == ['{"source":"http"}']
    assert "Node" not in answer.text
