"""Golden outputs of LangFair, and small datasets of rewritten prompts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from golden import FOLDER

from biasgrid.families.rewriting.files.groups import Groups, read_groups

GOLDEN = FOLDER.parent / "langfair"
needs_golden = pytest.mark.skipif(not GOLDEN.is_dir(), reason="no golden files in ../shared/golden/langfair")
LISTS = Path(__file__).parents[2] / "word_lists" / "rewriting"


def golden(name: str) -> list[dict[str, Any]]:
    """The pairs of answers, or the prompts, with what the original makes of them."""
    rows: list[dict[str, Any]] = json.loads((GOLDEN / f"{name}_golden.json").read_text())
    return rows


def groups_of(name: str) -> Groups:
    """Groups of a file of this repository."""
    groups, faults = read_groups(LISTS / f"{name}.yaml")
    assert not faults, [str(fault) for fault in faults]
    assert groups is not None
    return groups
