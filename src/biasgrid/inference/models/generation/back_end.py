"""Causal language models on this machine: probabilities of options, and written texts.

`TextGeneration.choose` scores the options of prompts: `options.OptionTokens` turns them into
sequences of tokens, `option_reads.OptionReads` these into rows, and `scores.read_scores` runs the
rows. A row has all options of a prompt, and prompts that begin alike, unless the model takes no
such rows (`shortcuts`).
`TextGeneration.write` has `texts.Writer` write texts.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
import polars as pl
import torch

from biasgrid.base.arrays import IntArray
from biasgrid.base.faults import out_of_memory
from biasgrid.inference.checkpoints.checkpoint import ModelError
from biasgrid.inference.checkpoints.files import CHAT_KEY
from biasgrid.inference.engine.audit import SampleAudit, audit_sample
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
    device_name,
    gpu_peak_memory,
    set_precision,
    warn_if_emulated,
)
from biasgrid.inference.engine.loading import load_once, load_tokenizer_once, once
from biasgrid.inference.engine.one_dnn import untimed_products, use_one_dnn
from biasgrid.inference.engine.out_of_vocabulary import embedding_count
from biasgrid.inference.engine.settings import InferenceSettings
from biasgrid.inference.input_counts import InputCounts
from biasgrid.inference.models.generation.capabilities import (
    GenerationCapabilities,
    choose_precision,
)
from biasgrid.inference.models.generation.checks import (
    ModelLimits,
    causal_loader,
    check_prompts,
    unknown_column,
)
from biasgrid.inference.models.generation.next_tokens import OpenText, TokenAudit
from biasgrid.inference.models.generation.noise import request_seeds
from biasgrid.inference.models.generation.option_reads import (
    OptionReads,
    RowLimits,
    most_nodes,
)
from biasgrid.inference.models.generation.option_scores import SCORED_BY_LOGITS, CollectedScores
from biasgrid.inference.models.generation.options import OptionTokens, instance_candidates
from biasgrid.inference.models.generation.parsing import SCORED_BY_PARSING as BY_TEXT
from biasgrid.inference.models.generation.parsing import parsed_choices
from biasgrid.inference.models.generation.prefix import Prefix
from biasgrid.inference.models.generation.prompts import GenerationChoices
from biasgrid.inference.models.generation.scores import BatchLimits, read_scores
from biasgrid.inference.models.generation.shortcuts import Shortcuts, attention_window
from biasgrid.inference.models.generation.texts import (
    MeasuredPadding,
    Writer,
    WrittenText,
)
from biasgrid.inference.models.generation.thoughts import warn_about_marks

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

logger = logging.getLogger(__name__)

Outcome = TypeVar("Outcome")


class TextGeneration(BackEnd):
    """Answers with a causal language model: scores options, or writes texts.

    Attributes:
        model: the model.
        tokenizer: its tokenizer.
        settings: how to answer.
        generation: see `GenerationChoices`.
        prompter: writes prompts.
        options: turns prompts and options into sequences of tokens.
        token_budget: the largest number of tokens in a batch.
        shortcuts: which tokens are not read again.
        precision: the precision of the answers. The model is float32 until `open` ends.
        products: the library of its matrix products, `torch` or `oneDNN`.
        writer: writes texts.
        inputs: see `BackEnd`. Prompts that an earlier run has answered do not count, though they
            may fill batches.
    """

    Choices = GenerationChoices
    inputs: InputCounts = InputCounts()

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerFast,
        settings: InferenceSettings,
    ):
        """Prepares a float32 model."""
        self.model, self.tokenizer, self.settings = model, tokenizer, settings
        choices = self.Choices(**settings.choices)
        self.generation = choices.generation
        self.prompter = choices.prompter(tokenizer, settings.answer)
        self.options = OptionTokens(self.prompter)
        self.token_budget = choose_token_budget(settings, model.device)
        self.shortcuts = Shortcuts(reuses_keys=False, reads_trees=False)
        self.precision, self.products = "float32", "torch"
        self.device = device_name(model.device)
        self.writer = Writer.from_checkpoint(model, tokenizer, self.generation)

    @classmethod
    def identity(cls, record: Mapping[str, Any], settings: InferenceSettings) -> dict[str, Any]:
        """Returns the facts that decide the answers.

        These are the precision, the form of prompts, and how texts are written or options scored.
        """
        precision = choose_precision(record, settings)
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
        """Loads the model, checks its prompts, and answers a sample for the audit, all in float32.

        Raises:
            ModelError: the model cannot be loaded, is an encoder, or cannot read a prompt.
        """
        torch.set_num_threads(settings.threads)
        loader = once(settings, "loader", lambda: causal_loader(record))
        model = load_once(record, settings, loader)
        set_precision(model, "float32")
        capabilities = GenerationCapabilities.from_settings(record, settings)
        back_end = cls(model, load_tokenizer_once(record, settings), settings)
        back_end.precision = capabilities.precision
        back_end.shortcuts = Shortcuts(capabilities.reuses_keys, capabilities.reads_trees)
        exact = back_end.check_and_sample(prompts)
        back_end.choose_products()
        warn_if_emulated(back_end.precision, model.device, settings.model)
        if capabilities.padding is not None:
            padding = MeasuredPadding(**capabilities.padding)
            # Other precisions are a choice of speed: their texts may depend on their batches.
            is_exact = back_end.precision == "float32"
            back_end.writer = back_end.writer.fit(padding, exact=is_exact)
        back_end.audit = back_end.make_audit(exact)
        set_precision(model, back_end.precision)
        if back_end.products == "oneDNN":
            use_one_dnn(model)
        # The audit has read prompts, too.
        back_end.inputs = InputCounts()
        return back_end

    def choose_products(self) -> None:
        """Sets `products` to the library for the precision; for float32 to the fastest one."""
        self.products = untimed_products(self.precision, self.model.device)
        if self.precision == "float32":
            self.products = cached_tuning(self.model, self.settings)["products"]

    def check_and_sample(self, instances: pl.DataFrame) -> pl.DataFrame | None:
        """Checks all prompts, and answers a sample of them one row at a time.

        Returns:
            The answers to the sample, see `audit_sample`; None if texts are written.

        Raises:
            ModelError: see `check_prompts`.
        """
        max_tokens = self.generation["max_tokens"] if writes(self.settings) else None
        limits = ModelLimits(longest_input(self.model, self.tokenizer), embedding_count(self.model))
        check_prompts(instances, self.options, max_tokens, limits, self.settings.model)
        if writes(self.settings):
            return None
        sample = audit_sample(instances)
        self._warn_if_prompts_are_repeated(sample)
        rows = (PromptPart.without_answers(sample[row]) for row in range(len(sample)))
        tables = (self.choose(row, token_budget=1) for row in rows)
        return pl.concat(chain.from_iterable(tables))

    def _warn_if_prompts_are_repeated(self, sample: pl.DataFrame) -> None:
        """Warns of the cost if each ending of the options is read behind its whole prompt."""
        if any(self.shortcuts):
            return
        requests = self.options.requests(self.prompter.prompts(sample), instance_candidates(sample))
        limits = RowLimits(0, longest_tree=0, reuses_keys=False)
        repeated = OptionReads.from_requests(requests, limits).lengths.sum()
        once = sum(map(most_nodes, requests))
        if repeated > once:
            logger.warning(
                "%s: the prompt is read again for each ending of its options: %.1f times as many "
                "tokens",
                self.settings.model,
                repeated / once,
            )

    def make_audit(self, exact: pl.DataFrame | None) -> Audit | None:
        """Returns the audit of options or, in float32, of the tokens of texts; else None.

        Args:
            exact: see `check_and_sample`.
        """
        facts = {"products": self.products, "token_budget": self.token_budget}
        if exact is not None:
            return SampleAudit(exact, self.precision, facts)
        if self.precision == "float32":
            return TokenAudit(self.writer.next_tokens, self.settings.model, facts)
        return None

    def answer(self, parts: Iterable[PromptPart]) -> Generator[pl.DataFrame]:
        """Answers parts: scores options, or writes texts, in batches of `token_budget` tokens."""
        answer_part = self.write if writes(self.settings) else self.choose
        for part in parts:
            yield from answer_part(part, self.token_budget)

    def read_prefix(self, prompts: Sequence[list[int]]) -> Prefix:
        """Reads the common beginning of prompts; it is empty if reusing it changes answers."""
        if not self.shortcuts.reuses_keys:
            return Prefix()
        prefix = Prefix.from_prompts(self.model, prompts)
        self._count_prefix(prefix.length)
        return prefix

    def _count_prefix(self, tokens: int) -> None:
        """Counts the tokens of a prefix that were read, if there are some."""
        if tokens:
            self.inputs = self.inputs.plus(InputCounts(1, tokens))

    @property
    def longest_tree(self) -> float:
        """The largest number of tokens in a row that needs a mask of its own; 0 for none."""
        if not self.shortcuts.reads_trees:
            return 0
        # Some models have no mask for more tokens than positions.
        positions = longest_input(self.model, self.tokenizer)
        return min(attention_window(self.model.config), positions)

    def choose(self, part: PromptPart, token_budget: int) -> Iterator[pl.DataFrame]:
        """Yields the probabilities of options: answers of the kind `choice`.

        Args:
            part: the prompts.
            token_budget: the largest number of tokens in a batch; 1 runs each row alone.

        Raises:
            ModelError: scores are not finite.
        """
        candidates = instance_candidates(part.prompts)
        requests = self.options.requests(self.prompter.prompts(part.prompts), candidates)
        prefix = self.read_prefix([request.context for request in requests])
        limits = RowLimits(prefix.length, self.longest_tree, self.shortcuts.reuses_keys)
        reads = OptionReads.from_requests(requests, limits)
        scores = CollectedScores(requests, reads, part.is_answered.to_numpy())

        def take_answers() -> pl.DataFrame:
            places = scores.take_complete()
            if not len(places):
                return pl.DataFrame()
            columns = scores.columns(places, lambda token: self.tokenizer.decode([token]))
            contexts = [requests[place].context for place in places]
            unknown = unknown_column(contexts, self.tokenizer)
            return with_instance_and_key(part.prompts[places], columns.with_columns(unknown))

        steps = self._score(scores, part.prompts, prefix, token_budget)
        yield from tables_at_intervals(steps, take_answers)

    def _score(
        self, scores: CollectedScores, prompts: pl.DataFrame, shared: Prefix, token_budget: int
    ) -> Iterator[None]:
        """Adds the log-probabilities of all rows to `scores`; yields after each batch.

        Raises:
            ModelError: a log-probability is not finite.
        """
        for prefix, batch in self._batches(scores, shared, token_budget):
            read = partial(read_scores, self.model, scores.reads, prefix)
            for rows, row_scores in run_in_halves(read, batch):
                is_finite = np.isfinite(row_scores.values)
                if not is_finite.all():
                    read_place = row_scores.reads[~is_finite][0]
                    request, _ = scores.reads.sequences[scores.reads.sequence[read_place]]
                    raise non_finite(self.settings.model, prompts["instance"][request])
                scores.add(rows, row_scores)
            own_rows = scores.needed(batch)
            own_tokens = scores.reads.lengths[own_rows] - prefix.length
            self.inputs = self.inputs.plus(InputCounts(len(own_rows), int(own_tokens.sum())))
            yield

    def _batches(
        self, scores: CollectedScores, shared: Prefix, token_budget: int
    ) -> Iterator[tuple[Prefix, IntArray]]:
        """Yields the batches of rows to read, each with the prefix of its rows.

        Args:
            scores: the rows.
            shared: the prefix of all prompts. Rows of one prompt may stand behind its own context,
                which is then read once for all of them.
            token_budget: the largest number of tokens in a batch.
        """
        limits = BatchLimits(token_budget, embedding_count(self.model), self.longest_tree)
        for request, rows in scores.reads.rows_by_prefix(shared.length):
            if not len(scores.needed(rows)):
                continue
            prefix = shared
            if request is not None:
                prefix = shared.longer(self.model, scores.requests[request].context[:-1])
                self._count_prefix(prefix.length - shared.length)
            for batch in limits.batches(scores.reads, rows):
                if len(scores.needed(batch)):
                    yield prefix, batch

    def write(self, part: PromptPart, token_budget: int) -> Iterator[pl.DataFrame]:
        """Yields answers of the kind `text` or, if options are found in texts, `choice`.

        Args:
            part: the prompts.
            token_budget: the largest number of tokens that are written at once.
        """
        prompts = self.prompter.prompts(part.prompts)
        tokens = self.prompter.tokens(prompts)
        seeds = request_seeds(self.generation["seed"], part.prompts["key"].to_numpy())
        max_tokens = self.generation["max_tokens"]
        waiting = []
        for number in np.flatnonzero(~part.is_answered.to_numpy()).tolist():
            prompt_tokens = [*tokens[number]]
            seed = int(seeds[number])
            waiting.append(OpenText(number, prompt_tokens, len(prompt_tokens), max_tokens, seed))
        finished: dict[int, WrittenText] = {}
        responses: list[str] = []

        def steps() -> Iterator[None]:
            prefix = self.read_prefix(tokens)
            for text in self._write_all(waiting, prefix, token_budget):
                self.inputs = self.inputs.plus(InputCounts(1, text.read - prefix.length))
                prompt = prompts[text.number]
                finished[text.number] = self.writer.finish_text(prompt, text.written)
                yield

        def take_answers() -> pl.DataFrame:
            if not finished:
                return pl.DataFrame()
            numbers = list(finished)
            texts = [finished.pop(number) for number in numbers]
            responses.extend(text.response for text in texts)
            read_tokens = [len(tokens[number]) for number in numbers]
            return self._table(part.prompts[numbers], texts, read_tokens)

        yield from tables_at_intervals(steps(), take_answers)
        warn_about_marks(self.settings.model, responses)

    def _table(
        self, prompts: pl.DataFrame, texts: Sequence[WrittenText], read_tokens: Sequence[int]
    ) -> pl.DataFrame:
        """Returns the answers to prompts.

        Args:
            prompts: the prompts, at least one.
            texts: the text that was written behind each.
            read_tokens: the number of tokens of each prompt.
        """
        answers = pl.DataFrame(texts, schema=TEXT_COLUMNS, orient="row")
        if self.settings.answer == "text":
            columns = answers.with_columns(pl.Series("tokens_in", read_tokens, pl.UInt32))
        else:
            columns = parsed_choices(answers, instance_candidates(prompts))
        return with_instance_and_key(prompts, columns)

    def _write_all(
        self, texts: Sequence[OpenText], prefix: Prefix, token_budget: int
    ) -> Iterator[OpenText]:
        """Yields texts as they end; if they do not fit into memory, fewer are written at once."""
        waiting = {text.number: text for text in texts}
        while waiting:
            # After an error, a text that was begun begins anew.
            unfinished = [
                replace(text, tokens=text.tokens[: text.read]) for text in waiting.values()
            ]
            try:
                for text in self.writer.write(unfinished, prefix, token_budget):
                    del waiting[text.number]
                    yield text
            except (RuntimeError, MemoryError) as error:
                smallest = min(text.longest for text in unfinished)
                if not out_of_memory(error) or token_budget < smallest:
                    raise
                token_budget //= 2
                logger.warning(
                    "texts do not fit into memory; trying %s tokens at once", token_budget
                )
            torch.cuda.empty_cache()

    @property
    def gpu_peak_mb(self) -> int | None:
        """The most GPU memory that it used, in MB; None without a GPU."""
        return gpu_peak_memory(self.model.device)


def writes(settings: InferenceSettings) -> bool:
    """Whether a model writes texts, as answers or to find options in them."""
    return GenerationChoices(**settings.choices).writes(settings.answer)


TEXT_COLUMNS = {"response": pl.String, "status": pl.Categorical, "tokens_out": pl.UInt32}


def run_in_halves(
    run: Callable[[IntArray], Outcome], rows: IntArray
) -> Iterator[tuple[IntArray, Outcome]]:
    """Runs a batch, and in halves if it does not fit into memory.

    Yields:
        Rows that were run together, in the order of the batch, and their outcome.
    """
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
        yield from run_in_halves(run, half)


def non_finite(model: str, instance: int) -> ModelError:
    """Returns the error of scores that are not finite."""
    return ModelError(
        f"model {model} returned non-finite scores on instance {instance}; expected probabilities"
    )
