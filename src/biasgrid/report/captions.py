"""The captions of all figures, for Snakemake's own report."""

from __future__ import annotations

import json
import re

from biasgrid.base.references import load
from biasgrid.report.figures import figures

MARKS_OF_RST = re.compile(r"([\\*_`|])")


def captions() -> dict[str, str]:
    """Returns the captions of all figures, by their names."""
    return {name: load(module).CAPTION for name, module in sorted(figures().items())}


def captions_file() -> str:
    """Returns a template of reStructuredText that says what a figure shows, by the wildcard `figure` of its rule."""
    escaped = {name: MARKS_OF_RST.sub(r"\\\1", caption) for name, caption in captions().items()}
    return f'{{{{ {json.dumps(escaped, indent=2, ensure_ascii=False)}.get(snakemake.wildcards.figure) or "" }}}}\n'
