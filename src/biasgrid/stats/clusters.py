"""Clusters of templates, the unit of all statistics: how templates form them, and which of them are
redundant.

Templates that are rewordings of each other are one piece of evidence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import polars as pl

from biasgrid.base.arrays import IntArray
from biasgrid.tables.instances import PROMPT_FORMAT

NEUTRAL_WORDS = {
    **dict.fromkeys(("man", "woman", "gentleman", "lady", "guy"), "person"),
    **dict.fromkeys(("men", "women"), "people"),
    **dict.fromkeys(("boy", "girl"), "child"),
    **dict.fromkeys(("boys", "girls"), "children"),
    **dict.fromkeys(("male", "female"), "gendered"),
    **dict.fromkeys(("he", "she"), "they"),
    **dict.fromkeys(("him", "her", "his", "hers"), "them"),
    **dict.fromkeys(("himself", "herself"), "themselves"),
}
"""Words that differ in gender alone."""
LOWERCASE_WORD = re.compile(r"[a-z]+")
REDUNDANT_CORRELATION = 0.3
"""Two clusters whose noise correlates by as much are hardly two pieces of evidence."""
LOUD = 3
"""A cluster that is so many times as noisy as the others makes correlations of noise that mean
nothing.
"""
ChosenClusters = str | Sequence[Sequence[int]]
"""`auto`, `none`, or lists of template numbers."""
FORMAT_STEP = 2**16
"""Of what is asked in several prompt formats a unit is a template in a format: the template plus
this for each format, counted from 1.
"""
FORMAT_MARK = "/"
"""Stands in the name of such a unit: `3/1` is template 3 in the format that instances call 1."""


def clusters_from_texts(texts: Sequence[str], chosen: ChosenClusters) -> list[int]:
    """Divides templates into clusters.

    Args:
        texts: the text of each template, by number.
        chosen: `auto` makes a cluster of templates that differ in the gender of their words alone,
            `none` of each template; lists name those of each cluster, templates in none of them are
            clusters of their own.

    Returns:
        The cluster of each template; clusters are numbered by their first templates.
    """
    if chosen == "auto":
        names = [without_gender(text) for text in texts]
    else:
        lists = [] if isinstance(chosen, str) else chosen
        list_of = {}
        for place, templates in enumerate(lists):
            for template in templates:
                list_of[template] = place
        # Lists may name templates beyond the texts.
        count = max([len(texts), *(template + 1 for template in list_of)])
        names = [
            f"list {list_of[template]}" if template in list_of else f"template {template}"
            for template in range(count)
        ]
    places = {name: place for place, name in enumerate(dict.fromkeys(names))}
    return [places[name] for name in names]


def without_gender(text: str) -> str:
    """Returns a text in lower case in which words that differ in gender alone are the same."""
    return LOWERCASE_WORD.sub(lambda word: NEUTRAL_WORDS.get(word[0], word[0]), text.lower())


def template_units(table: pl.DataFrame) -> IntArray:
    """Returns the unit of each row: its template or, where there are several prompt formats, the
    template in one.
    """
    units = table["template"].to_numpy().astype(np.int64)
    if PROMPT_FORMAT not in table.columns:
        return units
    return units + FORMAT_STEP * (1 + table[PROMPT_FORMAT].to_numpy().astype(np.int64))


def index_templates(units: IntArray) -> tuple[IntArray, list[str]]:
    """Returns the place of each unit among those that there are, and the names of these; see
    `template_units`.
    """
    present, place = np.unique(units, return_inverse=True)
    return place, [unit_name(unit) for unit in present.tolist()]


def unit_name(unit: int) -> str:
    """Names a template, or a template in a format."""
    prompt_format, template = divmod(unit, FORMAT_STEP)
    return f"{template}{FORMAT_MARK}{prompt_format - 1}" if prompt_format else str(template)


def parse_units(names: Sequence[str]) -> tuple[IntArray, list[str]]:
    """Returns the template of each unit, and the name of its format, empty where there is none."""
    parts = [name.partition(FORMAT_MARK) for name in names]
    return np.array([part[0] for part in parts], dtype=np.int64), [part[2] for part in parts]


def cluster_positions(templates: IntArray, clusters: Sequence[int]) -> IntArray:
    """Returns the cluster of each template, numbered from 0 by their first templates.

    Args:
        templates: shape (rows,), template numbers, or units of `template_units`.
        clusters: from `clusters_from_texts`; templates beyond it are clusters of their own.
    """
    present, place = np.unique(templates % FORMAT_STEP, return_inverse=True)
    number_of: dict[int, int] = {}
    numbers = []
    for template in present.tolist():
        # Below 0, so that it is none of the clusters.
        cluster = clusters[template] if template < len(clusters) else -1 - template
        numbers.append(number_of.setdefault(cluster, len(number_of)))
    return np.array(numbers, dtype=np.int64)[place]


def redundant_templates(clusters: pl.DataFrame) -> list[str]:
    """Warns of clusters whose noise correlates, so that they count for more evidence than they are.

    Of a cluster that is much noisier than the others that is told instead. Of two clusters nothing
    can be.

    Args:
        clusters: the design of a cell (schema `DESIGN`).
    """
    templates = dict(clusters.drop_nulls("cluster").select("cluster", "templates").iter_rows())
    if len(templates) == 2:
        return ["of two clusters of templates it cannot be told whether they say nearly the same"]
    ratios = clusters.filter(pl.col("name") == "noise_ratio").drop_nulls("value")
    noise_ratio = dict(ratios.select("cluster", "value").rows())
    alike = clusters.filter(pl.col("name") == "likeness", pl.col("value") >= REDUNDANT_CORRELATION)
    # Two that are most like each other are one warning, and so is what is said of a noisy one.
    correlation_of_pair = {}
    for row in alike.to_dicts():
        correlation_of_pair[tuple(sorted((row["cluster"], row["like"])))] = row["value"]
    warnings: dict[tuple[int, ...], str] = {}
    for (one, other), correlation in correlation_of_pair.items():
        noisiest = max((one, other), key=lambda cluster: noise_ratio.get(cluster, 0.0))
        if noise_ratio.get(noisiest, 0.0) > LOUD:
            warnings[(noisiest,)] = (
                f"templates {templates[noisiest]} are {noise_ratio[noisiest]:.1f} times as noisy "
                "as those of the cluster in the middle: they decide much of what is found; see "
                "what sets them apart"
            )
        else:
            warnings[one, other] = (
                f"templates {templates[one]} and {templates[other]} say nearly the same: "
                f"what is not common to all clusters correlates by {correlation:.2f} in them; put "
                "them into one cluster (`template_clusters` of the dataset)"
            )
    return list(warnings.values())
