"""One browser for all tests of the page."""

from collections.abc import Iterator

import pytest
from browser import browser
from playwright.sync_api import Browser


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started
