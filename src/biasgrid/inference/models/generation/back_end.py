"""Causal language models with weights on this machine: probabilities of options, and texts that
they write.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
import polars as pl
import torch

from biasgrid.base.arrays import IntArray
from biasgrid.base.faults import out_of_memory
from biasgrid.inference.checkpoints.checkpoint import (
    ModelError,
    first_line,
)
from biasgrid.inference.checkpoints.files import CHAT_KEY
from biasgrid.inference.engine.audit import SampleAudit, audit_sample, evenly_spaced
from biasgrid.inference.engine.autotune import cached_tuning, choose_token_budget
from biasgrid.inference.engine.back_end import (
    Audit,
    BackEnd,
    PromptPart,
    tables_at_intervals,
    with_instance_and_key,
)
from biasgrid.inference.engine.batches import longest_input
from biasgrid.inference.engine.hardware import (
    choose_device,
    choose_precision,
    device_name,
    gpu_peak_memory,
    set_precision,
)
from biasgrid.inference.engine.loading import load_once, load_tokenizer_once, once
from biasgrid.inference.engine.one_dnn import use_one_dnn
from biasgrid.inference.engine.out_of_vocabulary import embedding_count
from biasgrid.inference.engine.settings import InferenceSettings
from biasgrid.inference.models.generation.checks import (
    ModelLimits,
    causal_loader,
    check_causal,
    check_prompts,
    with_unknown,
)
from biasgrid.inference.models.generation.next_tokens import OpenText, TokenAudit
from biasgrid.inference.models.generation.noise import request_seeds
from biasgrid.inference.models.generation.option_scores import SCORED_BY_LOGITS, CollectedScores
from biasgrid.inference.models.generation.options import OptionTokens, instance_candidates
from biasgrid.inference.models.generation.parsing import SCORED_BY_PARSING as BY_TEXT
from biasgrid.inference.models.generation.parsing import parsed_choices
from biasgrid.inference.models.generation.prefix import Prefix, difference_behind
from biasgrid.inference.models.generation.prompts import Prompter
from biasgrid.inference.models.generation.scores import batches, read_scores
from biasgrid.inference.models.generation.section import DATE, Generation
from biasgrid.inference.models.generation.texts import COMPARED_TEXTS, Writer, WrittenText
from biasgrid.inference.models.generation.thoughts import Thoughts, warn_about_marks

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

logger = logging.getLogger(__name__)

Outcome = TypeVar("Outcome")
COMPARED_ROWS = 4
LARGEST_DIFFERENCE = 1e-4
"""Between log-probabilities behind a shared prefix and those of whole prompts."""


@dataclass(frozen=True)
class GenerationChoices:
    """What decides the answers.

    Attributes:
        generation: the keys of `generation.section.Generation`.
        chat_template: whether a chat template is used where there is one.
        date: the day that it writes down as today.
    """

    generation: Mapping[str, Any] = field(default_factory=lambda: Generation().model_dump())
    chat_template: bool = True
    date: str = DATE


class TextGeneration(BackEnd):
    """Asks a causal language model.

    Attributes:
        model: the model.
        tokenizer: its tokenizer.
        settings: how to answer.
        generation: how texts are written, see `GenerationChoices`.
        token_budget: how many tokens a batch may have.
        shares: whether what all prompts begin with is computed once.
        precision: what it computes in.
        products: whose products of matrices it takes, `torch` or `oneDNN`.
        writer: writes texts.
    """

    Choices = GenerationChoices

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerFast,
        settings: InferenceSettings,
    ):
        """Prepares a model."""
        self.model, self.tokenizer, self.settings = model, tokenizer, settings
        choices = self.Choices(**settings.choices)
        self.generation = choices.generation
        # The probabilities of options are those before any thought.
        thinking = writes(settings) and bool(self.generation["thinking"])
        thoughts = Thoughts.from_setting(self.generation["thinking"])
        self.prompter = Prompter(tokenizer, thinking, choices.chat_template, choices.date, thoughts)
        self.options = OptionTokens(self.prompter)
        self.token_budget = choose_token_budget(settings, model.device)
        self.shares = True
        self.precision, self.products = "float32", "torch"
        self.device = device_name(model.device)
        self.writer = Writer.from_checkpoint(model, tokenizer, self.generation)

    @classmethod
    def identity(cls, record: Mapping[str, Any], settings: InferenceSettings) -> dict[str, Any]:
        """Returns the facts that decide the answers: the precision, whether prompts are in the
        checkpoint's chat template, and how texts are written or options scored.
        """
        precision = choose_precision(settings.precision, choose_device(settings.device))
        choices = super().identity(record, settings)
        is_chat = CHAT_KEY in record and choices["chat_template"]
        facts = {"precision": precision, "prompt": "chat template" if is_chat else "plain"}
        if settings.answer != "text":
            facts["scored_by"] = BY_TEXT if writes(settings) else SCORED_BY_LOGITS
        if not writes(settings):
            del choices["generation"]
        return choices | facts

    @classmethod
    def open(
        cls, record: Mapping[str, Any], settings: InferenceSettings, prompts: pl.DataFrame
    ) -> Self:
        """Loads the model, and checks in float32 that it is causal and takes these prompts, and
        whether shortcuts change its answers.
        """
        torch.set_num_threads(settings.threads)
        loader = once(settings, "loader", lambda: causal_loader(record))
        model = load_once(record, settings, loader)
        set_precision(model, "float32")
        check_causal(model, settings.model)
        back_end = cls(model, load_tokenizer_once(record, settings), settings)
        exact = back_end.look(prompts)
        back_end.precision = cls.identity(record, settings)["precision"]
        back_end.choose_products()
        back_end.measure_noise(prompts)
        back_end.audit = back_end.make_audit(exact)
        set_precision(model, back_end.precision)
        return back_end

    def choose_products(self) -> None:
        """Finds the fastest products of float32, or takes them from an earlier shard; in another
        precision they are torch's.
        """
        if self.precision == "float32":
            self.products = cached_tuning(self.model, self.settings)["products"]
        if self.products == "oneDNN":
            use_one_dnn(self.model)

    def measure_noise(self, instances: pl.DataFrame) -> None:
        """Finds out how texts are written at once, with the products and in float32; see
        `Writer.fitted`.
        """
        if writes(self.settings):
            prompts = self.prompter.tokens(
                self.prompter.prompts(evenly_spaced(instances, COMPARED_TEXTS))
            )
            self.writer = self.writer.fitted(prompts, self.prefix, self.precision == "float32")

    def look(self, instances: pl.DataFrame) -> pl.DataFrame | None:
        """Checks all prompts, answers a sample one row at a time, and tries whether a shared prefix
        changes it.

        Returns:
            The answers to the sample; None if texts are written.

        Raises:
            ModelError: see `check_prompts`.
        """
        written = self.generation["max_tokens"] if writes(self.settings) else None
        limits = ModelLimits(longest_input(self.model, self.tokenizer), embedding_count(self.model))
        check_prompts(instances, self.options, written, limits, self.settings.model)
        sample = audit_sample(instances)
        exact = None
        self.shares = False
        if not writes(self.settings):
            rows = (PromptPart.without_answers(sample[row]) for row in range(len(sample)))
            exact = pl.concat(table for row in rows for table in self.choose(row, token_budget=1))
        self.shares = self.is_same_behind_prefix(evenly_spaced(sample, COMPARED_ROWS))
        return exact

    def make_audit(self, exact: pl.DataFrame | None) -> Audit | None:
        """Returns the audit of options or, of texts in float32, of their tokens.

        Args:
            exact: see `look`.
        """
        facts = {"products": self.products, "token_budget": self.token_budget}
        if exact is not None:
            return SampleAudit(exact, self.precision, facts)
        if self.precision == "float32":
            return TokenAudit(self.writer.next_tokens, self.settings.model, facts)
        return None

    def is_same_behind_prefix(self, sample: pl.DataFrame) -> bool:
        """Whether the model, in float32, answers instances alike if keys and values of their
        beginnings are reused.

        Log-probabilities of next tokens are compared. True for a model that has no keys and values;
        False, with a warning, if they differ by more than `LARGEST_DIFFERENCE` or anything fails.
        """
        prompts = self.prompter.tokens(self.prompter.prompts(sample))
        try:
            # Unlike `max`, this is NaN if any difference is.
            difference = np.max([difference_behind(self.model, prompt) for prompt in prompts])
            problem = f"differ by {difference:.2g} from those of whole prompts"
        # Architectures fail in their own ways if they do not know such a thing.
        except Exception as error:
            difference, problem = np.inf, f"fail ({first_line(error)})"
        same = bool(difference <= LARGEST_DIFFERENCE)
        if not same:
            slower = "each prompt is read as a whole, which is slower"
            logger.warning(
                "%s: answers behind a shared beginning %s: %s", self.settings.model, problem, slower
            )
        return same

    def answer(self, parts: Iterable[PromptPart]) -> Generator[pl.DataFrame]:
        """Answers parts in batches of one length, or writes as many texts at once as fit."""
        ask = self.write if writes(self.settings) else self.choose
        for part in parts:
            yield from ask(part, self.token_budget)

    def prefix(self, prompts: Sequence[list[int]]) -> Prefix:
        """Reads what prompts begin with, if that changes nothing."""
        return (
            Prefix.from_prompts(self.model, prompts)
            if self.shares and len(prompts) > 1
            else Prefix()
        )

    def choose(self, part: PromptPart, token_budget: int) -> Iterator[pl.DataFrame]:
        """Yields the probabilities of options: answers of the kind `choice`.

        Raises:
            ModelError: scores are not finite.
        """
        candidates = instance_candidates(part.prompts)
        requests = self.options.asked(self.prompter.prompts(part.prompts), candidates)
        scores = CollectedScores(requests, part.is_answered.to_numpy())

        def take() -> pl.DataFrame:
            numbers = scores.take_complete()
            prompts = part.prompts[numbers]
            if prompts.is_empty():
                return prompts
            columns = scores.columns(numbers, lambda token: self.tokenizer.decode([token]))
            contexts = [requests[number].context for number in numbers]
            unknown = with_unknown(contexts, self.tokenizer)
            return with_instance_and_key(prompts, columns.with_columns(unknown))

        yield from tables_at_intervals(self._score(scores, part.prompts, token_budget), take)

    def _score(
        self, scores: CollectedScores, prompts: pl.DataFrame, token_budget: int
    ) -> Iterator[None]:
        """Reads the scores of prompts, a batch at a time."""
        prefix = self.prefix([request.context for request in scores.requests])
        for batch in batches(scores.reads.rows, token_budget):
            if not scores.needs(batch):
                continue
            read = partial(read_scores, self.model, scores.reads, prefix)
            for rows, scored in in_pieces(read, batch):
                if not np.isfinite(scored.values).all():
                    first = prompts["instance"][int(scores.reads.owner[rows[0]])]
                    raise non_finite(self.settings.model, first)
                scores.add(rows, scored)
            yield

    def write(self, part: PromptPart, token_budget: int) -> Iterator[pl.DataFrame]:
        """Yields written texts: answers of the kind `text` or, with options, `choice`."""
        prompts = self.prompter.prompts(part.prompts)
        tokens = self.prompter.tokens(prompts)
        seeds = request_seeds(self.generation["seed"], part.prompts["key"].to_numpy())
        max_tokens = self.generation["max_tokens"]
        waiting = []
        for number in np.flatnonzero(~part.is_answered.to_numpy()).tolist():
            prompt_tokens = [*tokens[number]]
            seed = int(seeds[number])
            waiting.append(OpenText(number, prompt_tokens, len(prompt_tokens), max_tokens, seed))
        ended: dict[int, WrittenText] = {}
        responses: list[str] = []

        def take() -> pl.DataFrame:
            numbers = list(ended)
            texts = [ended.pop(number) for number in numbers]
            responses.extend(text.response for text in texts)
            read_tokens = [len(tokens[number]) for number in numbers]
            return self._table(part.prompts[numbers], texts, read_tokens)

        steps = self._write_all(waiting, self.prefix(tokens), token_budget)
        named = (
            ended.update({text.number: self.writer.text(prompts[text.number], text.written)})
            for text in steps
        )
        yield from tables_at_intervals(named, take)
        warn_about_marks(self.settings.model, responses)

    def _table(
        self, prompts: pl.DataFrame, texts: Sequence[WrittenText], read_tokens: Sequence[int]
    ) -> pl.DataFrame:
        """Returns the answers to prompts, one text for each."""
        if prompts.is_empty():
            return prompts
        said = pl.DataFrame(texts, schema=TEXT_COLUMNS, orient="row")
        if self.settings.answer == "text":
            columns = said.with_columns(pl.Series("tokens_in", read_tokens, pl.UInt32))
        else:
            columns = parsed_choices(said, instance_candidates(prompts))
        return with_instance_and_key(prompts, columns)

    def _write_all(
        self, texts: Sequence[OpenText], prefix: Prefix, token_budget: int
    ) -> Iterator[OpenText]:
        """Yields texts as they end; out of memory halves how many are written at once."""
        waiting = {text.number: text for text in texts}
        while waiting:
            # A text that was begun begins anew.
            begun = [replace(text, tokens=text.tokens[: text.read]) for text in waiting.values()]
            try:
                for text in self.writer.write(begun, prefix, token_budget):
                    del waiting[text.number]
                    yield text
            except (RuntimeError, MemoryError) as error:
                if not out_of_memory(error) or token_budget < min(text.longest for text in begun):
                    raise
                token_budget //= 2
                logger.warning(
                    "texts do not fit into memory; trying %s tokens at once", token_budget
                )
            torch.cuda.empty_cache()

    @property
    def gpu_peak_mb(self) -> int | None:
        """The most memory of a GPU that it used, in MB; None without one."""
        return gpu_peak_memory(self.model.device)


def writes(settings: InferenceSettings) -> bool:
    """Says whether a model writes texts, to be answers or to have options read in them."""
    generation = GenerationChoices(**settings.choices).generation
    return settings.answer == "text" or generation["options"] == "parsed"


TEXT_COLUMNS = {"response": pl.String, "status": pl.Categorical, "tokens_out": pl.UInt32}


def in_pieces(
    run: Callable[[IntArray], Outcome], rows: IntArray
) -> Iterator[tuple[IntArray, Outcome]]:
    """Runs a batch, in halves where it does not fit into memory."""
    try:
        outcome = run(rows)
    except (RuntimeError, MemoryError) as error:
        if not out_of_memory(error) or len(rows) < 2:
            raise
        logger.warning("%s rows do not fit into memory; trying %s", len(rows), len(rows) // 2)
    else:
        yield rows, outcome
        return
    torch.cuda.empty_cache()
    for half in np.array_split(rows, 2):
        yield from in_pieces(run, half)


def non_finite(model: str, instance: int) -> ModelError:
    """Returns the error of scores that are not finite."""
    return ModelError(
        f"model {model} returned non-finite scores on instance {instance}; expected probabilities"
    )
