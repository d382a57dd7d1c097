"""How models were asked, and how that differs between models that are compared."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import polars as pl

from biasgrid.tables.key_columns import is_about

Asked = Mapping[str, Any]
"""How a model was asked, from `how_asked`; facts that are unknown are absent."""
SCORING, PROMPT = "scoring", "prompt"
ACROSS = (SCORING, PROMPT)
"""Facts in which models must not differ to be compared, unless the config allows it."""
OF_WRITING = ("temperature", "top_p", "max_tokens", "seed", "thinking", "system")
"""Facts of the section `generation` that decide which texts a model writes."""
PLAIN, TEMPLATE = "plain", "chat template"
REFUSED, PROBABILITY, ROOM = "refused", "answer_probability", "room"
UNLIKE_REFUSALS = 0.05
"""Shares of refused answers that differ by more are reported."""
UNLIKE_PROBABILITY = 2.0
"""Answer probabilities with a larger ratio are reported, and measures in units of them are not
compared.
"""
UNLIKE_ROOM = 1.5
"""Shares are not compared if the ratio of their room is larger."""
SCALES: Mapping[str, tuple[float, str, Collection[str]]] = {
    PROBABILITY: (
        UNLIKE_PROBABILITY,
        "answer probabilities",
        ("gamma", "mu_corrected", "strength"),
    ),
    ROOM: (UNLIKE_ROOM, "room of shares", ("share_gamma", "share_mu_corrected", "share_strength")),
}
"""For each scale the largest ratio, its name in messages, and the measures that grow with it."""
SHARE_FORMATS = {
    REFUSED: ("refused", ".0%"),
    PROBABILITY: ("answer probability", ".2g"),
    ROOM: ("room of shares", ".2g"),
}
"""Facts that are shares and may differ a little, with their names and formats in messages."""


def how_asked(predictions: Mapping[str, Any], measures: pl.DataFrame) -> dict[str, Any]:
    """Returns how a model was asked, and measures on which the scale of its numbers depends.

    Args:
        predictions: the provenance of its predictions, empty if unknown.
        measures: the measures of the cell (schema `MEASURES`).

    Returns:
        Facts by name: for models that write, `scoring` (how options were scored), `prompt` (`chat
        template` or `plain`) and the facts of `OF_WRITING`; for all, the measures `refused`,
        `answer_probability` and `room` of the whole cell. Unknown facts are absent.
    """
    generation = predictions.get("generation") or {}
    facts = {
        # Only predictions of models that write record how options were scored.
        SCORING: predictions.get("scored_by") or predictions.get("scoring"),
        PROMPT: predictions.get(PROMPT) or server_prompt(predictions),
        **{name: generation.get(name) for name in OF_WRITING},
    }
    wholes = measures.filter(is_about([]))
    is_share = pl.col("measure").is_in([REFUSED, PROBABILITY, ROOM])
    shares = wholes.filter(is_share).drop_nulls("value")
    first = shares.unique("measure", keep="first", maintain_order=True)
    facts |= dict(first.select("measure", "value").iter_rows())
    return {name: value for name, value in facts.items() if value is not None}


def server_prompt(predictions: Mapping[str, Any]) -> str | None:
    """Returns how a server formats prompts: as `plain` text or by a `chat template`.

    Args:
        predictions: the provenance of predictions.

    Returns:
        None if no server answered.
    """
    for facts in predictions.values():
        # Only the facts of a server name an API.
        if isinstance(facts, Mapping) and "api" in facts:
            return PLAIN if facts["api"] == "completions" else TEMPLATE
    return None


def unlike(cells: Sequence[Asked], may_differ_in: Collection[str]) -> str | None:
    """Returns a fact in which two cells differ though they must not, None if they are comparable.

    Args:
        cells: how both were asked; exactly two.
        may_differ_in: the facts that may differ.
    """
    facts, other_facts = cells
    for name in ACROSS:
        if name in may_differ_in or facts.get(name) == other_facts.get(name):
            continue
        verb = "scored" if name == SCORING else "asked"
        values = f"{facts.get(name, 'none')} and {other_facts.get(name, 'none')}"
        return f"{verb} in different ways: {values}"
    return None


def unlike_scales(measure: str, cells: Sequence[Asked]) -> str | None:
    """Returns why a measure that grows with a scale may not be compared, None if it may.

    It may if the scale of a cell is unknown.

    Args:
        measure: its name.
        cells: how both were asked.
    """
    for scale, (largest_ratio, title, growing_measures) in SCALES.items():
        values = [cell[scale] for cell in cells if scale in cell]
        if measure not in growing_measures or len(values) < len(cells):
            continue
        if max(values) > largest_ratio * min(values):
            texts = join_values(f"{value:.2g}" for value in values)
            return f"unlike {title}, {texts}: {measure} grows with them"
    return None


def differences_in_asking(cells: Sequence[Asked]) -> str | None:
    """Describes how models were asked differently and how unlike their answers are; None if they
    are alike.

    Args:
        cells: how each was asked, see `how_asked`.
    """
    return "; ".join(describe_differing_facts(cells)) or None


def describe_differing_facts(cells: Sequence[Asked]) -> Iterator[str]:
    """Yields a text for each fact in which models differ, with its distinct values.

    The values are in the order of the cells. A missing fact reads `none`, but cells without a share
    are left out.

    Args:
        cells: how each was asked, see `how_asked`.
    """
    for name in dict.fromkeys(chain.from_iterable(cells)):
        values = [cell.get(name) for cell in cells]
        if name in SHARE_FORMATS:
            shares = [value for value in values if value is not None]
            text = unlike_shares(name, shares)
            if text:
                yield text
        elif any(value != values[0] for value in values):
            texts = ("none" if value is None else f"{value}" for value in values)
            yield f"{name.replace('_', ' ')} {join_values(texts)}"


def unlike_shares(name: str, shares: Sequence[float]) -> str | None:
    """Describes the distinct shares of models, None if they differ too little.

    Args:
        name: a key of `SHARE_FORMATS`.
        shares: the shares of the models that have one; at least one.
    """
    if name == REFUSED:
        is_unlike = max(shares) - min(shares) > UNLIKE_REFUSALS
    else:
        largest_ratio, _, _ = SCALES[name]
        is_unlike = max(shares) > largest_ratio * min(shares)
    if not is_unlike:
        return None
    label, number_format = SHARE_FORMATS[name]
    return f"{label} {join_values(format(share, number_format) for share in shares)}"


def join_values(values: Iterable[str]) -> str:
    """Joins distinct values with commas and `and`; at least one."""
    *before, last = dict.fromkeys(values)
    return f"{', '.join(before)} and {last}" if before else last
