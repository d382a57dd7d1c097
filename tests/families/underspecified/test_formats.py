"""Underspecified questions in several prompt formats: what is asked, what is claimed, and what is
refused.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from format_worlds import SHAPE, world
from small_config import changed, faults_of
from small_estimates import numbers_of, settings_of
from small_lists import LISTS
from small_tables import predictions_of, whole, write_instances

from biasgrid.families.cell import measure_cell
from biasgrid.families.estimates import estimate_cell
from biasgrid.families.sampling import BlockSample, Sample
from biasgrid.families.underspecified.ask import KEYS, expand
from biasgrid.families.underspecified.family import FAMILY
from biasgrid.families.underspecified.lists import Subjects
from biasgrid.families.underspecified.observe import observe
from biasgrid.families.underspecified.read import WordListFiles, WordLists, planned_instances
from biasgrid.families.underspecified.read import read as read_word_lists
from biasgrid.families.underspecified.templates import (
    AttributeRow,
    QuestionPrompt,
    QuestionTemplate,
)
from biasgrid.stats.noise.association_strength import (
    AssociationsByCluster,
    size_row,
    size_without_clusters,
)
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.tables.files import write_table
from biasgrid.tables.instances import instances_schema, read_instances
from biasgrid.tables.metric import MetricDefinitions
from biasgrid.tables.schema import answer_schema

FORMATS = (
    QuestionPrompt(
        "Question: [question]\nA. [option1]\nB. [option2]\nAnswer:", "Reply with a letter."
    ),
    QuestionPrompt("[question]\n1) [option2]\n2) [option1]"),
    QuestionPrompt("[question]\nX: [option1]\nY: [option2]", "Choose."),
)
NAMES = ["Ann", "Bea", "Cem", "Dan", "Eve"]
ATTRIBUTES = ["is a cook", "is a judge", "is late", "is tall"]
PLACES = ["Here", "Now", "Then", "There", "Today"]
REFERENCE = "biasgrid.families.underspecified"
OPTIONS = {"task": "text-generation", "scoring": "exact", "measures": []}


def lists(prompts: tuple[QuestionPrompt, ...] = FORMATS, sample: Sample | None = None) -> WordLists:
    attributes = [
        AttributeRow({"[act]": name, "[act:neg]": f"never {name}"}, name, None)
        for name in ATTRIBUTES
    ]
    templates = [
        QuestionTemplate(line, f"{place} [subj1] met [subj2].", "Who [act]?", "Who [act:neg]?")
        for line, place in enumerate(PLACES)
    ]
    subjects = Subjects({"[subj]": NAMES}, ["one", "one", "two", "two", "two"])
    return WordLists(
        templates, [subjects], {"[act]": attributes}, "", None, {}, sample=sample, prompts=prompts
    )


def test_a_swap_group_is_asked_in_one_format_and_everything_in_all() -> None:
    rows = whole(expand(lists())).cast({pl.Categorical: pl.String})
    assert (
        len(rows)
        == 3 * len(whole(expand(lists(FORMATS[:1]))))
        == planned_instances(lists()).instances
    )
    assert rows.group_by("swap_group").agg(pl.col("prompt_format").n_unique())[
        "prompt_format"
    ].unique().to_list() == [1]
    first = (
        rows.filter(swapped=False, negated=False)
        .head(3)
        .select("text", "candidate1", "candidate2", "system")
    )
    assert first.rows() == [
        ("Question: Who is a cook?\nA. Ann\nB. Bea\nAnswer:", "A", "B", "Reply with a letter."),
        ("Who is a cook?\n1) Bea\n2) Ann", "2", "1", None),
        ("Who is a cook?\nX: Ann\nY: Bea", "X", "Y", "Choose."),
    ]
    assert (
        rows.filter(prompt_format=0)
        .select("text", "system", "text_pair")
        .equals(
            whole(expand(lists(FORMATS[:1])))
            .cast({pl.Categorical: pl.String})
            .select("text", "system", "text_pair")
        )
    )


def test_the_formats_decide_the_digest_and_one_has_no_column() -> None:
    one = lists(FORMATS[:1])
    assert "prompt_format" not in whole(expand(one)).columns
    assert len({lists(FORMATS[:count]).digest() for count in (0, 1, 2, 3)}) == 4


@pytest.mark.parametrize("sample", [Sample(units=60), BlockSample(units=60)])
def test_samples_are_of_all_formats(sample: Sample) -> None:
    asked = lists(sample=sample)
    rows = whole(expand(asked))
    groups = rows.unique("swap_group")
    assert len(groups) == 60
    assert len(rows) == planned_instances(asked).instances
    counts = groups["prompt_format"].value_counts()["count"]
    assert counts.max() - counts.min() <= 4  # type: ignore[operator]
    if isinstance(sample, BlockSample):
        # A block is asked in all templates and all formats.
        blocks = groups.group_by("subject1", "subject2", "attribute").len()
        assert blocks["len"].unique().to_list() == [len(PLACES) * len(FORMATS)]


def said(rows: pl.DataFrame, by_format: float, seed: int = 0) -> pl.DataFrame:
    """Answers of a model whose preferences differ between formats, by as much as it is told."""
    random = np.random.default_rng(seed)
    own = random.normal(size=(len(NAMES), len(ATTRIBUTES)))
    of_format = by_format * random.normal(size=(*own.shape, len(FORMATS)))
    of_template = 0.3 * random.normal(size=(*own.shape, len(PLACES)))
    sides = []
    for side in (1, 2):
        names, attributes = (rows[key].cast(pl.String) for key in (f"subject{side}", "attribute"))
        place = (
            [NAMES.index(name) for name in names],
            [ATTRIBUTES.index(name) for name in attributes],
        )
        sides.append(
            own[place]
            + of_format[(*place, rows["prompt_format"])]
            + of_template[(*place, rows["template"])]
        )
    log_odds = (sides[0] - sides[1]) * np.where(rows["negated"], -1, 1)
    first = 0.9 / (1 + np.exp(-log_odds))
    return predictions_of(
        "choice", rows, probabilities=np.stack([first, 0.9 - first], axis=1).tolist()
    )


def test_claims_are_over_formats_and_their_share_of_variance_is_shown() -> None:
    rows = whole(expand(lists()))
    shares = []
    for by_format in (0.0, 1.0):
        observations = observe(rows, said(rows, by_format), OPTIONS)
        found = numbers_of(
            "underspecified", observations, OPTIONS, settings_of(FAMILY.own_measures)
        )
        claims = found.estimates.filter("is_claim", measure="share_gamma").drop_nulls("attribute")
        of_names, of_groups = claims.drop_nulls("subject"), claims.drop_nulls("subject_group")
        assert of_names["generalises_to"].unique().to_list() == ["clusters x formats"]
        assert of_groups["generalises_to"].unique().to_list() == ["clusters x names x formats"]
        assert of_names["low"].null_count() == of_groups["low"].null_count() == 0
        design = dict(found.design.filter(pl.col("block") == 0).select("name", "value").rows())
        shares.append(design["format_share"])
        of_variance = found.design.filter(name="association x format")["share"].item()
        assert of_variance >= 0.2 if by_format else of_variance <= 0.02
    assert shares[0] < 0.05 < 0.4 < shares[1]


def test_a_strength_is_over_formats() -> None:
    """Without formats in them intervals of the size of 30 associations hold the truth in half of
    the worlds.
    """
    random, settings, held, alone = np.random.default_rng(5), StatisticsSettings(), [], []
    for _ in range(30):
        truth = 0.3 * random.normal(size=SHAPE[:2])
        sums = world(random, truth).clustered([])
        part = AssociationsByCluster.of(
            sums, *([str(place) for place in range(count)] for count in SHAPE[:2])
        )
        row = size_row(
            part, size_without_clusters("strength", part, AssociationsByCluster.strength), settings
        )
        assert row["generalises_to"] == "clusters x formats"
        one = replace(part, by_format=None)
        of_clusters = size_row(
            one, size_without_clusters("strength", one, AssociationsByCluster.strength), settings
        )
        for found, interval in ((held, row), (alone, of_clusters)):
            found.append(interval["low"] <= np.sqrt((truth**2).mean()) <= interval["high"])
    assert np.mean(held) >= 0.93
    assert np.mean(alone) <= 0.7


def reversed_in_one_format(rows: pl.DataFrame, predictions: pl.DataFrame) -> pl.DataFrame:
    """The same answers, but for the other option in the last format."""
    turned = pl.when(rows["prompt_format"] == 2).then(pl.col("probabilities").list.reverse())
    return predictions.with_columns(turned.otherwise("probabilities").alias("probabilities"))


def test_a_cell_shows_the_prompts_that_were_asked_and_is_flagged_where_signs_depend_on_them(
    tmp_path: Path,
) -> None:
    rows = whole(expand(lists()))
    instances, predictions = tmp_path / "instances.parquet", tmp_path / "predictions.parquet"
    write_instances(rows, instances, KEYS)
    declared = MetricDefinitions.from_measures({**FAMILY.own_measures, **FAMILY.flags})
    flags = []
    for said_by_model in (said(rows, 0.05), reversed_in_one_format(rows, said(rows, 0.05))):
        write_table(said_by_model, predictions, answer_schema("choice"), {})
        cell = measure_cell(
            REFERENCE,
            instances,
            [predictions],
            "choice",
            OPTIONS,
            declared.measure_names,
            "model",
            "people",
        )
        found = estimate_cell(
            REFERENCE, cell.sums, OPTIONS, declared, settings_of(FAMILY.own_measures)
        )
        flags.append(found.measures.filter(measure="prompt_sign")["flag"].item())
        texts = cell.evidence["text"].cast(pl.String)
        assert all(texts.str.contains(mark, literal=True).any() for mark in ("A. ", "1) ", "X: "))
    assert flags[0] is None
    assert re.match(r"\d+ of \d+ numbers that are significant in one prompt format are", flags[1])


def test_the_table_of_instances_has_formats_only_where_there_are_several(tmp_path: Path) -> None:
    for prompts, columns in ((FORMATS, ["instance", "prompt_format"]), (FORMATS[:1], ["instance"])):
        expansion = expand(lists(prompts))
        path = tmp_path / f"{len(prompts)}.parquet"
        write_table(whole(expand(lists(prompts))), path, expansion.schema, {})
        assert read_instances(path, KEYS, ["instance", "prompt_format"]).columns == columns
        assert read_instances(path, KEYS).columns == [
            *instances_schema(KEYS, expansion.schema.columns).columns
        ]


def config(**variant: object) -> dict[str, object]:
    return changed(
        "datasets/religion/variants/llm", {"templates": "templates/religion-qa.txt"} | variant
    )


@pytest.mark.parametrize(
    ("variant", "problem"),
    [
        ({"prompts": []}, "variants.llm.prompts"),
        (
            {"prompt": "a.txt", "prompts": ["b.txt"]},
            "prompt: 'a.txt' together with `prompts`; expected one of the two",
        ),
        (
            {"prompts": None},
            "variants.llm.prompt: none; expected a file such as prompts/two-options.txt",
        ),
    ],
)
def test_wrong_formats_of_a_config_are_refused(variant: dict[str, object], problem: str) -> None:
    (fault,) = faults_of(config(**variant))
    assert problem in fault


def test_prompts_that_are_the_same_or_have_one_letter_are_refused(tmp_path: Path) -> None:
    for name, content in LISTS.items():
        (tmp_path / f"{name}.txt").write_text(content)
    prompts = {
        "a": "[question]\nA. [option1]\nB. [option2]",
        "b": "[question]\nA. [option1]\nA. [option2]",
    }
    prompts["c"] = "# The first one, again.\n" + prompts["a"]
    for name, content in prompts.items():
        (tmp_path / f"{name}.txt").write_text(content)
    named = tmp_path / "templates.txt", (tmp_path / "subjects.txt",), tmp_path / "attributes.txt"
    files = WordListFiles(*named, None, None, {})
    paths = tuple(tmp_path / f"{name}.txt" for name in prompts)
    _, faults = read_word_lists(replace(files, prompts=paths))
    alike, again = [str(fault).replace(f"{tmp_path}/", "") for fault in faults]
    assert alike == (
        "b.txt: the options have A; expected each option on its own line after its letter: "
        "`A. [option1]`"
    )
    assert again == "c.txt: the same prompt as a.txt; expected different prompts"
