"""The most probable answer of extractive question answering, and its text."""

from __future__ import annotations

import polars as pl
import torch

from biasgrid.base.arrays import IntArray
from biasgrid.inference.engine.encoding import TokenRows
from biasgrid.inference.engine.segments import numbered_rows

LONGEST_ANSWER = 15
"""In tokens; that of Hugging Face's pipeline."""


def best_span(
    start: torch.Tensor, end: torch.Tensor, longest: int, context: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Finds the first and the last token of the most probable span of at most `longest` tokens.

    With a context mask (shape (rows, length)) the product of both probabilities within it counts;
    without one, as in UnQover (spec b.1, step 8), their sum over all positions. Ties go to the
    first start, then the first end.
    """
    if context is not None:
        start, end = torch.where(context, start, 0), torch.where(context, end, 0)
    # Products and sums are rounded in the order of the ends: those with the largest end are the
    # largest.
    largest = largest_ahead(end, longest)
    first = (start * largest if context is not None else start + largest).argmax(
        dim=1, keepdim=True
    )
    ahead = first + torch.arange(longest, device=end.device)
    ends = torch.where(ahead < end.shape[1], end.gather(1, ahead.clamp(max=end.shape[1] - 1)), -1)
    values = start.gather(1, first) * ends if context is not None else start.gather(1, first) + ends
    return first.squeeze(1), first.squeeze(1) + values.argmax(dim=1)


def largest_ahead(values: torch.Tensor, count: int) -> torch.Tensor:
    """Returns of each place the largest of its value and those behind it, `count` in all; shape
    (rows, length).
    """
    width, length = 1, values.shape[1]
    while width < count:
        step = min(width, count - width)
        if step < length:
            values = torch.cat(
                [torch.maximum(values[:, :-step], values[:, step:]), values[:, length - step :]],
                dim=1,
            )
        width += step
    return values


def span_texts(
    encoded: TokenRows, rows: IntArray, contexts: list[str], spans: IntArray
) -> pl.Series:
    """Returns the texts of spans as they stand in the context.

    Args:
        encoded: all rows; the second segment is the context.
        rows: shape (rows,), which of them.
        contexts: the text of each second segment.
        spans: shape (rows, 2), the first and the last token of each row's span, counted in the row.
    """
    context_of = encoded.second_of[rows]
    first, last = (spans - encoded.second_start(rows)[:, None]).T
    example, number = numbered_rows([context_of, first, last])
    begins = encoded.second.begins[context_of[example]]
    begin = encoded.second.offsets[begins + first[example], 0]
    end = encoded.second.offsets[begins + last[example], 1]
    texts = [
        contexts[of][start:stop].strip()
        for of, start, stop in zip(
            context_of[example].tolist(), begin.tolist(), end.tolist(), strict=True
        )
    ]
    return pl.Series("answer", texts, dtype=pl.Categorical)[number]
