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
    """Yields the pairs of a file that have no faults; adds the faults of the others to a list."""
    first_of_cluster: dict[str, tuple[str, str]] = {}
    for number, record in enumerate(table_records(path, COLUMNS, EXPECTED, faults)):
        before = len(faults)
        more, less = record.check_sentences((MORE, LESS))
        bias_type = record.text(TYPE).strip()
        direction = record.direction(DIRECTION, is_needed=False)
        cluster = record.optional(CLUSTER)
        if cluster is not None:
            first = first_of_cluster.setdefault(cluster, (bias_type, record.where))
            first_type, where = first
            if first_type != bias_type:
                reason = "because the pairs of a cluster reword each other"
                problem = f"{bias_type!r} in cluster {cluster}"
                record.refuse(TYPE, problem, f"{first_type!r}, as in {where}, {reason}")
        if len(faults) == before:
            yield SentencePair(
                name=f"{path.stem} {record.optional(ID) or number}",
                more=more,
                less=less,
                type=bias_type,
                direction=direction,
                # Clusters of several files may have the same name.
                cluster=None if cluster is None else f"{path.stem} cluster {cluster}",
                where=record.where,
            )
