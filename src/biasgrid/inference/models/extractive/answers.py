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

    Ties go to the first start, then the first end.

    Args:
        start: shape (rows, length), the probability that the answer begins at a token.
        end: shape (rows, length), the probability that it ends there.
        longest: the largest number of tokens.
        context: shape (rows, length), whether a token is of the context: the span with the largest
            product of both probabilities counts. None as in UnQover (spec b.1, step 8): the largest
            sum over all positions counts.

    Returns:
        Both of shape (rows,).
    """
    is_product = context is not None
    if context is not None:
        start, end = torch.where(context, start, 0), torch.where(context, end, 0)
    # Rounding keeps the order: the largest end makes the largest product or sum.
    largest_end = largest_ahead(end, longest)
    best_values = start * largest_end if is_product else start + largest_end
    first = best_values.argmax(dim=1, keepdim=True)
    last_place = end.shape[1] - 1
    ahead = first + torch.arange(longest, device=end.device)
    ends = end.gather(1, ahead.clamp(max=last_place))
    ends = torch.where(ahead <= last_place, ends, -1)
    first_start = start.gather(1, first)
    values = first_start * ends if is_product else first_start + ends
    return first.squeeze(1), first.squeeze(1) + values.argmax(dim=1)


def largest_ahead(values: torch.Tensor, count: int) -> torch.Tensor:
    """Returns the largest of `count` values from each place on; shape (rows, length)."""
    length = values.shape[1]
    width = 1
    # Each step combines two windows of `width` values, so few steps reach a wide window.
    while width < count:
        step = min(width, count - width)
        if step < length:
            combined = torch.maximum(values[:, :-step], values[:, step:])
            values = torch.cat([combined, values[:, length - step :]], dim=1)
        width += step
    return values


def span_texts(
    encoding: TokenRows, rows: IntArray, contexts: list[str], spans: IntArray
) -> pl.Series:
    """Returns the texts of spans as the context has them.

    Args:
        encoding: all rows; the second segment is the context.
        rows: shape (rows,), which of them.
        contexts: the text of each second segment.
        spans: shape (rows, 2), the first and the last token of each row's span, counted in the row.
    """
    context_of = encoding.second_index[rows]
    first, last = (spans - encoding.second_start(rows)[:, None]).T
    example, number = numbered_rows([context_of, first, last])
    begins = encoding.second_segments.begins[context_of[example]]
    begin = encoding.second_segments.offsets[begins + first[example], 0]
    end = encoding.second_segments.offsets[begins + last[example], 1]
    numbers = context_of[example].tolist()
    texts = []
    for context, start, stop in zip(numbers, begin.tolist(), end.tolist(), strict=True):
        texts.append(contexts[context][start:stop].strip())
    return pl.Series("answer", texts, dtype=pl.Categorical)[number]
