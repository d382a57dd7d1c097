"""Which token comes next in texts: the most probable or a drawn one, the same in any batch."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl
import torch
from transformers import TopPLogitsWarper

from biasgrid.inference.models.generation.noise import with_noise
from biasgrid.inference.models.generation.prefix import only_last

if TYPE_CHECKING:
    from transformers import PreTrainedModel

logger = logging.getLogger(__name__)

NEVER_DRAWN = -60.0
"""Tokens with a smaller log-probability are not compared: Gumbel noise of 53 bits lies between -3.7
and 36.8.
"""
SUM_ROUNDING = 1e-5
"""How far sums of probabilities over a vocabulary may be apart by rounding alone."""


@dataclass(eq=False)
class OpenText:
    """A text that is being written.

    Attributes:
        number: which of the texts it is.
        tokens: those of the prompt, and behind them those that are written.
        read: how many of them are the prompt's.
        most: how many may be written.
        seed: of its draws, an int64.
    """

    number: int
    tokens: list[int]
    read: int
    most: int
    seed: int

    @property
    def written(self) -> list[int]:
        """The tokens behind the prompt."""
        return self.tokens[self.read :]

    @property
    def longest(self) -> int:
        """How many tokens it may have in the end."""
        return self.read + self.most


class Draws(NamedTuple):
    """The next tokens of some texts, and whether rounding could not have made them others; both of
    shape (texts,).
    """

    tokens: torch.Tensor
    is_sure: torch.Tensor


@dataclass
class NextTokens:
    """Chooses tokens that do not depend on the batch in which their scores were computed.

    Log-probabilities of a text alone and in a batch differ by rounding. A token is taken from a
    batch only if it is chosen whatever the log-probabilities are within `bound` of those of the
    batch; else those of the text alone decide.

    Attributes:
        model: the model.
        temperature: what scores are divided by; 0 takes the most probable token.
        top_p: the least probability of the tokens among which one is drawn.
        bound: how far log-probabilities in a batch may be from those of a text alone; 0 takes all
            from the batch.
        alone: how many tokens texts alone have decided.
        largest: the largest difference of log-probabilities that these showed.
        total: the sum of their largest differences.
    """

    model: PreTrainedModel
    temperature: float
    top_p: float
    bound: float = 0.0
    alone: int = 0
    largest: float = 0.0
    total: float = 0.0

    @torch.inference_mode()
    def choose(self, logits: torch.Tensor, texts: Sequence[OpenText]) -> list[int]:
        """Returns the next token of each text.

        Args:
            logits: shape (texts, vocabulary), as a batch gives them.
            texts: the texts.
        """
        drawn = self.draw(logits.float(), texts, self.bound)
        tokens: list[int] = drawn.tokens.tolist()
        for place in (~drawn.is_sure).nonzero()[:, 0].tolist():
            tokens[place] = self.choose_alone(texts[place], logits[place])
        return tokens

    def choose_alone(self, text: OpenText, in_batch: torch.Tensor) -> int:
        """Returns the next token of a text by one pass over the text alone.

        The largest difference of log-probabilities to the batch is added to the audit.

        Args:
            text: the text.
            in_batch: shape (vocabulary,), its logits in the batch.
        """
        ids = torch.tensor([text.tokens], device=self.model.device)
        output = self.model(input_ids=ids, use_cache=False, **only_last(self.model, 1))
        logits = output.logits[:, -1].float()
        scores = logits[0].log_softmax(dim=0)
        scores_in_batch = in_batch.float().log_softmax(dim=0)
        difference = largest_difference(scores, scores_in_batch)
        self.alone += 1
        self.total += difference
        self.largest = max(self.largest, difference)
        return int(self.draw(logits, [text], 0.0).tokens)

    def audit(self, model: str) -> dict[str, Any]:
        """Returns how many tokens were decided alone, how far their log-probabilities were, and how
        far they may be.

        Args:
            model: the model's name, for a warning.
        """
        if self.largest > self.bound:
            logger.warning(
                "%s: log-probabilities in a batch were up to %.2g away from those of a text "
                "alone; expected at most %.2g: texts may depend on their batches",
                model,
                self.largest,
                self.bound,
            )
        mean = self.total / self.alone if self.alone else 0.0
        return {
            "rows": self.alone,
            "largest_drift": self.largest,
            "mean_drift": mean,
            "bound": self.bound,
        }

    def draw(self, logits: torch.Tensor, texts: Sequence[OpenText], bound: float) -> Draws:
        """Draws the next token of each text: the largest of the scores and their noise.

        Args:
            logits: float32 of shape (texts, vocabulary).
            texts: the texts.
            bound: how far each may be from what decides.
        """
        scores, slack = logits, 2 * bound
        if self.temperature:
            scores, slack = scores / self.temperature, slack / self.temperature
        mass = slack + SUM_ROUNDING if bound else 0.0
        probable = scores
        if self.temperature and self.top_p < 1:
            scores = scores.masked_fill(
                scores < least_score(scores, self.top_p + mass) - slack, -math.inf
            )
        if self.temperature:
            seeds, places = ([text.seed for text in texts], [len(text.written) for text in texts])
            scores = with_noise(
                scores, *(torch.tensor(each, device=logits.device) for each in (seeds, places))
            )
        first, tokens = scores.max(dim=1, keepdim=True)
        tokens = tokens[:, 0]
        if not bound:
            return Draws(tokens, torch.ones_like(tokens, dtype=torch.bool))
        is_sure = (scores >= first - slack).sum(dim=1) == 1
        if self.temperature and self.top_p < 1:
            before = mass_before(probable, tokens, slack)
            is_sure &= (before < self.top_p - mass) | (before == 0)
        return Draws(tokens, is_sure)


def largest_difference(one: torch.Tensor, other: torch.Tensor) -> float:
    """Returns how far the log-probabilities of tokens are apart, without those that are never
    drawn.
    """
    return float((one - other)[one > NEVER_DRAWN].abs().max())


def least_score(scores: torch.Tensor, top_p: float) -> torch.Tensor:
    """Returns the smallest score among the most probable tokens that have so much probability
    together.

    Args:
        scores: shape (texts, vocabulary).
        top_p: their probability; from 1 on all tokens are among them.

    Returns:
        Shape (texts, 1).
    """
    kept: torch.Tensor = TopPLogitsWarper(min(top_p, 1.0))(None, scores)
    return kept.masked_fill(kept == -math.inf, math.inf).amin(dim=1, keepdim=True)


def mass_before(scores: torch.Tensor, tokens: torch.Tensor, slack: float) -> torch.Tensor:
    """Returns the probability of all tokens that may come before some tokens in the order of
    scores.

    Args:
        scores: shape (texts, vocabulary).
        tokens: shape (texts,), a token of each text.
        slack: how much smaller the scores of those before may be.

    Returns:
        Shape (texts,).
    """
    probabilities, own = scores.softmax(dim=1), tokens[:, None]
    before = probabilities.masked_fill(scores < scores.gather(1, own) - slack, 0.0).scatter(
        1, own, 0.0
    )
    return before.sum(dim=1)


class TokenAudit(NamedTuple):
    """The audit of texts: the tokens that texts alone have decided.

    Attributes:
        next_tokens: what has chosen the tokens.
        model: the model's name, for a warning.
        facts: further facts for the provenance.
    """

    next_tokens: NextTokens
    model: str
    facts: Mapping[str, Any]

    def compare(self, _answers: pl.DataFrame) -> dict[str, Any]:
        """Returns how far tokens in batches were from texts alone; see `NextTokens.audit`."""
        return {**self.next_tokens.audit(self.model), **self.facts}
