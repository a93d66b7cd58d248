"""One Chromium for all browser tests."""

from __future__ import annotations

import pytest

from explorer.chromium import start_chromium


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    driver = start_chromium(tmp_path_factory.mktemp("profile"))
    yield driver
    driver.quit()
