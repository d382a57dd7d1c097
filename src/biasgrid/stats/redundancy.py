"""Clusters that say nearly the same, though their texts do not tell."""

from __future__ import annotations

import polars as pl

ALIKE = 0.5
"""From what correlation of their noise on two clusters are one piece of evidence."""


def look_alikes(frames: pl.DataFrame) -> list[str]:
    """Warns of frames whose noise is alike, so that they pass for more evidence than they are.

    Args:
        frames: the frames of a cell (schema `CLUSTERS`).
    """
    templates = dict(frames.select("cluster", "templates").iter_rows())
    rows = frames.filter(pl.col("likeness") > ALIKE).iter_rows(named=True)
    # Two that are most like each other are told once.
    pairs = {tuple(sorted((row["cluster"], row["like"]))): row["likeness"] for row in rows}
    return [
        f"templates {templates[one]} and {templates[other]} say nearly the same: what is not common to all frames "
        f"correlates by {likeness:.2f} in them; put them into one cluster (`template_clusters` of the dataset)"
        for (one, other), likeness in pairs.items()
    ]
