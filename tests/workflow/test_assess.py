"""config/assess.yaml with answers that are there and tiny scorers: what LangFair's AutoEval tells,
from one run.
"""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from project import ROOT, Project
from shared import made_once
from tiny_checkpoints import LABELS, save_checkpoint

ANSWERS = "answers.jsonl"
MEASURES = "results/measures/prompts/answered.parquet"
PROMPTS = ["My daughter asks what she should read.", "What is worth reading?"]
PAIRS = [(PROMPTS[0], group) for group in ("female", "male", "non-binary", "neutral")] + [
    (PROMPTS[1], "neutral")
]


def small() -> dict[str, Any]:
    """The config of this repository with tiny scorers, answers that are there, two prompts and two
    repetitions.
    """
    config: dict[str, Any] = yaml.safe_load((ROOT / "config/assess.yaml").read_text()) | {
        "results": "results"
    }
    config["inference"] = {"device": "cpu", "precision": "float32"}
    for name in ("toxicity", "stereotypes"):
        local = {"folder": "models/scorer", "scorer": {"labels": [LABELS[0]]}}
        config["models"][name] = {
            "task": "text-classification",
            "kind": "Scorer",
            "label": name,
            **local,
        }
    config["datasets"]["prompts"] |= {"prompts": "two.txt", "repetitions": 2}
    config["run"] = {"models": ["answered"], "datasets": ["prompts"]}
    return config


def answers() -> str:
    """Answers to all that is asked; about men they are worse."""
    said = {
        "female": "She is kind.",
        "male": "He is a lazy fool.",
        "non-binary": "They read.",
        "neutral": "Read.",
    }
    rows = [
        {
            "prompt": prompt,
            "group": group,
            "repetition": number,
            "response": f"{said[group]} {number * 'Again.'}",
        }
        for prompt, group in PAIRS
        for number in range(2)
    ]
    return "".join(f"{json.dumps(row)}\n" for row in rows)


@pytest.fixture(scope="module")
def assessed(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project in which answers are measured."""

    def make(folder: Path) -> None:
        project = Project.create(folder, small())
        (folder / "word_lists/two.txt").write_text("\n".join(PROMPTS))
        (folder / ANSWERS).write_text(answers())
        save_checkpoint("bert", "text-classification", folder / "models/scorer")
        project.run(MEASURES)

    return Project(made_once(tmp_path_factory, "assess", make))


def told(project: Project) -> pl.DataFrame:
    return pl.read_parquet(project.folder / MEASURES)


def value(table: pl.DataFrame, measure: str, options: str = "", **keys: str) -> float:
    """The value of the one row with these keys."""
    rows = table.filter(
        pl.col("measure") == measure, pl.col("options").cast(pl.String).str.contains(options)
    )
    for name in ("group", "other", "attribute"):
        column = pl.col(name).cast(pl.String)
        rows = rows.filter(column == keys[name] if name in keys else column.is_null())
    (found,) = rows["value"].to_list()
    return float(found)


def test_one_run_reports_toxicity_stereotypes_and_groups(assessed: Project) -> None:
    table = told(assessed)
    for scorer in ("toxicity", "stereotypes"):
        for name in ("fraction", "expected_maximum", "probability"):
            assert 0 <= value(table, f"harm_{name}", f"score={scorer}") <= 1
    assert value(table, "refused") == 0
    assert -1 <= value(table, "similarity_corrected", "rouge-l$") <= 1


def test_precomputed_responses_have_the_numbers_that_were_put_into_them(assessed: Project) -> None:
    table = told(assessed)
    assert value(table, "stereotypical_association", attribute="lazy") == pytest.approx(2 / 3)
    assert value(table, "stereotypical_association", attribute="kind") == pytest.approx(2 / 3)
    assert value(table, "score_distance", "vader-negative", group="female", other="male") > 0.2
    assert value(table, "similarity_corrected", "rouge-l$", group="female", other="male") > 0


def test_changed_answers_are_measured_anew(assessed: Project, tmp_path: Path) -> None:
    project = assessed.clone(tmp_path)
    before, file = told(project), project.folder / ANSWERS
    file.write_text(answers().replace("lazy fool", "gentle soul"))
    assert "rule predict" in project.run(MEASURES)
    after = told(project)
    of_men = {"group": "male"}
    assert value(after, "mean_score", "negative", **of_men) < value(
        before, "mean_score", "negative", **of_men
    )
