"""The figures by name, the modules that hold them, and their captions for Snakemake's own
report.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

from biasgrid.base.references import load

GRID = "grid"
"""The name of what compares all datasets, where a dataset's name would be given."""
SHARED_FOLDER = "drawing"
"""The folder of what figures share."""
MARKS_OF_RST = re.compile(r"([\\*_`|])")


@cache
def figures() -> dict[str, str]:
    """Returns the modules of figures by their names: all modules in the folders beside this one but
    `drawing`.
    """
    files = sorted(path for path in Path(__file__).parent.glob("*/*.py") if path.stem != "__init__")
    folders = {path.stem: path.parent.name for path in files if path.parent.name != SHARED_FOLDER}
    return {name: f"{__package__}.{folder}.{name}" for name, folder in folders.items()}


def captions() -> dict[str, str]:
    """Returns the captions of all figures, by their names."""
    return {name: load(module).CAPTION for name, module in sorted(figures().items())}


def captions_file() -> str:
    """Returns a template of reStructuredText that holds each figure's caption, by the wildcard
    `figure` of its rule.
    """
    escaped = {name: MARKS_OF_RST.sub(r"\\\1", caption) for name, caption in captions().items()}
    return (
        f"{{{{ "
        f"{json.dumps(escaped, indent=2, ensure_ascii=False)}.get(snakemake.wildcards.figure) or "
        f'"" }}}}\n'
    )
