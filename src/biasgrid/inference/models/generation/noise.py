"""Draws that depend on a seed and on what is asked alone, whatever else is in the batch and
wherever it is computed.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

from biasgrid.tables.keys import STEP, mix_bits

NoiseKeys = npt.NDArray[np.uint64]
LOW_BITS = 2**53 - 1


def with_noise(scores: torch.Tensor, seeds: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """Adds Gumbel noise to scores, after which the largest is a draw from their softmax (Gumbel
    1954).

    The noise of a token is a function of the text's seed, the token's place in the text and its
    number, so that no generator is drawn from in an order.

    Args:
        scores: shape (texts, vocabulary).
        seeds: the seeds of the texts, int64 of shape (texts,).
        places: how many tokens of each text are written, int64 of shape (texts,).
    """
    step = mixed_tensor(seeds + places)
    numbers = mixed_tensor(step[:, None] + torch.arange(scores.shape[1], device=scores.device))
    uniform = ((shift_right(numbers, 11) & LOW_BITS).double() + 0.5) / 2**53
    return scores - torch.log(-torch.log(uniform)).to(scores)


def request_seeds(seed: int, keys: NoiseKeys) -> torch.Tensor:
    """Returns the seeds of instances: their keys mixed with the model's seed; int64 of shape
    (instances,).
    """
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
