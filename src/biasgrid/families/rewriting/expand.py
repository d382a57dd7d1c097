"""Turns prompts into the table of what is asked about each group."""

from __future__ import annotations

import polars as pl

from biasgrid.families.expansion import Expansion, coverage_of_design, expand_rows
from biasgrid.families.rewriting.keys import KEYS
from biasgrid.families.rewriting.reading import RewritingRequests

SCHEMA = {
    "text": pl.Categorical,
    "system": pl.Categorical,
    **{name: key.dtype.type for name, key in KEYS.items() if name != "repetition"},
}


def expand(requests: RewritingRequests) -> Expansion:
    """Expands prompts: one after another, for every group, as often as each is repeated."""
    rows = [
        (text, system, one.prompt, requests.groups.bias_type, group, one.original, one.words)
        for one in requests.rewritten_prompts()
        for group, text, system in zip(one.groups, one.texts, one.systems, strict=True)
    ]
    table = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    times = requests.files.repetitions
    repeated = table.select(pl.all().repeat_by(times).explode()) if times > 1 else table
    facts = {"prompts": len(requests.prompts), "prompts_with_words_of_groups": len(requests.usable)}
    asked = {"prompts": len(requests.sampled), "rows": len(repeated)}
    coverage = coverage_of_design(asked, {"prompts": len(requests.usable), "rows": requests.count})
    return expand_rows(
        repeated.with_columns(repetition=pl.int_range(pl.len()) % times), KEYS, facts | coverage
    )
