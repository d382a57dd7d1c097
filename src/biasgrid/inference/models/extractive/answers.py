"""The most probable answer of extractive question answering, and its text."""

from __future__ import annotations

import polars as pl
import torch

from biasgrid.base.arrays import IntArray
from biasgrid.inference.engine.encoding import TokenRows
from biasgrid.inference.engine.segments import numbered_rows

LONGEST_ANSWER = 15
"""In tokens; as in Hugging Face's pipeline."""


def best_span(
    start: torch.Tensor, end: torch.Tensor, longest: int, is_context: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the first and the last token of the best span; both of shape (rows,).

    Ties go to the first start, then the first end.

    Args:
        start: shape (rows, length), the probability that the answer starts at a token.
        end: shape (rows, length), the probability that it ends there.
        longest: the largest number of tokens in the span.
        is_context: shape (rows, length), whether a token is of the context. The best span then is
            the one in the context with the largest product of both probabilities. None as in
            UnQover (spec b.1, step 8): the largest sum over all positions counts.
    """
    is_product = is_context is not None
    if is_context is not None:
        start, end = torch.where(is_context, start, 0), torch.where(is_context, end, 0)
    # Rounding is monotonic: for each start, the largest end makes the largest product or sum.
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


def largest_ahead(values: torch.Tensor, size: int) -> torch.Tensor:
    """Returns the largest of the next `size` values from each place on; shape (rows, length)."""
    length = values.shape[1]
    width = 1
    # Each step combines two windows of `width` values, so few steps reach a wide window.
    while width < size:
        step = min(width, size - width)
        if step < length:
            larger = torch.maximum(values[:, :-step], values[:, step:])
            values = torch.cat([larger, values[:, length - step :]], dim=1)
        width += step
    return values


def span_texts(
    all_rows: TokenRows, rows: IntArray, contexts: list[str], spans: IntArray
) -> pl.Series:
    """Returns the texts of spans, as they are in the context.

    Args:
        all_rows: all encoded rows; the second segment is the context, with offsets.
        rows: shape (rows,), the places of the answered rows among them.
        contexts: the text of each second segment.
        spans: shape (rows, 2), the first and the last token of each span, counted in the row. They
            must be tokens of the context.
    """
    segments = all_rows.second_segments
    context_index = all_rows.second_index[rows]
    first, last = (spans - all_rows.second_start(rows)[:, None]).T
    # Each distinct answer is cut out once.
    examples, answer_index = numbered_rows([context_index, first, last])
    token_begins = segments.begins[context_index[examples]]
    starts = segments.offsets[token_begins + first[examples], 0]
    stops = segments.offsets[token_begins + last[examples], 1]
    texts = []
    example_contexts = context_index[examples].tolist()
    for context, start, stop in zip(example_contexts, starts.tolist(), stops.tolist(), strict=True):
        texts.append(contexts[context][start:stop].strip())
    return pl.Series("answer", texts, dtype=pl.Categorical)[answer_index]
