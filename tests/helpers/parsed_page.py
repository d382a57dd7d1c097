"""What a page of HTML says."""

import gzip
import json
from base64 import b64decode
from html.parser import HTMLParser
from typing import Any


class Page(HTMLParser):
    """Collects what a page refers to, its ids, its text and the cells of its tables' rows.

    Attributes:
        blocks: what stands in its blocks of compressed JSON, by their ids.
    """

    def __init__(self, html: str) -> None:
        super().__init__()
        self.references: list[str] = []
        self.ids: list[str] = []
        self.tags: set[str] = set()
        self.rows: list[list[str]] = []
        self.text = ""
        self.blocks: dict[str, Any] = {}
        self.scripts: list[str] = []
        self.within: str | None = None
        self.block: str | None = None
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self.tags.add(tag)
        self.within = tag
        self.block = named.get("id") if named.get("type") == "application/gzip" else None
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        self.references += [
            value or "" for name, value in attrs if name in ("src", "href", "srcset", "action")
        ]
        if self.block is None:
            self.ids += [value or "" for name, value in attrs if name == "id"]

    def handle_endtag(self, tag: str) -> None:
        self.within = None

    def handle_data(self, data: str) -> None:
        if self.block is not None and self.within == "script":
            self.blocks[self.block] = json.loads(gzip.decompress(b64decode(data)))
        elif self.within in ("script", "style"):
            self.scripts.append(data)
        else:
            self.text += data
            if self.rows and self.rows[-1]:
                self.rows[-1][-1] += data.strip()
