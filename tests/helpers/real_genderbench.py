"""GenderBench itself, for tests that compare with it: where a variable names its wheel or the
folder where it is.
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import genderbench_itself
import pytest
from shared import made_once

from biasgrid.formats.genderbench.package import import_probes, open_genderbench

PACKAGE = os.environ.get("BIASGRID_GENDERBENCH", "")
MADE = (
    "Bbq",
    "BusinessVocabulary",
    "Direct",
    "HiringAn",
    "Inventories",
    "JobsLum",
    "RelationshipLevy",
)
"""The probes that `made` has: those of the golden files, and those that need data beside their
logs.
"""


def logs_of_itself(factory: pytest.TempPathFactory) -> Path:
    """The folder with what GenderBench itself makes of answers; see `genderbench_itself`."""
    return made_once(factory, "genderbench-itself", ask_itself)


def ask_itself(folder: Path) -> None:
    with open_genderbench(Path(PACKAGE)) as source:
        command = [sys.executable, genderbench_itself.__file__, str(source), str(folder)]
        subprocess.run(command, check=True, capture_output=True)


def made(factory: pytest.TempPathFactory) -> Path:
    """The folder with probes that `biasgrid import genderbench` makes of the package."""
    return made_once(
        factory, "genderbench-probes", partial(import_probes, Path(PACKAGE), probes=",".join(MADE))
    )
