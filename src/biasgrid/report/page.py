"""Builds the report: one HTML file in which every number leads to its sentences, and which needs no
other file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from biasgrid.report import bundle
from biasgrid.report.content import (
    dataset_section,
    definitions,
    headlines,
    measure_tables,
    recovery_rows,
)
from biasgrid.report.first_screen import Screen, first_screen
from biasgrid.report.markdown import code, code_line, escape_markdown, shell
from biasgrid.report.overview import Box
from biasgrid.report.payload import ExampleTexts, blocks, blocks_within_limit, packed_block
from biasgrid.report.published import published_measures, published_rows, with_our_names
from biasgrid.report.run import ReportFigure, ReportRun, ReportTables
from biasgrid.stats.ordering import values_in_order
from biasgrid.tables.claims.numbers import format_number, format_p, with_minus

INDEX = "index.html"
SAMPLE = Box(
    "significant", "", value=0.32, low=0.22, high=0.42, noise=0.05, step=4, axis=(-0.1, 0.5)
)
"""The box of the legend."""
MEGABYTE = 10**6


def build_report(
    run: ReportRun, tables: ReportTables, figures: Sequence[ReportFigure]
) -> dict[str, str]:
    """Builds the report.

    Args:
        run: what was run.
        tables: what was measured.
        figures: the saved figures, in the order of the report.

    Returns:
        By its file name the page `INDEX`, which refers to nothing outside of itself; where its
        numbers alone are larger than `run.megabytes`, a page of the cells of each dataset beside
        it, to which it leads. They name no date, so that the same run gives the same pages.
    """
    template = environment(autoescape=True).get_template("page.html")
    screen = first_screen(run, tables)
    content, content_blocks = content_of(run, tables, figures, screen), blocks(run, tables, screen)

    def page(datasets: Iterable[str], split: Mapping[str, str]) -> str:
        held = {**content_blocks.shared, **split}
        evidence: dict[str, ExampleTexts] = {}
        for dataset in datasets:
            held |= content_blocks.columns[dataset]
            evidence |= content_blocks.evidence[dataset]
        room = limit - len(template.render(content, blocks=held).encode())
        return template.render(content, blocks=held | blocks_within_limit(evidence, max(room, 0)))

    limit = run.megabytes * MEGABYTE
    whole = page(content_blocks.columns, {})
    if len(whole.encode()) <= limit:
        return {INDEX: whole}
    files = {dataset: f"dataset-{dataset}.html" for dataset in content_blocks.columns}
    leading = {
        here: {"split": packed_block({"here": here, "files": files})} for here in (None, *files)
    }
    return {INDEX: page((), leading[None])} | {
        file: page([name], leading[name]) for name, file in files.items()
    }


def content_of(
    run: ReportRun, tables: ReportTables, figures: Sequence[ReportFigure], screen: Screen
) -> dict[str, Any]:
    """Returns what the page shows without a script; see `build_report`."""
    declared = {dataset.name: dataset.measures for dataset in run.datasets}
    published = with_our_names(tables.published, run.models)
    headline_columns = {name: headlines(measures) for name, measures in declared.items()}
    script = bundle.page_script(
        {dataset.family: dataset.reference for dataset in run.datasets if dataset.reference}
    )
    return {
        "run": run,
        "trial": run.facts.trial_text(),
        "policy": bundle.content_security_policy(script),
        # Made by this package and by plugins; what others wrote is within blocks, in letters and
        # digits.
        "script": Markup(script),
        "style": Markup(bundle.page_style()),
        "figures": by_caption(figures),
        "models": {model.name: model for model in run.models},
        "titles": {dataset.name: dataset.title for dataset in run.datasets},
        "scorings": values_in_order(tables.summary.drop_nulls("scoring"), "scoring"),
        "about": list(
            dict.fromkeys(paragraph for dataset in run.datasets for paragraph in dataset.about)
        ),
        "definitions": definitions(declared.values()),
        "screen": screen,
        "sections_of": {
            dataset.name: f"dataset-{place}" for place, dataset in enumerate(run.datasets, 1)
        },
        "sample": SAMPLE if (has_noise := screen.has_noise) else replace(SAMPLE, noise=None),
        "has_noise": has_noise,
        "sections": {
            name: dataset_section(name, measures, vars(tables), run.facts)
            for name, measures in declared.items()
        },
        "controls": {
            name: measure_tables(
                tables.summary,
                tables.measures,
                {of: headline_columns[of] for of in (name, *controls)},
            )
            for name in declared
            if (controls := run.controls.of(name))
        },
        "synthetic": recovery_rows(tables.measures, tables.synthetic, declared, run.strengths),
        "published": published_rows(tables.summary, tables.measures, published),
        "published_measures": published_measures(tables.summary, published),
    }


def by_caption(figures: Sequence[ReportFigure]) -> dict[str, list[Path]]:
    """Returns the files of figures by their caption, which is the same for all datasets."""
    files: dict[str, list[Path]] = {}
    for figure in figures:
        files.setdefault(figure.caption, []).append(figure.svg)
    return files


def markdown_template(name: str) -> Template:
    """Loads a template of Markdown, in which every value is escaped that is not written as code."""
    loading = environment(autoescape=False, finalize=escape_markdown)
    loading.filters |= {"code": code, "ready": code_line}
    loading.globals["shell"] = shell
    return loading.get_template(name)


def environment(autoescape: bool, finalize: Callable[[Any], Any] | None = None) -> Environment:
    """Returns what loads templates.

    Args:
        autoescape: whether every value is escape, as in HTML.
        finalize: what is made of every value in place of that.
    """
    loading = Environment(
        loader=PackageLoader("biasgrid.report", "assets"),
        autoescape=autoescape,
        finalize=finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    loading.filters |= {
        "number": number_format,
        "chance": format_p,
        "minus": with_minus,
        "address": page_address,
        "parts_with": parts_with,
    }
    return loading


def page_address(parts: Iterable[str]) -> str:
    """Returns the address of a page within the report, as `address` of its script makes it."""
    return "#/" + "/".join(quote(part, safe="!*'()") for part in parts)


def parts_with(text: str, *words: str) -> list[str]:
    """Splits a text at some words, which are parts of their own."""
    return re.split(f"({'|'.join(map(re.escape, words))})", text)


def number_format(value: float | None) -> str:
    """Writes a number with three significant digits and a real minus sign, a dash where there is
    none.
    """
    return "\N{EN DASH}" if value is None else with_minus(format_number(value))
