"""Options that are looked for in a text: at its beginning and, where it has ended, at its end."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

BEGUN = r"(?:so |thus |therefore,? )?(?:the )?(?:correct |right |final |short )?(?:answer|option)(?: is)?"
LEAD = rf"[^\w]*(?:{BEGUN}[^\w]*)?"
"""What may stand before an option, such as `**` or `The answer is:`."""
BORDER = r"(?=\s*(?:[^\w\s/'’]|$))"  # noqa: RUF001
"""What follows an option: `A man` is not the option A, and `Yes/No` none at all."""


def chosen(text: str, options: Sequence[str | None], ended: bool) -> int | None:
    """Returns the place of the option that a text chooses, None where it chooses none.

    Args:
        text: the text.
        options: the options; a single letter keeps its case, words may be in any.
        ended: whether the text is whole, so that its end is one.
    """
    at_start, at_end = patterns(tuple(options))
    found = [at_start.match(text), *([at_end.search(text)] if ended else [])]
    named = next((match.lastgroup for match in found if match), None)
    return None if named is None else int(named.removeprefix("option"))


@cache
def patterns(options: tuple[str | None, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Returns what finds options at the beginning and at the end of a text, in groups of their places."""
    written = [
        f"(?P<option{place}>{re.escape(option) if len(option) == 1 else f'(?i:{re.escape(option)})'})"
        for place, option in enumerate(options)
        if option is not None
    ]
    # Of options that begin alike the longer one is meant.
    any_of = "|".join(sorted(written, key=len, reverse=True))
    lead = f"(?i:{LEAD})"
    return re.compile(rf"{lead}(?:{any_of}){BORDER}"), re.compile(rf"(?:[\n.:!?]|^){lead}(?:{any_of})[^\w]*$")
