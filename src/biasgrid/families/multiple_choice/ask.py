"""Instances: each item in every order of its options, or in the order of its file."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import polars as pl

from biasgrid.families.expansion import Expansion, coverage_of_design, expand_rows
from biasgrid.families.multiple_choice.items import (
    OPTIONS,
    SCORED,
    SPANS,
    TEXTS,
    Item,
    ItemPrompt,
    QuestionSet,
    prompt_of,
)
from biasgrid.families.sampler import Strata, units_of_sample
from biasgrid.inference.surface_forms import option_letter
from biasgrid.tables.schema import column

KEYS = {
    "item": column(pl.UInt32, description="the item, numbered from 0"),
    "item_id": column(
        pl.Categorical, description="category and id of the item, with which responses are matched"
    ),
    "row": column(
        pl.Categorical,
        description="the category, followed by `(names)` if first names stand for groups",
    ),
    "template": column(
        pl.UInt16, description="the template, numbered from 0 through all categories"
    ),
    "condition": column(
        pl.Categorical,
        description=(
            "`ambig` or `disambig`: whether the context leaves the question open or answers it"
        ),
    ),
    "polarity": column(
        pl.Categorical,
        description=(
            "polarity of the question: `neg` asks for the stereotype, `nonneg` for its opposite"
        ),
    ),
    "options": column(pl.List(pl.Categorical), description="the options in the order of the file"),
    "spoken": column(
        pl.List(pl.Categorical), description="what the context calls the people in the options"
    ),
    "places": column(
        pl.List(pl.UInt8),
        description=(
            "the options in the order in which they are asked, by their numbers in the file"
        ),
    ),
    "unknown_option": column(
        pl.UInt8, description="the option that says that the answer is unknown"
    ),
    "label": column(pl.UInt8, description="the right option"),
    "target": column(
        pl.UInt8, description="the option that agrees with the stereotype, if known", nullable=True
    ),
    "is_excluded": column(
        pl.Boolean,
        description=(
            "whether the item has no target although its kind has one, so that it does not count"
        ),
    ),
    "crossed": column(
        pl.Categorical,
        description="which of two dimensions the people differ in, or KoBBQ's kind of item, if any",
        nullable=True,
    ),
    "about": column(
        pl.Categorical,
        description="the group that the stereotype is about, if known",
        nullable=True,
    ),
    "value": column(
        pl.Categorical, description="what the stereotype says, if known", nullable=True
    ),
}
ITEM_FIELDS = (
    "context",
    "question",
    "row",
    "condition",
    "polarity",
    "options",
    "spoken",
    "label",
    "target",
    "is_excluded",
    "crossed",
    "value",
)
"""Fields of items that are columns of the same name."""
NULLABLE_TYPES = {
    "crossed": pl.String,
    "about": pl.String,
    "value": pl.String,
    "target": pl.UInt8,
}
"""Types of columns that may be null in all rows, and would then have none."""
OPTION_COLUMNS = [f"option{number}" for number in range(OPTIONS)]


def expand(questions: QuestionSet) -> Expansion:
    """Returns the instances of all items, or of a sample, item by item and order by order."""
    items, orders = sampled_items(questions), questions.orders
    table = item_table(questions, items)
    rows = pl.concat([rows_in_order(table, places, questions) for places in orders])
    system = pl.lit(questions.files.system, pl.String)
    rows = rows.sort("item", maintain_order=True).with_columns(system=system)
    coverage = coverage_of_design(
        {"items": len(items), "rows": len(rows)},
        {"items": len(questions.items), "rows": len(questions.items) * len(orders)},
    )
    return expand_rows(rows, KEYS, coverage)


def sampled_items(questions: QuestionSet) -> list[int]:
    """Returns the numbers of the items that are asked.

    A unit of a sample has all items of a template about the same two people. Samples are even by
    category and by the kinds of items in their units, and within these by template. A sample ends
    before the first unit with which it would have too many items.
    """
    units: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for number, item in enumerate(questions.items):
        people = sorted(item.spoken[option] for option in item.people)
        units[item.row, item.category, item.template, *people].append(number)
    strata: list[Strata] = []
    for (row, category, template, *_), numbers in units.items():
        kinds = kinds_of_items([questions.items[number] for number in numbers])
        strata.append(((row, kinds), (category, template)))
    keys = ["\n".join(unit) for unit in units]
    sizes = [len(numbers) for numbers in units.values()]
    chosen_units = units_of_sample(strata, keys, questions.files.sample, sizes)
    items_of_units = list(units.values())
    items = []
    for unit in chosen_units:
        items += items_of_units[unit]
    return sorted(items)


def kinds_of_items(items: Sequence[Item]) -> frozenset[tuple[tuple[str, str, bool | None], int]]:
    """Returns how many items there are of each condition, polarity and agreement.

    The agreement is whether the right option is the target; None in ambiguous contexts and without
    a target.
    """
    kinds: Counter[tuple[str, str, bool | None]] = Counter()
    for item in items:
        names_person = item.target is not None and item.label != item.unknown
        agrees = item.label == item.target if names_person else None
        kinds[item.condition, item.polarity, agrees] += 1
    return frozenset(kinds.items())


def item_table(questions: QuestionSet, numbers: Sequence[int]) -> pl.DataFrame:
    """Returns a row for each of some items: all keys but `places`, and the parts of prompts."""
    items = [questions.items[number] for number in numbers]
    columns: dict[str, list[Any]] = {}
    for name in ITEM_FIELDS:
        columns[name] = [getattr(item, name) for item in items]
    for option, name in enumerate(OPTION_COLUMNS):
        columns[name] = [item.options[option] for item in items]
    columns["item"] = list(numbers)
    columns["item_id"] = [item.name for item in items]
    columns["template"] = [questions.templates[item.category, item.template] for item in items]
    columns["unknown_option"] = [item.unknown for item in items]
    columns["about"] = [item.group for item in items]
    return pl.DataFrame(columns, schema_overrides=NULLABLE_TYPES)


def rows_in_order(
    table: pl.DataFrame, places: Sequence[int], questions: QuestionSet
) -> pl.DataFrame:
    """Returns the instances of items with their options in one order.

    Args:
        table: from `item_table`.
        places: the numbers of the options in the order in which they are asked.
        questions: the dataset, with the variant and the prompt.
    """
    variant = questions.files.variant
    if variant == SPANS:
        rows = with_mentions(table).with_columns(text="question", text_pair="context")
    elif variant == TEXTS:
        candidates = {}
        for number, name in enumerate(OPTION_COLUMNS, start=1):
            candidates[f"candidate{number}"] = name
        rows = table.with_columns(text="question", text_pair="context", **candidates)
    else:
        prompt = prompt_of(questions.files.prompt)
        rows = with_prompts(table, places, prompt, is_scored=variant == SCORED)
    rows = rows.with_columns(places=pl.lit(pl.Series([list(places)])).first())
    return rows.drop("context", "question", *OPTION_COLUMNS)


def with_mentions(table: pl.DataFrame) -> pl.DataFrame:
    """Adds the first mention of each person in the context, and its place.

    `candidate1` and `candidate2` are the mentions, `position1` and `position2` the numbers of their
    first characters; null for a person whom the context does not name.
    """
    mentions: tuple[list[Mention], list[Mention]] = ([], [])
    for row in table.iter_rows(named=True):
        people = [number for number in range(OPTIONS) if number != row["unknown_option"]]
        for number, mentions_of_person in zip(people, mentions, strict=True):
            names = row["spoken"][number], row["options"][number]
            mentions_of_person.append(first_mention(row["context"], names))
    columns = []
    for number, mentions_of_person in enumerate(mentions, start=1):
        texts = [text for text, _ in mentions_of_person]
        starts = [start for _, start in mentions_of_person]
        columns.append(pl.Series(f"candidate{number}", texts, dtype=pl.String))
        columns.append(pl.Series(f"position{number}", starts, dtype=pl.UInt16))
    return table.with_columns(columns)


Mention = tuple[str | None, int | None]
"""The text of a mention and the number of its first character; None if there is no mention."""


def first_mention(context: str, option_names: Sequence[str]) -> Mention:
    """Returns the first mention of a person, by the first of its names that the context has."""
    for name in option_names:
        mention = re.search(rf"(?i)(?<!\w){re.escape(name)}(?!\w)", context)
        if mention:
            return mention[0], mention.start()
    return None, None


def with_prompts(
    table: pl.DataFrame, places: Sequence[int], prompt: ItemPrompt, *, is_scored: bool
) -> pl.DataFrame:
    """Adds prompts with the options in an order, as `text`.

    Args:
        table: from `item_table`.
        places: the numbers of the options in the order in which they are asked.
        prompt: the prompt.
        is_scored: whether the answers `candidate1` to `candidate3` are added, which are scored.
    """
    options = [pl.col(OPTION_COLUMNS[place]) for place in places]
    letters = [option_letter(place) for place in range(OPTIONS)]
    lettered = []
    for letter, option in zip(letters, options, strict=True):
        lettered.append(pl.concat_str(pl.lit(f"({letter}) "), option))
    fields = {
        "context": pl.col("context"),
        "question": pl.col("question"),
        "options": pl.concat_str(lettered, separator=prompt.separator),
    }
    parts = []
    for place, part in enumerate(prompt.parts):
        is_field = place % 2 == 1
        parts.append(fields[part] if is_field else pl.lit(part))
    columns = {"text": pl.concat_str(parts)}
    if is_scored:
        answers = [pl.lit(letter) for letter in letters] if prompt.is_lettered else options
        for number, answer in enumerate(answers, start=1):
            columns[f"candidate{number}"] = answer
    return table.with_columns(**columns)
