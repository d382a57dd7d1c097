"""Places of faults in records of users' files."""

from __future__ import annotations

from pathlib import Path

import pytest

from biasgrid.base.faults import Fault
from biasgrid.base.records import Record


@pytest.mark.parametrize(("field", "place"), [("label", "line 3, label"), ("", "line 3")])
def test_a_fault_is_of_a_field_or_of_the_record(field: str, place: str) -> None:
    faults: list[Fault] = []
    record = Record(Path("a.csv"), "line 3", {}, faults)
    record.add_fault(field, "is blank", "a template")
    assert faults == [Fault("a.csv", place, "is blank", "a template")]
    assert not record.is_valid
