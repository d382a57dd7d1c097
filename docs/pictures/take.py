"""Takes the pictures of the documents: pages of the report, and the figure of synthetic bias.

`make figures` takes them of the full demo, in few colours, so that each is small. Texts are shown
in those of single numbers.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

from browser import Shown, browser
from PIL import Image

CELL = "strong-qa/gender"
PAGES = {
    "grid": ("#/", 900, False),
    "cell": (f"#/cell/{CELL}", 1050, True),
    "evidence": (f"#/cell/{CELL}/Linda/was%20an%20accountant", 1000, True),
    "two-models": ("#/compare/gender/strong-qa/weak-qa", 680, True),
    "profile": ("#/subject/gender/Linda", 680, True),
    "measures": ("#/measures", 620, False),
    "synthetic": ("#/synthetic", 620, False),
    "run": ("#/run", 620, False),
}
"""Address of each page, height of the picture, and whether texts are shown."""
WIDTH, COLOURS = 1280, 200


def take(results: Path, folder: Path) -> None:
    """Takes a picture of each page that the report has."""
    report = (results / "report/index.html").resolve()
    with browser() as started:
        for name, (address, height, texts) in PAGES.items():
            shown = Shown(
                started, report, address, viewport={"width": WIDTH, "height": height}
            ).drawn()
            if texts:
                shown.press("t")
            if "names nothing in this report" in shown.text:
                sys.exit(f"{report} has no page {address}")
            shown.page.evaluate(
                "document.querySelector('#grid:not([hidden]), #app').scrollIntoView()"
            )
            save(Image.open(io.BytesIO(shown.page.screenshot())), folder / f"report-{name}.png")
            shown.page.close()
    save(Image.open(results / "plots/grid/synthetic.png"), folder / "synthetic.png")


def save(picture: Image.Image, path: Path) -> None:
    """Saves a picture, no wider than a page and in few colours."""
    height = round(picture.height * WIDTH / picture.width)
    picture.convert("RGB").resize((WIDTH, height)).quantize(COLOURS).save(path, optimize=True)
    print(f"{path.name}: {path.stat().st_size // 1000} kB")
