"""The page at /."""

from __future__ import annotations

import re
import shutil

import pytest

from service.served import ModelHolder, create_app, running


def test_the_page_brings_all_that_it_needs(client):
    answer = client.get("/")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"(src|href)=\"(?!data:)", answer.text)
    assert "http:" not in answer.text
    assert "https:" not in answer.text


def test_the_page_in_a_browser(folder, ranker):
    playwright = pytest.importorskip("playwright.sync_api")
    browser_path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser_path is None:
        pytest.skip("no browser")
    problems = []
    with running(create_app(ModelHolder(folder), token="t")) as address, playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        page = browser.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda one: problems.append(one.text) if one.type == "error" else None)
        page.goto(address)
        page.wait_for_selector("#locked:not([hidden])")
        assert "token is needed" in page.text_content("#problem")
        problems = [one for one in problems if "401" not in one]  # which the browser writes down by itself
        page.fill("#token", "t")
        page.press("#token", "Enter")
        page.wait_for_selector("#found button")
        assert page.text_content("#problem") == ""
        page.fill("#search", "node 12")
        playwright.expect(page.locator("#found button")).to_have_count(1)
        page.press("#search", "ArrowDown")
        page.keyboard.press("Enter")
        page.wait_for_selector("#ranking tbody tr")
        names = page.locator("#ranking tbody button").all_text_contents()
        assert names == ranker.rank(["Node 12"], top=20).ids[0].tolist()
        assert "kind" in page.text_content("#columns")
        page.click("#ranking tbody tr:nth-child(2) button")
        playwright.expect(page.locator("#title")).to_have_text(f"Ranking for {names[1]}")
        after = page.locator("#ranking tbody button").all_text_contents()
        assert after == ranker.rank([names[1]], top=20).ids[0].tolist()
        browser.close()
    assert problems == []
