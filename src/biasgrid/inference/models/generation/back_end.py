"""Causal language models with weights on this machine: probabilities of options, and texts that
they write.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
import polars as pl
import torch

from biasgrid.base.arrays import FloatArray, IntArray
from biasgrid.base.faults import out_of_memory
from biasgrid.inference.checkpoints.checkpoint import (
    ModelError,
    first_line,
    load_recorded_model,
    load_recorded_tokenizer,
)
from biasgrid.inference.checkpoints.files import CHAT_KEY
from biasgrid.inference.engine.audit import audited_of, compare_audit, sample_of
from biasgrid.inference.engine.autotune import kept_tuning, tokens_of_batch
from biasgrid.inference.engine.back_end import BackEnd, lists_of
from biasgrid.inference.engine.batches import longest_input
from biasgrid.inference.engine.hardware import (
    choose_device,
    choose_precision,
    name_of_device,
    set_precision,
)
from biasgrid.inference.engine.one_dnn import use_one_dnn
from biasgrid.inference.engine.out_of_vocabulary import known_tokens
from biasgrid.inference.engine.settings import InferenceSettings
from biasgrid.inference.models.generation.checks import (
    ModelLimits,
    check_causal,
    check_prompts,
    loader_of,
    with_unknown,
)
from biasgrid.inference.models.generation.next_tokens import OpenText
from biasgrid.inference.models.generation.noise import seeds_of
from biasgrid.inference.models.generation.options import (
    AnswerBeginnings,
    OptionRequest,
    OptionTokens,
    beginning_columns,
    candidates_of_instances,
)
from biasgrid.inference.models.generation.parsing import SCORED_BY_PARSING as BY_TEXT
from biasgrid.inference.models.generation.parsing import parsed_choices
from biasgrid.inference.models.generation.prefix import Prefix, difference_behind
from biasgrid.inference.models.generation.prompts import Prompter
from biasgrid.inference.models.generation.scores import OptionReads, batches, read_scores
from biasgrid.inference.models.generation.section import DATE, Generation
from biasgrid.inference.models.generation.texts import COMPARED_TEXTS, Writer, WrittenText
from biasgrid.inference.models.generation.thoughts import Thoughts, warn_of_strange_marks
from biasgrid.jobs.progress import Progress

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

logger = logging.getLogger(__name__)

Outcome = TypeVar("Outcome")
Advance = Callable[[int], None]
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
        audited: the answers of the audit, with `instance` and `key`; None where texts are written.
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
        thoughts = Thoughts.of(self.generation["thinking"])
        self.prompter = Prompter(tokenizer, thinking, choices.chat_template, choices.date, thoughts)
        self.options = OptionTokens(self.prompter)
        self.token_budget = tokens_of_batch(settings, model.device)
        self.shares = True
        self.precision, self.products = "float32", "torch"
        self.audited: pl.DataFrame | None = None
        self.writer = Writer.of(model, tokenizer, self.generation)

    @classmethod
    def decisive(cls, settings: InferenceSettings) -> dict[str, Any]:
        """Returns what decides the answers: the precision and the prompts, how texts are written or
        options scored.
        """
        precision = choose_precision(settings.precision, choose_device(settings.device))
        own = super().decisive(settings)
        if not writes(settings):
            del own["generation"]
        way = (
            {}
            if settings.answer == "text"
            else {"scored_by": BY_TEXT if writes(settings) else SCORED_BY_LOGITS}
        )
        return {"precision": precision, **own, **way}

    @classmethod
    def facts(cls, record: Mapping[str, Any], settings: InferenceSettings) -> dict[str, Any]:
        """Says whether prompts are in the checkpoint's chat template, or plain texts."""
        templated = CHAT_KEY in record and cls.Choices(**settings.choices).chat_template
        return {"prompt": "chat template" if templated else "plain"}

    @classmethod
    def runs_on(cls, settings: InferenceSettings) -> str:
        """Names the GPU's model, or `cpu`."""
        return name_of_device(choose_device(settings.device))

    @classmethod
    def open(
        cls, record: Mapping[str, Any], settings: InferenceSettings, instances: pl.DataFrame
    ) -> Self:
        """Loads the model, and looks in float32 whether it is what it should be, and whether
        shortcuts change it.
        """
        torch.set_num_threads(settings.threads)
        model = load_recorded_model(
            record, settings.task, loader_of(record), choose_device(settings.device)
        )
        set_precision(model, "float32")
        check_causal(model, settings.model)
        back_end = cls(model, load_recorded_tokenizer(record), settings)
        back_end.look(instances)
        back_end.precision = cls.decisive(settings)["precision"]
        back_end.fit()
        back_end.measure_noise(instances)
        set_precision(model, back_end.precision)
        return back_end

    def reopen(
        self, record: Mapping[str, Any], settings: InferenceSettings, instances: pl.DataFrame
    ) -> Self:
        """Looks at the model again with other instances; it is loaded again where it is float32 no
        more.
        """
        if self.precision != "float32":
            return super().reopen(record, settings, instances)
        back_end = type(self)(self.model, self.tokenizer, settings)
        back_end.products = self.products
        back_end.look(instances)
        back_end.measure_noise(instances)
        return back_end

    def fit(self) -> None:
        """Takes the products that are the fastest on this processor, as an earlier shard may have
        found them.
        """
        if self.precision == "float32":
            self.products = kept_tuning(self.model, self.settings)["products"]
        if self.products == "oneDNN":
            use_one_dnn(self.model)

    def measure_noise(self, instances: pl.DataFrame) -> None:
        """Finds out how texts are written at once, with the products and in float32; see
        `Writer.fitted`.
        """
        if writes(self.settings):
            prompts = self.prompter.tokens(
                self.prompter.prompts(sample_of(instances, COMPARED_TEXTS))
            )
            self.writer = self.writer.fitted(prompts, self.prefix, self.precision == "float32")

    def look(self, instances: pl.DataFrame) -> None:
        """Looks at all prompts, answers a sample one row at a time, and tries whether a shared
        prefix changes it.

        Raises:
            ModelError: see `check_prompts`.
        """
        written = self.generation["max_tokens"] if writes(self.settings) else None
        limits = ModelLimits(longest_input(self.model, self.tokenizer), known_tokens(self.model))
        check_prompts(instances, self.options, written, limits, self.settings.model)
        sample = audited_of(instances)
        self.shares = False
        if not writes(self.settings):
            alone = [self.choose(sample[row], 1) for row in range(len(sample))]
            self.audited = sample.select("instance", "key").hstack(pl.concat(alone))
        self.shares = self.is_same_behind_prefix(sample_of(sample, COMPARED_ROWS))

    def is_same_behind_prefix(self, sample: pl.DataFrame) -> bool:
        """Says whether the model answers some instances alike where keys and values of their
        beginnings are reused.
        """
        prompts = self.prompter.tokens(self.prompter.prompts(sample))
        try:
            difference = max(difference_behind(self.model, prompt) for prompt in prompts)
            problem = f"differ by {difference:.2g} from those of whole prompts"
        except (
            Exception
        ) as error:  # architectures fail in their own ways where they do not know such a thing
            difference, problem = np.inf, f"fail ({first_line(error)})"
        same = bool(difference <= LARGEST_DIFFERENCE)
        if not same:
            slower = "each prompt is read as a whole, which is slower"
            logger.warning(
                "%s: answers behind a shared beginning %s: %s", self.settings.model, problem, slower
            )
        return same

    def answer(self, instances: pl.DataFrame, progress: Progress) -> pl.DataFrame:
        """Answers some instances in batches of one length."""
        answer = (
            self.write
            if self.settings.answer == "text"
            else self.parse
            if writes(self.settings)
            else self.choose
        )
        return answer(instances, self.token_budget, progress.advance)

    def prefix(self, prompts: Sequence[list[int]]) -> Prefix:
        """Reads what prompts begin with, if that changes nothing."""
        return Prefix.of_all(self.model, prompts) if self.shares and len(prompts) > 1 else Prefix()

    def choose(
        self, instances: pl.DataFrame, token_budget: int, advance: Advance = lambda _: None
    ) -> pl.DataFrame:
        """Reads the probabilities of the candidates of some instances: answers of the kind
        `choice`.

        Raises:
            ModelError: scores are not finite.
        """
        candidates = candidates_of_instances(instances)
        asked = self.options.asked(self.prompter.prompts(instances), candidates)
        reads = OptionReads.of(asked)
        prefix = self.prefix([one.context for one in asked])
        values = np.zeros(len(reads.token))
        likeliest: dict[int, list[tuple[int, float]]] = {}
        for rows in batches(reads.rows, token_budget):
            for piece, scored in in_pieces(
                lambda rows: read_scores(self.model, reads, prefix, rows), rows
            ):
                if not np.isfinite(scored.values).all():
                    raise non_finite(
                        self.settings.model, instances["instance"][int(reads.owner[piece[0]])]
                    )
                values[scored.reads] = scored.values
                likeliest |= scored.first_tokens
                advance(len(scored.first_tokens))
        of_sequences = reads.probabilities(values)
        found = reads.sums_of_options(of_sequences, (len(asked), len(candidates[0])))
        known = np.array([[bool(spelled) for spelled in one.options] for one in asked])
        pieces = np.array(
            [[min(map(len, spelled), default=0) for spelled in one.options] for one in asked]
        )
        return pl.DataFrame(
            [
                lists_of("probabilities", found, known, pl.Float32),
                lists_of("tokens", pieces, known, pl.UInt8),
                with_unknown([one.context for one in asked], self.tokenizer),
                pl.Series("mass", found.sum(axis=1), pl.Float32),
                pl.repeat(SCORED_BY_LOGITS, len(asked), eager=True)
                .cast(pl.Categorical)
                .alias("scored_by"),
                *beginning_columns(self.beginnings(asked, of_sequences, likeliest)),
            ]
        )

    def beginnings(
        self,
        asked: Sequence[OptionRequest],
        probabilities: FloatArray,
        likeliest: Mapping[int, Sequence[tuple[int, float]]],
    ) -> list[AnswerBeginnings]:
        """Returns how the answers of instances begin.

        Args:
            asked: the instances.
            probabilities: those of all sequences, in the order of instances and options.
            likeliest: the likeliest first tokens of each instance, with their probabilities.
        """
        left = iter(probabilities.tolist())
        texts = {
            token: self.tokenizer.decode([token])
            for tokens in likeliest.values()
            for token, _ in tokens
        }
        return [
            AnswerBeginnings(
                [[(form, next(left)) for form in forms] for forms in one.forms],
                [(texts[token], probability) for token, probability in likeliest[number]],
            )
            for number, one in enumerate(asked)
        ]

    def write(self, instances: pl.DataFrame, token_budget: int, advance: Advance) -> pl.DataFrame:
        """Has the model write behind the prompts of some instances: answers of the kind `text`."""
        prompts = self.prompter.prompts(instances)
        tokens = self.prompter.tokens(prompts)
        most, seeds = (
            self.generation["max_tokens"],
            seeds_of(self.generation["seed"], instances["key"].to_numpy()),
        )
        prefix = self.prefix(tokens)
        texts: dict[int, WrittenText] = {}
        while len(texts) < len(tokens):
            rows = [row for row in range(len(tokens)) if row not in texts]
            begun = [
                OpenText(row, [*tokens[row]], len(tokens[row]), most, int(seeds[row]))
                for row in rows
            ]
            try:
                for text in self.writer.write(begun, prefix, token_budget):
                    texts[text.number] = self.writer.text(prompts[text.number], text.written)
                    advance(1)
            except (RuntimeError, MemoryError) as error:
                if not out_of_memory(error) or token_budget < min(text.longest for text in begun):
                    raise
                token_budget //= 2
                logger.warning(
                    "texts do not fit into memory; trying %s tokens at once", token_budget
                )
            torch.cuda.empty_cache()
        said = [texts[row] for row in range(len(tokens))]
        warn_of_strange_marks(self.settings.model, [text.response for text in said])
        read_tokens = pl.Series("tokens_in", [len(ids) for ids in tokens], pl.UInt32)
        return pl.DataFrame(said, schema=TEXT_COLUMNS, orient="row").with_columns(read_tokens)

    def parse(self, instances: pl.DataFrame, token_budget: int, advance: Advance) -> pl.DataFrame:
        """Has the model write, and reads which of the candidates it chooses: answers of the kind
        `choice`.
        """
        said = self.write(instances, token_budget, advance)
        return parsed_choices(said, candidates_of_instances(instances))

    def close(self, answers: pl.DataFrame) -> dict[str, Any]:
        """Compares the answers with the audit; of texts it is the tokens that texts alone have
        decided.
        """
        device = choose_device(self.settings.device)
        facts = {
            "gpu_peak_mb": torch.cuda.max_memory_allocated(device) // 2**20
            if device.type == "cuda"
            else None
        }
        if self.audited is not None:
            drift = compare_audit(
                answers.select(self.audited.columns), self.audited, self.precision
            )
        elif self.precision == "float32":
            drift = self.writer.next_tokens.audit(self.settings.model)
        else:
            return facts
        return {
            **facts,
            "audit": drift | {"products": self.products, "token_budget": self.token_budget},
        }


def writes(settings: InferenceSettings) -> bool:
    """Says whether a model writes texts, to be answers or to have options read in them."""
    generation = GenerationChoices(**settings.choices).generation
    return settings.answer == "text" or generation["options"] == "parsed"


SCORED_BY_LOGITS = "logits"
"""Every option was found, whatever its probability."""
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
