"""The report of fifteen models on four simulated datasets of full size: its megabytes, and seconds
to draw pages.

With the path of another checkout's `src` both build it in turns, and no page is drawn:

    python benchmarks/report.py [--folder FOLDER] [--against ../before/src] [--rounds 3]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from stopwatch import medians_in_turns, print_table

MODELS = [f"model-{number}" for number in range(15)]
SHAPES = {"gender": (140, 70), "nationality": (69, 64), "ethnicity": (15, 50), "religion": (11, 50)}
"""Subjects and attributes."""
DIFFERENCES = {"gender": 205, "nationality": 137, "ethnicity": 70, "religion": 66}
"""So many of each pair of models rule compare keeps, as `comparisons.py` tells."""
PLACES = ["station", "office", "market", "school"]
TEMPLATES = [
    f"[subj1] and [subj2] met at the {place} and talked for a while about the weather."
    for place in PLACES
]
SHARED = {"options": "", "n": 112, "left_out": 0}
PAGES = {
    "grid": "#/",
    "cell": "#/cell/model-3/gender",
    "evidence": "#/cell/model-3/gender/subject%207/attribute%209",
    "two models": "#/compare/gender/model-1/model-2",
    "profile": "#/subject/gender/subject%207",
    "dataset": "#/dataset/gender",
    "run": "#/run",
}


def tables_of_cell(random: Any, model: str, dataset: str) -> dict[str, Any]:
    """Returns simulated tables of a cell: all associations, and the sentences of as many as are
    kept.
    """
    import polars as pl

    subjects, attributes = (
        pl.DataFrame({name: [f"{name} {number}" for number in range(count)]})
        for name, count in zip(("subject", "attribute"), SHAPES[dataset], strict=True)
    )
    pairs = subjects.join(attributes, how="cross")
    spread = random.gamma(2, 0.02, len(pairs))
    gamma = pairs.with_columns(
        measure=pl.lit("share_gamma"), value=random.normal(0, 0.1, len(pairs))
    )
    eta = pairs.with_columns(measure=pl.lit("eta"), value=random.uniform(-1, 1, len(pairs)))
    wholes = pl.DataFrame(
        {"measure": ["share_mu", "eta", "delta", "epsilon"], "value": random.random(4) / 2}
    )
    known = gamma.with_columns(
        low=gamma["value"] - spread,
        high=gamma["value"] + spread,
        q=random.random(len(pairs)),
        generalises_to=pl.lit("clusters"),
        clusters=4,
        method=pl.lit("t"),
    )
    examples, parts = evidence(random, gamma, subjects)
    tables = {
        "measures": pl.concat([known, eta, wholes], how="diagonal"),
        "examples": examples,
        "parts": parts,
    }
    return {
        name: table.with_columns(model=pl.lit(model), dataset=pl.lit(dataset))
        for name, table in tables.items()
    }


def evidence(random: Any, gamma: Any, subjects: Any) -> tuple[Any, Any]:
    """Returns three swap groups of each association that has evidence, and its means by template
    and partner.
    """
    import polars as pl

    from biasgrid.families.underspecified.show import choose_associations

    named = choose_associations(gamma).with_columns(
        pl.col("subject", "attribute").cast(pl.String), measure=pl.lit("share_gamma")
    )
    others = subjects.rename({"subject": "other"}).with_row_index("template")
    others = others.with_columns(pl.col("template") % len(PLACES))
    of_named = named.select("subject", "attribute", "measure")
    means = [
        of_named.join(others.select(each).unique(maintain_order=True), how="cross")
        for each in others.columns
    ]
    parts = [each.with_columns(value=random.normal(0, 0.1, len(each)), n=8) for each in means]
    groups = named.join(pl.DataFrame({"role": ["strongest", "typical", "contrary"]}), how="cross")
    groups = pl.concat(
        [groups, others[random.integers(0, len(others), len(groups))]], how="horizontal"
    ).with_columns(
        unit=random.integers(0, 5_000_000, len(groups)),
        unit_value=random.normal(0, 0.3, len(groups)),
    )
    asked = pl.DataFrame(
        {"swapped": [False, False, True, True], "negated": [False, True, False, True]}
    )
    rows = groups.join(asked, how="cross").with_row_index("instance")
    first, second = (
        pl.when(pl.col("swapped") == order).then("subject").otherwise("other")
        for order in (False, True)
    )
    place = pl.col("template").replace_strict(range(len(PLACES)), PLACES)
    never = pl.when("negated").then(pl.lit("never ")).otherwise(pl.lit(""))
    scores = {name: random.random(len(rows)) for name in ("score", "other_score")}
    examples = rows.with_columns(
        text=pl.format("Who {}had {}?", never, "attribute"),
        text_pair=pl.format(
            "{} and {} met at the {} and talked for a while about the weather.",
            first,
            second,
            place,
        ),
        said=first,
        position=0,
        length=10,
        other_position=15,
        other_length=10,
        **scores,
    )
    return examples, pl.concat(parts, how="diagonal")


def compared(random: Any, dataset: str) -> Any:
    """Returns simulated differences between all pairs of models."""
    import polars as pl

    pairs = [(one, other) for place, one in enumerate(MODELS) for other in MODELS[place + 1 :]]
    rows = pl.DataFrame(pairs, schema=["model", "other_model"], orient="row")
    rows = rows.join(pl.DataFrame({"row": range(DIFFERENCES[dataset])}), how="cross").drop("row")
    numbers = {
        name: random.normal(0, 0.2, len(rows))
        for name in ("value", "other_value", "difference", "low", "high")
    }
    about = {
        name: pl.Series([f"{name} {number}" for number in random.integers(0, count, len(rows))])
        for name, count in zip(("subject", "attribute"), SHAPES[dataset], strict=True)
    }
    rows = rows.with_columns(
        q=random.random(len(rows)) / 20, tests=pl.lit(1000), **numbers, **about
    )
    return rows.with_columns(dataset=pl.lit(dataset), measure=pl.lit("share_gamma"))


def ranks(dataset: str) -> Any:
    """Returns simulated ranks of all models."""
    import polars as pl

    places = pl.DataFrame({"model": MODELS, "rank": range(1, len(MODELS) + 1)})
    rows = pl.DataFrame({"measure": ["share_mu", "delta", "epsilon"]}).join(places, how="cross")
    ends = {"rank_low": pl.lit(1), "rank_high": pl.lit(len(MODELS)), "models": pl.lit(len(MODELS))}
    return rows.with_columns(
        dataset=pl.lit(dataset), set=pl.lit(0), value=pl.col("rank") / 100, **ends
    )


def whole(tables: list[Any], schema: Any) -> Any:
    """Puts tables below each other, with all columns of a schema."""
    import polars as pl

    from biasgrid.tables.files import empty_table

    empty = empty_table(schema)
    told = pl.concat(tables, how="diagonal_relaxed")
    told = told.with_columns(
        pl.lit(value).alias(name) for name, value in SHARED.items() if name not in told.columns
    )
    known = told.select(name for name in told.columns if name in empty.columns)
    return (
        pl.concat([empty, known], how="diagonal_relaxed").cast(empty.schema).select(empty.columns)
    )


def simulated() -> tuple[Any, Any]:
    """Returns what was run, and tables of all cells."""
    import numpy as np
    import polars as pl

    from biasgrid.families.underspecified.family import DEFINITIONS
    from biasgrid.report.published import PUBLISHED_SCHEMA
    from biasgrid.report.run import ReportDataset, ReportModel, ReportRun, ReportTables
    from biasgrid.stats.verdicts.summary import summarise
    from biasgrid.tables.comparison import COMPARISONS, RANKS
    from biasgrid.tables.evidence import EVIDENCE, EVIDENCE_PARTS
    from biasgrid.tables.files import empty_table
    from biasgrid.tables.measures import MEASURES, SYNTHETIC
    from biasgrid.tables.summary import ModelFacts

    random = np.random.default_rng(1)
    cells = [tables_of_cell(random, model, dataset) for model in MODELS for dataset in SHAPES]
    schemas = {"measures": MEASURES, "examples": EVIDENCE, "parts": EVIDENCE_PARTS}
    tables = {
        name: whole([cell[name] for cell in cells], schema) for name, schema in schemas.items()
    }
    facts = {name: ModelFacts("QA", name, {}) for name in MODELS}
    measured = set(tables["measures"]["measure"])
    definitions = {
        name: each for name, each in DEFINITIONS.select("measures").items() if name in measured
    }
    headlines = {
        name: each.headline for name, each in definitions.items() if each.headline is not None
    }
    made = summarise(tables["measures"], facts, dict.fromkeys(SHAPES, headlines))
    comparisons = whole([compared(random, dataset) for dataset in SHAPES], COMPARISONS)
    others = {
        "comparisons": comparisons,
        "ranks": whole([ranks(dataset) for dataset in SHAPES], RANKS),
    }
    others |= {
        "synthetic": empty_table(SYNTHETIC),
        "published_figures": pl.DataFrame(schema=PUBLISHED_SCHEMA),
    }
    family = "underspecified"
    about = partial(
        ReportDataset, family=family, reference=f"biasgrid.families.{family}", templates=TEMPLATES
    )
    datasets = [about(name, name, (DEFINITIONS.about,), definitions, {}) for name in SHAPES]
    models = [
        ReportModel(name, "QA", name, "question-answering", name, "simulated") for name in MODELS
    ]
    run = ReportRun("Fifteen models, simulated", "config/full.yaml", {}, models, datasets)
    return run, ReportTables(**made._asdict(), **tables, **others)


def build(path: Path) -> tuple[float, float]:
    """Writes the report; returns the megabytes of its page and the processor's seconds."""
    from biasgrid.report.page import INDEX, build_report

    run, tables = simulated()
    start = time.process_time()
    pages = build_report(run, tables, ())
    seconds = time.process_time() - start
    if list(pages) != [INDEX]:
        sys.exit(f"it is too large for one page: {', '.join(pages)}")
    path.write_text(pages[INDEX], encoding="utf-8")
    return path.stat().st_size / 1e6, seconds


def drawn(page: Any, act: Any) -> float:
    """Returns the seconds until a page has been drawn once more."""
    count = "Number(document.documentElement.dataset.ready ?? 0)"
    before, start = page.evaluate(count), time.perf_counter()
    act()
    while page.evaluate(count) in (0, before):
        time.sleep(0.005)
    page.evaluate("document.body.getBoundingClientRect().height")
    return time.perf_counter() - start


def pages(path: Path) -> list[list[str]]:
    """Returns of each page the seconds to draw it from its file, and from the grid."""
    from playwright.sync_api import sync_playwright

    rows = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for name, address in PAGES.items():
            cold, warm = browser.new_page(), browser.new_page()
            opened = drawn(cold, partial(cold.goto, path.as_uri() + address))
            drawn(warm, partial(warm.goto, path.as_uri()))
            go = partial(warm.evaluate, "address => { location.hash = address; }", address)
            rows.append(
                [name, f"{opened:.2f}", "-" if address == "#/" else f"{drawn(warm, go):.2f}"]
            )
            cold.close()
            warm.close()
        browser.close()
    return rows


def print_against(before: str, rounds: int) -> None:
    """Prints the seconds of the processor that building takes with another package and with this
    one, in turns.
    """

    def build_once(source: str) -> tuple[float, float]:
        command = [sys.executable, __file__, "--once"]
        environment = os.environ | {"PYTHONPATH": source}
        done = subprocess.run(
            command, env=environment, check=True, stdout=subprocess.PIPE, text=True
        )
        megabytes, seconds = map(float, done.stdout.split())
        return seconds, megabytes

    sources = {"before": before, "now": str(Path(__file__).parents[1] / "src")}
    medians = medians_in_turns(
        {name: partial(build_once, each) for name, each in sources.items()}, rounds
    )
    rows = [
        [name, f"{seconds:.2f}", f"{seconds / medians['before'][0]:.2f}", f"{megabytes:.2f}"]
        for name, (seconds, megabytes) in medians.items()
    ]
    print_table(["package", "seconds of the processor", "ratio", "MB"], rows)


def main() -> None:
    from biasgrid.jobs.fork_server import ENVIRONMENT

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", help="where the page is kept")
    parser.add_argument("--against", help="`src` of the checkout to compare with")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--once", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    # One thread, as in the job that writes a report: a second one waits for the first in each small
    # product, busily.
    os.environ.update(ENVIRONMENT)
    with TemporaryDirectory() as name:
        path = Path(given.folder or name, "report.html")
        if given.against:
            print_against(given.against, given.rounds)
            return
        megabytes, seconds = build(path)
        if given.once:
            print(megabytes, seconds)
            return
        print_table(
            ["MB", "seconds of the processor to build it"], [[f"{megabytes:.2f}", f"{seconds:.1f}"]]
        )
        print_table(["page", "opened, s", "from the grid, s"], pages(path))


if __name__ == "__main__":
    main()
