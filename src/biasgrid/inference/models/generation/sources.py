"""What a config may say of generative models: where they answer, on this machine or elsewhere.

Light, as it is imported while a config is read; and apart from `section`, so that no other source of answers is part of
the code that reads local weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any, ClassVar

from pydantic import Field, model_validator

from biasgrid.base.addresses import address_digest
from biasgrid.base.sections import Charge, KeysError, Model, Section
from biasgrid.inference.models.generation.section import DATE, Day, Generation, option_spellings
from biasgrid.inference.models.servers.section import Endpoint, Serve


class Random(Section):
    """A model that knows nothing: what a measure says of it is what it says of no model at all."""

    seed: int = Field(1, ge=0, lt=2**63, description="seed of its answers; of it and of what is asked they depend")


class GenerativeModel(Model):
    """A model that writes."""

    SOURCES: ClassVar[tuple[str, ...]] = (*Model.SOURCES, "endpoint", "random", "answers")

    generation: Generation = Field(Generation(), description="how it writes texts")
    chat_template: bool = Field(
        True,
        description="whether the checkpoint's chat template is used if it has one; `false` asks it plainly, as a base "
        "model whose tokenizer has a template",
    )
    date: Day = Field(
        DATE,
        description="the day that a chat template writes down as today, so that no prompt depends on when it is asked; "
        "of a model that is served the server decides",
    )
    endpoint: Endpoint | None = Field(None, description="a server that answers, in place of a checkpoint")
    serve: Serve | None = Field(None, description="a server that is started for each job, and answers for a checkpoint")
    random: Random | None = Field(None, description="answers at random, in place of a checkpoint: a control")
    answers: str | None = Field(
        None,
        description="file of answers that are there, in place of a checkpoint: `.jsonl`, `.csv` or `.parquet` with the "
        "columns `prompt` (as it stands in the file of prompts), `group`, `repetition` (from 0) and `response`",
    )

    @property
    def source(self) -> str:
        """What gives its answers: what other models have, or the key that stands in place of a checkpoint."""
        named = [key for key in ("endpoint", "serve", "random", "answers") if getattr(self, key)]
        return named[0] if named else super().source

    @property
    def own_files(self) -> dict[str, str]:
        """The files whose content decides its answers, by key: that of answers that are there."""
        return {"answers": self.answers} if self.answers else {}

    @property
    def addresses(self) -> list[str]:
        """The servers that are asked for it; see `Model`."""
        return [*super().addresses, *([self.endpoint.url] if self.endpoint else [])]

    @property
    def gpus(self) -> int:
        """How many GPUs a job needs: as many as its server, none where others compute or nobody does."""
        return self.serve.gpus if self.serve else super().gpus if self.has_checkpoint else 0

    def turn(self, model: str, dataset: str) -> str | None:
        """Says which jobs run one after the other: all at one endpoint, and those of a cell that is served."""
        if self.endpoint:
            return f"server_{address_digest(self.endpoint.url)}"
        return f"cell_{address_digest(f'{model} {dataset}')}" if self.serve else None

    def charge(self, answer: str, scored_by: str | None = None, options: Sequence[Sequence[str]] = ()) -> Charge | None:
        """Says what asking it costs: a text, a token, or as many tokens and requests as options have spellings."""
        if not self.endpoint:
            return None
        price = self.endpoint.price
        prices = (None, None) if price is None else (price.input, price.output)
        a_text = 1, self.generation.max_tokens
        if answer != "choice" or self.generation.options == "parsed":
            return Charge(*a_text, *prices)
        spelled = fmean(sum(map(len, option_spellings(each))) for each in options) if options else 1
        ways = {"echo": (spelled, spelled), "top": (1, 1), "choice": a_text, "parsed": a_text}
        most = ways["echo"] if self.endpoint.api == "completions" else a_text
        requests, tokens_out = ways[scored_by] if scored_by else map(max, a_text, most)
        is_known = scored_by is not None or most == a_text
        return Charge(requests, tokens_out, *prices)._replace(is_known=is_known)

    @model_validator(mode="after")
    def _has_what_is_served(self) -> GenerativeModel:
        if self.serve and not self.has_checkpoint:
            raise KeysError("expected a `checkpoint`, `folder` or `train` beside `serve`")
        return self

    @model_validator(mode="after")
    def _decides_its_prompts(self) -> GenerativeModel:
        server = self.endpoint or self.serve
        if not self.chat_template and server and server.api != "completions":
            raise KeysError(
                "expected `api: completions` of the server, which asks it plainly, beside `chat_template: false`"
            )
        if self.date != DATE and (server or not self.has_checkpoint):
            raise KeysError("expected `date` only of a model whose prompts are written here: set it on the server")
        return self

    def deciding_keys(self) -> dict[str, Any]:
        """Returns how it writes, and what decides its prompts or a server's answers; or chance's seed, or the file."""
        if self.random:
            return {"random": self.random.model_dump(mode="json")}
        if self.answers:
            return {"answers": self.answers}
        servers = {"endpoint": self.endpoint, "serve": self.serve}
        of_servers = {name: section.deciding_keys() for name, section in servers.items() if section}
        prompts = {} if of_servers else {"chat_template": self.chat_template, "date": self.date}
        return {"generation": self.generation.model_dump(mode="json"), **prompts, **of_servers}
