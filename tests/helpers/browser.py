"""The report in a real browser: the system's chromium, without network."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

AXE = os.environ.get("BIASGRID_AXE", "")
"""The file axe.min.js of axe-core."""
FOUND_BY_AXE = (
    "async () => (await axe.run()).violations.map(each => `${each.id}: ${each.nodes[0].html}`)"
)
PATIENCE = 60
"""Seconds that a page may take on a loaded machine; tests measure no times."""


@contextmanager
def browser() -> Iterator[Browser]:
    """Starts the system's browser."""
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        yield started
        started.close()


def found_by_axe(
    started: Browser, file: Path, addresses: Iterable[str], **options: Any
) -> dict[str, list[str]]:
    """Returns what axe-core finds wrong on a report's pages, with texts hidden and shown, by
    page.
    """
    # The page's policy runs its own script alone.
    context = started.new_context(bypass_csp=True, **options)
    report = Shown(context, file).drawn()
    report.page.evaluate(Path(AXE).read_text(encoding="utf-8"))
    found = {}
    for texts in ("hidden", "shown"):
        for address in addresses:
            found[f"{address}, texts {texts}"] = report.go(address).page.evaluate(FOUND_BY_AXE)
        report.press("t")
    context.close()
    return {page: wrong for page, wrong in found.items() if wrong}


class Shown:
    """A report that is open.

    Attributes:
        page: the page of the browser.
        complaints: what it asked for, logged as an error or was refused by its policy: nothing,
            where all is well.
    """

    def __init__(
        self, started: Browser | BrowserContext, file: Path, address: str = "", **options: Any
    ) -> None:
        """Opens a file at an address, such as `#/run`; `options` are those of the browser's
        page.
        """
        self.file = file
        self.page: Page = started.new_page(**options)
        self.complaints: list[str] = []
        self.page.on(
            "console",
            lambda message: self.complain(message.type in ("error", "warning"), message.text),
        )
        self.page.on("pageerror", lambda error: self.complain(True, str(error)))
        self.page.on("dialog", lambda dialog: self.complain(True, f"dialog: {dialog.message}"))
        self.page.on(
            "request",
            lambda request: self.complain(not request.url.startswith("file:"), request.url),
        )
        self.page.goto(file.as_uri() + address)

    def complain(self, wrong: bool, text: str) -> None:
        """Keeps a complaint."""
        if wrong:
            self.complaints.append(text)

    def drawings(self) -> int:
        """Returns how often the page has been drawn."""
        return int(self.page.evaluate("Number(document.documentElement.dataset.ready ?? 0)"))

    def drawn(self, before: int = 0) -> Shown:
        """Waits until the page has been drawn once more than before."""
        end = time.monotonic() + PATIENCE
        while self.drawings() <= before:
            assert time.monotonic() < end, f"{self.page.url} is not drawn; {self.complaints}"
            time.sleep(0.02)
        return self

    def go(self, address: str) -> Shown:
        """Goes to another address of the page."""
        if self.page.evaluate("location.hash") == address:
            return self
        before = self.drawings()
        self.page.evaluate("address => { location.hash = address; }", address)
        return self.drawn(before)

    def press(self, key: str) -> Shown:
        """Presses a key that draws the page anew."""
        before = self.drawings()
        self.page.keyboard.press(key)
        return self.drawn(before)

    def tab_to(self, selector: str) -> Shown:
        """Presses the key Tab until what is focused matches a selector."""
        for _ in range(200):
            self.page.keyboard.press("Tab")
            if self.page.evaluate("selector => document.activeElement.matches(selector)", selector):
                return self
        raise AssertionError(f"{selector} cannot be reached by Tab")

    def click(self, selector: str) -> Shown:
        """Clicks what draws the page anew."""
        before = self.drawings()
        self.page.click(selector)
        return self.drawn(before)

    @property
    def text(self) -> str:
        """What one reads."""
        return str(self.page.inner_text("body"))

    def saved(self, selector: str, folder: Path) -> Path:
        """Clicks what saves a file; returns the file."""
        with self.page.expect_download() as download:
            self.page.click(selector)
        path = folder / download.value.suggested_filename
        download.value.save_as(path)
        return path
