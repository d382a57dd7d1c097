"""Hidden characters, white space, and names hard to tell from others: people would not notice, but
models read them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from typing import Any

# Controls but tab and line ends; soft hyphen; marks of direction and order; zero widths; separators
# of lines; tags. Of the joiners, which some scripts write within their words, those that stand
# elsewhere.
HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0001\U000e0020-\U000e007f\ud800-\udfff]|(?<![\u0600-\u1cff])[\u200c\u200d]|[\u200c\u200d](?![\u0600-\u1cff])"
)
HIDDEN_ASCII = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
"""The same of texts in ASCII, in a seventh of the time, which counts in logs of 100 MiB."""
UNSHOWN = re.compile(rf"{HIDDEN.pattern}|\r(?!\n)")
"""What a terminal would obey or not show; one that returns to the start of a line overwrites it."""
VISIBLE_CHARACTERS = "visible characters, tabs and line breaks"


def hidden_character(text: str) -> str | None:
    """Names the first character of a text that cannot be seen, None where all can."""
    found = (HIDDEN_ASCII if text.isascii() else HIDDEN).search(text)
    return code_point(found[0]) if found else None


def visible_text(text: str) -> str:
    r"""Returns a text for a terminal: what cannot be seen as `\u001b`, which in JSON is the same
    character.
    """
    if text.isascii() and text.isprintable():
        return text
    return UNSHOWN.sub(lambda found: escape(found[0]), text)


def escape(character: str) -> str:
    """Returns a character as JSON may have it: one code of four digits, or the two of a pair."""
    units = character.encode("utf-16-be", errors="surrogatepass")
    return "".join(
        f"\\u{units[place]:02x}{units[place + 1]:02x}" for place in range(0, len(units), 2)
    )


def code_point(character: str) -> str:
    """Names a character: `U+200B (ZERO WIDTH SPACE)`."""
    kinds = {"Cc": "a control character", "Cs": "half a character"}
    name = kinds.get(unicodedata.category(character)) or unicodedata.name(
        character, "an unnamed character"
    )
    return f"U+{ord(character):04X} ({name})"


def hidden_within(value: Any, where: str = "") -> Iterator[tuple[str, str]]:
    """Yields where texts in nested lists and mappings hold what cannot be seen, and its name; keys
    count too.
    """
    if isinstance(value, str):
        if name := hidden_character(value):
            yield where, name
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from hidden_within(item, f"{where}[{place}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            inner = f"{where}.{key}" if where else str(key)
            if isinstance(key, str) and (name := hidden_character(key)):
                yield ascii(inner), name
            yield from hidden_within(item, inner)


def fold_name(name: str) -> str:
    """Returns a name in normal form NFC, without case."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def normal_form(name: str) -> str:
    """Returns a name in normal form NFC."""
    return unicodedata.normalize("NFC", name)


def similar_names(
    names: Iterable[str], form: Callable[[str], str] = fold_name
) -> Iterator[tuple[str, str]]:
    """Yields names that are others but for their form, each with the first such other; equal names
    are one.

    Args:
        names: the names.
        form: `fold_name`, which ignores case, or `normal_form`.
    """
    first: dict[str, str] = {}
    for name in dict.fromkeys(names):
        other = first.setdefault(form(name), name)
        if other != name:
            yield name, other


WIDE_SPACE = re.compile(r"\s{2,}|[^\S ]")
WHITE_SPACE = re.compile(r"\s")
SPACING = "words with one space between them, and none before or after"


def wide_space(text: str) -> str | None:
    """Returns the words around the first white space that is not one space, None where all words
    are one space apart.

    To tokenizers two spaces are not one, and UnQover's own expansion fails at two.
    """
    found = WIDE_SPACE.search(text)
    if found is None:
        return None
    # Not by one pattern, which would begin anew at each letter of a long word.
    before = WHITE_SPACE.split(text[: found.start()])[-1]
    behind = WHITE_SPACE.split(text[found.end() :], maxsplit=1)[0]
    return before + found[0] + behind


def spacing_problem(name: str) -> str | None:
    """Describes what is wrong with the white space of a name or term, None where it is
    `SPACING`.
    """
    if not name.strip():
        return "is blank"
    if name != name.strip():
        return "begins or ends with white space"
    found = wide_space(name)
    return f"has white space in {found!r}" if found else None
