"""What was found out of models stays at hand while a run makes it anew: Snakemake removes it before the job."""

from __future__ import annotations

import shutil
from pathlib import Path


def keep_capabilities(capabilities: Path, kept: Path) -> None:
    """Copies what is there at the beginning of a run; what somebody has removed is found out anew.

    Args:
        able: the folder of what was found out.
        kept: the folder of the copies, which is emptied before.
    """
    shutil.rmtree(kept, ignore_errors=True)
    if capabilities.is_dir():
        shutil.copytree(capabilities, kept)
