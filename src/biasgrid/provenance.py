"""Who made a table."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import biasgrid

LIBRARIES = ("polars", "torch", "transformers", "tokenizers")


def provenance(**facts: Any) -> dict[str, Any]:
    """Returns the given facts with the versions of this package and of the libraries that numbers depend on."""
    return {
        "biasgrid": biasgrid.__version__,
        "libraries": {name: version(name) for name in LIBRARIES},
        **facts,
    }
