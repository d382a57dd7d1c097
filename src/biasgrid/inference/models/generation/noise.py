"""Random draws that depend only on a seed and on the prompt, not on batches or devices."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

from biasgrid.tables.keys import STEP, mix_bits

NoiseKeys = npt.NDArray[np.uint64]
LOW_BITS = 2**53 - 1


def with_noise(scores: torch.Tensor, seeds: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """Adds Gumbel noise to scores: the largest sum is a draw from their softmax (Gumbel 1954).

    The noise is a function of the text's seed, the place in the text and the token id. There is no
    generator, whose numbers would depend on the order of draws.

    Args:
        scores: shape (texts, vocabulary).
        seeds: the seeds of the texts, int64 of shape (texts,).
        places: the number of written tokens of each text, int64 of shape (texts,).
    """
    step = mixed_tensor(seeds + places)
    numbers = mixed_tensor(step[:, None] + torch.arange(scores.shape[1], device=scores.device))
    uniform = ((shift_right(numbers, 11) & LOW_BITS).double() + 0.5) / 2**53
    return scores - torch.log(-torch.log(uniform)).to(scores)


def request_seeds(seed: int, keys: NoiseKeys) -> torch.Tensor:
    """Returns the seeds of texts; int64 of shape (prompts,).

    Args:
        seed: the seed in the config.
        keys: shape (prompts,), the keys of the prompts.
    """
    shifted = keys + np.uint64(seed * int(STEP) % 2**64)
    return torch.from_numpy(mix_bits(shifted).view(np.int64))


def as_signed(bits: int) -> int:
    """Returns the signed integer with the same 64 bits as an unsigned one."""
    return bits - 2**64 if bits >= 2**63 else bits


STEP_BITS = as_signed(int(STEP))
FACTOR_1, FACTOR_2 = as_signed(0xBF58476D1CE4E5B9), as_signed(0x94D049BB133111EB)


def mixed_tensor(numbers: torch.Tensor) -> torch.Tensor:
    """Mixes the bits of int64 numbers; the same function as `tables.keys.mix_bits`."""
    mixture = numbers + STEP_BITS
    mixture = (mixture ^ shift_right(mixture, 30)) * FACTOR_1
    mixture = (mixture ^ shift_right(mixture, 27)) * FACTOR_2
    return mixture ^ shift_right(mixture, 31)


def shift_right(numbers: torch.Tensor, bits: int) -> torch.Tensor:
    """Shifts int64 numbers to the right; zeros come in, also for negative numbers."""
    shifted: torch.Tensor = (numbers >> bits) & (2 ** (64 - bits) - 1)
    return shifted
