"""A model behind a server: what is asked becomes requests, and their answers the columns of
predictions.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import polars as pl

from biasgrid.inference.checkpoints.checkpoint import (
    ModelError,
    folder_of,
    load_recorded_tokenizer,
    loading_errors,
    name_of,
    switches,
)
from biasgrid.inference.engine.back_end import BackEnd, lists_of, numbered_values
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
from biasgrid.inference.models.generation.thoughts import Thoughts, warn_of_strange_marks
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
from biasgrid.inference.models.servers.requests import Request, settings_in_key, tokens_about
from biasgrid.inference.models.servers.section import Serve, ServerSettings
from biasgrid.inference.models.servers.store import RequestStore
from biasgrid.inference.models.servers.usage import Budget, bill_of
from biasgrid.inference.scorings import ANSWER_KIND as SENTENCES
from biasgrid.jobs.lock import one_job
from biasgrid.jobs.progress import Progress
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
    if serve.api != "chat" or OWN_TEMPLATE in serve.command:
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
        return [
            len(ids)
            for ids in prompter.tokens([as_text(*texts) for texts in request_texts(instances)])
        ]
    return [len(ids) for ids in prompter.tokens(prompter.prompts(instances))]


def longest_of(record: Mapping[str, Any]) -> int | None:
    """Returns for how many tokens the server's model has positions; None where nothing of ours says
    so.
    """
    if "keys" in record:
        return None
    from transformers import AutoConfig

    with loading_errors(name_of(record)):
        config = AutoConfig.from_pretrained(folder_of(record), **switches(record))
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
    """

    Choices: ClassVar[type[Any]] = ServerChoices

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

    @classmethod
    def decisive(cls, settings: InferenceSettings) -> dict[str, Any]:
        """Returns what decides the answers, and where options are chosen the way in which they
        are.
        """
        way = {"scored_by": method_of_settings(settings)} if settings.answer == "choice" else {}
        choices = {
            name: value for name, value in super().decisive(settings).items() if value is not None
        }
        return {
            **choices,
            **way,
            "asked_with": request_settings(settings),
            "server": server_of(settings.section),
        }

    @classmethod
    def runs_on(cls, settings: InferenceSettings) -> str:
        """Says that it computes nothing in this process."""
        return "server"

    @classmethod
    def open(
        cls, record: Mapping[str, Any], settings: InferenceSettings, instances: pl.DataFrame
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
            refuse_longer(record, instances, access.asking, most, settings.model)
            # What comes of it ends it, see `release`.
            back_end.held = held.pop_all()
        return back_end

    def release(self) -> None:
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
        return Thoughts.of(self.generation["thinking"])

    @property
    def writing(self) -> dict[str, Any]:
        """The parameters of texts."""
        return writing_of(self.generation)

    def answer(self, instances: pl.DataFrame, progress: Progress) -> pl.DataFrame:
        """Answers some instances, many at a time."""
        ask = self.choose if self.settings.answer == "choice" else self.write
        return ask(instances, progress)

    def asked(self, instances: pl.DataFrame) -> list[PromptContent]:
        """Returns what is sent of each instance: messages, or of completions a text."""
        write = as_text if self.access.asking.api == "completions" else as_messages
        return [write(system, text) for system, text in request_texts(instances)]

    def choose(self, instances: pl.DataFrame, progress: Progress) -> pl.DataFrame:
        """Has options chosen: answers of the kind `choice`.

        Raises:
            UserError: not all were answered.
        """
        names = numbered_values(instances, "candidate")
        options: list[OptionTexts] = instances.select(pl.col(names).cast(pl.String)).rows()
        way, asked = self.way, self.asked(instances)
        requests = self.requests(
            instances, [way.requests(*row) for row in zip(asked, options, strict=True)]
        )
        self.send(requests, progress)
        answers = ([self.store[request] for request in row] for row in requests)
        said = [way.scores(*row) for row in zip(asked, options, answers, strict=True)]
        known = np.array([[value is not None for value in row.probabilities] for row in said])
        values = np.array([[value or 0.0 for value in row.probabilities] for row in said])
        return pl.DataFrame(
            [
                lists_of("probabilities", values, known, pl.Float32),
                pl.Series(
                    "mass",
                    [None if row.mass is None else min(row.mass, 1.0) for row in said],
                    pl.Float32,
                ),
                pl.repeat(way.name, len(said), eager=True).cast(pl.Categorical).alias("scored_by"),
                pl.Series("status", [row.status for row in said], pl.Categorical),
                pl.Series("response", [row.response for row in said], pl.String),
                *beginning_columns([row.beginnings for row in said]),
            ]
        )

    def write(self, instances: pl.DataFrame, progress: Progress) -> pl.DataFrame:
        """Has texts written: answers of the kind `text`.

        Raises:
            UserError: not all were answered.
        """
        requests = self.requests(
            instances, [[SentRequests(asked, self.writing)] for asked in self.asked(instances)]
        )
        self.send(requests, progress)
        answers = [self.store[request] for (request,) in requests]
        rows = [
            (*text_without_thoughts(answer, self.thoughts), answer.tokens_in, answer.tokens_out)
            for answer in answers
        ]
        warn_of_strange_marks(self.settings.model, [response for response, *_ in rows])
        return pl.DataFrame(rows, schema=SERVER_TEXT_COLUMNS, orient="row").with_columns(
            over_limit=pl.col("tokens_out") > self.generation["max_tokens"]
        )

    def requests(
        self, instances: pl.DataFrame, sent: Sequence[Sequence[SentRequests]]
    ) -> list[list[Request]]:
        """Makes the requests of each instance: what is drawn has a seed of its own."""
        keys = instances["key"].to_numpy()
        seeds = mix_bits(keys + np.uint64(self.generation["seed"] * int(STEP) % 2**64)) % np.uint64(
            2**31
        )
        return [
            [
                Request(
                    self.answered_by,
                    self.asked_with,
                    int(key),
                    each.messages,
                    self.with_seed(each.parameters, int(seed)),
                )
                for each in row
            ]
            for key, seed, row in zip(keys, seeds, sent, strict=True)
        ]

    def with_seed(self, parameters: Mapping[str, Any], seed: int) -> dict[str, Any]:
        """Adds a seed where something is drawn that counts."""
        drawn = (
            parameters["max_tokens"] > 1
            and parameters["temperature"] > 0
            and self.access.asking.api != "anthropic"
        )
        return {**parameters, "seed": seed} if drawn else dict(parameters)

    def send(self, requests: Sequence[Sequence[Request]], progress: Progress) -> None:
        """Asks what was never asked, and counts instances as their last answers arrive."""
        left = {request.digest: place for place, row in enumerate(requests) for request in row}
        missing = [sum(request not in self.store for request in row) for row in requests]
        progress.advance(sum(not count for count in missing))

        def arrived(request: Request) -> None:
            place = left[request.digest]
            missing[place] -= 1
            progress.advance(int(not missing[place]))

        self.dispatcher.arrived = arrived
        self.dispatcher.ask([request for row in requests for request in row])

    def close(self, answers: pl.DataFrame) -> dict[str, Any]:
        """Tells which models have answered, and how many texts are longer than they were to be."""
        names = sorted(filter(None, self.dispatcher.names))
        strange = [
            name
            for name in names
            if self.access.model not in name and name not in self.access.model
        ]
        if strange:
            logger.warning(
                "%s was asked for %s, but %s answered: check that they are the same model",
                self.access.shown,
                self.access.model,
                ", ".join(strange),
            )
        if "over_limit" in answers.columns and (longer := answers["over_limit"].sum()):
            logger.warning(
                "%s: %s of %s answers are longer than max_tokens %s (the longest: %s tokens) and "
                "are charged in full",
                self.access.shown,
                longer,
                len(answers),
                self.generation["max_tokens"],
                answers["tokens_out"].max(),
            )
        return {}


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
