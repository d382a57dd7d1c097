"""Small packs of statements: their files, what is read of them, and their instances."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
from small_estimates import measures_of_cell
from small_tables import whole

from biasgrid.families.sampling import Sample
from biasgrid.families.statement.ask import expand
from biasgrid.families.statement.observe import observe
from biasgrid.families.statement.pack import StatementFiles, StatementPack
from biasgrid.families.statement.read import read

PLAIN = "{statement} Yes or No?"
HEADER = "template_id,template_text,param_1,param_2,constraints,label,negation_of\n"
TEMPLATES = (
    HEADER
    + 'calm,#1 are calmer than #2.,people,people,"neq(#1, #2)",No,\n'
    + 'not-calm,#1 are not calmer than #2.,people,people,"neq(#1, #2)",Yes,calm\n'
    + "kind,#1 are #2.,people,traits,,No,\n"
    + "not-kind,#1 are not #2.,people,traits,,Yes,kind\n"
)
DOMAINS = {"people": "Elves,elf\nPixies,elf\nTrolls,troll\n", "traits": "kind,good\nmean,bad\n"}


def files_of(
    folder: Path,
    templates: str = TEMPLATES,
    domains: Mapping[str, str] = DOMAINS,
    mode: str | None = None,
    repetitions: int = 1,
    sample: Sample | None = None,
    prompt: str = PLAIN,
) -> StatementFiles:
    """Writes the files of a pack."""
    (folder / "domains").mkdir(parents=True, exist_ok=True)
    (folder / "templates.csv").write_text(templates)
    for name, lines in domains.items():
        (folder / "domains" / (name if "." in name else f"{name}.txt")).write_text(lines)
    return StatementFiles(
        folder / "templates.csv",
        folder / "domains",
        mode,
        repetitions,
        sample,
        system=None,
        prompt=prompt,
    )


def pack_of(folder: Path, **options: Any) -> StatementPack:
    """Writes the files of a pack and reads them."""
    pack, faults = read(files_of(folder, **options))
    assert not faults, [str(fault) for fault in faults]
    return pack


def instances_of(folder: Path, **options: Any) -> pl.DataFrame:
    """The instances of a pack."""
    return whole(expand(pack_of(folder, **options)))


def faults_of(folder: Path, **options: Any) -> list[str]:
    """What is wrong with a pack, without the folder's name."""
    return [str(fault).replace(f"{folder}/", "") for fault in read(files_of(folder, **options))[1]]


def measured(
    instances: pl.DataFrame, predictions: pl.DataFrame, mode: str | None = None
) -> pl.DataFrame:
    """The measures of a cell."""
    options = {"measures": None, "failure_threshold": 0.1, "mode": mode}
    return measures_of_cell("statement", observe(instances, predictions, options), options)
