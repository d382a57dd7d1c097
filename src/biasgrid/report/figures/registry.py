"""The figures by name, their modules, and their captions for Snakemake's own report."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

from biasgrid.base.references import load

GRID = "grid"
"""Stands in for a dataset name in figures that compare all datasets."""
SHARED_FOLDER = "drawing"
"""Folder of shared drawing code, which has no figures."""
RST_SYMBOLS = re.compile(r"([\\*_`|])")


@cache
def figures() -> dict[str, str]:
    """Returns the module of each figure, by name.

    Every module in a folder beside this one, but for `drawing`, is a figure.
    """
    files = sorted(path for path in Path(__file__).parent.glob("*/*.py") if path.stem != "__init__")
    folders = {path.stem: path.parent.name for path in files if path.parent.name != SHARED_FOLDER}
    return {name: f"{__package__}.{folder}.{name}" for name, folder in folders.items()}


def captions() -> dict[str, str]:
    """Returns the captions of all figures, by their names."""
    return {name: load(module).CAPTION for name, module in sorted(figures().items())}


def captions_file() -> str:
    """Returns a template of reStructuredText with the caption of each figure.

    Snakemake renders it with the wildcards of the rule, of which `figure` picks the caption.
    """
    texts = {name: RST_SYMBOLS.sub(r"\\\1", caption) for name, caption in captions().items()}
    return (
        f"{{{{ "
        f"{json.dumps(texts, indent=2, ensure_ascii=False)}.get(snakemake.wildcards.figure) or "
        f'"" }}}}\n'
    )
