"""CrowS-Pairs (Nangia et al., EMNLP 2020), its revised versions and its translations.

A table of text, whose columns are divided by commas or tabs. Directions are words, or the numbers
of classes. Columns about annotators and writers may be missing, as they are from translations.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from biasgrid.base.faults import Fault
from biasgrid.families.pairs.items import PairRecord, SentencePair, table_records

MORE, LESS, DIRECTION, TYPE = "sent_more", "sent_less", "stereo_antistereo", "bias_type"
COLUMNS = (MORE, LESS, DIRECTION, TYPE)
EXPECTED = f"a table of CrowS-Pairs, with the columns {', '.join(COLUMNS)}"
IDS = ("", "id", "index")
"""What the column of the ids is called, if there is one."""
ANNOTATIONS, WRITER = "annotations", "anon_writer"
MOST_IN_DOUBT = 2
"""A pair is in doubt whose type at most so many annotators named."""


def pairs_of(path: Path, faults: list[Fault]) -> Iterator[SentencePair]:
    """Yields the pairs of a file that have no faults; adds the faults of the others to a list."""
    for number, record in enumerate(table_records(path, COLUMNS, EXPECTED, faults)):
        before = len(faults)
        more, less = record.check_sentences((MORE, LESS))
        bias_type = record.text(TYPE).strip()
        direction = record.direction(DIRECTION, is_needed=True)
        ids = (record.optional(name) for name in IDS)
        pair_id = next((value for value in ids if value), number)
        is_doubted = too_few_named(record, bias_type)
        if len(faults) == before:
            yield SentencePair(
                name=f"{path.stem} {pair_id}",
                more=more,
                less=less,
                type=bias_type,
                direction=direction,
                writer=record.optional(WRITER),
                is_doubted=is_doubted,
                where=record.where,
            )


def too_few_named(record: PairRecord, bias_type: str) -> bool | None:
    """Whether too few annotators named the bias type; None without annotations."""
    text = record.optional(ANNOTATIONS)
    if text is None:
        return None
    try:
        annotations = ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        annotations = None
    is_list = isinstance(annotations, list)
    if not is_list or not all(isinstance(types, list) for types in annotations):
        expected = "a list of lists of types, one for each annotator"
        record.refuse(ANNOTATIONS, repr(text[:40]), expected)
        return None
    return sum(bias_type in types for types in annotations) <= MOST_IN_DOUBT
