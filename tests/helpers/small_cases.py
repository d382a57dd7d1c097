"""Small tables of cases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl
from small_tables import counted, polars_schema

from biasgrid.tables.instances import TEXTS, instances_schema


def cases_of(rows: Sequence[dict[str, Any]]) -> pl.DataFrame:
    """Instances with the given columns; those that models do not read hold anything. `targets` are
    candidates.
    """
    # Tests of models ask BiaXposer's own, which need no family.
    from biasgrid.families.counterfactual.ask import KEYS

    most = max(len(row.get("targets") or ()) for row in rows)
    candidates = [f"candidate{place + 1}" for place in range(most)]
    schema = polars_schema(
        instances_schema(
            KEYS, dict.fromkeys(TEXTS, pl.String) | dict.fromkeys(candidates, pl.Categorical)
        )
    )
    keys = {"case": 0, "template": 0, "bias_type": "age", "group": "old", "term": "old man"}
    each = [{"instance": number, **keys, **row} for number, row in enumerate(rows)]
    words = [dict(zip(candidates, row.get("targets") or (), strict=False)) for row in rows]
    known = [{name: value for name, value in row.items() if name in schema} for row in each]
    filled = [
        dict.fromkeys(schema) | row | beside for row, beside in zip(known, words, strict=True)
    ]
    return counted(pl.DataFrame(filled, schema=schema))
