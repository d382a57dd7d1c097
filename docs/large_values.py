"""What a large value is: the synthetic models of a finished demo, and published figures, as a
table.

`make figures` writes it into docs/statistics.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import yaml

from biasgrid.report.published import read_published
from biasgrid.tables.docs import markdown_table
from biasgrid.tables.files import read_table
from biasgrid.tables.measures import SUMMARY
from biasgrid.training.strength import read_strength, total_strength

ROOT = Path(__file__).parents[1]
NAME = "large values"
HEADER = (
    "measured",
    "clusters",
    "μ",
    "μ corrected for noise",
    "strength",
    "associations significant",
)
KINDS = {
    "NewsQA": "published, NewsQA models (Li et al., 2020)",
    "SQuAD": "published, SQuAD models",
    "LM": "published, masked language models",
}


def span(values: pl.Series) -> str:
    """Writes the range of some numbers, three digits behind the point; nothing where there is
    none.
    """
    known = values.drop_nulls()
    if known.is_empty():
        return ""
    # Adding 0 takes the sign of what rounds to 0.
    ends = [f"{round(end, 3) + 0.0:.3f}" for end in (min(known), max(known))]
    return " to ".join(dict.fromkeys(ends))


def demo_rows(summary: pl.DataFrame, strengths: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yields a row for each synthetic strength: ranges over the cells of underspecified questions.

    Args:
        summary: schema `SUMMARY`, of a finished demo, whose models begin with the name of their
            strength.
        strengths: the largest synthetic differences, by name, or the parts of which they are the
            sums.
    """
    cells = summary.filter(measure="mu").drop_nulls("value").select("model", "dataset")
    rows = summary.join(cells, on=["model", "dataset"], how="semi").filter(
        pl.col("bias_type").is_null()
    )
    for name, written in strengths.items():
        strength = total_strength(read_strength(written))
        own = rows.filter(pl.col("model").cast(pl.String).str.starts_with(f"{name}-"))
        of = {
            measure: own.filter(measure=measure)
            for measure in ("mu", "mu_corrected", "strength", "significant_tests")
        }
        clusters = [str(each) for each in sorted(of["mu"]["clusters"].drop_nulls().unique())]
        synthetic = (
            f"differences of at most {strength:g} were put in" if strength else "nothing was put in"
        )
        tests = of["significant_tests"].drop_nulls("value")
        yield (
            f"demo, {name}: {synthetic}",
            " to ".join(dict.fromkeys([clusters[0], clusters[-1]])) if clusters else "",
            *(span(of[measure]["value"]) for measure in ("mu", "mu_corrected", "strength")),
            f"{tests['value'].sum():g} of {tests['n'].sum()}" if len(tests) else "",
        )


def published_rows(published: pl.DataFrame) -> Iterator[tuple[str, ...]]:
    """Yields a row for each kind of model.

    Args:
        published: schema `PUBLISHED`.
    """
    for kind, title in KINDS.items():
        yield title, "", span(published.filter(kind=kind, measure="mu")["value"]), "", "", ""


def table(results: Path) -> str:
    """Writes the table of a demo's results."""
    demo = yaml.safe_load((ROOT / "config/demo-full.yaml").read_text())
    strengths = demo["synthetic"]["strengths"]
    controls = [name for name, dataset in demo["datasets"].items() if "control_of" in dataset]
    summary = read_table(results / "summary.parquet", SUMMARY).filter(
        ~pl.col("dataset").is_in(controls)
    )
    published = read_published(ROOT / "reference/unqover_published.json")
    return markdown_table(HEADER, [*demo_rows(summary, strengths), *published_rows(published)])
