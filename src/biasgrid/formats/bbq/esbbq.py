"""EsBBQ and CaBBQ (2025), of Spain: BBQ's objects under other names, which say of each item whether
it is stereotyped.

`question_type` is `pro-stereo` where the right option agrees with the stereotype, `anti-stereo`
where it does not, and `n/a` in ambiguous contexts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from biasgrid.base.faults import Fault
from biasgrid.families.multiple_choice.items import LABEL, NAME, Item, json_records
from biasgrid.formats.bbq.bbq import read_item

PRO, ANTI, NONE = QUESTION_TYPES = ("pro-stereo", "anti-stereo", "n/a")
"""Whether the right option agrees with the stereotype."""
ONLY_NAMES = "proper_nouns_only"


def items_of(path: Path, faults: list[Fault]) -> Iterator[Item]:
    """Yields the items of a file of EsBBQ or CaBBQ."""
    for record in json_records(path, faults):
        before = len(faults)
        item = read_item(record, "instance_id", "template_id", "stereotyped_groups")
        question_type = record.one_of("question_type", QUESTION_TYPES)
        target = item.target
        is_unknown = item.label == item.unknown
        if (question_type == NONE) != is_unknown:
            record.refuse(
                "question_type",
                repr(question_type),
                "`n/a` if the label is the option `unknown`, and only then",
            )
        elif question_type != NONE:
            (other,) = (place for place in item.known if place != item.label)
            target = item.label if question_type == PRO else other
        if len(faults) == before:
            has_names = record.values.get(ONLY_NAMES) is True
            value = record.values.get("relevant_social_value")
            yield replace(
                item,
                target=target,
                label_type=NAME if has_names else LABEL,
                value=str(value or "") or None,
                is_excluded=target is None,
            )
