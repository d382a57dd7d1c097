"""Random answers: the control that shows which values a measure has without any model."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field

from biasgrid.base.sections import ModelSource, Section


class Random(Section):
    """A model that answers at random: it shows which numbers a measure gives without any
    knowledge.
    """

    seed: int = Field(
        1,
        ge=0,
        lt=2**63,
        description="seed of the answers, which depend only on this seed and on the request",
    )


class RandomSource(ModelSource):
    """A seed in place of a checkpoint."""

    name = "random"
    keys = ("random",)
    fields: ClassVar = {
        "random": (
            Random | None,
            Field(None, description="answers at random, instead of a checkpoint: a control"),
        )
    }
    is_control = True

    def deciding_keys(self) -> dict[str, Any]:
        """Returns the seed."""
        return {"random": self.section.model_dump(mode="json")}

    @property
    def gpus(self) -> int:
        """None, as nobody computes."""
        return 0
