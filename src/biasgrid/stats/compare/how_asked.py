"""How models were asked, and in what that differs between models that are compared."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from biasgrid.tables.measures import MEASURE_KEYS

Asked = Mapping[str, Any]
SCORING, PROMPT = "scoring", "prompt"
ACROSS = (SCORING, PROMPT)
"""What must be alike in models that are ranked together, unless the config says otherwise."""
OF_WRITING = ("temperature", "top_p", "max_tokens", "seed", "thinking", "system")
"""What decides texts, of the section `generation`."""
PLAIN, TEMPLATE = "plain", "chat template"
REFUSED, PROBABILITY, ROOM = "refused", "answer_probability", "room"
UNLIKE_REFUSALS = 0.05
"""Shares of refused answers that differ by more are told."""
UNLIKE_PROBABILITY = 2.0
"""Answer probabilities whose ratio is larger are told, and what is in units of them is not
compared.
"""
UNLIKE_ROOM = 1.5
"""Shares are not compared where the ratio of their room is larger."""
SCALES: Mapping[str, tuple[float, str, Collection[str]]] = {
    PROBABILITY: (
        UNLIKE_PROBABILITY,
        "answer probabilities",
        ("gamma", "mu_corrected", "strength"),
    ),
    ROOM: (UNLIKE_ROOM, "room of shares", ("share_gamma", "share_mu_corrected", "share_strength")),
}
"""Of each scale its largest ratio, its name, and the measures that grow with it."""


def how_asked(predictions: Mapping[str, Any], measures: pl.DataFrame) -> dict[str, Any]:
    """Returns how a model was asked, as far as that is known, and how much it said.

    Args:
        predictions: the provenance of its predictions.
        measures: of the cell (schema `MEASURES`).

    Returns:
        By name, of models that write `scoring` (how options were scored), `prompt` (`chat template`
        or `plain`), what decides texts, the shares `refused` and `answer_probability`, and `room`.
    """
    # Only of models that write is it recorded how their options were scored.
    asked = {SCORING: predictions.get("scored_by") or predictions.get("scoring")}
    # Only what is said of a server names an API.
    apis = [
        said["api"] for said in predictions.values() if isinstance(said, Mapping) and "api" in said
    ]
    of_server = None if not apis else PLAIN if apis[0] == "completions" else TEMPLATE
    asked[PROMPT] = predictions.get(PROMPT) or of_server
    written = predictions.get("generation") or {}
    asked |= {name: written.get(name) for name in OF_WRITING}
    wholes = measures.filter(pl.col(key).is_null() for key in MEASURE_KEYS)
    shares = wholes.filter(pl.col("measure").is_in([REFUSED, PROBABILITY, ROOM])).drop_nulls(
        "value"
    )
    asked |= dict(
        shares.unique("measure", keep="first", maintain_order=True)
        .select("measure", "value")
        .iter_rows()
    )
    return {name: value for name, value in asked.items() if value is not None}


def unlike(cells: Sequence[Asked], across: Collection[str]) -> str | None:
    """Says in what two cells differ that must be alike, None where they may be compared.

    Args:
        cells: how both were asked.
        across: what may differ.
    """
    one, other = cells
    for name in ACROSS:
        if name not in across and one.get(name) != other.get(name):
            what = "scored" if name == SCORING else "asked"
            return (
                f"{what} in different ways: {one.get(name, 'none')} and {other.get(name, 'none')}"
            )
    return None


def unlike_scales(measure: str, cells: Sequence[Asked]) -> str | None:
    """Says why a measure of two cells may not be compared that grows with a scale; None where it
    may.

    Args:
        measure: its name.
        cells: how both were asked.
    """
    for scale, (limit, title, measures) in SCALES.items():
        values = [cell[scale] for cell in cells if scale in cell]
        if measure in measures and len(values) == len(cells) and max(values) > limit * min(values):
            return (
                f"unlike {title}, {join_values(f'{value:.2g}' for value in values)}: {measure} "
                "grows with them"
            )
    return None


def differences_in_asking(cells: Sequence[Asked]) -> str | None:
    """Words in what models were asked differently, and how unlike their answers are; None where
    they are alike.

    Args:
        cells: how each was asked, see `how_asked`.
    """
    return "; ".join(differing_names(cells)) or None


def differing_names(cells: Sequence[Asked]) -> Iterator[str]:
    """Yields what differs, with the values of all cells in their order."""
    names = dict.fromkeys(name for cell in cells for name in cell)
    for name in names:
        values = [cell.get(name) for cell in cells]
        known = [value for value in values if value is not None]
        if name == REFUSED:
            if max(known) - min(known) > UNLIKE_REFUSALS:
                yield f"refused {join_values(f'{value:.0%}' for value in known)}"
        elif name == PROBABILITY:
            if max(known) > UNLIKE_PROBABILITY * min(known):
                yield f"answer probability {join_values(f'{value:.2g}' for value in known)}"
        elif name == ROOM:
            if max(known) > UNLIKE_ROOM * min(known):
                yield f"room of shares {join_values(f'{value:.2g}' for value in known)}"
        elif any(value != values[0] for value in values):
            yield (
                f"{name.replace('_', ' ')} "
                f"{join_values('none' if value is None else f'{value}' for value in values)}"
            )


def join_values(values: Iterable[str]) -> str:
    """Joins different values as a sentence does."""
    *before, last = dict.fromkeys(values)
    return f"{', '.join(before)} and {last}" if before else last
