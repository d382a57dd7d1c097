"""A model behind a server: what is asked becomes requests, and their answers the columns of
predictions.
"""

from __future__ import annotations

import logging
import shlex
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import polars as pl

from biasgrid.inference.checkpoints.checkpoint import (
    ModelError,
    checkpoint_name,
    load_recorded_tokenizer,
    loading_errors,
    local_folder,
    switches,
)
from biasgrid.inference.engine.back_end import (
    BackEnd,
    PromptPart,
    columns_with_prefix,
    tables_at_intervals,
    to_list_column,
    with_instance_and_key,
)
from biasgrid.inference.engine.settings import InferenceSettings
from biasgrid.inference.models.generation.checks import check_prompt_lengths
from biasgrid.inference.models.generation.options import beginning_columns
from biasgrid.inference.models.generation.prompts import (
    Prompter,
    as_messages,
    as_text,
    request_texts,
)
from biasgrid.inference.models.generation.section import Generation
from biasgrid.inference.models.generation.thoughts import Thoughts, warn_about_marks
from biasgrid.inference.models.servers.connection import Access, quiet_libraries, server_access
from biasgrid.inference.models.servers.identity import answering_server, server_of
from biasgrid.inference.models.servers.methods import (
    ECHOED,
    OptionTexts,
    ParsedText,
    PromptContent,
    ScoringMethod,
    SentRequests,
    method_named,
    text_without_thoughts,
)
from biasgrid.inference.models.servers.queue import Dispatcher
from biasgrid.inference.models.servers.requests import (
    Answer,
    Request,
    settings_in_key,
    tokens_about,
)
from biasgrid.inference.models.servers.section import Serve, ServerSettings
from biasgrid.inference.models.servers.store import RequestStore
from biasgrid.inference.models.servers.usage import Budget, bill_of
from biasgrid.inference.scorings import ANSWER_KIND as SENTENCES
from biasgrid.jobs.lock import one_job
from biasgrid.tables.keys import STEP, mix_bits

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


logger = logging.getLogger(__name__)

OWN_TEMPLATE = "--chat-template"
"""How servers are given another chat template than the checkpoint's."""


def refuse_longer(
    record: Mapping[str, Any],
    instances: pl.DataFrame,
    asking: ServerSettings,
    written: int,
    model: str,
) -> None:
    """Refuses prompts that are longer than a model takes, as servers cut them without a word.

    Args:
        record: the model's record.
        instances: what is asked.
        asking: how the server is asked.
        written: how many tokens may be written behind each.
        model: the model's name, for the message.

    Raises:
        ModelError: with the longest one.
    """
    limit = asking.context or longest_of(record)
    if limit is not None and not instances.is_empty():
        check_prompt_lengths(
            lengths_of(record, instances, asking.api), written, limit, instances["instance"], model
        )


def warn_of_date(record: Mapping[str, Any], serve: Serve, model: str) -> None:
    """Warns of a served model whose chat template writes today's date, which its server reads off
    the clock.

    Args:
        record: the model's record.
        serve: how it is served; a command that names a chat template does not use the checkpoint's.
        model: the model's name.

    Raises:
        ModelError: the checkpoint's tokenizer cannot be loaded.
    """
    # Whole words: `--chat-template-content-format` keeps the checkpoint's template.
    words = shlex.split(serve.command)
    if serve.api != "chat" or any(word.partition("=")[0] == OWN_TEMPLATE for word in words):
        return
    tokenizer = load_recorded_tokenizer(record)
    prompts = {
        Prompter(tokenizer, thinking=True, day=day).prompt(None, "one")
        for day in ("2001-02-03", "2004-05-06")
    }
    if len(prompts) > 1:
        logger.warning(
            (
                "model %s: its chat template contains today's date, so answers change from day to "
                "day; to fix the date, copy the template, write a date into it, and name the copy "
                "in `serve.command` (%s)"
            ),
            model,
            OWN_TEMPLATE,
        )


def lengths_of(record: Mapping[str, Any], instances: pl.DataFrame, api: str) -> list[int]:
    """Returns how many tokens each prompt has.

    Args:
        record: the model's record; with a checkpoint that the server was given, its own tokenizer
            counts.
        instances: what is asked.
        api: how it is asked: chats have the messages in the model's chat template, completions one
            text.

    Raises:
        ModelError: the checkpoint's tokenizer cannot be loaded, or its chat template takes no
            system text.
    """
    if "keys" in record:
        return [tokens_about(filter(None, texts)) for texts in request_texts(instances)]
    prompter = Prompter(load_recorded_tokenizer(record), thinking=True)
    if api == "completions":
        prompts = [as_text(*texts) for texts in request_texts(instances)]
    else:
        prompts = prompter.prompts(instances)
    return list(map(len, prompter.tokens(prompts)))


def longest_of(record: Mapping[str, Any]) -> int | None:
    """Returns for how many tokens the server's model has positions; None where nothing of ours says
    so.
    """
    if "keys" in record:
        return None
    from transformers import AutoConfig

    with loading_errors(checkpoint_name(record)):
        config = AutoConfig.from_pretrained(local_folder(record), **switches(record))
    tokenizer: PreTrainedTokenizerFast = load_recorded_tokenizer(record)
    positions = getattr(config.get_text_config(), "max_position_embeddings", None)
    return int(min(positions or tokenizer.model_max_length, tokenizer.model_max_length))


ANSWER_BYTES = 4096
TOKEN_BYTES = 64
"""How much room an answer may take in the store, and each of its tokens."""
LONGEST_FOR_LOCK = 60
"""Seconds for which a job that a killed run has left behind is waited for; those of a run have
their turns.
"""


@dataclass(frozen=True)
class ServerChoices:
    """What decides the answers of a server that is started for a job; for others their record has
    it.

    Attributes:
        generation: the keys of `generation.section.Generation`.
        serve: those keys of `section.Serve` that decide answers.
        scoring: where sentences are scored, the name of the formula.
    """

    generation: Mapping[str, Any] | None = None
    serve: Mapping[str, Any] | None = None
    scoring: str | None = None


class Server(BackEnd):
    """Asks a model behind a server.

    Attributes:
        access: how it is reached.
        settings: how to answer.
        generation: the keys of `generation.section.Generation`.
        answered_by: the digest of who answers, see `identity`.
        asked_with: the digest of what is the same in all requests.
        dispatcher: what sends requests.
        responses: the texts that were written.
        lengths: the lengths of texts in tokens, as far as the server told them.
    """

    Choices = ServerChoices
    device = "server"
    keeps_answers = True

    def __init__(
        self,
        access: Access,
        settings: InferenceSettings,
        record: Mapping[str, Any],
        held: ExitStack,
    ):
        """Opens the store.

        Args:
            access: how the server is reached.
            settings: how to answer.
            record: the model's record.
            held: what must be let go of at the end.
        """
        self.access, self.settings, self.held = access, settings, held
        self.generation = generation_of(settings)
        self.answered_by = answering_server(server_of(settings.section), record)
        self.asked_with = request_settings(settings)
        longest = min(LONGEST_FOR_LOCK, settings.seconds_without_progress / 2)
        held.enter_context(one_job(store_folder(settings) / "requests.lock", longest))
        self.store = held.enter_context(RequestStore(store_folder(settings), self.reserve))
        self.dispatcher = Dispatcher(access, self.store, self.budget())
        self.responses: list[str] = []
        self.lengths: list[int] = []

    @classmethod
    def identity(cls, record: Mapping[str, Any], settings: InferenceSettings) -> dict[str, Any]:
        """Returns the facts that decide the answers; of options, how they are chosen."""
        choices = super().identity(record, settings)
        facts = {name: choice for name, choice in choices.items() if choice is not None}
        if settings.answer == "choice":
            facts["scored_by"] = method_of_settings(settings)
        facts["asked_with"] = request_settings(settings)
        return {**facts, "server": server_of(settings.section)}

    @classmethod
    def open(
        cls, record: Mapping[str, Any], settings: InferenceSettings, prompts: pl.DataFrame
    ) -> Self:
        """Looks for the key or starts the server, and refuses what is longer than the model
        takes.
        """
        quiet_libraries()
        with ExitStack() as held:
            access = held.enter_context(server_access(record, settings.section, settings.log))
            if limit := settings.capabilities.get("token_limit"):
                access = replace(access, token_limit=limit)
            back_end = cls(access, settings, record, held)
            most = back_end.generation["max_tokens"] if settings.answer == "text" else 0
            if isinstance(access.asking, Serve):
                warn_of_date(record, access.asking, settings.model)
            refuse_longer(record, prompts, access.asking, most, settings.model)
            # What comes of it ends it, see `close`.
            back_end.held = held.pop_all()
        return back_end

    def close(self) -> None:
        """Closes the store, and ends the server if it is ours."""
        self.held.close()

    @property
    def reserve(self) -> int:
        """How many bytes the answers under way may take."""
        most = ANSWER_BYTES + TOKEN_BYTES * int(self.generation["max_tokens"])
        return self.access.asking.concurrency * most

    def budget(self) -> Budget:
        """Returns what may be spent, less what all cells of the model have cost."""
        asking = self.access.asking
        budget = Budget(getattr(asking, "price", None), getattr(asking, "max_cost", None))
        for folder in store_folder(self.settings).parents[1].glob(f"*/{self.settings.model}"):
            budget.add(bill_of(folder))
        return budget

    @property
    def way(self) -> ScoringMethod:
        """How options are chosen."""
        return method_named(method_of_settings(self.settings))(self.writing, self.thoughts)

    @property
    def thoughts(self) -> Thoughts:
        """What the model puts around thoughts."""
        return Thoughts.from_setting(self.generation["thinking"])

    @property
    def writing(self) -> dict[str, Any]:
        """The parameters of texts."""
        return writing_of(self.generation)

    def answer(self, parts: Iterable[PromptPart]) -> Generator[pl.DataFrame]:
        """Answers parts, many requests at a time."""
        for part in parts:
            yield from self._ask(part.unanswered)
        warn_about_marks(self.settings.model, self.responses)
        self._warn_of_other_models()
        self._warn_of_long_texts()

    def _ask(self, prompts: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """Answers prompts in the order in which their last answers arrive.

        Raises:
            UserError: not all were answered.
        """
        arrivals = Arrivals(self.requests_of(prompts), self.store)

        def take() -> pl.DataFrame:
            numbers = arrivals.take_complete()
            complete = prompts[numbers]
            if complete.is_empty():
                return complete
            answers = [arrivals.answers_to(number) for number in numbers]
            return with_instance_and_key(complete, self.columns_of(complete, answers))

        steps = self.dispatcher.ask(arrivals.missing(), arrivals.add)
        yield from tables_at_intervals(steps, take)

    def requests_of(self, prompts: pl.DataFrame) -> list[list[Request]]:
        """Returns the requests of each prompt."""
        texts = self.asked(prompts)
        if self.settings.answer != "choice":
            return self.requests(prompts, [[SentRequests(text, self.writing)] for text in texts])
        sent = zip(texts, self.options_of(prompts), strict=True)
        return self.requests(prompts, [self.way.requests(*prompt) for prompt in sent])

    def columns_of(
        self, prompts: pl.DataFrame, answers: Sequence[Sequence[Answer]]
    ) -> pl.DataFrame:
        """Returns columns of the answer kind.

        Args:
            prompts: some prompts.
            answers: for each prompt the answers to its requests, in their order.
        """
        read = self.choices if self.settings.answer == "choice" else self.texts
        return read(prompts, answers)

    def options_of(self, prompts: pl.DataFrame) -> list[OptionTexts]:
        """Returns the options of each prompt; null for one that is not there."""
        names = columns_with_prefix(prompts, "candidate")
        options: list[OptionTexts] = prompts.select(pl.col(names).cast(pl.String)).rows()
        return options

    def asked(self, instances: pl.DataFrame) -> list[PromptContent]:
        """Returns what is sent of each instance: messages, or of completions a text."""
        write = as_text if self.access.asking.api == "completions" else as_messages
        return [write(system, text) for system, text in request_texts(instances)]

    def choices(self, prompts: pl.DataFrame, answers: Sequence[Sequence[Answer]]) -> pl.DataFrame:
        """Reads which options were chosen: answers of the kind `choice`."""
        method = self.way
        rows = zip(self.asked(prompts), self.options_of(prompts), answers, strict=True)
        scores = [method.scores(content, options, own) for content, options, own in rows]
        is_known = []
        probabilities = []
        for row in scores:
            is_known.append([value is not None for value in row.probabilities])
            probabilities.append([value or 0.0 for value in row.probabilities])
        values = np.array(probabilities)
        masses = [None if row.mass is None else min(row.mass, 1.0) for row in scores]
        return pl.DataFrame(
            [
                to_list_column("probabilities", values, np.array(is_known), pl.Float32),
                pl.Series("mass", masses, pl.Float32),
                pl.Series("scored_by", [method.name] * len(scores), pl.Categorical),
                pl.Series("status", [row.status for row in scores], pl.Categorical),
                pl.Series("response", [row.response for row in scores], pl.String),
                *beginning_columns([row.beginnings for row in scores]),
            ]
        )

    def texts(self, _prompts: pl.DataFrame, answers: Sequence[Sequence[Answer]]) -> pl.DataFrame:
        """Reads written texts: answers of the kind `text`."""
        rows = [
            (*text_without_thoughts(answer, self.thoughts), answer.tokens_in, answer.tokens_out)
            for (answer,) in answers
        ]
        self.responses += [response for response, *_ in rows]
        self.lengths += [answer.tokens_out for (answer,) in answers if answer.tokens_out]
        return pl.DataFrame(rows, schema=SERVER_TEXT_COLUMNS, orient="row").with_columns(
            over_limit=pl.col("tokens_out") > self.generation["max_tokens"]
        )

    def requests(
        self, instances: pl.DataFrame, sent: Sequence[Sequence[SentRequests]]
    ) -> list[list[Request]]:
        """Makes the requests of each instance; each instance has a seed of its own."""
        keys = instances["key"].to_numpy()
        shift = np.uint64(self.generation["seed"] * int(STEP) % 2**64)
        seeds = mix_bits(keys + shift) % np.uint64(2**31)
        requests = []
        for key, seed, contents in zip(keys.tolist(), seeds.tolist(), sent, strict=True):
            own = []
            for messages, parameters in contents:
                seeded = self.with_seed(parameters, seed)
                own.append(Request(self.answered_by, self.asked_with, key, messages, seeded))
            requests.append(own)
        return requests

    def with_seed(self, parameters: Mapping[str, Any], seed: int) -> dict[str, Any]:
        """Adds a seed where something is drawn that counts."""
        drawn = (
            parameters["max_tokens"] > 1
            and parameters["temperature"] > 0
            and self.access.asking.api != "anthropic"
        )
        return {**parameters, "seed": seed} if drawn else dict(parameters)

    def _warn_of_other_models(self) -> None:
        """Warns of a model that has answered under another name."""
        asked = self.access.model
        names = sorted(filter(None, self.dispatcher.names))
        others = [name for name in names if asked not in name and name not in asked]
        if others:
            logger.warning(
                "%s was asked for %s, but %s answered: check that they are the same model",
                self.access.shown,
                asked,
                ", ".join(others),
            )

    def _warn_of_long_texts(self) -> None:
        """Warns of texts with more tokens than the server was asked for."""
        limit = self.generation["max_tokens"]
        longer = sum(length > limit for length in self.lengths)
        if longer:
            logger.warning(
                "%s: %s of %s answers are longer than max_tokens %s (the longest: %s tokens) and "
                "are charged in full",
                self.access.shown,
                longer,
                len(self.lengths),
                limit,
                max(self.lengths),
            )


class Arrivals:
    """The answers to the requests of some prompts, from the store or as they arrive."""

    def __init__(self, requests: Sequence[Sequence[Request]], store: RequestStore):
        """Takes the answers that the store has.

        Args:
            requests: the requests of each prompt.
            store: the store.
        """
        self.requests = requests
        every = [request for row in requests for request in row]
        self.answers = {request.digest: store[request] for request in every if request in store}
        self.numbers: dict[str, list[int]] = {}
        for number, row in enumerate(requests):
            for request in row:
                self.numbers.setdefault(request.digest, []).append(number)
        self.complete = [number for number in range(len(requests)) if self._is_complete(number)]

    def _is_complete(self, number: int) -> bool:
        return all(request.digest in self.answers for request in self.requests[number])

    def missing(self) -> list[Request]:
        """Returns the requests without an answer, each once."""
        every = {request.digest: request for row in self.requests for request in row}
        return [request for digest, request in every.items() if digest not in self.answers]

    def add(self, request: Request, answer: Answer) -> None:
        """Adds an answer that was stored."""
        self.answers[request.digest] = answer
        numbers = dict.fromkeys(self.numbers[request.digest])
        self.complete += [number for number in numbers if self._is_complete(number)]

    def take_complete(self) -> list[int]:
        """Returns the numbers of the prompts that were completed since this was called last."""
        complete, self.complete = self.complete, []
        return complete

    def answers_to(self, number: int) -> list[Answer]:
        """Returns the answers to the requests of a prompt, all of which are there."""
        return [self.answers[request.digest] for request in self.requests[number]]


SERVER_TEXT_COLUMNS = {
    "response": pl.String,
    "status": pl.Categorical,
    "tokens_in": pl.UInt32,
    "tokens_out": pl.UInt32,
}


def generation_of(settings: InferenceSettings) -> dict[str, Any]:
    """Returns the keys of `generation.section.Generation`."""
    return Generation.model_validate(settings.section.get("generation", {})).model_dump()


def method_of_settings(settings: InferenceSettings) -> str:
    """Names how options are chosen: as the server can, or in texts where the config says so."""
    if generation_of(settings)["options"] == ParsedText.name:
        return ParsedText.name
    return str(settings.capabilities["scored_by"])


def writing_of(generation: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the parameters of texts; top_p where it cuts something off alone, as services take
    one of both.
    """
    keys = ("max_tokens", "temperature", *(["top_p"] if generation["top_p"] < 1 else []))
    return {key: generation[key] for key in keys}


def request_settings(settings: InferenceSettings) -> str:
    """Digests what is the same in all requests of a cell; see `requests.settings_in_key`."""
    generation = generation_of(settings)
    sent = ECHOED if settings.answer == SENTENCES else writing_of(generation)
    if settings.answer == "choice":
        sent = method_named(method_of_settings(settings))(sent).requests("", ("A",))[0].parameters
    asked = settings.section.get("endpoint") or settings.section["serve"]
    # Of one token nothing is drawn.
    drawn = {"drawn": generation["seed"]} if sent["max_tokens"] > 1 else {}
    return settings_in_key(
        [asked.get("model"), command_of(settings)], asked.get("api", "chat"), sent | drawn
    )


def command_of(settings: InferenceSettings) -> dict[str, Any] | None:
    """Returns how the server of a job is started; None for one that runs already."""
    serve = settings.choices.get("serve")
    # The files that the command names are part of who answers, see `identity`.
    return None if serve is None else {key: value for key, value in serve.items() if key != "files"}


def store_folder(settings: InferenceSettings) -> Any:
    """Returns the folder of the cell's store."""
    if settings.cell is None:
        raise ModelError(
            "there is no folder for the answers of the server; expected the folder of the cell"
        )
    return settings.cell
