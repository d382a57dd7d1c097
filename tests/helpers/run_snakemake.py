"""Runs Snakemake as `python -m snakemake` would, with the arguments that a variable of the
environment holds.
"""

import json
import os
import sys
from pathlib import Path

from snakemake.cli import main

# There `python -m` looks for modules first.
sys.path[0] = str(Path.cwd())
sys.argv[1:] = json.loads(os.environ.pop("ARGUMENTS"))
main(sys.argv[1:])
