"""Which option a text chooses: what models say whose probabilities are not available."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from biasgrid.base.languages import ENGLISH_WORDS
from biasgrid.inference.engine.back_end import to_list_column
from biasgrid.readers.choices import read_choice
from biasgrid.readers.menu import ALPHABET, Menu
from biasgrid.readers.reading import Reading
from biasgrid.readers.yes_no import read_yes_no

SCORED_BY_PARSING = "parsed"
"""How options were scored: a text was written, and the option read in it."""
YES_AND_NO = ["no", "yes"]


def parsed_choices(said: pl.DataFrame, options: Sequence[Sequence[str | None]]) -> pl.DataFrame:
    """Reads options in texts.

    Args:
        said: answers of the kind `text`.
        options: the options of each.

    Returns:
        Columns of the kind `choice`: probabilities are 1 for the option that is chosen and 0 for
        the others, and null where none is; `status` says whether one is, `response` has the text.
    """
    responses = said.select(pl.col("response", "status").cast(pl.String)).rows()
    is_chosen = []
    is_known = []
    statuses = []
    for (text, status), candidates in zip(responses, options, strict=True):
        chosen = chosen_option(text, status != "length", candidates)
        is_chosen.append([place == chosen for place in range(len(candidates))])
        is_known.append([chosen is not None and option is not None for option in candidates])
        statuses.append(parsed_status(chosen, status))
    probabilities = np.array(is_chosen).astype(np.float64)
    scored_by = pl.repeat(SCORED_BY_PARSING, len(said), eager=True).cast(pl.Categorical)
    return pl.DataFrame(
        [
            to_list_column("probabilities", probabilities, np.array(is_known), pl.Float32),
            pl.Series("status", statuses, pl.Categorical),
            said["response"],
            scored_by.alias("scored_by"),
        ]
    )


def chosen_option(response: str, whole: bool, options: Sequence[str | None]) -> int | None:
    """Returns the place of the option that a response chooses, None where it chooses none.

    Args:
        response: the text.
        whole: whether it was not cut off: what is cut directly behind an option may go on, as `A`
            in `A man`.
        options: the options; None for one that is not there.
    """
    reading = read_option(response, tuple(options))
    if not whole and reading.end == len(response.rstrip()):
        return None
    return None if reading.value is None else int(reading.value)


def read_option(response: str, options: tuple[str | None, ...]) -> Reading:
    """Reads the option that a response chooses: Yes or No, a letter, or a text, as the options
    are.

    Args:
        response: the text as it was written: `start` and `end` of the reading count in it.
        options: the options, in any order; None for one that is not there.

    Returns:
        The reading; its `value` is the place in `options`, which counts options that are not there.
    """
    places = [place for place, option in enumerate(options) if option is not None]
    texts = [option.strip() for option in options if option is not None]
    answers = [text.casefold() for text in texts]
    if sorted(answers) == YES_AND_NO:
        reading = read_yes_no(response, ENGLISH_WORDS)
        if reading.value is None:
            return reading
        return reading._replace(value=places[answers.index(str(reading.value))])
    letters = [text.strip("().:").casefold() for text in texts]
    is_lettered = sorted(letters) == list(ALPHABET[: len(letters)])
    menu = Menu(("",) * len(letters), letters=True) if is_lettered else Menu(tuple(texts))
    reading = read_choice(response, menu, ENGLISH_WORDS)
    if reading.value is None:
        return reading
    chosen = int(reading.value)
    # A menu of letters counts from `a` on, whatever the order of the options.
    if is_lettered:
        chosen = letters.index(ALPHABET[chosen])
    return reading._replace(value=places[chosen])


def parsed_status(place: int | None, status: str) -> str:
    """Returns the status of a parsed response.

    Args:
        place: the place of the chosen option, None if the response chooses none.
        status: the status of the text.

    Returns:
        `ok` if it chooses an option; else the status of the text, or `unclear` if that is `ok`.
    """
    if place is not None:
        return "ok"
    return "unclear" if status == "ok" else status
