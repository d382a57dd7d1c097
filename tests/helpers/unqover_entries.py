"""Files of UnQover that tests write, and what is wrong with one."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from small_cells import one_list, spans
from small_tables import predictions_of

from biasgrid.base.faults import InputError
from biasgrid.formats.unqover.export import output_json, source_json
from biasgrid.formats.unqover.reading import read_unqover

Entries = dict[str, Any]
ANN_BEA = "None|None|Ann|Bea|0|sort 0|did 0|did 0"
BEA_ANN = "None|None|Bea|Ann|0|sort 0|did 0|did 0"
ITEM = "|0|sort 0|did 0|did 0"


def answered(instances: pl.DataFrame) -> pl.DataFrame:
    """Predictions that differ everywhere."""
    score = (np.arange(instances.height) + 1) / (2 * instances.height)
    return spans(instances, score, score / 2)


def masked(instances: pl.DataFrame) -> pl.DataFrame:
    return predictions_of("choice", instances, probabilities=answered(instances)["starts"])


def source_entries() -> Entries:
    return json.loads("".join(source_json(one_list(2))))


def span_entries() -> Entries:
    return json.loads("".join(output_json(one_list(2), answered(one_list(2)), "exact")))


def mask_entries() -> Entries:
    return json.loads("".join(output_json(one_list(2), masked(one_list(2)), "exact")))


def fault_of(folder: Path, content: str | bytes) -> str:
    path = folder / "file.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError) as error:
        read_unqover(path)
    (fault,) = error.value.faults
    assert fault.file == str(path)
    assert fault.expected
    return str(fault)


def changed(change: Callable[[Entries], Any], of: Callable[[], Entries] = source_entries) -> str:
    entries = of()
    change(entries)
    return json.dumps(entries, indent=4)


def renamed(old: str, new: str) -> Callable[[Entries], Any]:
    return lambda entries: entries.update({new: entries.pop(old)})


def setting(value: Any, *path: str) -> Callable[[Entries], Any]:
    def change(entries: Entries) -> None:
        place = entries[BEA_ANN]
        for name in path[:-1]:
            place = place[name]
        place[path[-1]] = value

    return change


def answering(one: str, two: str) -> Callable[[Entries], Any]:
    """Sets the answers of both questions."""

    def change(entries: Entries) -> None:
        for question in ("q0", "q1"):
            entries[BEA_ANN][question]["ans0"]["text"] = one
            entries[BEA_ANN][question]["ans1"]["text"] = two

    return change
