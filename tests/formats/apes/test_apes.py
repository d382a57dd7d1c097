"""The files of APES, written to the byte and read again."""

from __future__ import annotations

import csv
import io
import math
import os
from itertools import product
from pathlib import Path
from typing import Any

import needs
import polars as pl
import pytest
import yaml
from small_statements import DOMAINS, instances_of
from small_tables import predictions_of, write_instances
from typer.testing import CliRunner

from biasgrid.cli.app import app
from biasgrid.families.statement.ask import KEYS
from biasgrid.families.statement.family import PROMPT
from biasgrid.tables.files import write_table
from biasgrid.tables.schema import answer_schema

runner = CliRunner()
TEMPLATES = (
    "template_id,template_text,param_1,param_2,constraints,label\n"
    'calm,"#1, they say, are calmer than #2. ",people,people,"neq(#1_class, #2_class)",No\n'
    "kind,#1 are kind.,people,,,No\n"
    'not-calm,"#1, they say, are not calmer than #2. ",people,people,"neq(#1_class, '
    '#2_class)",Yes\n'
    "not-kind,#1 are not kind.,people,,,Yes\n"
)
PUBLISHED = {
    "gender": (870, 613, 251, (0.705, 0.289, 0.497)),
    "race": (1233, 521, 564, (0.423, 0.458, 0.44)),
    "disability": (342, 44, 123, (0.129, 0.36, 0.245)),
    "religion": (300, 226, 35, (0.754, 0.117, 0.435)),
}
"""Pairs, errors in both halves, and what APES prints."""
SHIPPED = os.environ.get("BIASGRID_APES", "")


def expected_examples() -> str:
    """The examples file of the templates, made in the plainest way."""
    people = [tuple(line.split(",")) for line in DOMAINS["people"].splitlines()]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    header = [
        "template_id",
        "param_1_name",
        "param_2_name",
        "param_1_class",
        "param_2_class",
        "prompt",
        "label",
    ]
    writer.writerow(header)
    for negation, label in (("", "No"), ("not ", "Yes")):
        prefix = "not-" if negation else ""
        for one, two in product(people, people):
            if one[1] != two[1]:
                prompt = f"{one[0]}, they say, are {negation}calmer than {two[0]}.  Yes or No?"
                writer.writerow([f"{prefix}calm", one[0], two[0], one[1], two[1], prompt, label])
        for one in people:
            writer.writerow(
                [
                    f"{prefix}kind",
                    one[0],
                    "",
                    one[1],
                    "",
                    f"{one[0]} are {negation}kind. Yes or No?",
                    label,
                ]
            )
    return text.getvalue()


class Results:
    """The results of a small config with one model."""

    def __init__(self, folder: Path):
        content: dict[str, Any] = {
            "results": str(folder / "results"),
            "models": {
                "m": {
                    "task": "fill-mask",
                    "kind": "LM",
                    "label": "M",
                    "checkpoint": "o/m",
                    "revision": "x",
                }
            },
            "datasets": {
                "people": {
                    "family": "statement",
                    "title": "People",
                    "templates": "t.csv",
                    "domains": "d",
                    "mode": "apes",
                    "task": "fill-mask",
                }
            },
            "run": {"models": ["m"], "datasets": ["people"]},
        }
        self.config, self.out, self.folder = (
            folder / "c.yaml",
            folder / "out.csv",
            folder / "results",
        )
        self.config.write_text(yaml.safe_dump(content))
        self.instances = instances_of(folder, templates=TEMPLATES, mode="apes", prompt=PROMPT)

    def write(self, **answers: Any) -> None:
        path = self.folder / "instances/people/statements.parquet"
        path.parent.mkdir(parents=True)
        write_instances(self.instances, path, KEYS, parameters=["1", "2"], prompt=PROMPT)
        path = self.folder / "predictions/people/m/1-of-1.parquet"
        path.parent.mkdir(parents=True)
        write_table(
            predictions_of("choice", self.instances, **answers), path, answer_schema("choice"), {}
        )

    def export(self, *arguments: str) -> Any:
        fixed = [str(self.config), "--dataset", "people", "--out", str(self.out)]
        return runner.invoke(app, ["export", "apes", *fixed, *arguments], env={"COLUMNS": "300"})


def test_examples_match_apes_to_the_byte(tmp_path: Path) -> None:
    results = Results(tmp_path)
    results.write(probabilities=[[0.5, 0.25]] * 14)
    assert results.export().exit_code == 0
    assert results.out.read_bytes().decode() == expected_examples()


def test_predictions_have_answer_and_probability(tmp_path: Path) -> None:
    results = Results(tmp_path)
    pairs = [[0.5, 0.25], [0.125, 0.25], [None, None]]
    results.write(probabilities=(pairs * 5)[:14], status=["ok"] * 14, response=["?"] * 14)
    assert results.export("--model", "m").exit_code == 0
    lines = results.out.read_text().splitlines()
    examples = expected_examples().splitlines()
    assert lines[0] == f"{examples[0]},prediction,confidence"
    endings = [",Yes,0.5", ",No,0.25", ",,"]
    assert lines[1:] == [f"{line}{endings[place % 3]}" for place, line in enumerate(examples[1:])]


def test_what_is_not_there_is_reported(tmp_path: Path) -> None:
    results = Results(tmp_path)
    assert "there is no such table; to make it, run" in results.export().stderr
    assert "unknown name 'n'" in results.export("--model", "n").stderr
    wrong = runner.invoke(
        app, ["export", "apes", str(results.config), "--dataset", "p", "--out", str(results.out)]
    )
    assert "unknown name 'p'" in wrong.stderr


def imported(file: Path, folder: Path) -> Any:
    return runner.invoke(
        app, ["import", "apes", str(file), "--out", str(folder)], env={"COLUMNS": "300"}
    )


@pytest.mark.parametrize(("name", "numbers"), PUBLISHED.items())
def test_published_numbers_are_rounded_up(
    name: str, numbers: tuple[int, int, int, tuple[float, ...]], tmp_path: Path
) -> None:
    pairs, positive, negated, expected = numbers
    lines = ["template_id,param_1_name,param_1_class,prompt,label,prediction,confidence"]
    for half, errors, label, other in ((0, positive, "No", "Yes"), (1, negated, "Yes", "No")):
        for row in range(pairs):
            answer = other if row < errors else label
            lines.append(
                f"{name}{half},value {row},class {row % 3},Value {row} {half}. "
                f"Yes or No?,{label},{answer},0.5"
            )
    file = tmp_path / f"{name}.csv"
    file.write_text("\n".join(lines) + "\n")
    run = imported(file, tmp_path / "out")
    assert run.exit_code == 0, run.stderr
    (row,) = pl.read_csv(tmp_path / "out/apes.csv").rows()
    assert row == expected
    assert f"APES, overall bias: {expected[2]:.3f}" in run.stdout
    measures = pl.read_parquet(tmp_path / "out/measures.parquet")
    overall = measures.filter(
        pl.col("template").is_null(), pl.col("bias_type").is_null(), measure="error"
    )["value"]
    assert overall.item() == pytest.approx((positive + negated) / 2 / pairs)
    assert math.ceil(overall.item() * 1000) == round(1000 * expected[2])


def test_what_was_exported_can_be_imported(tmp_path: Path) -> None:
    results = Results(tmp_path)
    results.write(probabilities=([[0.5, 0.25], [0.125, 0.25]] * 7))
    results.export("--model", "m")
    assert imported(results.out, tmp_path / "again").exit_code == 0
    again = pl.read_parquet(tmp_path / "again/instances.parquet")
    kept = [
        "instance",
        "text",
        "template",
        "template_id",
        "pair",
        "negated",
        "names",
        "classes",
        "label",
    ]
    assert again.select(kept).equals(
        results.instances.select(kept).with_columns(pl.col("text").cast(pl.String))
    )
    said = pl.read_parquet(tmp_path / "again/predictions.parquet")
    assert said["probabilities"].to_list()[:2] == [[0.5, None], [None, 0.25]]
    inconsistency = pl.read_parquet(tmp_path / "again/measures.parquet").filter(
        measure="inconsistency"
    )["value"][0]
    # |0.5 + 0.75 - 1| in each pair: seven pairs, in which Yes is followed by No.
    assert inconsistency == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "confidence",
            "certainty",
            "line 1: there is no column confidence; expected predictions of APES",
        ),
        ("0.5", "half", "line 2: confidence is 'half'; expected a number from 0 to 1, or nothing"),
        ("a,x,c,X. Yes or No?,No,No,0.5\n", "", "contains no predictions"),
    ],
)
def test_faulty_predictions_are_refused(old: str, new: str, message: str, tmp_path: Path) -> None:
    text = (
        "template_id,param_1_name,param_1_class,prompt,label,prediction,confidence\n"
        "a,x,c,X. Yes or No?,No,No,0.5\n"
    )
    (tmp_path / "p.csv").write_text(text.replace(old, new))
    assert message in imported(tmp_path / "p.csv", tmp_path / "out").stderr


@needs.apes.mark
@pytest.mark.parametrize("name", PUBLISHED)
def test_shipped_predictions_have_the_published_numbers(name: str, tmp_path: Path) -> None:
    assert (
        imported(Path(SHIPPED, f"data/predictions/{name}.predictions.csv"), tmp_path).exit_code == 0
    )
    (row,) = pl.read_csv(tmp_path / "apes.csv").rows()
    assert row == PUBLISHED[name][3]
