"""Chromium without a window, and what a test asks of a page in it."""

from __future__ import annotations

import json
import shutil
import time
from importlib import import_module

import pytest

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def start_chromium(profile):
    """A driver of the installed Chromium with an empty profile; skips the test where a part of it is missing."""
    pytest.importorskip("selenium", reason="browser tests need the package selenium")
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    driver = shutil.which("chromedriver")
    if program is None:
        pytest.skip("browser tests need Chromium, and there is none on PATH (Debian: apt-get install chromium)")
    if driver is None:
        pytest.skip("browser tests need chromedriver, and it is not on PATH (Debian: apt-get install chromium-driver)")
    webdriver = import_module("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = import_module("selenium.webdriver.chrome.service").Service(driver)
    return webdriver.Chrome(options=options, service=service)


class View:
    """A page in the browser: its elements by CSS selector, its keys, what it said and what it loaded."""

    def __init__(self, driver):
        self.driver = driver
        self._keys = import_module("selenium.webdriver.common.keys").Keys

    def open(self, address, width=1100, height=800):
        """Load the page in a window of this size, as a screen in light colours shows it."""
        self.resize(width, height)
        self.show_as()
        self.messages(), self.requests()
        self.driver.get("about:blank")
        self.driver.get(address)

    def resize(self, width, height):
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def show_as(self, media="screen", scheme="light"):
        """Colours and medium. Without motion: a click on a page that still scrolls would miss."""
        chosen = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
        features = [{"name": name, "value": value} for name, value in chosen.items()]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})

    def run(self, script, *arguments):
        """What a script returns."""
        return self.driver.execute_script(f"return {script}", *arguments)

    def all(self, selector):
        return self.driver.find_elements("css selector", selector)

    def one(self, selector):
        return self.driver.find_element("css selector", selector)

    def texts(self, selector):
        """Texts of all elements, read at one moment: the page may change between two looks."""
        return self.run("[...document.querySelectorAll(arguments[0])].map(one => one.innerText)", selector)

    def text(self, selector):
        (found,) = self.texts(selector)
        return found

    def fill(self, selector, text):
        """Type a text over what a field has."""
        field = self.one(selector)
        field.send_keys(self._keys.CONTROL, "a")
        field.send_keys(self._keys.DELETE)
        field.send_keys(text)

    def press(self, key):
        """A key for the element that has the focus."""
        self.driver.switch_to.active_element.send_keys(getattr(self._keys, key))

    def wait(self, check, seconds=10.0):
        """Wait until a check holds; a test fails here if it never does."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if check():
                return
            time.sleep(0.02)
        raise AssertionError(f"the page did not get there; it says {self.text('body')[:500]!r}")

    def messages(self):
        """What the page wrote to the console since the last look: errors and refusals of its policy among it."""
        return [one["message"] for one in self.driver.get_log("browser")]

    def requests(self):
        """Addresses that were asked for since the last look."""
        events = [json.loads(one["message"])["message"] for one in self.driver.get_log("performance")]
        sent = [one["params"]["request"]["url"] for one in events if one["method"] == "Network.requestWillBeSent"]
        return [one for one in sent if not one.startswith(("data:", "about:"))]
