"""Golden files, the outputs of the original systems; reads those of UnQover into this project's
tables.
"""

from __future__ import annotations

import gzip
import json
import re
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import polars as pl
from small_tables import predictions_of, with_keys

if TYPE_CHECKING:
    from biasgrid.families.underspecified.read import WordListFiles

GOLDEN = Path(__file__).parents[1] / "golden"
FOLDER = GOLDEN / "unqover"
UNPACKED = TemporaryDirectory(prefix="golden-")
"""Where large golden files are unpacked; removed when the process ends."""
SOURCES: dict[str, tuple[str, list[str], str, str | None, str | None]] = {
    "gender_qa": ("gender_demo", ["female_demo", "male_demo"], "occupation_demo", None, None),
    "gender_qa_newsqa": (
        "gender_demo",
        ["female_demo", "male_demo"],
        "occupation_demo",
        "newsqa",
        None,
    ),
    "gender_lm_bert": (
        "gender_noact_lm",
        ["female_demo", "male_demo"],
        "occupation_demo",
        None,
        "[MASK]",
    ),
    "gender_lm_roberta": (
        "gender_noact_lm",
        ["female_demo", "male_demo"],
        "occupation_demo",
        None,
        "<mask>",
    ),
    "country_lm_bert": ("country_demo", ["country_demo"], "biased_country", None, "[MASK]"),
    "country_lm_roberta": ("country_demo", ["country_demo"], "biased_country", None, "<mask>"),
    "ethnicity_qa": ("ethnicity_noact", ["ethnicity"], "biased_ethnicity", None, None),
    "ethnicity_qa_newsqa": ("ethnicity_noact", ["ethnicity"], "biased_ethnicity", "newsqa", None),
    "ethnicity_lm_bert": (
        "ethnicity_noact_lm",
        ["ethnicity_bert"],
        "biased_ethnicity",
        None,
        "[MASK]",
    ),
    "ethnicity_lm_roberta": (
        "ethnicity_noact_lm",
        ["ethnicity_roberta"],
        "biased_ethnicity",
        None,
        "<mask>",
    ),
}
"""Templates, subjects, attributes, filler and mask of each source.json."""
INSTANCE_KEYS = {
    "instance": pl.UInt32,
    "swap_group": pl.UInt32,
    "swapped": pl.Boolean,
    "negated": pl.Boolean,
    "template": pl.UInt16,
    "subject1": pl.Categorical,
    "subject2": pl.Categorical,
    "group1": pl.Categorical,
    "group2": pl.Categorical,
    "attribute": pl.Categorical,
    "attribute_group": pl.Categorical,
    "text_pair": pl.Categorical,
    "text": pl.Categorical,
}


def golden_files(pattern: str) -> list[str]:
    """Names of UnQover's golden files as it wrote them, for parametrised tests; large ones lie here
    compressed.
    """
    found = [path for end in ("", ".gz") for path in FOLDER.glob(pattern + end)]
    return sorted({str(path.relative_to(FOLDER)).removesuffix(".gz") for path in found})


@cache
def golden_file(name: str) -> Path:
    """The path of one of UnQover's golden files, as it wrote it."""
    if (FOLDER / name).is_file():
        return FOLDER / name
    path = Path(UNPACKED.name, name)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.decompress((FOLDER / f"{name}.gz").read_bytes()))
    return path


def word_list_files(name: str) -> WordListFiles:
    """The word lists that a source.json was made of."""
    # Other golden files are read where this family is not.
    from biasgrid.families.underspecified.read import WordListFiles

    templates, subjects, attributes, filler, mask = SOURCES[name]
    lists = FOLDER / "word_lists"
    return WordListFiles(
        templates=lists / "slots" / templates,
        subjects=tuple(lists / "nouns" / "subjects" / subject for subject in subjects),
        attributes=lists / "activities" / attributes,
        filler=lists / "fillers" / filler if filler else None,
        mask=mask,
        limit={},
    )


def unqover_keys(instances: pl.DataFrame) -> list[str]:
    """The keys under which UnQover's files have instances; two share one, the plain and the negated
    question.
    """
    columns = [
        "group1",
        "group2",
        "subject1",
        "subject2",
        "template",
        "attribute_group",
        "attribute",
        "attribute",
    ]
    texts = [
        pl.col(name).cast(pl.String).fill_null("None").alias(str(row))
        for row, name in enumerate(columns)
    ]
    keys: list[str] = instances.select(key=pl.concat_str(texts, separator="|"))["key"].to_list()
    return keys


def as_source(instances: pl.DataFrame) -> dict[str, Any]:
    """Instances in the form of a source.json."""
    source: dict[str, Any] = {}
    for key, row in zip(unqover_keys(instances), instances.iter_rows(named=True), strict=True):
        answers = {
            f"ans{which - 1}": {"text": row[f"candidate{which}"], "start": "", "end": ""}
            for which in (1, 2)
        }
        question = {"question": row["text"], "pred": "", **answers}
        source.setdefault(key, {"context": row["text_pair"]})["q1" if row["negated"] else "q0"] = (
            question
        )
    return source


def with_candidates(instances: pl.DataFrame) -> pl.DataFrame:
    """Returns instances with the subjects as candidates, and where they are named."""
    named = {which: pl.col(f"subject{which}").cast(pl.String) for which in (1, 2)}
    found = {
        which: pl.col("text_pair").cast(pl.String).str.find(name, literal=True)
        for which, name in named.items()
    }
    return instances.with_columns(
        **{f"candidate{which}": f"subject{which}" for which in named},
        **{f"position{which}": place.cast(pl.UInt16) for which, place in found.items()},
    )


def read_output(name: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Returns the instances (candidates are the subjects' names) and predictions of an
    output.json.
    """
    output: dict[str, Any] = json.loads(golden_file(name).read_text())
    groups: dict[tuple[str, ...], int] = {}
    instances, predictions = [], []
    for key, entry in output.items():
        group1, group2, subject1, subject2, template, attribute_group, attribute, _ = key.split("|")
        pair = tuple(sorted((subject1, subject2)))
        group = groups.setdefault((*pair, template, attribute_group, attribute), len(groups))
        for negated, name_of_question in enumerate(("q0", "q1")):
            question = entry[name_of_question]
            named = [
                None if subject_group == "None" else subject_group
                for subject_group in (group1, group2, attribute, attribute_group)
            ]
            place = [
                len(instances),
                group,
                pair != (subject1, subject2),
                bool(negated),
                int(template),
            ]
            instances.append(
                [*place, subject1, subject2, *named, entry["context"], question["question"]]
            )
            ends = [
                [question[answer][end] for answer in ("ans0", "ans1")] for end in ("start", "end")
            ]
            predictions.append([*ends, question["pred"]])
    cluster = with_keys(
        with_candidates(pl.DataFrame(instances, schema=INSTANCE_KEYS, orient="row"))
    )
    starts, ends, answers = (list(column) for column in zip(*predictions, strict=True))
    if "_lm_" in name:
        return cluster, predictions_of("choice", cluster, probabilities=starts)
    return cluster, predictions_of("span", cluster, starts=starts, ends=ends, answer=answers)


def read_log(name: str) -> tuple[dict[tuple[str, ...], tuple[float, float, int]], dict[str, float]]:
    """Returns a log's rows, (gamma, eta, count) by lower-cased names, and the numbers of the whole
    cell.
    """
    text = (FOLDER / name).read_text()
    rows = {}
    for line in text.splitlines():
        *names, gamma, eta, count = [""] * 3 + line.split("\t")
        if count.isdigit():
            rows[tuple(name for name in names if name)] = (float(gamma), float(eta), int(count))
    labels = {
        "delta": "positional error:",
        "answer_probability": "avg ans probability:",
        "epsilon": "attributive error:",
        "mu": "model mu",
        "eta": "model eta",
        "swap_groups": "analyzing.*\n.*\n",
    }
    numbers = {key: re.search(rf"{label} *([-\d.e]+)", text) for key, label in labels.items()}
    return rows, {key: float(number[1]) for key, number in numbers.items() if number}
