"""Reads the probe of a dataset."""

from __future__ import annotations

from biasgrid.base.faults import Fault
from biasgrid.families.probe.asking import SCORED, Asking, ProbeFiles
from biasgrid.families.probe.files.checks import Checks
from biasgrid.families.probe.files.probe import load_probe


def read(files: ProbeFiles) -> tuple[Asking | None, list[Fault]]:
    """Reads a probe and returns it with every fault that is in it."""
    loaded = load_probe(files.probe)
    if loaded.probe is None:
        return None, list(loaded.faults)
    faults = [*loaded.faults, *Checks(files.probe, loaded.probe).all()]
    head = loaded.probe.head
    if files.answers == SCORED and not head.evaluator.candidates(list(head.options)):
        problem = f"the evaluator {head.evaluator.name!r} has no options whose probabilities could be read"
        faults.append(Fault(str(files.probe), "", problem, "`answers: written` of the dataset"))
    return Asking(files, loaded.probe), list(dict.fromkeys(faults))
