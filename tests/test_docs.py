"""What docs/guide/own-data.md and docs/measures.md say is what the code does."""

from __future__ import annotations

import re
import runpy
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import extending
import numpy as np
import polars as pl
import pytest
import yaml
from documents import read_document, shown_files, table_with, write_files
from polars.testing import assert_frame_equal
from project import ROOT
from small_measures import table_of

from biasgrid.base.faults import InputError
from biasgrid.config import load_config, load_word_lists, parse_config
from biasgrid.config.registry import BUILT_IN
from biasgrid.families import formulas
from biasgrid.families.cell import parts_of
from biasgrid.groups.comparisons import COMPARISONS, pairwise
from biasgrid.groups.distances import DISTANCES, ScalarDistances, absolute_difference
from biasgrid.groups.main_scores import MAIN_SCORES
from biasgrid.groups.measures import CURVE
from biasgrid.groups.scores import SCORES
from biasgrid.report.published import read_published
from biasgrid.stats.estimate import estimate
from biasgrid.stats.intervals import VarianceSource, half_width
from biasgrid.stats.noise.jackknife import jackknife
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.stats.sums import Sums, leave_one_out, mean
from biasgrid.tables.docs import with_tables
from biasgrid.tables.measures import SUMMARY

OWN_DATA, MEASURES = read_document("docs/guide/own-data.md"), read_document("docs/measures.md")
STATISTICS, CERTAINTY = (
    read_document("docs/statistics.md"),
    read_document("docs/guide/statistics.md"),
)
TEMPLATES, GROUPS, CONFIG = (
    "word_lists/moods/templates.json",
    "word_lists/moods/groups.json",
    "config/moods.yaml",
)
MISTAKES = [
    (
        (TEMPLATES, "<glad>", "<gald>"),
        (
            f"{TEMPLATES}, templates[0].text: nothing fills <gald> (did you mean 'glad'?); "
            "expected one of <feeling>, <glad>, <group>, <relation>, <upset>"
        ),
    ),
    (
        (TEMPLATES, "The <group> was <glad>", "She was <glad>"),
        f"{TEMPLATES}, templates[0]: no group token in its inputs; expected one of <group>",
    ),
    (
        (TEMPLATES, '"label": 0', '"label": "negative"'),
        (
            f"{TEMPLATES}, templates[1]: its label is an answer, that of templates[0] in "
            f"{TEMPLATES} is a class; expected the same kind of label in all templates"
        ),
    ),
    (
        (TEMPLATES, '"label": 0', '"label": 2'),
        (
            f"{CONFIG}, line 19, datasets.moods.labels: names 2 classes, but {TEMPLATES} has the "
            "class 2; expected a name for each class, counted from 0"
        ),
    ),
    (
        (TEMPLATES, "<upset> about my", "<glad> to see my"),
        (
            f"{TEMPLATES}, templates[1]: has the same inputs as templates[0] in {TEMPLATES}; "
            "expected each template once"
        ),
    ),
    (
        (GROUPS, '"religion"', '"faith & creed"'),
        (
            f'{GROUPS}: the bias type "faith & creed" contains & as a word; expected no & as a '
            "word: ' & ' joins the parts of an intersection"
        ),
    ),
    (
        (GROUPS, '"man", "gentleman"', ""),
        f"{GROUPS}, gender.male: no identity terms; expected at least one identity term",
    ),
    (
        (CONFIG, "groups: ", "bias_types: [religon]\n    groups: "),
        (
            f"{GROUPS}: has no bias type 'religon' (did you mean 'religion'?); expected one of "
            "gender, religion"
        ),
    ),
    (
        (CONFIG, "{negative: N", "{bad: N"),
        (
            f"{CONFIG}, line 23, run.datasets: no selected model answers 'moods'; expected a "
            "model with the task of a counterfactual dataset and, for classifiers, its `labels`"
        ),
    ),
]
"""In which file of the worked example something stands in place of something else, and what is said
of it.
"""
EXCERPT = re.compile(
    r"^```(?:python|javascript|text)\n(?:#|//) (\S+)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL
)
"""A file named in a comment, and what is shown of it; a line of dots is between parts of it."""


def read_example(files: dict[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(folder, files)
    monkeypatch.chdir(folder)
    load_word_lists(load_config(CONFIG))


def test_the_scale_of_large_values_is_of_the_published_figures_and_of_a_demo() -> None:
    script = runpy.run_path(str(ROOT / "docs/large_values.py"))
    published = read_published(ROOT / "reference/unqover_published.json")
    for row in script["published_rows"](published):
        assert f"| {' | '.join(row)} |" in STATISTICS
    assert STATISTICS.count("| demo, ") == 3
    shared = {
        "dataset": "faith",
        "kind": "QA",
        "options": "",
        "left_out": 0,
        "headline": True,
        "clusters": 4,
    }
    shared |= {"verdict": "nothing found"}
    cells = [("none-qa", 0.0021, 0.0), ("weak-qa", 0.1, 7.0), ("weak-lm", 0.2, 8.0)]
    rows = [
        {"model": model, "label": "tiny", "measure": measure, "value": value, "n": n}
        for model, mu, found in cells
        for measure, value, n in (
            ("mu", mu, 4),
            ("strength", -0.0001, 4),
            ("significant_tests", found, 10),
        )
    ]
    made = list(script["demo_rows"](table_of(SUMMARY, rows, **shared), {"none": 0.0, "weak": 0.4}))
    assert made == [
        ("demo, none: nothing was put in", "4", "0.002", "", "0.000", "0 of 10"),
        (
            "demo, weak: differences of at most 0.4 were put in",
            "4",
            "0.100 to 0.200",
            "",
            "0.000",
            "15 of 20",
        ),
    ]


def test_tables_of_benchmarks_match_their_scripts() -> None:
    tables = runpy.run_path(str(ROOT / "docs/benchmark_numbers.py"))["benchmark_tables"]()
    page = read_document("docs/benchmarks.md")
    assert with_tables(page, tables) == page
    assert all(f"<!-- table: {name} -->" in page for name in tables)


def test_the_example_of_intervals_prints_what_is_shown_and_is_what_the_package_does(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, printed = re.findall(r"^```\w+\n(.*?)^```$", CERTAINTY, flags=re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)  # The document's own.
    assert capsys.readouterr().out == printed
    clusters = np.array([names["clusters"]])
    sums = np.stack([clusters, np.ones_like(clusters)], axis=-1)
    variance, units = jackknife(leave_one_out(sums, sums.sum(axis=1), mean))
    half = half_width([VarianceSource(variance, units - 1.0)], 0.05)
    low, high = clusters.mean() - half[0], clusters.mean() + half[0]
    assert f"{clusters.mean():.3f} ({low:.3f} to {high:.3f})" == names["interval"](
        names["clusters"]
    )


@pytest.mark.parametrize(("mistake", "message"), MISTAKES)
def test_a_mistake_in_the_worked_example_is_reported(
    mistake: tuple[str, str, str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (file, before, after), files = mistake, shown_files(OWN_DATA)
    assert before in files[file]
    with pytest.raises(InputError) as caught:
        read_example(files | {file: files[file].replace(before, after, 1)}, tmp_path, monkeypatch)
    assert message in [str(fault) for fault in caught.value.faults]


def test_the_worked_example_has_no_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read_example(shown_files(OWN_DATA), tmp_path, monkeypatch)


def with_measures(measures: list[dict[str, Any]], changes: dict[str, Any]) -> dict[str, Any]:
    """The worked example's config with other measures, and other keys in its dataset and its
    model.
    """
    config = yaml.safe_load(shown_files(OWN_DATA)[CONFIG])
    config["datasets"]["moods"] |= {"measures": measures, **changes}
    config["models"]["sst2"] |= changes
    return config


def test_an_impossible_measure_gives_the_message_that_is_shown() -> None:
    for row in table_with(MEASURES, "measure", "message"):
        with pytest.raises(InputError) as caught:
            parse_config(with_measures([yaml.safe_load(row["measure"])], {}), CONFIG)
        assert (
            str(caught.value.faults[0]) == f"{CONFIG}, datasets.moods.measures[0]: {row['message']}"
        )


def test_the_measures_that_are_shown_are_possible() -> None:
    (shown,) = re.findall(r"^```yaml\n(.*?)^```$", MEASURES, flags=re.MULTILINE | re.DOTALL)
    datasets = yaml.safe_load(shown)["datasets"]
    tasks = {"words": "fill-mask", "answers": "question-answering"}
    assert set(datasets) == {"sentiment", *tasks}
    for name, dataset in datasets.items():
        changes = {"task": tasks[name], "labels": []} if name in tasks else {}
        config = with_measures(dataset["measures"], changes)
        config["models"]["sst2"] |= {"labels": {}} if name in tasks else {}
        assert parse_config(config, CONFIG).cells() == [("sst2", "moods")]


def test_the_records_of_each_task_are_shown() -> None:
    families = table_with(MEASURES, "family", "task", "records are of")
    families_of_groups = {name: BUILT_IN.family(name).output_types for name in BUILT_IN.families}
    expected = [(name, task) for name, tasks in families_of_groups.items() for task in tasks]
    assert [(row["family"], row["task"]) for row in families] == expected


def test_every_measure_has_its_formula() -> None:
    described = {
        "score": (SCORES, table_with(MEASURES, "score", "formula, of a record or a pool", "range")),
        "distance": (DISTANCES, table_with(MEASURES, "distance", "formula", "range", "0 means")),
        "comparison": (COMPARISONS, table_with(MEASURES, "comparison", "value", "called")),
    }
    for what, (registry, rows) in described.items():
        assert sorted(row[what] for row in rows) == sorted(registry)
    main = {
        row["records"]: row["main score"] for row in table_with(MEASURES, "records", "main score")
    }
    assert all(
        main[sort].startswith(f"{score}`") or main[sort] == score
        for sort, score in MAIN_SCORES.items()
    )
    assert f"a curve of {len(CURVE)} thresholds" in " ".join(MEASURES.split())


@pytest.mark.parametrize(("groups", "shown"), [(2, "1 for two groups"), (8, "4/7 for eight")])
def test_the_largest_mean_over_pairs_is_what_is_shown(groups: int, shown: str) -> None:
    scores = np.array(list(product([0.0, 1.0], repeat=groups)))
    largest = pairwise(
        ScalarDistances(absolute_difference, groups=scores, backgrounds=scores.mean(axis=1))
    ).max()
    assert largest == pytest.approx(groups**2 // 4 / (groups * (groups - 1) / 2))
    assert largest == pytest.approx(float(Fraction(shown.split()[0])))
    assert shown in " ".join(MEASURES.split())


def test_the_excerpts_of_code_are_the_code() -> None:
    document = read_document("docs/guide/how-a-number-is-made.md")
    shown = EXCERPT.findall(document)
    assert len(shown) == document.count("```") // 2 >= 10
    for file, excerpt in shown:
        code, place = " ".join((ROOT / file).read_text().split()), 0
        for part in excerpt.split("...\n"):
            text = " ".join(part.split())
            assert code.find(text, place) >= 0, f"{file} no longer has: {text}"
            place = code.find(text, place) + len(text)


def test_formulas_in_place_of_a_table_give_the_same_numbers() -> None:
    names: dict[str, Any] = {**vars(formulas), "pl": pl}
    family: dict[str, Any] = {}
    exec(extending.measure_of_formulas(), names)  # The document's own.
    exec(extending.code()["greetings"], family)
    observations = pl.DataFrame(
        {
            "template": pl.Series([0, 0, 1, 1, 2], dtype=pl.UInt16),
            "group": ["strangers", "neighbours", "strangers", "neighbours", "strangers"],
            "warmth": [0.5, 0.3, 0.0, 0.25, 0.1],
        }
    )
    settings = StatisticsSettings(
        clusters=[0, 1, 2], units={"warmth": "probability", "gap": "distance"}
    )
    columns = [
        "group",
        "value",
        "low",
        "high",
        "se",
        "df",
        "n",
        "left_out",
        "generalises_to",
        "clusters",
        "method",
    ]
    again, once = (
        estimate([part for part in parts if isinstance(part, Sums)], settings)
        .filter(measure="warmth")
        .sort("group")
        .select(columns)
        for parts in (
            parts_of(measure, observations, {}, settings)
            for measure in (family["measure"], names["measure"])
        )
    )
    assert_frame_equal(again, once, check_dtypes=False)
    assert again["low"].null_count() == 0
