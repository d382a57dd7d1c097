"""Hidden characters, white space, and similar names, which models read but people do not notice."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from typing import Any

# Controls but tab and line ends; soft hyphen; marks of direction and order; zero widths; separators
# of lines; tags. Joiners are hidden only outside of words of the scripts that write them.
HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0001\U000e0020-\U000e007f\ud800-\udfff]|(?<![\u0600-\u1cff])[\u200c\u200d]|[\u200c\u200d](?![\u0600-\u1cff])"
)
HIDDEN_ASCII = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
"""The same for texts in ASCII, in a seventh of the time, which counts in logs of 100 MiB."""
UNSHOWN = re.compile(rf"{HIDDEN.pattern}|\r(?!\n)")
"""Hidden characters, and returns to the start of a line, which a terminal would overwrite."""
VISIBLE_CHARACTERS = "visible characters, tabs and line breaks"


def hidden_character(text: str) -> str | None:
    """Returns the name of the first hidden character of a text, None without one."""
    pattern = HIDDEN_ASCII if text.isascii() else HIDDEN
    match = pattern.search(text)
    return code_point(match[0]) if match else None


def visible_text(text: str) -> str:
    r"""Returns a text for a terminal, with hidden characters in the form `\u001b` of JSON."""
    if text.isascii() and text.isprintable():
        return text
    return UNSHOWN.sub(lambda match: escape(match[0]), text)


def escape(character: str) -> str:
    """Returns a character as an escape of JSON: one code of four digits, or a surrogate pair."""
    digits = character.encode("utf-16-be", errors="surrogatepass").hex()
    return "".join(f"\\u{digits[place : place + 4]}" for place in range(0, len(digits), 4))


def code_point(character: str) -> str:
    """Returns the name of a character, such as `U+200B (ZERO WIDTH SPACE)`."""
    # Unicode has no names for these categories.
    names = {"Cc": "a control character", "Cs": "half a character"}
    name = names.get(unicodedata.category(character))
    if name is None:
        name = unicodedata.name(character, "an unnamed character")
    return f"U+{ord(character):04X} ({name})"


def hidden_within(value: Any, where: str = "") -> Iterator[tuple[str, str]]:
    """Yields places and names of hidden characters in nested lists and mappings, keys included.

    Args:
        value: a text, a list or a mapping; other values have no characters.
        where: its own place.
    """
    if isinstance(value, str):
        name = hidden_character(value)
        if name is not None:
            yield where, name
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from hidden_within(item, f"{where}[{place}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            inner = f"{where}.{key}" if where else str(key)
            name = hidden_character(key) if isinstance(key, str) else None
            if name is not None:
                yield ascii(inner), name
            yield from hidden_within(item, inner)


def fold_name(name: str) -> str:
    """Returns a name in normal form NFC, without case."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def normal_form(name: str) -> str:
    """Returns a name in normal form NFC."""
    return unicodedata.normalize("NFC", name)


def similar_names(
    valid_names: Iterable[str], form: Callable[[str], str] = fold_name
) -> Iterator[tuple[str, str]]:
    """Yields names whose form is equal to that of an earlier name, each with the first such name.

    Equal names count as one name.

    Args:
        valid_names: the names.
        form: `fold_name`, which ignores case, or `normal_form`.
    """
    first: dict[str, str] = {}
    for name in dict.fromkeys(valid_names):
        other = first.setdefault(form(name), name)
        if other != name:
            yield name, other


WIDE_SPACE = re.compile(r"\s{2,}|[^\S ]")
WHITE_SPACE = re.compile(r"\s")
SPACING = "words with one space between them, and none before or after"


def wide_space(text: str) -> str | None:
    """Returns the first two words of a text that are not one space apart, None if all are.

    Tokenizers distinguish two spaces from one, and UnQover's own expansion fails at two.
    """
    match = WIDE_SPACE.search(text)
    if match is None:
        return None
    # Not by one pattern, which would begin anew at each letter of a long word.
    before = WHITE_SPACE.split(text[: match.start()])[-1]
    after = WHITE_SPACE.split(text[match.end() :], maxsplit=1)[0]
    return before + match[0] + after


def spacing_problem(name: str) -> str | None:
    """Returns the problem with the white space of a name or term, None if it is `SPACING`."""
    if not name.strip():
        return "is blank"
    if name != name.strip():
        return "begins or ends with white space"
    words = wide_space(name)
    return f"has white space in {words!r}" if words else None
