"""CrowS-Pairs (Nangia et al., EMNLP 2020), its revised English and French versions and its
translations.

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
    """Yields the pairs of a file."""
    for number, record in enumerate(table_records(path, COLUMNS, EXPECTED, faults)):
        before = len(faults)
        more, less = record.check_sentences((MORE, LESS))
        kind = record.text(TYPE).strip()
        direction = record.direction(DIRECTION, is_needed=True)
        named = next((name for name in IDS if record.optional(name)), None)
        is_doubted = too_few_named(record, kind)
        if len(faults) == before:
            yield SentencePair(
                name=f"{path.stem} {number if named is None else record.optional(named)}",
                more=more,
                less=less,
                type=kind,
                direction=direction,
                writer=record.optional(WRITER),
                is_doubted=is_doubted,
                where=record.where,
            )


def too_few_named(record: PairRecord, kind: str) -> bool | None:
    """Says whether too few annotators named the type of a pair; None where nothing is known of
    annotators.
    """
    told = record.optional(ANNOTATIONS)
    if told is None:
        return None
    try:
        annotations = ast.literal_eval(told)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        annotations = None
    if not isinstance(annotations, list) or not all(isinstance(each, list) for each in annotations):
        record.refuse(
            ANNOTATIONS, repr(told[:40]), "a list of lists of types, one for each annotator"
        )
        return None
    return sum(kind in each for each in annotations) <= MOST_IN_DOUBT
