"""Finds the option that a written text chooses, for models whose probabilities are unknown."""

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
"""How options were scored: the model wrote a text, and the option was found in it."""
YES_AND_NO = ["no", "yes"]


def parsed_choices(texts: pl.DataFrame, options: Sequence[Sequence[str | None]]) -> pl.DataFrame:
    """Finds the option that each text chooses.

    Args:
        texts: answers of the kind `text`, at least one.
        options: the options of each, None for a missing one; the same number for each text.

    Returns:
        Columns of the kind `choice`. `probabilities` are 1 for the chosen option and 0 for the
        others; all are null if the text chooses none, and those of missing options always.
        `status`: see `parsed_status`. `response` is the text.
    """
    responses = texts.select(pl.col("response", "status").cast(pl.String)).rows()
    is_chosen = []
    has_probability = []
    statuses = []
    for (text, status), candidates in zip(responses, options, strict=True):
        chosen = parse_option(text, candidates, is_whole=status != "length")
        is_chosen.append([place == chosen for place in range(len(candidates))])
        is_chosen_from = [chosen is not None and option is not None for option in candidates]
        has_probability.append(is_chosen_from)
        statuses.append(parsed_status(chosen, status))
    probabilities = np.array(is_chosen).astype(np.float64)
    scored_by = pl.repeat(SCORED_BY_PARSING, len(texts), eager=True).cast(pl.Categorical)
    return pl.DataFrame(
        [
            to_list_column("probabilities", probabilities, np.array(has_probability), pl.Float32),
            pl.Series("status", statuses, pl.Categorical),
            texts["response"],
            scored_by.alias("scored_by"),
        ]
    )


def parse_option(response: str, options: Sequence[str | None], *, is_whole: bool) -> int | None:
    """Returns the place of the option that a response chooses; None if it chooses none.

    Args:
        response: the text.
        options: the options; None for a missing one.
        is_whole: whether the model ended the text. A text that was cut directly behind an option
            chooses none, as it might go on: `A` in `A man`.
    """
    reading = read_option(response, tuple(options))
    if not is_whole and reading.end == len(response.rstrip()):
        return None
    return None if reading.value is None else int(reading.value)


def read_option(response: str, options: tuple[str | None, ...]) -> Reading:
    """Finds the option that a response chooses: Yes or No, a letter, or a text.

    Args:
        response: the text as it was written: `start` and `end` of the reading count in it.
        options: the options, in any order; None for a missing one.

    Returns:
        The reading; its `value` is the place in `options`, missing ones included, or None.
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
    # The menu is in alphabetical order, whatever the order of the options.
    if is_lettered:
        chosen = letters.index(ALPHABET[chosen])
    return reading._replace(value=places[chosen])


def parsed_status(place: int | None, status: str) -> str:
    """Returns the status of a parsed response.

    Args:
        place: the place of the chosen option; None if the response chooses none.
        status: the status of the text, see `tables.answers.text`.

    Returns:
        `ok` if it chooses an option; else the status of the text, or `unclear` if that is `ok`.
    """
    if place is not None:
        return "ok"
    return "unclear" if status == "ok" else status
