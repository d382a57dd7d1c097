"""Texts with placeholders, and options as they are written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from biasgrid.families.probe.files.evaluators import letter_of
from biasgrid.families.probe.files.section import ItemKeys

PROBE_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
BRACE = re.compile(r"[{}]")


def placeholders(text: str) -> list[str]:
    """Returns the keys that a text needs, each once."""
    return list(dict.fromkeys(PROBE_PLACEHOLDER.findall(text)))


def stray_brace(text: str) -> bool:
    """Says whether a text has a brace outside a placeholder."""
    return BRACE.search(PROBE_PLACEHOLDER.sub("", text)) is not None


def fill_text(text: str, keys: ItemKeys) -> str:
    """Puts keys into a text; what they hold is not looked at again."""
    return PROBE_PLACEHOLDER.sub(lambda found: str(keys[found[1]]), text)


def written_options(texts: Sequence[str]) -> str:
    """Writes options with their letters: `(a) Boys, (b) Girls`."""
    return ", ".join(f"({letter_of(place)}) {text}" for place, text in enumerate(texts))


def needed_placeholders(texts: Iterable[str]) -> list[str]:
    """Returns the keys that some texts need."""
    return list(dict.fromkeys(key for text in texts for key in placeholders(text)))
