"""Reads the probe of a dataset, and says what makes its prompts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from math import factorial
from pathlib import Path

from biasgrid.base.faults import Fault
from biasgrid.families.probe.files.checks import ProbeChecks
from biasgrid.families.probe.files.probe import Probe, load_probe
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
class ProbeRequests:
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
        deciding = [head, self.probe.items, candidates, self.files.answers, self.files.repetitions, sample]
        return sha256(json.dumps(deciding).encode()).hexdigest()[:16]


def read(files: ProbeFiles) -> tuple[ProbeRequests | None, list[Fault]]:
    """Reads a probe and returns it with every fault that is in it."""
    loaded = load_probe(files.probe)
    if loaded.probe is None:
        return None, list(loaded.faults)
    faults = [*loaded.faults, *ProbeChecks(files.probe, loaded.probe).all()]
    head = loaded.probe.head
    if files.answers == SCORED and not head.evaluator.candidates(list(head.options)):
        problem = f"the evaluator {head.evaluator.name!r} has no options whose probabilities could be read"
        faults.append(Fault(str(files.probe), "", problem, "`answers: written` of the dataset"))
    return ProbeRequests(files, loaded.probe), list(dict.fromkeys(faults))
