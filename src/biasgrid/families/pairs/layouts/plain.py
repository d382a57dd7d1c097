"""Pairs of one's own: a table with the columns more, less, direction, type and cluster.

Pairs that reword each other have the same cluster: they are one piece of evidence. The columns
direction and cluster may be empty.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from biasgrid.base.faults import Fault
from biasgrid.families.pairs.items import SentencePair, table_records

MORE, LESS, DIRECTION, TYPE, CLUSTER = COLUMNS = ("more", "less", "direction", "type", "cluster")
EXPECTED = f"a table with the columns {', '.join(COLUMNS)}"
ID = "id"
"""A column that may be there, too."""


def pairs_of(path: Path, faults: list[Fault]) -> Iterator[SentencePair]:
    """Yields the pairs of a file."""
    first: dict[str, tuple[str, str]] = {}
    for number, record in enumerate(table_records(path, COLUMNS, EXPECTED, faults)):
        before = len(faults)
        more, less = record.check_sentences((MORE, LESS))
        kind = record.text(TYPE).strip()
        direction = record.direction(DIRECTION, is_needed=False)
        cluster = record.optional(CLUSTER)
        other, where = first.setdefault(cluster, (kind, record.where)) if cluster else (kind, "")
        if other != kind:
            expected = f"{other!r}, as in {where}, because the pairs of a cluster reword each other"
            record.refuse(TYPE, f"{kind!r} in cluster {cluster}", expected)
        if len(faults) == before:
            yield SentencePair(
                name=f"{path.stem} {record.optional(ID) or number}",
                more=more,
                less=less,
                type=kind,
                direction=direction,
                cluster=cluster and f"{path.stem} cluster {cluster}",
                where=record.where,
            )
