"""Builds the report: one HTML file that needs no other; its numbers lead to their sentences."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
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
from biasgrid.report.payload import (
    Blocks,
    ExampleTexts,
    blocks,
    blocks_within_limit,
    packed_block,
)
from biasgrid.report.published import published_measures, published_rows, with_our_names
from biasgrid.report.run import ReportFigure, ReportRun, ReportTables
from biasgrid.stats.ordering import values_in_order
from biasgrid.tables.claims.numbers import format_number, format_p, with_minus
from biasgrid.tables.claims.precision import drift_text, precision_names

INDEX = "index.html"
SAMPLE = Box(
    "significant", "", value=0.32, low=0.22, high=0.42, noise=0.05, step=4, axis=(-0.1, 0.5)
)
"""The box of the legend."""
MEGABYTE = 10**6


def build_report(
    run: ReportRun, tables: ReportTables, figures: Sequence[ReportFigure]
) -> dict[str, str]:
    """Builds the pages of the report. They name no date, so the same run gives the same pages.

    Args:
        run: models, datasets and facts of the run.
        tables: the measures of the run.
        figures: the saved figures, in the order of the report.

    Returns:
        HTML by file name. One page, `INDEX`, if all numbers fit in `run.megabytes`; sentences are
        left out until it fits. Otherwise `INDEX` has no cells and leads to one
        `dataset-NAME.html` per dataset. Numbers are never left out, so a page can still be larger.
    """
    template = environment(autoescape=True).get_template("page.html")
    screen = first_screen(run, tables)
    variables = template_variables(run, tables, figures, screen)
    all_blocks = blocks(run, tables, screen)
    page = partial(
        render_page, template, variables, all_blocks, limit_bytes=run.megabytes * MEGABYTE
    )
    datasets = list(all_blocks.numbers_by_dataset)
    whole = page(datasets)
    if len(whole.encode()) <= run.megabytes * MEGABYTE:
        return {INDEX: whole}
    files = {dataset: f"dataset-{dataset}.html" for dataset in datasets}
    pages = {INDEX: page([], split=split_block(None, files))}
    for dataset, file in files.items():
        pages[file] = page([dataset], split=split_block(dataset, files))
    return pages


def render_page(
    template: Template,
    variables: Mapping[str, Any],
    all_blocks: Blocks,
    datasets: Iterable[str],
    *,
    limit_bytes: float,
    split: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Renders a page with the numbers of some datasets, and as many sentences as fit.

    Args:
        template: the template of the page.
        variables: the variables of the template, from `template_variables`.
        all_blocks: the blocks of all datasets.
        datasets: the datasets whose cells the page has.
        limit_bytes: the size of the page above which sentences are left out; numbers are not.
        split: the block by which pages lead to each other; empty if there is one page.
    """
    page_blocks = {**all_blocks.every_page, **split}
    sentences: dict[str, ExampleTexts] = {}
    for dataset in datasets:
        page_blocks |= all_blocks.numbers_by_dataset[dataset]
        sentences |= all_blocks.sentences_by_dataset[dataset]
    room = limit_bytes - len(template.render(variables, blocks=page_blocks).encode())
    page_blocks |= blocks_within_limit(sentences, max(room, 0))
    return template.render(variables, blocks=page_blocks)


def split_block(here: str | None, files: Mapping[str, str]) -> dict[str, str]:
    """Returns the block by which several pages lead to each other.

    Args:
        here: the dataset whose cells the page has; None for the index.
        files: the file of each dataset.
    """
    return {"split": packed_block({"here": here, "files": files})}


def template_variables(
    run: ReportRun, tables: ReportTables, figures: Sequence[ReportFigure], screen: Screen
) -> dict[str, Any]:
    """Returns the variables of the page's template.

    Args:
        run: see `build_report`.
        tables: see `build_report`.
        figures: see `build_report`.
        screen: the first screen, of the same run and tables.
    """
    references = {
        dataset.family: dataset.reference for dataset in run.datasets if dataset.reference
    }
    script = bundle.page_script(references)
    paragraphs = [paragraph for dataset in run.datasets for paragraph in dataset.about]
    return {
        "run": run,
        "trial": run.facts.trial_text(),
        "policy": bundle.content_security_policy(script),
        # Only code of this package and of plugins is not escaped. Texts of others are in blocks,
        # whose compressed content is letters and digits.
        "script": Markup(script),
        "style": Markup(bundle.page_style()),
        "figures": files_by_caption(figures),
        "models": {model.name: model for model in run.models},
        "titles": {dataset.name: dataset.title for dataset in run.datasets},
        "precisions": {
            model.name: precision_names(run.facts.predictions([model.name])) for model in run.models
        },
        "drift": drift_text(run.facts.predictions()),
        "scorings": values_in_order(tables.summary.drop_nulls("scoring"), "scoring"),
        "about": list(dict.fromkeys(paragraphs)),
        "screen": screen,
        "sample": SAMPLE if screen.has_noise else replace(SAMPLE, noise=None),
        "has_noise": screen.has_noise,
        **measure_variables(run, tables),
    }


def measure_variables(run: ReportRun, tables: ReportTables) -> dict[str, Any]:
    """Returns the variables of the page's template that show measures."""
    measures = {dataset.name: dataset.measures for dataset in run.datasets}
    headline_columns = {name: headlines(own) for name, own in measures.items()}
    published_figures = with_our_names(tables.published_figures, run.models)
    anchors, sections, control_tables = {}, {}, {}
    for position, dataset in enumerate(run.datasets, start=1):
        name = dataset.name
        anchors[name] = f"dataset-{position}"
        sections[name] = dataset_section(name, dataset.measures, vars(tables), run.facts)
        controls = run.controls.dataset_controls(name)
        if controls:
            columns = {key: headline_columns[key] for key in (name, *controls)}
            control_tables[name] = measure_tables(tables.summary, tables.measures, columns)
    return {
        "definitions": definitions(measures.values()),
        "anchors": anchors,
        "sections": sections,
        "controls": control_tables,
        "synthetic": recovery_rows(tables.measures, tables.synthetic, measures, run.strengths),
        "published": published_rows(tables.summary, tables.measures, published_figures),
        "published_measures": published_measures(tables.summary, published_figures),
    }


def files_by_caption(figures: Sequence[ReportFigure]) -> dict[str, list[Path]]:
    """Returns the files of figures by caption, which is the same for all datasets of a figure."""
    files: dict[str, list[Path]] = {}
    for figure in figures:
        files.setdefault(figure.caption, []).append(figure.svg)
    return files


def markdown_template(name: str) -> Template:
    """Loads a template of Markdown, in which every value is escaped unless it is code."""
    templates = environment(autoescape=False, finalize=escape_markdown)
    templates.filters |= {"code": code, "ready": code_line}
    templates.globals["shell"] = shell
    return templates.get_template(name)


def environment(*, autoescape: bool, finalize: Callable[[Any], Any] | None = None) -> Environment:
    """Returns the environment that loads the templates in `assets`, with their filters.

    Args:
        autoescape: whether every value is escaped for HTML.
        finalize: a function applied to every value instead of HTML escaping; by default none.
    """
    templates = Environment(
        loader=PackageLoader("biasgrid.report", "assets"),
        autoescape=autoescape,
        finalize=finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {
        "number": number_format,
        "chance": format_p,
        "minus": with_minus,
        "address": page_address,
        "parts_with": parts_with,
    }
    return templates


def page_address(parts: Iterable[str]) -> str:
    """Returns the address of a page within the report, as `address` of its script makes it."""
    return "#/" + "/".join(quote(part, safe="!*'()") for part in parts)


def parts_with(text: str, *words: str) -> list[str]:
    """Splits a text at some words, each of which becomes a part of its own."""
    either = "|".join(map(re.escape, words))
    return re.split(f"({either})", text)


def number_format(value: float | None) -> str:
    """Formats a number with three significant digits and a minus sign; a dash for None."""
    return "\N{EN DASH}" if value is None else with_minus(format_number(value))
