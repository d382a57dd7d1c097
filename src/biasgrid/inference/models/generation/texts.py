"""Texts that causal language models write, in batches: the writer, and answers from its texts."""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import TYPE_CHECKING, Any, NamedTuple

from biasgrid.inference.checkpoints.checkpoint import first_line
from biasgrid.inference.models.generation.next_tokens import NextTokens, OpenText
from biasgrid.inference.models.generation.prefix import Prefix
from biasgrid.inference.models.generation.text_batch import TextBatch
from biasgrid.inference.models.generation.thoughts import Thoughts, answer_without_thoughts

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

logger = logging.getLogger(__name__)

LARGEST_NOISE = 1e-3
"""More than rounding: a model whose log-probabilities change by so much does not know padding."""
SAFETY = 16
"""Other texts may change in batches by so many times as much as the few that are measured."""
LEAST_BOUND = 1e-5
"""A few roundings of scores in float32."""
COMPARED_TEXTS = 4
REFILLED = 0.25
"""Share of the texts in a batch for which there must be room before others are begun."""


class Padding(NamedTuple):
    """How texts of different lengths share a batch.

    Attributes:
        joins: whether texts of any lengths may be written in one batch.
        spread: how much shorter than the longest prompts may be that are read in one batch, as a
            share of the tokens that are read of the longest.
    """

    joins: bool
    spread: float


NO_PADDING = Padding(joins=False, spread=0.0)
PADDINGS = (
    Padding(joins=True, spread=0.25),
    Padding(joins=True, spread=0.0),
    NO_PADDING,
)
"""From the fastest on. Models that keep only the last tokens must read prompts of one length."""


class MeasuredPadding(NamedTuple):
    """The fastest padding that a model knows.

    Attributes:
        joins: see `Padding`.
        spread: see there.
        noise: the largest difference of log-probabilities in such batches from those of texts
            alone, in float32.
    """

    joins: bool
    spread: float
    noise: float


class WrittenText(NamedTuple):
    """An answer of the kind `text`; see its schema, `tables.answers.text`."""

    response: str
    status: str
    tokens_out: int


@dataclass(frozen=True)
class Writer:
    """Writes texts.

    Attributes:
        model: the model.
        tokenizer: its tokenizer.
        generation: the keys of `section.Generation`.
        ends: the tokens that end a text.
        thoughts: finds thoughts in texts.
        next_tokens: chooses the tokens.
        padding: how texts of different lengths share a batch; none until `fit`.
    """

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerFast
    generation: Mapping[str, Any]
    ends: frozenset[int]
    thoughts: Thoughts
    next_tokens: NextTokens
    padding: Padding = NO_PADDING

    @classmethod
    def from_checkpoint(
        cls,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerFast,
        generation: Mapping[str, Any],
    ) -> Writer:
        """Returns a writer with the end tokens of a checkpoint.

        Other settings in the checkpoint, such as its temperature, are ignored: the config decides
        them.
        """
        own = getattr(model.generation_config, "eos_token_id", None)
        end_tokens = [*(own if isinstance(own, list) else [own]), tokenizer.eos_token_id]
        ends = frozenset(int(token) for token in end_tokens if token is not None)
        thoughts = Thoughts.from_setting(generation["thinking"])
        next_tokens = NextTokens(model, generation["temperature"], generation["top_p"])
        return cls(model, tokenizer, generation, ends, thoughts, next_tokens)

    def fit(self, measured: MeasuredPadding, *, exact: bool) -> Writer:
        """Returns a writer with a padding, and with the bound that `exact` needs.

        Warns if the model knows no padding.

        Args:
            measured: see `measure_padding`.
            exact: whether each text must be the one that the model writes alone; see `NextTokens`.
        """
        padding = Padding(measured.joins, measured.spread)
        if padding == NO_PADDING:
            logger.warning(
                "the model does not know padding: only texts of one length are written "
                "at once, slowly"
            )
        bound = max(SAFETY * measured.noise, LEAST_BOUND) if exact else 0.0
        next_tokens = replace(self.next_tokens, bound=bound)
        return replace(self, padding=padding, next_tokens=next_tokens)

    def measure_padding(
        self, prompts: Sequence[list[int]], read_prefix: Callable[[Sequence[list[int]]], Prefix]
    ) -> MeasuredPadding:
        """Finds the fastest padding that the model knows; the model must be float32.

        Args:
            prompts: the tokens of some prompts, at least one.
            read_prefix: returns the prefix that prompts share.
        """
        for padding in PADDINGS:
            writer = replace(self, padding=padding)
            try:
                noise, problem = writer.measure_noise(prompts, read_prefix), ""
            except Exception as error:
                # Architectures that do not know padding fail in their own ways.
                if padding == NO_PADDING:
                    raise
                noise, problem = math.inf, first_line(error)
            if noise <= LARGEST_NOISE or padding == NO_PADDING:
                break
            logger.info("padding %s: log-probabilities are off by %.2g %s", padding, noise, problem)
        return MeasuredPadding(padding.joins, padding.spread, noise)

    def measure_noise(
        self, prompts: Sequence[list[int]], read_prefix: Callable[[Sequence[list[int]]], Prefix]
    ) -> float:
        """Writes a few texts; returns the largest difference of log-probabilities from texts alone.

        Args:
            prompts: see `measure_padding`.
            read_prefix: see there.

        Raises:
            ValueError: the prompts are too short to be cut to different lengths.
        """
        prompts = sorted(((*prompts,) * COMPARED_TEXTS)[:COMPARED_TEXTS], key=len, reverse=True)
        if self.padding.joins:
            # Each is one token shorter than the previous one, or more.
            prompts = [ids[: max(len(ids) - place, 0)] for place, ids in enumerate(prompts)]
        else:
            prompts = [prompts[0]] * COMPARED_TEXTS
        if not all(prompts):
            raise ValueError("the prompts are too short for a test of padding")
        # The texts end one after the other, and the last one takes the place of the first.
        texts = []
        for place, ids in enumerate(prompts):
            text = OpenText(number=place, tokens=[*ids], read=len(ids), most=place + 1, seed=place)
            texts.append(text)
        # With an infinite bound, each token is also decided by the text alone.
        always_alone = replace(self.next_tokens, bound=math.inf)
        padding = self.padding._replace(spread=1.0) if self.padding.spread else self.padding
        budget = max(text.longest for text in texts) * (COMPARED_TEXTS - 1)
        writer = replace(self, next_tokens=always_alone, ends=frozenset(), padding=padding)
        for _ in writer.write(texts, read_prefix(prompts), budget):
            pass
        return always_alone.largest

    def write(
        self, texts: Sequence[OpenText], prefix: Prefix, token_budget: int
    ) -> Iterator[OpenText]:
        """Writes texts in a batch; a text that ends makes room for others.

        Args:
            texts: texts of which nothing is written yet.
            prefix: tokens that their prompts begin with.
            token_budget: the largest number of tokens in the batch; a text with more is written
                alone.

        Yields:
            Each text when it has ended, with the token that ends it.
        """
        waiting = deque(sorted(texts, key=lambda text: -text.longest))
        batch = TextBatch(self.model)
        while waiting or batch.texts:
            prompts = self.take_prompts(
                waiting, batch.texts, shared=prefix.length, token_budget=token_budget
            )
            new_batches = [TextBatch.read(self.model, group, prefix) for group in prompts]
            if new_batches:
                batch.join(new_batches)
            tokens = self.next_tokens.choose(batch.logits, batch.texts)
            for text, token in zip(batch.texts, tokens, strict=True):
                text.tokens.append(token)
            has_ended = [self.has_ended(text) for text in batch.texts]
            yield from compress(batch.texts, has_ended)
            batch.go_on([place for place, is_end in enumerate(has_ended) if not is_end])

    def has_ended(self, text: OpenText) -> bool:
        """Whether the last token of a text ends it, or it is as long as it may be."""
        return text.tokens[-1] in self.ends or len(text.written) == text.most

    def take_prompts(
        self,
        waiting: deque[OpenText],
        texts: Sequence[OpenText],
        *,
        shared: int,
        token_budget: int,
    ) -> Iterator[list[OpenText]]:
        """Yields groups of prompts to read next, as long as there is room in the batch.

        Args:
            waiting: texts that are not begun, the longest first. Yielded ones are removed.
            texts: the texts in the batch.
            shared: the length of the prefix, which is not read again.
            token_budget: the largest number of tokens in the batch, when all texts have ended.
        """
        if not waiting or (texts and not self.padding.joins):
            return
        longest = max(text.longest for text in [*texts, waiting[0]])
        room = max(1, token_budget // longest) - len(texts)
        # Reading a few prompts takes nearly as long as reading some more.
        if room < REFILLED * len(texts):
            return
        while room > 0 and waiting:
            shortest = waiting[0].read - self.padding.spread * (waiting[0].read - shared)
            prompts: list[OpenText] = []
            while len(prompts) < room and waiting and waiting[0].read >= shortest:
                prompts.append(waiting.popleft())
            yield prompts
            room = room - len(prompts) if self.padding.joins else 0

    def finish_text(self, prompt: str, tokens: Sequence[int]) -> WrittenText:
        """Returns the answer in the tokens that were written behind a prompt, without thoughts."""
        written = self.tokenizer.decode(list(tokens), skip_special_tokens=False)
        # Marks of thoughts may be special tokens, so these are removed only afterwards.
        begins_in_thoughts = self.thoughts.end_for(prompt) is not None
        text = self.thoughts.behind(written, begins_in_thoughts=begins_in_thoughts)
        if text is not None:
            for special in self.tokenizer.all_special_tokens:
                text = text.replace(special, "")
        is_whole = bool(tokens) and tokens[-1] in self.ends
        response, status = answer_without_thoughts(text, is_whole=is_whole)
        return WrittenText(response, status, len(tokens))
