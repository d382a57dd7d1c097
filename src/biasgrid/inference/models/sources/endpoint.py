"""Servers that run already."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import ClassVar

from pydantic import Field

from biasgrid.base.addresses import address_digest
from biasgrid.base.sections import Charge
from biasgrid.inference.models.generation.section import GenerativeModel
from biasgrid.inference.models.servers.section import Endpoint
from biasgrid.inference.models.sources.server import ServerSource
from biasgrid.inference.scorings import ANSWER_KIND as SENTENCES
from biasgrid.inference.surface_forms import sent_forms


class EndpointSource(ServerSource):
    """A server that answers, in place of a checkpoint."""

    name = "endpoint"
    keys = ("endpoint",)
    fields: ClassVar = {
        "endpoint": (
            Endpoint | None,
            Field(None, description="a server that answers, instead of a checkpoint"),
        )
    }

    @property
    def gpus(self) -> int:
        """None, as others compute."""
        return 0

    @property
    def addresses(self) -> list[str]:
        """The server's address."""
        return [self.section.url]

    def probe(self) -> None:
        """Checks that the server answers and has the model; see `check_endpoint`."""
        from biasgrid.inference.models.sources.reachable import check_endpoint

        check_endpoint(self.section)

    def mutex(self, name: str, dataset: str) -> str | None:
        """Returns the server: one job asks a server at a time."""
        return f"server_{address_digest(self.section.url)}"

    def charge(
        self, answer: str, scored_by: str | None = None, option_lists: Sequence[Sequence[str]] = ()
    ) -> Charge | None:
        """Returns the cost of a text, of a token, or of a token and a request for each way to write
        an option.
        """
        assert isinstance(self.model, GenerativeModel)
        price, generation = self.section.price, self.model.generation
        prices = (None, None) if price is None else (price.input, price.output)
        a_text = 1, generation.max_tokens
        if answer == SENTENCES:
            return Charge(1, 1, *prices)
        if answer != "choice" or generation.options == "parsed":
            return Charge(*a_text, *prices)
        spelled = (
            fmean(sum(map(len, sent_forms(forms))) for forms in option_lists) if option_lists else 1
        )
        ways = {"echo": (spelled, spelled), "top": (1, 1), "choice": a_text, "parsed": a_text}
        most = ways["echo"] if self.section.api == "completions" else a_text
        requests, tokens_out = ways[scored_by] if scored_by else map(max, a_text, most)
        is_known = scored_by is not None or most == a_text
        return Charge(requests, tokens_out, *prices)._replace(is_known=is_known)
