"""A model behind a server: prompts become requests, and their answers columns of predictions."""

from __future__ import annotations

import logging
import shlex
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import polars as pl

from biasgrid.inference.checkpoints.checkpoint import (
    ModelError,
    checkpoint_name,
    has_checkpoint,
    load_recorded_tokenizer,
    loading_errors,
    local_folder,
    switches,
)
from biasgrid.inference.engine.back_end import (
    BackEnd,
    PromptPart,
    tables_at_intervals,
    to_list_column,
    with_instance_and_key,
)
from biasgrid.inference.engine.settings import InferenceSettings
from biasgrid.inference.input_counts import InputCounts, add_if_known
from biasgrid.inference.models.generation.checks import check_prompt_lengths
from biasgrid.inference.models.generation.options import beginning_columns, instance_candidates
from biasgrid.inference.models.generation.prompts import (
    Prompter,
    as_messages,
    as_text,
    request_texts,
)
from biasgrid.inference.models.generation.section import Generation
from biasgrid.inference.models.generation.thoughts import Thoughts, warn_about_marks
from biasgrid.inference.models.servers.connection import Access, quiet_libraries, server_access
from biasgrid.inference.models.servers.identity import answering_server, server_digest
from biasgrid.inference.models.servers.methods import (
    ECHO_PARAMETERS,
    STAND_IN_OPTIONS,
    ParsedText,
    PreparedRequest,
    ScoringMethod,
    SentPrompt,
    method_class,
    text_without_thoughts,
)
from biasgrid.inference.models.servers.queue import Dispatcher
from biasgrid.inference.models.servers.requests import (
    Answer,
    Request,
    estimate_tokens,
    settings_in_key,
)
from biasgrid.inference.models.servers.section import Endpoint, Serve, ServerSettings
from biasgrid.inference.models.servers.store import RequestStore
from biasgrid.inference.models.servers.usage import Budget, read_bill
from biasgrid.inference.scorings import ANSWER_KIND as SENTENCES
from biasgrid.jobs.lock import one_job
from biasgrid.tables.claims.served_names import names_text, unexpected_names
from biasgrid.tables.keys import STEP, mix_bits
from biasgrid.tables.provenance import ASKED_FOR

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


logger = logging.getLogger(__name__)

OWN_TEMPLATE = "--chat-template"
"""The option by which a server is given another chat template than the checkpoint's."""


def refuse_long_prompts(
    record: Mapping[str, Any],
    prompts: pl.DataFrame,
    server: ServerSettings,
    *,
    tokens_written: int,
    model: str,
) -> None:
    """Refuses prompts that are longer than a model can read; servers cut these without a word.

    There is no limit for a model without a checkpoint of ours, unless the config has `context`.
    The tokens of its prompts are estimated from their bytes.

    Args:
        record: the model's record.
        prompts: all that will be asked.
        server: the section of the server.
        tokens_written: how many tokens may be written after each prompt.
        model: the model's name, for the message.

    Raises:
        ModelError: a prompt is too long; the message names the longest one.
    """
    limit = context_length(record) if server.context is None else server.context
    if limit is not None and not prompts.is_empty():
        lengths = prompt_lengths(record, prompts, server.api)
        check_prompt_lengths(lengths, tokens_written, limit, prompts["instance"], model)


def warn_about_date(record: Mapping[str, Any], serve: Serve, model: str) -> None:
    """Warns if the chat template of a served model writes today's date.

    Args:
        record: the model's record.
        serve: its section. If the command names a chat template, the checkpoint's is not used.
        model: the model's name.

    Raises:
        ModelError: the checkpoint's tokenizer cannot be loaded.
    """
    words = shlex.split(serve.command)
    # Whole words: `--chat-template-content-format` keeps the checkpoint's template.
    has_own_template = any(word.partition("=")[0] == OWN_TEMPLATE for word in words)
    if serve.api != "chat" or has_own_template:
        return
    tokenizer = load_recorded_tokenizer(record)
    prompts = {
        # As servers render it: models that can think do so unless a request forbids it.
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


def prompt_lengths(record: Mapping[str, Any], prompts: pl.DataFrame, api: str) -> list[int]:
    """Returns the number of tokens in each prompt, estimated from its bytes without a checkpoint.

    Args:
        record: the model's record; the tokenizer of its checkpoint, if it has one, counts.
        prompts: the prompts.
        api: the protocol. The tokens of the model's chat template count, except in completions.

    Raises:
        ModelError: the checkpoint's tokenizer cannot be loaded, or its chat template takes no
            system text.
    """
    if not has_checkpoint(record):
        return [estimate_tokens(filter(None, texts)) for texts in request_texts(prompts)]
    prompter = Prompter(load_recorded_tokenizer(record), thinking=True)
    if api == "completions":
        texts = [as_text(system, text) for system, text in request_texts(prompts)]
    else:
        texts = prompter.prompts(prompts)
    return list(map(len, prompter.tokens(texts)))


def context_length(record: Mapping[str, Any]) -> int | None:
    """Returns how many tokens a model can read; None if it has no checkpoint that says so."""
    if not has_checkpoint(record):
        return None
    from transformers import AutoConfig

    with loading_errors(checkpoint_name(record)):
        config = AutoConfig.from_pretrained(local_folder(record), **switches(record))
    tokenizer: PreTrainedTokenizerFast = load_recorded_tokenizer(record)
    positions = getattr(config.get_text_config(), "max_position_embeddings", None)
    return int(min(positions or tokenizer.model_max_length, tokenizer.model_max_length))


ANSWER_BYTES = 4096
"""Space in the store for an answer, without its tokens."""
TOKEN_BYTES = 64
"""Space in the store for each token of an answer."""
LONGEST_FOR_LOCK = 60
"""Seconds to wait for a job that a killed run has left behind. Jobs of one run take turns."""


@dataclass(frozen=True)
class ServerChoices:
    """The choices that decide the answers of a server that each job starts.

    Of an endpoint only `scoring` is here; its record has the rest.

    Attributes:
        generation: the keys of `generation.section.Generation`; None for an endpoint.
        serve: the keys of `section.Serve` that decide answers; None for an endpoint.
        scoring: the formula that scores sentences; None for other kinds of answers.
    """

    generation: Mapping[str, Any] | None = None
    serve: Mapping[str, Any] | None = None
    scoring: str | None = None


class Server(BackEnd):
    """Asks a model behind a server.

    Attributes:
        access: the address of the server, its key and its settings.
        settings: the settings of the shard.
        generation: the keys of `generation.section.Generation`.
        answered_by: the digest of the server and its weights, see `identity.answering_server`.
        asked_with: the digest of the settings that all requests share.
        dispatcher: sends the requests.
        responses: the texts that were written so far.
        lengths: the lengths of these texts in tokens, if the server reports them.
        inputs: see `BackEnd`. Answers that the store has from killed runs count, too.
        answered_as: see `BackEnd`; likewise.
    """

    Choices = ServerChoices
    device = "server"
    keeps_answers = True

    def __init__(
        self,
        access: Access,
        settings: InferenceSettings,
        record: Mapping[str, Any],
        resources: ExitStack,
    ):
        """Locks and opens the store of answers.

        Args:
            access: the access to the server.
            settings: the settings of the shard.
            record: the model's record.
            resources: closes lock and store; `close` closes it.
        """
        self.access, self.settings, self.resources = access, settings, resources
        self.generation = read_generation(settings)
        self.answered_by = answering_server(server_digest(settings.section), record)
        self.asked_with = request_settings(settings)
        longest = min(LONGEST_FOR_LOCK, settings.seconds_without_progress / 2)
        resources.enter_context(one_job(store_folder(settings) / "requests.lock", longest))
        self.store = resources.enter_context(RequestStore(store_folder(settings), self.reserve))
        self.dispatcher = Dispatcher(access, self.store, self.budget())
        self.responses: list[str] = []
        self.lengths: list[int] = []
        self.inputs = InputCounts()
        self.answered_as: set[str] = set()

    @classmethod
    def identity(cls, record: Mapping[str, Any], settings: InferenceSettings) -> dict[str, Any]:
        """Returns the facts that decide the answers, other than the record, which has the weights.

        Returns:
            The choices that are not None; `asked_with`, the settings that all requests share;
            `server`, the digest of the server without its weights, see `server_digest`; for a
            choice `scored_by`, the method; and for an endpoint `ASKED_FOR`.

        Raises:
            InputError: see `server_digest`.
        """
        choices = super().identity(record, settings)
        facts = {name: choice for name, choice in choices.items() if choice is not None}
        if settings.answer == "choice":
            facts["scored_by"] = method_name(settings)
        facts["asked_with"] = request_settings(settings)
        if endpoint := settings.section.get("endpoint"):
            facts[ASKED_FOR] = endpoint["model"]
        return {**facts, "server": server_digest(settings.section)}

    @classmethod
    def open(
        cls, record: Mapping[str, Any], settings: InferenceSettings, prompts: pl.DataFrame
    ) -> Self:
        """Starts the server, or reads the key of an endpoint, and refuses prompts that are too
        long.
        """
        quiet_libraries()
        with ExitStack() as resources:
            access = resources.enter_context(server_access(record, settings.section, settings.log))
            if limit := settings.capabilities.get("token_limit"):
                access = replace(access, token_limit=limit)
            back_end = cls(access, settings, record, resources)
            server = access.server_settings
            if isinstance(server, Serve):
                warn_about_date(record, server, settings.model)
            # The options of a choice are a few tokens, which no limit is exact enough for.
            is_text = settings.answer == "text"
            tokens_written = back_end.generation["max_tokens"] if is_text else 0
            refuse_long_prompts(
                record, prompts, server, tokens_written=tokens_written, model=settings.model
            )
            # From here on `close` releases everything.
            back_end.resources = resources.pop_all()
        return back_end

    def close(self) -> None:
        """Closes the store, and ends the server if this job has started it."""
        self.resources.close()

    @property
    def reserve(self) -> int:
        """The space for the answers of all requests under way, in bytes."""
        answer_bytes = ANSWER_BYTES + TOKEN_BYTES * int(self.generation["max_tokens"])
        return self.access.server_settings.concurrency * answer_bytes

    def budget(self) -> Budget:
        """Returns the budget of the model, less the cost of its answers in all cells."""
        server = self.access.server_settings
        budget = Budget(getattr(server, "price", None), getattr(server, "max_cost", None))
        for folder in store_folder(self.settings).parents[1].glob(f"*/{self.settings.model}"):
            budget.add(read_bill(folder))
        return budget

    @property
    def method(self) -> ScoringMethod:
        """The method by which the model chooses among options."""
        return method_class(method_name(self.settings))(self.writing, self.thoughts)

    @property
    def thoughts(self) -> Thoughts:
        """The marks that the model puts around its thoughts."""
        return Thoughts.from_setting(self.generation["thinking"])

    @property
    def writing(self) -> dict[str, Any]:
        """The parameters of requests for a text."""
        return writing_parameters(self.generation)

    def answer(self, parts: Iterable[PromptPart]) -> Generator[pl.DataFrame]:
        """Answers parts, with many requests at a time."""
        for part in parts:
            yield from self._answer_prompts(part.unanswered)
        warn_about_marks(self.settings.model, self.responses)
        self._warn_about_model_names()
        self._warn_about_long_texts()

    def _answer_prompts(self, prompts: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """Answers prompts in the order in which their last answers arrive.

        Raises:
            UserError: a request was not answered.
        """
        arrivals = Arrivals(self.build_requests(prompts), self.store)

        def take() -> pl.DataFrame:
            rows = arrivals.take_complete()
            if not rows:
                # `tables_at_intervals` skips an empty table.
                return pl.DataFrame()
            complete = prompts[rows]
            answers = [arrivals.prompt_answers(row) for row in rows]
            for answer in chain(*answers):
                self.inputs = add_if_known(self.inputs, read_inputs(answer))
                # A server that this job has started has the weights that the record names.
                if answer.model and isinstance(self.access.server_settings, Endpoint):
                    self.answered_as.add(answer.model)
            return with_instance_and_key(complete, self.answer_columns(complete, answers))

        steps = self.dispatcher.ask(arrivals.open_requests(), arrivals.add)
        yield from tables_at_intervals(steps, take)

    def build_requests(self, prompts: pl.DataFrame) -> list[list[Request]]:
        """Returns the requests of each prompt."""
        texts = self.sent_prompts(prompts)
        if self.settings.answer != "choice":
            return self.add_seeds(
                prompts, [[PreparedRequest(text, self.writing)] for text in texts]
            )
        method = self.method
        rows = zip(texts, instance_candidates(prompts), strict=True)
        return self.add_seeds(
            prompts, [method.build_requests(text, options) for text, options in rows]
        )

    def answer_columns(
        self, prompts: pl.DataFrame, answers: Sequence[Sequence[Answer]]
    ) -> pl.DataFrame:
        """Returns the columns of the answer kind, one row per prompt.

        Args:
            prompts: some of the prompts.
            answers: for each of them the answers to its requests, in the order of
                `build_requests`.
        """
        if self.settings.answer == "choice":
            return self.choice_columns(prompts, answers)
        return self.text_columns(answers)

    def sent_prompts(self, prompts: pl.DataFrame) -> list[SentPrompt]:
        """Returns the messages of each prompt or, for completions, its text."""
        is_plain = self.access.server_settings.api == "completions"
        write = as_text if is_plain else as_messages
        return [write(system, text) for system, text in request_texts(prompts)]

    def choice_columns(
        self, prompts: pl.DataFrame, answers: Sequence[Sequence[Answer]]
    ) -> pl.DataFrame:
        """Returns the columns of the kind `choice`; see `answer_columns`."""
        method = self.method
        options_of_prompts = instance_candidates(prompts)
        rows = zip(self.sent_prompts(prompts), options_of_prompts, answers, strict=True)
        scores = [method.read_answers(prompt, options, own) for prompt, options, own in rows]
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

    def text_columns(self, answers: Sequence[Sequence[Answer]]) -> pl.DataFrame:
        """Returns the columns of the kind `text`; see `answer_columns`."""
        rows = [
            (*text_without_thoughts(answer, self.thoughts), answer.tokens_in, answer.tokens_out)
            for (answer,) in answers
        ]
        self.responses += [response for response, *_ in rows]
        self.lengths += [answer.tokens_out for (answer,) in answers if answer.tokens_out]
        return pl.DataFrame(rows, schema=SERVER_TEXT_COLUMNS, orient="row").with_columns(
            over_limit=pl.col("tokens_out") > self.generation["max_tokens"]
        )

    def add_seeds(
        self, prompts: pl.DataFrame, prepared: Sequence[Sequence[PreparedRequest]]
    ) -> list[list[Request]]:
        """Returns requests with the keys of their prompts, and a seed if a text is sampled.

        A prompt's seed depends on its key and the config's seed alone, so that the order in which
        prompts are asked changes no answer.

        Args:
            prompts: the prompts, with `key`.
            prepared: the requests of each prompt.
        """
        keys = prompts["key"].to_numpy()
        shift = np.uint64(self.generation["seed"] * int(STEP) % 2**64)
        seeds = mix_bits(keys + shift) % np.uint64(2**31)
        requests = []
        for key, seed, own in zip(keys.tolist(), seeds.tolist(), prepared, strict=True):
            requests.append([self.seeded_request(key, seed, request) for request in own])
        return requests

    def seeded_request(self, key: int, seed: int, prepared: PreparedRequest) -> Request:
        """Returns the request of a prompt; with a seed only if it samples several tokens."""
        parameters = dict(prepared.parameters)
        is_sampled = parameters["max_tokens"] > 1 and parameters["temperature"] > 0
        # Anthropic's protocol has no seed.
        if is_sampled and self.access.server_settings.api != "anthropic":
            parameters["seed"] = seed
        return Request(self.answered_by, self.asked_with, key, prepared.messages, parameters)

    def _warn_about_model_names(self) -> None:
        """Warns of a model that has answered under other names than the one asked for."""
        name = self.access.model
        if names := unexpected_names(name, self.answered_as):
            logger.warning(
                "%s: %s: check that they are the same model",
                self.access.public_url,
                names_text(name, names),
            )

    def _warn_about_long_texts(self) -> None:
        """Warns of texts with more tokens than requested."""
        limit = self.generation["max_tokens"]
        longer = sum(length > limit for length in self.lengths)
        if longer:
            logger.warning(
                "%s: %s of %s answers are longer than max_tokens %s (the longest: %s tokens) and "
                "are charged in full",
                self.access.public_url,
                longer,
                len(self.lengths),
                limit,
                max(self.lengths),
            )


class Arrivals:
    """The answers to the requests of some prompts: from the store, then as they arrive.

    A prompt is known by its row. Prompts may share a request.
    """

    def __init__(self, requests: Sequence[Sequence[Request]], store: RequestStore):
        """Takes the answers that the store has.

        Args:
            requests: the requests of each prompt.
            store: the store.
        """
        self.requests = requests
        self.answers: dict[str, Answer] = {}
        self.rows: dict[str, set[int]] = {}
        for row, requests_of_prompt in enumerate(requests):
            for request in requests_of_prompt:
                self.rows.setdefault(request.digest, set()).add(row)
                if request.digest not in self.answers and request in store:
                    self.answers[request.digest] = store[request]
        self.complete = [row for row in range(len(requests)) if self._is_complete(row)]

    def _is_complete(self, row: int) -> bool:
        return all(request.digest in self.answers for request in self.requests[row])

    def open_requests(self) -> list[Request]:
        """Returns the requests without an answer, each once."""
        every = {request.digest: request for row in self.requests for request in row}
        return [request for digest, request in every.items() if digest not in self.answers]

    def add(self, request: Request, answer: Answer) -> None:
        """Adds the answer to a request that had none."""
        self.answers[request.digest] = answer
        rows = sorted(self.rows[request.digest])
        self.complete += [row for row in rows if self._is_complete(row)]

    def take_complete(self) -> list[int]:
        """Returns the rows of prompts that were completed since the last call."""
        complete, self.complete = self.complete, []
        return complete

    def prompt_answers(self, row: int) -> list[Answer]:
        """Returns the answers to the requests of a complete prompt, in their order."""
        return [self.answers[request.digest] for request in self.requests[row]]


SERVER_TEXT_COLUMNS = {
    "response": pl.String,
    "status": pl.Categorical,
    "tokens_in": pl.UInt32,
    "tokens_out": pl.UInt32,
}


def read_inputs(answer: Answer) -> InputCounts | None:
    """Returns what the server has read for an answer; None if it does not say."""
    return None if answer.tokens_in is None else InputCounts(1, answer.tokens_in)


def read_generation(settings: InferenceSettings) -> dict[str, Any]:
    """Returns the keys of `generation.section.Generation`, with defaults."""
    return Generation.model_validate(settings.section.get("generation", {})).model_dump()


def method_name(settings: InferenceSettings) -> str:
    """Returns the name of the scoring method: `parsed` if the config wants texts, else the best
    one that the server can do.
    """
    if read_generation(settings)["options"] == ParsedText.name:
        return ParsedText.name
    return str(settings.capabilities["scored_by"])


def writing_parameters(generation: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the parameters of requests for a text.

    Args:
        generation: the keys of `generation.section.Generation`.
    """
    parameters = {key: generation[key] for key in ("max_tokens", "temperature")}
    # Some services refuse temperature and top_p together; a top_p of 1 does nothing.
    if generation["top_p"] < 1:
        parameters["top_p"] = generation["top_p"]
    return parameters


def request_settings(settings: InferenceSettings) -> str:
    """Digests the settings that all requests of a cell share; see `requests.settings_in_key`."""
    generation = read_generation(settings)
    parameters: dict[str, Any] = writing_parameters(generation)
    if settings.answer == SENTENCES:
        parameters = dict(ECHO_PARAMETERS)
    elif settings.answer == "choice":
        method = method_class(method_name(settings))(parameters)
        parameters = method.build_requests("", STAND_IN_OPTIONS)[0].parameters
    if parameters["max_tokens"] > 1:
        # A single token is not sampled: its probabilities are read.
        parameters = {**parameters, "drawn": generation["seed"]}
    server = settings.section.get("endpoint") or settings.section["serve"]
    model = [server.get("model"), serve_identity(settings)]
    return settings_in_key(model, server.get("api", "chat"), parameters)


def serve_identity(settings: InferenceSettings) -> dict[str, Any] | None:
    """Returns the deciding keys of a server that the job starts; None for an endpoint."""
    serve = settings.choices.get("serve")
    if serve is None:
        return None
    # `server_digest` has the digests of files that the command names.
    return {key: value for key, value in serve.items() if key != "files"}


def store_folder(settings: InferenceSettings) -> Path:
    """Returns the folder of the cell's store.

    Raises:
        ModelError: the settings have none.
    """
    if settings.cell is None:
        raise ModelError(
            "there is no folder for the answers of the server; expected the folder of the cell"
        )
    return settings.cell
