"""Which option a text chooses: what models say whose probabilities are not available."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

import numpy as np
import polars as pl

from biasgrid.inference.engine.back_end import lists_of

SCORED_BY_PARSING = "parsed"
"""How options were scored: a text was written, and the option read in it."""
LEAD = r"(?:(?:the|my) )?(?:(?:correct|right|best|final|short) )?(?:answer|option|choice)(?: is| would be)?(?: option)?"
PUNCTUATION = r"[^\w\n]*"
BECAUSE = r"\s+(?:is|because|since|as)\b"


def parsed_choices(said: pl.DataFrame, options: Sequence[Sequence[str | None]]) -> pl.DataFrame:
    """Reads options in texts.

    Args:
        said: answers of the kind `text`.
        options: the options of each.

    Returns:
        Columns of the kind `choice`: probabilities are 1 for the option that is chosen and 0 for the others, and null
        where none is; `status` says whether one is, `response` has the text.
    """
    texts = said.select(pl.col("response", "status").cast(pl.String)).rows()
    places = [chosen_option(text, status != "length", row) for (text, status), row in zip(texts, options, strict=True)]
    chosen = np.array(
        [[place == other for other in range(len(row))] for place, row in zip(places, options, strict=True)]
    )
    known = np.array(
        [
            [place is not None and option is not None for option in row]
            for place, row in zip(places, options, strict=True)
        ]
    )
    statuses = [status_of(place, status) for place, (_, status) in zip(places, texts, strict=True)]
    return pl.DataFrame(
        [
            lists_of("probabilities", chosen.astype(np.float64), known, pl.Float32),
            pl.Series("status", statuses, pl.Categorical),
            said["response"],
            pl.repeat(SCORED_BY_PARSING, len(said), eager=True).cast(pl.Categorical).alias("scored_by"),
        ]
    )


def chosen_option(response: str, whole: bool, options: Sequence[str | None]) -> int | None:
    """Finds the option that a response chooses, at its beginning or, if it has ended by itself, at its end.

    `A`, `(A)`, `**A.** Because ...`, `The answer is A`, `... Answer: A` choose A; `A man ...`, `A or B` and `A, B`
    choose none. The case of a single letter counts, that of a word does not.

    Args:
        response: the text.
        whole: whether it was not cut off.
        options: the options; None for one that is not there.

    Returns:
        The place of the option, None where there is none.
    """
    begins, ends = patterns(tuple(options))
    found = begins.match(response.strip()) or (ends.search(response.strip()) if whole else None)
    if found is None or (found.end() == len(response.strip()) and not whole):
        return None
    return next(int(name[1:]) for name, said in found.groupdict().items() if said is not None)


@cache
def patterns(options: tuple[str | None, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Returns the patterns of an answer at the beginning of a text, and at its end."""
    written = [(place, option.strip()) for place, option in enumerate(options) if option is not None]
    longest_first = sorted(written, key=lambda each: -len(each[1]))
    named = "|".join(f"(?P<o{place}>{option_pattern(option)})" for place, option in longest_first)
    any_option = "|".join(option_pattern(option) for _, option in longest_first)
    # Another option behind it takes back what the first one says.
    alone = rf"(?!\W*(?:(?:or|and|nor)\W+)?(?:{any_option})(?!\w))"
    followed = rf"(?:(?=\s*(?:[^\w\s/]|\n|$))|(?={BECAUSE}))"
    begins = rf"{PUNCTUATION}(?:(?i:{LEAD}){PUNCTUATION})?(?:{named})(?!\w){alone}{followed}"
    ends = rf"(?:\n|(?i:\b{LEAD})\W*|\n(?i:option)\s){PUNCTUATION}(?:{named})(?!\w)[^\w\n]*$"
    return re.compile(begins), re.compile(ends)


def option_pattern(option: str) -> str:
    """Returns the pattern of an option; a small letter is that of a list, which may be written in either case."""
    escaped = re.escape(option)
    return escaped if len(option) == 1 and not option.islower() else f"(?i:{escaped})"


def status_of(place: int | None, status: str) -> str:
    """Returns whether a response could be parsed: `ok`, or `unclear` if nothing else tells why not."""
    return "ok" if place is not None else "unclear" if status == "ok" else status
