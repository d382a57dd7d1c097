"""What a config may say of generative models: where they answer, on this machine or elsewhere.

Light, as it is imported while a config is read; and apart from `section`, so that no other source of answers is part of
the code that reads local weights.
"""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field

from biasgrid.model_section import Model
from biasgrid.models.generation.section import Generation
from biasgrid.models.servers.section import Endpoint
from biasgrid.section import Section


class Random(Section):
    """A model that knows nothing: what a measure says of it is what it says of no model at all."""

    seed: int = Field(1, ge=0, lt=2**63, description="seed of its answers; of it and of what is asked they depend")


class GenerativeModel(Model):
    """A model that writes; it has the keys of `Model` and these."""

    SOURCES: ClassVar[tuple[str, ...]] = (*Model.SOURCES, "endpoint", "random")

    generation: Generation = Field(Generation(), description="how it writes texts")
    endpoint: Endpoint | None = Field(None, description="a server that answers, in place of a checkpoint")
    random: Random | None = Field(None, description="answers at random, in place of a checkpoint: a control")

    @property
    def source(self) -> str:
        """What gives its answers: what other models have, or the key that stands in place of a checkpoint."""
        return "endpoint" if self.endpoint else "random" if self.random else super().source

    def deciding_keys(self) -> dict[str, Any]:
        """Returns how it writes texts, and of a server what of its section decides answers; or the seed of chance."""
        if self.random:
            return {"random": self.random.model_dump(mode="json")}
        servers = {"endpoint": self.endpoint}
        of_servers = {name: section.deciding_keys() for name, section in servers.items() if section}
        return {"generation": self.generation.model_dump(mode="json"), **of_servers}
