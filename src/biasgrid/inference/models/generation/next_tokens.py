"""Chooses the next tokens of texts, the most probable or drawn ones, the same in any batch."""

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
and 36.8, so that they are never the largest.
"""
SUM_ROUNDING = 1e-5
"""The largest difference by rounding of two sums of probabilities over a vocabulary."""


@dataclass(eq=False)
class OpenText:
    """A text that is being written.

    Attributes:
        number: the place of its prompt in the part, by which its answer is told from others.
        tokens: the tokens of the prompt, then the written ones.
        read: the number of tokens in the prompt.
        most: the largest number of written tokens.
        seed: the seed of its draws, an int64.
    """

    number: int
    tokens: list[int]
    read: int
    most: int
    seed: int

    @property
    def written(self) -> list[int]:
        """The written tokens."""
        return self.tokens[self.read :]

    @property
    def longest(self) -> int:
        """The largest number of tokens in prompt and text together."""
        return self.read + self.most


class Draws(NamedTuple):
    """The next tokens of some texts.

    Attributes:
        tokens: shape (texts,), token ids. One that is not sure may be any token, even one outside
            the nucleus.
        is_sure: shape (texts,), whether a text alone would have the same token in any case: the
            differences between a batch and a text alone are too small to change it.
    """

    tokens: torch.Tensor
    is_sure: torch.Tensor


@dataclass
class NextTokens:
    """Chooses tokens that do not depend on the batch in which their scores were computed.

    Log-probabilities of a text alone and in a batch differ by rounding. A token is taken from a
    batch only if all log-probabilities within `bound` of the batch's would choose it. Otherwise the
    model reads the text alone, and these log-probabilities decide.

    Attributes:
        model: the model.
        temperature: the number that log-probabilities are divided by; 0 means the most probable
            token.
        top_p: the probability that the tokens have together among which one is drawn.
        bound: the largest expected difference of log-probabilities between a batch and a text
            alone; 0 takes every token from the batch.
        alone: the number of tokens that texts alone have decided.
        largest: the largest difference of log-probabilities at these tokens.
        total: the sum over these tokens of the largest difference at each.
    """

    model: PreTrainedModel
    temperature: float
    top_p: float
    bound: float = 0.0
    alone: int = 0
    largest: float = 0.0
    total: float = 0.0

    @property
    def has_nucleus(self) -> bool:
        """Whether tokens are drawn from the nucleus: the most probable ones, `top_p` together."""
        return self.temperature > 0 and self.top_p < 1

    @torch.inference_mode()
    def choose(self, logits: torch.Tensor, texts: Sequence[OpenText]) -> list[int]:
        """Returns the next token of each text.

        Args:
            logits: shape (texts, vocabulary), of the batch.
            texts: the texts, in the same order.
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
        """Returns the number of tokens that texts alone decided (`rows`), the drift and `bound`.

        Logs a warning if the drift is larger than the bound.

        Args:
            model: the model's name, for the warning.
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
        """Returns the next token of each text: the one with the largest sum of score and noise.

        Args:
            logits: float32 of shape (texts, vocabulary).
            texts: the texts.
            bound: the largest difference of each logit from the one of the text alone; 0 if the
                logits are those of texts alone: then every token is sure.
        """
        # Two scores that each differ by `bound` may change places if they are so close.
        scores, score_slack = logits, 2 * bound
        if self.temperature:
            scores, score_slack = scores / self.temperature, score_slack / self.temperature
        # Such differences change a sum of probabilities by at most a quarter of `score_slack`; the
        # rest is margin.
        mass_slack = score_slack + SUM_ROUNDING if bound else 0.0
        ranked = scores
        if self.has_nucleus:
            ranked = self._candidates(scores, score_slack=score_slack, mass_slack=mass_slack)
        if self.temperature:
            seeds = torch.tensor([text.seed for text in texts], device=logits.device)
            places = torch.tensor([len(text.written) for text in texts], device=logits.device)
            ranked = with_noise(ranked, seeds, places)
        best, best_tokens = ranked.max(dim=1, keepdim=True)
        tokens = best_tokens[:, 0]
        if not bound:
            return Draws(tokens, torch.ones_like(tokens, dtype=torch.bool))
        is_sure = (ranked >= best - score_slack).sum(dim=1) == 1
        if self.has_nucleus:
            before = mass_before(scores, tokens, score_slack)
            is_sure &= (before < self.top_p - mass_slack) | (before == 0)
        return Draws(tokens, is_sure)

    def _candidates(
        self, scores: torch.Tensor, *, score_slack: float, mass_slack: float
    ) -> torch.Tensor:
        """Returns the scores of tokens that may be in the nucleus of the text alone; else -inf.

        The nucleus is widened, so that every such token competes; `is_sure` then tells whether the
        chosen one is in it.

        Args:
            scores: shape (texts, vocabulary).
            score_slack: the largest change of a difference between two scores.
            mass_slack: the largest change of a sum of probabilities.
        """
        least = least_score(scores, self.top_p + mass_slack) - score_slack
        return scores.masked_fill(scores < least, -math.inf)


def largest_difference(alone: torch.Tensor, in_batch: torch.Tensor) -> float:
    """Returns the largest difference of log-probabilities, without tokens that are never drawn.

    Args:
        alone: shape (vocabulary,), the log-probabilities of a text alone; they decide which tokens
            are compared.
        in_batch: shape (vocabulary,).
    """
    return float((alone - in_batch)[alone > NEVER_DRAWN].abs().max())


def least_score(scores: torch.Tensor, top_p: float) -> torch.Tensor:
    """Returns the smallest score of the most probable tokens whose probabilities sum up to `top_p`.

    Args:
        scores: shape (texts, vocabulary).
        top_p: the sum; from 1 on all tokens count.

    Returns:
        Shape (texts, 1).
    """
    top_scores: torch.Tensor = TopPLogitsWarper(min(top_p, 1.0))(None, scores)
    return top_scores.masked_fill(top_scores == -math.inf, math.inf).amin(dim=1, keepdim=True)


def mass_before(scores: torch.Tensor, tokens: torch.Tensor, slack: float) -> torch.Tensor:
    """Returns the probability of all tokens that may be more probable than a token.

    Args:
        scores: shape (texts, vocabulary).
        tokens: shape (texts,), a token of each text.
        slack: a token counts as possibly more probable if its score is at most so much smaller.

    Returns:
        Shape (texts,).
    """
    own = tokens[:, None]
    is_less_probable = scores < scores.gather(1, own) - slack
    before = scores.softmax(dim=1).masked_fill(is_less_probable, 0.0)
    return before.scatter(1, own, 0.0).sum(dim=1)


class TokenAudit(NamedTuple):
    """The audit of texts: the tokens that texts alone have decided.

    Attributes:
        next_tokens: has chosen all tokens of the answers.
        model: the model's name, for a warning.
        facts: further facts for the provenance.
    """

    next_tokens: NextTokens
    model: str
    facts: Mapping[str, Any]

    def compare(self, _answers: pl.DataFrame) -> dict[str, Any]:
        """Returns the drift between batches and texts alone; see `NextTokens.audit`."""
        return {**self.next_tokens.audit(self.model), **self.facts}
