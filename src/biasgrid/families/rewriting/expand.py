"""Turns prompts into instances: one for each prompt, group and repetition."""

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
    bias_type = requests.groups.bias_type
    rows = []
    for prompt in requests.rewritten_prompts():
        versions = zip(prompt.groups, prompt.texts, prompt.systems, strict=True)
        for group, text, system in versions:
            rows.append(
                (text, system, prompt.prompt, bias_type, group, prompt.original, prompt.words)
            )
    table = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    repetitions = requests.files.repetitions
    if repetitions > 1:
        table = table.select(pl.all().repeat_by(repetitions).explode())
    table = table.with_columns(repetition=pl.int_range(pl.len()) % repetitions)
    usable = len(requests.usable)
    facts = {"prompts": len(requests.prompts), "prompts_with_words_of_groups": usable}
    coverage = coverage_of_design(
        {"prompts": len(requests.sampled), "rows": len(table)},
        {"prompts": usable, "rows": requests.count},
    )
    return expand_rows(table, KEYS, facts | coverage)
