"""What Snakemake costs: planning the full grid, and the start of Python with what a job imports."""

from __future__ import annotations

import statistics
import subprocess
import sys
from pathlib import Path

from stopwatch import print_table, seconds_of

COMMANDS = {
    "plan of the 15 x 4 grid (`snakemake -n`)": [sys.executable, "-m", "snakemake", "-n"],
    "plan of the demo grid": [sys.executable, "-m", "snakemake", "-n", "--configfile", "config/demo.yaml"],
    "checks of config and word lists": [
        str(Path(sys.executable).parent / "biasgrid"),
        "validate",
        "config/config.yaml",
    ],
    "a job's imports: torch and transformers": [sys.executable, "-c", "import biasgrid.models.predict, transformers"],
    "an empty Python": [sys.executable, "-c", ""],
}


def main() -> None:
    rows = []
    for name, command in COMMANDS.items():
        times = [seconds_of(lambda: subprocess.run(command, check=True, capture_output=True)) for _ in range(3)]
        rows.append([name, f"{min(times):.2f}", f"{statistics.median(times):.2f}"])
    print_table(["what", "fastest of 3, s", "median, s"], rows)


if __name__ == "__main__":
    main()
