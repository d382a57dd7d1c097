"""All golden cells of statistics and claims as the datasets of one grid, and what a run makes of
them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest
from golden_dumps import (
    DECIMALS_OF_VALUES,
    Array,
    Question,
    Utilities,
    in_steps_of_two,
    questions_of_scores,
    write_dump,
)
from golden_statistics import claims_of, inputs_of, scores_of
from project import Project
from shared import made_once

import biasgrid
from biasgrid.runs.results import Results

FILE = "config/golden.yaml"
CELLS = ["within", "across", "across-weak", "two-sorts-of-templates", "one-template", "censored"]
MORE_MODELS = ["within-other-model", "within-third-model"]
"""Two more models of the dataset `within`."""
REFERENCE, ANSWERS, CLASSES = "reference", "answers", "classes"
"""The models whose predictions are dumps, whose answers are texts, and whose answers are
probabilities of classes.
"""
TERMS = "terms"
"""The dataset of cases with three groups of three terms."""
SCALE_OF_CLASSES = DECIMALS_OF_VALUES / 2.0**20
"""By what the probabilities of classes are smaller than golden scores, which have six decimals and
are below 1.
"""
FAILED_AT = 0.1
"""The golden threshold of failures that has intervals in a run."""
ANY = {
    "equal_scores": 1,
    "improbable": 1,
    "neither_subject": 1,
    "saturated_scores": 1,
    "constant_scores": 1,
    "same_text": 1,
    "one_answer": 1,
    "undetected": 1,
    "accuracy": 0,
    "exchanged_labels": 1,
}
"""Limits of flags that withhold: golden answers are as they are."""


def associations_of(cell: str) -> Array:
    """The associations of a golden cell, shape (subjects, attributes, clusters)."""
    golden = claims_of("associations")[cell]
    rows = inputs_of("associations").filter(cell=cell).sort("subject", "attribute", "frame")
    return (
        rows["value"].to_numpy().reshape(golden["subjects"], golden["attributes"], golden["frames"])
    )


def utilities_of_associations(cell: str) -> Utilities:
    values = associations_of(cell)
    return Utilities(values, [f"subject {number}" for number in range(len(values))], [])


def lists_of(file: str, cell: str) -> tuple[Array, Array]:
    """The values of two groups of names, each of shape (attributes, names, clusters)."""
    rows = inputs_of(file).filter(cell=cell).sort("attribute", "name", "cluster")
    shape = rows["attribute"].n_unique(), -1, rows["cluster"].n_unique()
    one, other = (
        rows.filter(group=group)["value"].to_numpy().reshape(shape) for group in ("one", "two")
    )
    return one, other


def utilities_of_groups(file: str, cell: str) -> Utilities:
    one, other = lists_of(file, cell)
    values = np.moveaxis(np.concatenate([one, other], axis=1), 1, 0)
    groups = ["one"] * one.shape[1] + ["two"] * other.shape[1]
    return Utilities(values, [f"name {number}" for number in range(len(values))], groups)


def dumps() -> Iterator[tuple[str, Iterator[Question]]]:
    """Each dump by its dataset, or by its model if that is another one."""
    for cell in (*CELLS, *MORE_MODELS):
        yield cell, questions_of_scores(in_steps_of_two(scores_of(cell)))
    yield "preference", questions_of_scores(inputs_of("preference"))
    for cell in claims_of("associations"):
        yield f"associations-{cell}", utilities_of_associations(cell).questions()
    for file in ("groups", "groups_few"):
        for cell in claims_of(file):
            yield f"groups-{cell}", utilities_of_groups(file, cell).questions()


class GoldenProbe(NamedTuple):
    """A probe whose answers are counts of Yes.

    Attributes:
        name: the name of its dataset.
        rows: `case`, `item`, `group`, `name` (null if no names stand for groups), `asked` and
            `yes`. Every case has items and metrics of its own.
    """

    name: str
    rows: pl.DataFrame

    @property
    def has_names(self) -> bool:
        return self.rows["name"].null_count() == 0

    def question(self, case: object, item: object, who: str) -> str:
        return f"In round {item} of {self.name} {case}, should {who} be invited? Answer Yes or No."

    def content(self) -> dict[str, Any]:
        """The file of the probe."""
        persons = self.rows.select("group", "name").unique(maintain_order=True).to_dicts()
        prompts = [{"who": who_of(person), "group": person["group"]} for person in persons]
        groups = list(dict.fromkeys(person["group"] for person in persons))
        metric, items = {}, self.rows.select("case", "item").unique(maintain_order=True).to_dicts()
        for case in dict.fromkeys(item["case"] for item in items):
            own = {"label": "yes", "groups": groups, "where": {"case": f"{case}"}}
            metric |= {
                f"gap_{case}": {"kind": "difference", **own},
                f"ratio_{case}": {"kind": "ratio", **own},
            }
        return {
            "title": self.name,
            "bias_type": "gender",
            "question": self.question("{case}", "{number}", "{who}"),
            "evaluator": "yes-no",
            "prompts": prompts,
            "items": [{"case": f"{item['case']}", "number": f"{item['item']}"} for item in items],
            "metric": metric,
            "marks": [
                {"measure": name, "centre": 0, "cuts": [0, 0.03, 0.1, 0.3, 1]}
                for name in metric
                if name.startswith("gap")
            ],
            **({"names": "who"} if self.has_names else {}),
        }

    def responses(self) -> Iterator[dict[str, Any]]:
        """Written answers, as many of them Yes as were counted."""
        for row in self.rows.iter_rows(named=True):
            for repetition in range(row["asked"]):
                prompt = self.question(row["case"], row["item"], who_of(row))
                response = "Yes" if repetition < row["yes"] else "No"
                yield {
                    "prompt": prompt,
                    "group": row["group"],
                    "repetition": repetition,
                    "response": response,
                }


def who_of(row: dict[str, Any]) -> str:
    return row["name"] or f"somebody of group {row['group']}"


def probes() -> Iterator[GoldenProbe]:
    of_probes = inputs_of("probes").with_columns(case=pl.lit(0))
    for name in claims_of("probes"):
        yield GoldenProbe(f"probe-{name}", of_probes.filter(probe=name).drop("probe"))
    of_shares = (
        inputs_of("shares").rename({"cluster": "item"}).with_columns(name=pl.lit(None, pl.String))
    )
    for (asked,), rows in of_shares.group_by("asked", maintain_order=True):
        yield GoldenProbe(f"shares-asked-{asked}", rows)


def config_of(folder: Path) -> dict[str, Any]:
    """Writes dumps, probes and answers, and returns the config of all of them."""
    names = [name for name, _ in dumps()]
    datasets: dict[str, Any] = {}
    for name in names:
        if name not in MORE_MODELS:
            datasets[name] = dataset_of_dump(name)
    answers = []
    for probe in probes():
        path = folder / "word_lists" / "golden" / f"{probe.name}.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(probe.content()))
        repetitions = int(probe.rows["asked"].max())  # type: ignore[arg-type]
        datasets[probe.name] = {
            "family": "probe",
            "title": probe.name,
            "probe": f"golden/{probe.name}.yaml",
            "answers": "written",
            "repetitions": repetitions,
        }
        answers += probe.responses()
    (folder / "answers.jsonl").write_text("".join(f"{json.dumps(answer)}\n" for answer in answers))
    models = {
        REFERENCE: model_of_dumps(
            "Reference", "qa", [name for name in names if name not in MORE_MODELS]
        )
    }
    for name in MORE_MODELS:
        models[name] = model_of_dumps(name, "qa-newsqa", [])
        models[name]["predictions"] = {"within": {"file": f"dumps/{name}.json", "scoring": "exact"}}
    models[ANSWERS] = {
        "task": "text-generation",
        "kind": "LLM",
        "label": "Answers",
        "answers": "answers.jsonl",
    }
    datasets[TERMS] = write_terms(folder)
    labels = {"other": "other", "shown": "shown"}
    models[CLASSES] = {
        "task": "text-classification",
        "kind": "Classifier",
        "label": "Classes",
        "labels": labels,
        "answers": "classes.jsonl",
    }
    return {
        "validity": ANY,
        "models": models,
        "datasets": datasets,
        "run": {"models": list(models), "datasets": list(datasets)},
    }


def write_terms(folder: Path) -> dict[str, Any]:
    """Writes the golden cases of three groups of terms and their answers, and returns their
    dataset.

    Each case is a template; the cases of a golden template are a cluster.
    """
    rows = scores_of("groups")
    texts = {case: f"In case {case} they met <group>." for case in sorted({*rows["case"]})}
    templates = [{"text": text, "label": case % 2} for case, text in texts.items()]
    head = {"group_token": "<group>", "input_names": ["text"], "label_name": "label"}
    groups: dict[str, list[str]] = {}
    answers = []
    for row in rows.iter_rows(named=True):
        terms = groups.setdefault(row["group"], [])
        terms += [row["term"]] * (row["term"] not in terms)
        shown = round(row["score"] * DECIMALS_OF_VALUES) / 2.0**20
        prompt = texts[row["case"]].replace("<group>", row["term"])
        answers.append({"prompt": prompt, "probabilities": {"other": 1 - shown, "shown": shown}})
    lists = folder / "word_lists" / "golden"
    (lists / "templates.json").write_text(json.dumps({**head, "templates": templates}))
    (lists / "groups.json").write_text(json.dumps({"letters": groups}))
    (folder / "classes.jsonl").write_text("".join(f"{json.dumps(answer)}\n" for answer in answers))
    clusters = (
        rows.group_by("template", maintain_order=True)
        .agg(pl.col("case").unique().sort())["case"]
        .to_list()
    )
    return {
        "family": "counterfactual",
        "title": TERMS,
        "task": "text-classification",
        "labels": ["other", "shown"],
        "templates": "golden/templates.json",
        "groups": "golden/groups.json",
        "template_clusters": clusters,
        "failure_threshold": FAILED_AT * SCALE_OF_CLASSES,
    }


def dataset_of_dump(name: str) -> dict[str, Any]:
    file = f"golden/{name}.txt"
    variants = {"qa": {"templates": f"templates/{file}"}}
    if name == "within":
        variants["qa-newsqa"] = variants["qa"]
    own = {"template_clusters": [[0, 1], [2], [3]]} if name.startswith("across") else {}
    subjects, attributes = [f"subjects/{file}"], f"attributes/{file}"
    return {
        "title": name,
        "subjects": subjects,
        "attributes": attributes,
        "variants": variants,
        **own,
    }


def model_of_dumps(label: str, variant: str, names: list[str]) -> dict[str, Any]:
    predictions = {name: {"file": f"dumps/{name}.json", "scoring": "exact"} for name in names}
    kind = {"task": "question-answering", "variant": variant, "kind": "QA", "label": label}
    return {**kind, "predictions": predictions}


def write_lists_of_within(folder: Path) -> None:
    """Writes word lists for the dataset of several models, which are paired if they have the same
    templates.
    """
    rows = scores_of("within")
    places = ("garden", "library", "station")
    attributes = sorted({*rows["attribute"]})
    lines = {
        "subjects": [
            f"[subj] {subject}" for subject in sorted({*rows["subject1"]} | {*rows["subject2"]})
        ],
        "attributes": [
            *(f"[p_act] was {attribute}" for attribute in attributes),
            *(f"[p_act:neg] was not {attribute}" for attribute in attributes),
        ],
        "templates": [
            f"In the {place} [subj1] met [subj2].\tWho [p_act]?\tWho [p_act:neg]?"
            for place in places
        ],
    }
    for name, texts in lines.items():
        path = folder / name / "golden" / "within.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{text}\n" for text in texts))


def make_golden(folder: Path) -> None:
    project = Project.create(folder, {}, FILE)
    for name, questions in dumps():
        write_dump(folder / "dumps" / f"{name}.json", questions)
    write_lists_of_within(folder / "word_lists")
    project.write_config(config_of(folder))
    project.run("results/summary.parquet", "results/comparisons/within.parquet")


def golden_results(factory: pytest.TempPathFactory) -> Results:
    """The golden cells, run once in a session."""
    folder = made_once(factory, "golden", partial(make_golden))
    return biasgrid.open(folder / "results")
