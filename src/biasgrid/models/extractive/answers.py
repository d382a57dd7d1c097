"""The most probable answer of extractive question answering, and its text."""

from __future__ import annotations

import numpy as np
import polars as pl
import torch

from biasgrid.arrays import IntArray
from biasgrid.engine.encoding import Rows

LONGEST_ANSWER = 15
"""In tokens; that of Hugging Face's pipeline."""


def context_places(encoded: Rows, rows: IntArray, device: torch.device) -> torch.Tensor:
    """Says of each place whether it is of the context, which is the text of the second segment.

    Returns:
        Booleans, shape (rows, length).
    """
    place = torch.arange(int(encoded.lengths[rows[0]]), device=device)
    begin = torch.from_numpy(encoded.second_start(rows)).to(device)[:, None]
    length = torch.from_numpy(encoded.second.text_lengths[encoded.second_of[rows]]).to(device)[:, None]
    return (place >= begin) & (place < begin + length)


def best_span(
    start: torch.Tensor, end: torch.Tensor, longest: int, context: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Finds the first and the last token of the most probable span of at most `longest` tokens.

    With a context mask (shape (rows, length)) the product of both probabilities within it counts; without one, as
    in UnQover (spec b.1, step 8), their sum over all positions. Ties go to the first start, then the first end.
    """
    if context is not None:
        start, end = torch.where(context, start, 0), torch.where(context, end, 0)
    padded = torch.nn.functional.pad(end, (0, longest - 1), value=float("nan"))
    ends = padded.unfold(1, longest, 1)
    values = start.unsqueeze(2) * ends if context is not None else start.unsqueeze(2) + ends
    best = values.nan_to_num(nan=-1).flatten(1).argmax(dim=1)
    first = best // longest
    return first, first + best % longest


def span_texts(encoded: Rows, contexts: list[str], spans: IntArray) -> pl.Series:
    """Returns the texts of spans as they stand in the context.

    Args:
        encoded: the rows; the second segment is the context.
        contexts: the text of each second segment.
        spans: shape (rows, 2), the first and the last token of each row's span, counted in the row.
    """
    within = spans - encoded.second_start(np.arange(len(spans)))[:, None]
    keys, inverse = np.unique(np.column_stack([encoded.second_of, within]), axis=0, return_inverse=True)
    offsets = encoded.second.offsets
    texts = [contexts[of][offsets[of, first, 0] : offsets[of, last, 1]].strip() for of, first, last in keys]
    return pl.Series("answer", texts, dtype=pl.Categorical)[inverse.reshape(-1)]
