"""Texts that causal language models write: how they end, and what of them is an answer."""

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
"""More than rounding: a model that is so far from itself does not know padding."""
SAFETY = 16
"""How many times as large as in a few texts the difference between a batch and a text alone may be
in others.
"""
LEAST_BOUND = 1e-5
"""A few roundings of scores in float32."""
COMPARED_TEXTS = 4
REFILLED = 0.25
"""How many texts must have ended for others to be begun, as a share of those that go on."""


class Padding(NamedTuple):
    """How texts of unlike lengths share a batch.

    Attributes:
        joins: whether texts are written at once whatever their lengths.
        spread: by how much, as a share of what is read of the longest, prompts may be shorter that
            are read at once.
    """

    joins: bool
    spread: float


NO_PADDING = Padding(False, 0.0)
PADDINGS = (Padding(True, 0.25), Padding(True, 0.0), NO_PADDING)
"""From the fastest on. Models that keep only the last tokens can only read prompts of one
length.
"""


class WrittenText(NamedTuple):
    """A text: see the schema `text`."""

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
        thoughts: what is put around thoughts.
        next_tokens: chooses the tokens.
        padding: how texts of unlike lengths are written at once.
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
        """Takes what ends texts from the checkpoint, and nothing else: its own ways to draw are not
        the config's.
        """
        own = getattr(model.generation_config, "eos_token_id", None)
        named = [*(own if isinstance(own, list) else [own]), tokenizer.eos_token_id]
        ends = frozenset(int(token) for token in named if token is not None)
        chooses = NextTokens(model, generation["temperature"], generation["top_p"])
        return cls(
            model,
            tokenizer,
            generation,
            ends,
            Thoughts.from_setting(generation["thinking"]),
            chooses,
        )

    def fitted(
        self,
        prompts: Sequence[list[int]],
        prefix_of: Callable[[Sequence[list[int]]], Prefix],
        exact: bool,
    ) -> Writer:
        """Measures, in float32, what batches do to log-probabilities; see `NextTokens`.

        Args:
            prompts: some prompts.
            prefix_of: reads what prompts begin with.
            exact: whether texts shall be those that are written alone.

        Returns:
            What writes texts of unlike lengths at once if the model can, and knows how far batches
            are from texts alone.
        """
        for padding in PADDINGS:
            writer = replace(self, padding=padding)
            try:
                noise, problem = writer.noise(prompts, prefix_of), ""
            except Exception as error:
                # Architectures fail in their own ways where they do not know padding.
                if padding == NO_PADDING:
                    raise
                noise, problem = math.inf, first_line(error)
            if noise <= LARGEST_NOISE or padding == NO_PADDING:
                break
            logger.info("padding %s: log-probabilities are off by %.2g %s", padding, noise, problem)
        if padding == NO_PADDING:
            logger.warning(
                "the model does not know padding: only texts of one length are written "
                "at once, slowly"
            )
        bound = max(SAFETY * noise, LEAST_BOUND) if exact else 0.0
        return replace(writer, next_tokens=replace(self.next_tokens, bound=bound))

    def noise(
        self, prompts: Sequence[list[int]], prefix_of: Callable[[Sequence[list[int]]], Prefix]
    ) -> float:
        """Returns how far log-probabilities of some texts are from those of the texts alone, at
        each of some tokens.

        Args:
            prompts: see `fitted`.
            prefix_of: see `fitted`.

        Raises:
            ValueError: the prompts are too short to be of unlike lengths.
        """
        prompts = sorted(((*prompts,) * COMPARED_TEXTS)[:COMPARED_TEXTS], key=len, reverse=True)
        if self.padding.joins:
            # Each is shorter than the one before it.
            prompts = [ids[: max(len(ids) - place, 0)] for place, ids in enumerate(prompts)]
        else:
            prompts = [prompts[0]] * COMPARED_TEXTS
        if not all(prompts):
            raise ValueError("the prompts are too short for a test of padding")
        # They end one after the other, and one takes the place of another.
        texts = [
            OpenText(place, [*ids], len(ids), place + 1, place) for place, ids in enumerate(prompts)
        ]
        every = replace(self.next_tokens, bound=math.inf)
        padding = self.padding._replace(spread=1.0) if self.padding.spread else self.padding
        budget = max(text.longest for text in texts) * (COMPARED_TEXTS - 1)
        for _ in replace(self, next_tokens=every, ends=frozenset(), padding=padding).write(
            texts, prefix_of(prompts), budget
        ):
            pass
        return every.largest

    def write(
        self, texts: Sequence[OpenText], prefix: Prefix, token_budget: int
    ) -> Iterator[OpenText]:
        """Writes texts; one that ends makes room for others.

        Args:
            texts: texts of which nothing is written yet.
            prefix: what they begin with.
            token_budget: how many tokens those that are written at once may have; a text that has
                more is alone.

        Yields:
            Each text when it has ended, with the token that ends it.
        """
        waiting = deque(sorted(texts, key=lambda text: -text.longest))
        batch = TextBatch(self.model)
        while waiting or batch.texts:
            prompts = self.admitted(waiting, batch.texts, prefix.length, token_budget)
            if begun := [TextBatch.read(self.model, some, prefix) for some in prompts]:
                batch.join(begun)
            for text, token in zip(
                batch.texts, self.next_tokens.choose(batch.logits, batch.texts), strict=True
            ):
                text.tokens.append(token)
            ended = [
                text.tokens[-1] in self.ends or len(text.written) == text.most
                for text in batch.texts
            ]
            yield from compress(batch.texts, ended)
            batch.go_on([place for place, end in enumerate(ended) if not end])

    def admitted(
        self, waiting: deque[OpenText], texts: Sequence[OpenText], shared: int, token_budget: int
    ) -> Iterator[list[OpenText]]:
        """Takes those that wait, the longest first, as there is room; yields prompts that are read
        at once.

        Args:
            waiting: texts that are not begun.
            texts: texts that are written.
            shared: how many tokens the prompts have in common, which are not read again.
            token_budget: how many tokens all may have in the end.
        """
        if not waiting or (texts and not self.padding.joins):
            return
        room = max(1, token_budget // max(text.longest for text in [*texts, waiting[0]])) - len(
            texts
        )
        # To read few prompts takes nearly as long as to read some more.
        if room < REFILLED * len(texts):
            return
        while room > 0 and waiting:
            shortest = waiting[0].read - self.padding.spread * (waiting[0].read - shared)
            prompts: list[OpenText] = []
            while len(prompts) < room and waiting and waiting[0].read >= shortest:
                prompts.append(waiting.popleft())
            yield prompts
            room = room - len(prompts) if self.padding.joins else 0

    def text(self, prompt: str, tokens: Sequence[int]) -> WrittenText:
        """Turns the tokens behind a prompt into an answer, without what was thought before it."""
        whole = self.tokenizer.decode(list(tokens), skip_special_tokens=False)
        # Marks of thoughts may be special tokens, which are no part of an answer either.
        said = self.thoughts.behind(whole, self.thoughts.end_for(prompt) is not None)
        if said is not None:
            for special in self.tokenizer.all_special_tokens:
                said = said.replace(special, "")
        ended = bool(tokens) and tokens[-1] in self.ends
        return WrittenText(*answer_without_thoughts(said, ended), len(tokens))
