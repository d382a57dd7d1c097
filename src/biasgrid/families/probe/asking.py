"""What a probe asks: its prompts as they are made of the file, before they are a table."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from math import factorial
from pathlib import Path

from biasgrid.families.probe.files.probe import Probe
from biasgrid.families.sampling import Sample

WRITTEN, SCORED = "written", "scored"


@dataclass(frozen=True)
class ProbeFiles:
    """What makes the instances of a dataset.

    Attributes:
        probe: the probe's file.
        answers: `written` or `scored`.
        repetitions: how often each prompt is asked.
        sample: which items are asked, None for all.
    """

    probe: Path
    answers: str
    repetitions: int
    sample: Sample | None


@dataclass(frozen=True)
class Asking:
    """What is asked.

    Attributes:
        files: what makes the instances.
        probe: the probe.
    """

    files: ProbeFiles
    probe: Probe

    @property
    def count(self) -> int:
        """How many instances all items have."""
        head = self.probe.head
        orders = factorial(len(head.options)) if head.orders == "all" else head.orders
        return self.files.repetitions * orders * sum(map(len, self.probe.items))

    def digest(self) -> str:
        """A digest of what makes the instances; what is made of the answers does not count."""
        head = self.probe.head.model_dump(mode="json", include={"system", "question", "options", "orders", "seed"})
        candidates = self.probe.head.evaluator.candidates(list(head["options"])) if self.files.answers == SCORED else {}
        sample = self.files.sample.model_dump() if self.files.sample else None
        told = [head, self.probe.items, candidates, self.files.answers, self.files.repetitions, sample]
        return sha256(json.dumps(told).encode()).hexdigest()[:16]
