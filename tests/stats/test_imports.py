"""Statistics need little: other parts of scipy take seconds to import."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

JOB = """
import sys
import biasgrid.families.estimates
import biasgrid.stats.compare.all_pairs
from biasgrid.base.references import load, stage_module
from biasgrid.config.registry import BUILT_IN
for family in BUILT_IN.families.values():
    load(stage_module(family, "measures"))
parts = {name.split(".")[1] for name in sys.modules if name.startswith("scipy.")}
print(*sorted(part for part in parts if not part.startswith("_") and part != "version"), "torch" in sys.modules)
"""


def test_jobs_import_the_special_functions_of_scipy_alone() -> None:
    run = subprocess.run([sys.executable, "-c", JOB], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["special", "False"]
