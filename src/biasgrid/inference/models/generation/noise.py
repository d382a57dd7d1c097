"""Draws that depend on a seed and on what is asked alone, whatever else is in the batch and wherever it is computed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from transformers import LogitsProcessorList, TemperatureLogitsWarper, TopPLogitsWarper

from biasgrid.tables.keys import STEP, mix_bits

NoiseKeys = npt.NDArray[np.uint64]
LOW_BITS = 2**53 - 1


@dataclass(frozen=True)
class RowNoise:
    """Adds Gumbel noise to scores, after which the largest is a draw from their softmax (Gumbel 1954).

    The noise of a token is a function of the row's seed, the token's place in the text and its number, so that no
    generator is drawn from in an order.

    Attributes:
        seeds: the seeds of the rows, int64 of shape (rows,).
        read: how many tokens each row has read before its text.
    """

    seeds: torch.Tensor
    read: int

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Returns the scores with noise; both of shape (rows, vocabulary)."""
        step = mixed_tensor(self.seeds + (input_ids.shape[1] - self.read))
        numbers = mixed_tensor(step[:, None] + torch.arange(scores.shape[1], device=scores.device))
        uniform = ((shift_right(numbers, 11) & LOW_BITS).double() + 0.5) / 2**53
        return scores - torch.log(-torch.log(uniform)).to(scores)


def seeds_of(seed: int, keys: NoiseKeys) -> torch.Tensor:
    """Returns the seeds of instances: their keys mixed with the model's seed; int64 of shape (instances,)."""
    return torch.from_numpy(mix_bits(keys + np.uint64(seed * int(STEP) % 2**64)).view(np.int64))


def as_signed(number: int) -> int:
    """Returns an unsigned number of 64 bits as the signed one of the same bits."""
    return number - 2**64 if number >= 2**63 else number


STEP_BITS = as_signed(int(STEP))
FIRST, SECOND = as_signed(0xBF58476D1CE4E5B9), as_signed(0x94D049BB133111EB)


def mixed_tensor(numbers: torch.Tensor) -> torch.Tensor:
    """Mixes the bits of int64 numbers as `tables.keys.mix_bits` does."""
    mixture = numbers + STEP_BITS
    mixture = (mixture ^ shift_right(mixture, 30)) * FIRST
    mixture = (mixture ^ shift_right(mixture, 27)) * SECOND
    return mixture ^ shift_right(mixture, 31)


def shift_right(numbers: torch.Tensor, bits: int) -> torch.Tensor:
    """Shifts int64 numbers to the right, with zeros from the left."""
    moved: torch.Tensor = (numbers >> bits) & (2 ** (64 - bits) - 1)
    return moved


def drawing(temperature: float, top_p: float, seeds: torch.Tensor, read: int) -> LogitsProcessorList:
    """Returns what makes the most probable token a drawn one; nothing at temperature 0."""
    if temperature == 0:
        return LogitsProcessorList()
    nucleus = [TopPLogitsWarper(top_p)] if top_p < 1 else []
    return LogitsProcessorList([TemperatureLogitsWarper(float(temperature)), *nucleus, RowNoise(seeds, read)])
