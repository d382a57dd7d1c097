"""Replications of other projects' numbers: found by the mode that a dataset names, and imported
where one does.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from biasgrid.base.references import load
from biasgrid.families.family import Mode
from biasgrid.families.probe.family import ProbeMode
from biasgrid.families.rewriting.group_words import RewritingMode
from biasgrid.families.statement.read import StatementMode

pytestmark = pytest.mark.family(
    "modes are replications of other projects' numbers by built-in families"
)

OWN_MODES = {"probe": ProbeMode, "rewriting": RewritingMode, "statement": StatementMode}


@pytest.mark.parametrize("family", OWN_MODES)
def test_a_mode_is_ours_or_a_replication_of_its_name(family: str) -> None:
    own: type[Mode] = OWN_MODES[family]
    # Cells are measured again when the code of what `Family.modes` names changes.
    assert load(f"biasgrid.families.{family}.family").FAMILY.modes == own.replications
    assert type(own.of(None)) is own
    for name in own.replications:
        assert isinstance(own.of(name), own)
        assert type(own.of(name)) is not own


@pytest.mark.parametrize("family", OWN_MODES)
def test_a_family_is_planned_without_replications_and_tables(family: str) -> None:
    code = f"import sys, biasgrid.families.{family}.family; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert [
        name for name in loaded if name == "polars" or name.startswith("biasgrid.formats")
    ] == []
