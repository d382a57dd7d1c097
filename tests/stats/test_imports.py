"""Statistics need little: other parts of scipy take seconds to import."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

JOB = """
import sys
import biasgrid.families.estimates
import biasgrid.families.counterfactual.measures
import biasgrid.families.statement.measures
import biasgrid.families.underspecified.measures
import biasgrid.stats.compare.all_pairs
parts = {name.split(".")[1] for name in sys.modules if name.startswith("scipy.")}
print(*sorted(part for part in parts if not part.startswith("_") and part != "version"), "torch" in sys.modules)
"""


def test_jobs_import_the_special_functions_of_scipy_alone() -> None:
    run = subprocess.run([sys.executable, "-c", JOB], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["special", "False"]
